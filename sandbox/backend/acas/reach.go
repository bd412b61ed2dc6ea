package acas

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// reach finds what a sandbox could reach or be reached by beside its egress policy,
// or act as. None of it was asked for. A list that is not shown is not an empty one:
// the service always shows ports.
func reach(doc wire.Sandbox) error {
	for _, c := range []struct {
		has   bool
		code  sandbox.Code
		found string
	}{
		{doc.Ports == nil, sandbox.CodeReuseDiffers, "nothing about its ports"},
		{len(doc.Ports) > 0, sandbox.CodeReuseDiffers, strconv.Itoa(len(doc.Ports)) + " exposed ports" + firstPort(doc.Ports)},
		{doc.VNetConnectionName+doc.CustomerVNetConnectionName != "", sandbox.CodeReuseDiffers, "a connection to a network of somebody's"},
		{len(doc.Connections) > 0, sandbox.CodeReuseDiffers, "connections"},
		{len(doc.GatewayConnections) > 0, sandbox.CodeReuseDiffers, "gateway connections"},
		{len(doc.CredentialRefs) > 0, sandbox.CodeAttachedIdentity, "credentials, which its programs can use"},
		{len(doc.AgentIdentity) > 0, sandbox.CodeAttachedIdentity, "an agent's identity, which its programs can use"},
	} {
		if c.has {
			return reachable(doc, c.code, c.found, "none")
		}
	}
	for _, path := range wire.Unknown(doc) {
		if aboutReach(path) {
			return reachable(doc, sandbox.CodeReuseDiffers, "what is not known here: "+sandbox.Echo(path), "what this release can judge")
		}
	}
	return nil
}

// aboutReach reports that a member may say of what a sandbox reaches. A known name in
// other letters is not known either.
func aboutReach(path string) bool {
	name := strings.ToLower(path)
	return slices.ContainsFunc([]string{"egress", "port", "ident", "vnet", "proxy", "network", "connection", "credential"}, func(word string) bool {
		return strings.Contains(name, word)
	})
}

func firstPort(ports []wire.Port) string {
	if len(ports) == 0 {
		return ""
	}
	return ", the first " + strconv.Itoa(ports[0].Port)
}

func reachable(doc wire.Sandbox, code sandbox.Code, found, required string) error {
	return sandbox.Finding{
		Code: code, Subject: "sandbox " + sandbox.Echo(doc.ID), Found: found, Required: required, Remedy: "dispose the sandbox, then acquire",
	}.Refusal(nil)
}
