package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasguests"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// emulatedGroup is a group on an emulator that runs programs.
func emulatedGroup(t *testing.T) acas.Config {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("this machine lacks bubblewrap")
		}
		t.Skip("this machine lacks bubblewrap")
	}
	config := process.Config{StateDir: filepath.Join(t.TempDir(), "state"), Notice: func(text string) { t.Log(text) }}
	if os.Geteuid() == 0 {
		config.Users = process.Users{First: 2_120_000_000 + uint32(os.Getpid()%10_000)*100, Count: 100}
	}
	guests, err := acasguests.New(t.Context(), acasguests.Config{Process: config, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := guests.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	emulator, err := acasemu.New(acasemu.Config{State: filepath.Join(t.TempDir(), "acas.db"), Guests: guests, Pace: &acasemu.Pace{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := emulator.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	const here = "https://emulator.example.test"
	client, err := acasapi.New(acasapi.Config{ARMEndpoint: here, DataEndpoint: here, ExactEndpoints: []string{here}, Transport: emulator.Transport(), Credential: auth.Emulator{}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	group := acasapi.GroupID{Subscription: "00000000-0000-0000-0000-0000000000aa", ResourceGroup: "rg", Name: "g"}
	if _, err := client.PutGroup(t.Context(), group, wire.Group{Location: "swedencentral"}, acasapi.Wait{}); err != nil {
		t.Fatal(err)
	}
	return acas.Config{
		Subscription: group.Subscription, ResourceGroup: group.ResourceGroup, Group: group.Name,
		Endpoint: here, Transport: emulator.Transport(), Credential: auth.Emulator{},
	}
}

// The suites as `sandboxctl conformance` runs them in a group, with programs.
func TestTheServicesBackendConformsOnTheEmulator(t *testing.T) { //nolint:paralleltest // it keeps a machine busy
	b, err := acas.New(emulatedGroup(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	requires := *b.Declarations().Capabilities
	sandboxtest.Run(t, sandboxtest.Subject{
		Name: acas.Name, Backend: b, Except: notInGroup(),
		Must: []string{"EXEC", "EXEC_HOSTILE", "FILES_IN", "FILES_OUT", "FILES_LIST", "FILES_DELETE", "REUSE", "NOTHING_LEFT_BEHIND", "BOUNDARY"},
		Spec: sandbox.Spec{Kind: "probe", Requires: &requires, Image: sandbox.Image{Prebuilt: "ubuntu"}, Egress: sandbox.Egress{Mode: sandbox.EgressClosed}},
	})
}

// A name that is spelled wrongly would except nothing.
func TestWhatIsExceptedIsAProbe(t *testing.T) {
	t.Parallel()
	probes := map[string]bool{}
	for _, suite := range conformance.Suites() {
		for _, probe := range suite.Probes {
			probes[suite.Name+"/"+probe.Name] = true
		}
	}
	for name, reason := range notInGroup() {
		if !probes[name] || reason == "" {
			t.Errorf("%s is no probe, or has no reason", name)
		}
	}
}
