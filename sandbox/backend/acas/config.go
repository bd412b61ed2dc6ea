// Package acas runs sandboxes in a group of Azure Container Apps Sandboxes: isolation
// rung microvm on the service itself. On any other endpoint, which is an emulator, it
// declares what the configuration says of that emulator, and none where it says
// nothing.
//
// A sandbox's egress is compiled before it is made, and read back and compared
// before anything runs in it; see package internal/backend/acasegress for what the
// service's rules mean. One whose egress is not what was asked, that listens on a
// port or that carries an identity is not served.
//
// The service's file plane acts as root and follows links, and nothing can hold a
// guest still: what a guest swaps between a look and its use is not seen. Programs
// run as the image's user.
//
// Read [Config], then [New].
package acas

import (
	"context"
	"crypto/x509"
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
)

// Name is the backend's name.
const Name = "acas"

// Config configures the backend. The group and the credential have to be stated, and
// the location or an endpoint.
type Config struct {
	// Subscription, ResourceGroup and Group name the sandbox group. It must exist.
	Subscription, ResourceGroup, Group string
	// Location is the group's region, as in swedencentral.
	Location string
	// Endpoint replaces the service's own, for an emulator: scheme, host and port in
	// full. A token goes there, so it is for the host's own configuration alone.
	Endpoint string
	// ARMEndpoint replaces the endpoint that the group itself is read from. Empty is
	// the cloud's own, or an emulator's Endpoint.
	ARMEndpoint string
	// GroupHasNoIdentity is the host's word that the group has no identity, for a
	// credential that may not read the group. It is not checked then.
	GroupHasNoIdentity bool
	// RootCAs replaces the system's roots, for an emulator's certificate, and
	// Transport the network, for an emulator in this process.
	RootCAs   *x509.CertPool
	Transport policy.Transporter
	// Credential signs in. It never goes into a guest.
	Credential azcore.TokenCredential

	// EmulatorIsolation is the rung of an emulator's guests. It is not said of the
	// service, and only ever has the evidence that an emulator says so.
	EmulatorIsolation sandbox.Isolation

	// CPU and Memory are a sandbox's size in the service's units; empty is "1000m"
	// and "2048Mi".
	CPU, Memory string
	// SuspendAfter is how long an idle sandbox keeps running, and DeleteAfter how long
	// one that was suspended is kept. Zero is a minute and ten; both are whole seconds.
	SuspendAfter, DeleteAfter time.Duration
}

const (
	defaultCPU     = "1000m"
	defaultMemory  = "2048Mi"
	defaultSuspend = time.Minute
	defaultDelete  = 10 * time.Minute
)

// Declarations are what the service itself can promise: the facts that a plan decides
// with.
func Declarations() sandbox.Declarations {
	// The zero value of an unknown name would claim nothing and be refused by New.
	d, _ := facts.Lookup(Name)
	return d
}

// New makes the backend: an engine as [NewEngine] does, behind the confinement layer.
// Errors are [*sandbox.Refusal] or [sandbox.Refusals]. Nothing is sent yet.
func New(config Config, options ...backend.Option) (*backend.Backend, error) {
	e, err := NewEngine(config)
	if err != nil {
		return nil, err
	}
	b, err := backend.New(e, e.declarations(), options...)
	if err != nil {
		return nil, errors.Join(err, e.Close(context.Background()))
	}
	return b, nil
}

// settings fills in what is not stated.
func (c Config) settings() (Config, error) {
	if c.CPU == "" {
		c.CPU = defaultCPU
	}
	if c.Memory == "" {
		c.Memory = defaultMemory
	}
	for _, d := range []struct {
		field string
		value *time.Duration
		usual time.Duration
	}{{"SuspendAfter", &c.SuspendAfter, defaultSuspend}, {"DeleteAfter", &c.DeleteAfter, defaultDelete}} {
		if *d.value == 0 {
			*d.value = d.usual
		}
		if *d.value < time.Second || *d.value%time.Second != 0 {
			return c, sandbox.Finding{
				Code: sandbox.CodeOutOfRange, Subject: d.field, Found: d.value.String(),
				Required: "whole seconds, at least one", Remedy: "leave it at zero for " + d.usual.String(),
			}.Refusal(nil)
		}
	}
	return c, nil
}

// clients are the way to the group's sandboxes, and the one to the group itself. The
// second takes a refusal for an answer: whoever waits for a role would keep every
// sandbox waiting.
func (c Config) clients() (data, arm *acasapi.Client, err error) {
	cfg := acasapi.Config{
		Location: c.Location, DataEndpoint: c.Endpoint, ARMEndpoint: c.ARMEndpoint,
		RootCAs: c.RootCAs, Transport: c.Transport, Credential: c.Credential,
	}
	for _, endpoint := range []string{c.Endpoint, c.ARMEndpoint} {
		if endpoint != "" {
			cfg.ExactEndpoints = append(cfg.ExactEndpoints, endpoint)
		}
	}
	if data, err = acasapi.New(cfg); err != nil {
		return nil, nil, err
	}
	if endpoint, cloud := data.Endpoint(wire.Data); endpoint != "" && !cloud && cfg.ARMEndpoint == "" {
		cfg.ARMEndpoint = endpoint // an emulator is both
	}
	cfg.RoleWait = -1
	arm, err = acasapi.New(cfg)
	return data, arm, err
}

// declarations are the facts on the service's own hosts, reached over the network and
// known by the system's roots. Elsewhere the same abilities are declared, and everything
// that would have to be believed is an emulator's word.
func (e *Engine) declarations() sandbox.Declarations {
	d := Declarations()
	if _, cloud := e.client.Endpoint(wire.Data); cloud && e.config.Transport == nil && e.config.RootCAs == nil {
		return d
	}
	emulated := sandbox.Evidence{Kind: sandbox.EvidenceEmulated, Reference: "an endpoint that is not the service's"}
	d.Isolation, d.IsolationEvidence = e.config.EmulatorIsolation, emulated
	if d.Isolation == sandbox.IsolationUnspecified {
		d.Isolation = sandbox.IsolationNone
	}
	guarantees := make(map[sandbox.Guarantee]sandbox.Evidence, len(d.Guarantees))
	for g := range d.Guarantees {
		guarantees[g] = emulated
	}
	d.Guarantees = guarantees
	return d
}
