package process

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// opened are rules whose host is looked into, and one whose host is passed through.
func opened() sandbox.Egress {
	return sandbox.Egress{
		Hosts: []string{"through.example.com"},
		Rules: map[string]sandbox.EgressRule{"read": rule("api.example.com", "443", "GET", "/v1")},
	}
}

func TestEgressRulesWithMethodsAndPathsHoldInsideTLS(t *testing.T) {
	t.Parallel()
	world := newWorld(t, "api.example.com", "through.example.com")
	e := newEngine(t, inWorld(t, world))
	b := startWith(t, e, "a", opened())
	if got := b.prints(curl + "https://api.example.com/v1/x"); got != "GET api.example.com/v1/x" {
		t.Errorf("%q", got)
	}
	for _, refused := range []string{"-X POST https://api.example.com/v1/x", "https://api.example.com/v2", "--path-as-is https://api.example.com/v1/../v2"} {
		out := b.prints(curl + "-w ' %{http_code}' " + refused)
		if !strings.Contains(out, `"code":"egress.`) || !strings.HasSuffix(out, " 403") && !strings.HasSuffix(out, " 400") {
			t.Errorf("%s: %q", refused, out)
		}
	}
	issuer := b.prints(curl + "-v https://through.example.com/ 2>&1 | grep issuer")
	if strings.Contains(issuer, "sandbox") || !strings.Contains(issuer, "world") {
		t.Errorf("a host whose rules ask for nothing is looked into: %s", issuer)
	}
}

// Each is told in its own way; none is told on its command line.
func TestProgramsFindEgressAndTrustItByThemselves(t *testing.T) {
	t.Parallel()
	world := newWorld(t, "api.example.com", "through.example.com")
	e := newEngine(t, inWorld(t, world))
	b := startWith(t, e, "a", opened())
	b.put("/work/Get.java", []byte(`
import java.net.*; import java.net.http.*;
class Get { public static void main(String[] a) throws Exception {
  for (String u : a) System.out.println(new String(new URL(u).openStream().readAllBytes()));
  HttpClient c = HttpClient.newBuilder().proxy(ProxySelector.getDefault()).version(HttpClient.Version.HTTP_1_1).build();
  for (String u : a) System.out.println(c.send(HttpRequest.newBuilder(URI.create(u)).build(), HttpResponse.BodyHandlers.ofString()).body());
} }`))
	b.put("/work/get.py", []byte(`
import sys, urllib.request
for u in sys.argv[1:]: print(urllib.request.urlopen(u, timeout=20).read().decode())`))
	b.put("/work/get.js", []byte(`
const http = require('http'), tls = require('tls');
for (const u of process.argv.slice(2)) {
  const url = new URL(u), proxy = new URL(process.env.HTTPS_PROXY);
  http.request({host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: url.hostname + ':443', headers: {Host: url.hostname + ':443'}}).on('connect', (r, socket) => {
    const s = tls.connect({socket, servername: url.hostname}, () => { console.log(s.authorized); s.write('GET ' + url.pathname + ' HTTP/1.1\r\nHost: ' + url.hostname + '\r\nConnection: close\r\n\r\n'); });
    s.on('data', d => process.stdout.write(d));
  }).end();
}`))
	const both = " https://api.example.com/v1 https://through.example.com/"
	b.upload("/work/get", probe(t))
	// Git and pip find a repository with nothing in it.
	for program, c := range map[string]struct{ command, says string }{
		"curl":    {curl + both, "GET through.example.com/"},
		"python3": {"/usr/bin/python3 get.py" + both, "GET through.example.com/"},
		"java":    {"java -Xmx128m -XX:+UseSerialGC Get.java" + both + " 2>&1", "GET through.example.com/"},
		"node":    {"node get.js" + both, "GET through.example.com/"},
		"sh":      {"./get get" + both, "GET through.example.com/"}, // a program in Go
		"git":     {"for u in" + both + "; do git ls-remote $u || exit 1; done 2>&1", ""},
		"pip3":    {"/usr/bin/pip3 download --no-cache-dir --disable-pip-version-check -i https://api.example.com/v1 x 2>&1; true", "No matching distribution"},
	} {
		if program == "java" && (inGVisor(e) || os.Getenv(asUser) != "") {
			continue // it takes its time there, and is told the same
		}
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			b := box{t, b.guest}
			_, err := os.Stat(b.prints("command -v " + program + " || echo /nowhere"))
			need(t, err == nil, program)
			out, code, err := b.try(t.Context(), "/bin/sh", "-c", c.command)
			if err != nil || code != 0 || !strings.Contains(out, c.says) {
				t.Errorf("exit code %d, %v: %s", code, err, out)
			}
			if strings.HasPrefix(c.says, "GET") && !strings.Contains(out, "GET api.example.com/v1") {
				t.Errorf("what is opened is not answered: %s", out)
			}
		})
	}
}

func TestOneSandboxesEgressAuthorityIsWorthNothingInAnother(t *testing.T) {
	t.Parallel()
	world := newWorld(t, "api.example.com")
	e := newEngine(t, inWorld(t, world))
	a, b := startWith(t, e, "a", opened()), startWith(t, e, "b", opened())
	leaf := a.prints(`openssl s_client -proxy 127.0.0.1:3128 -connect api.example.com:443 -servername api.example.com </dev/null 2>/dev/null | openssl x509`)
	for name, box := range map[string]box{"a": a, "b": b} {
		box.put("/work/leaf.pem", []byte(leaf))
		out, code := box.sh("openssl verify -CAfile /run/egress/ca.pem leaf.pem 2>&1")
		if (code == 0) != (name == "a") {
			t.Errorf("%s: %d, %s", name, code, out)
		}
	}
}

// What a guest is shown of its authority, and what there is on the host's disk.
func TestNoKeyOfAnEgressAuthorityIsInAnyFile(t *testing.T) {
	t.Parallel()
	world := newWorld(t, "api.example.com")
	c := inWorld(t, world)
	e := newEngine(t, c)
	b := startWith(t, e, "a", opened())
	b.prints(curl + "https://api.example.com/v1")
	store := b.prints("base64 -w0 /run/egress/ca.p12")
	text := b.prints("cat /run/egress/ca.pem")
	if n := strings.Count(text, "BEGIN CERTIFICATE"); n != 2 || strings.Count(text, "BEGIN") != n {
		t.Errorf("the bundle: %s", text)
	}
	raw, err := base64.StdEncoding.DecodeString(store)
	if err != nil {
		t.Fatal(err)
	}
	certs, err := pkcs12.DecodeTrustStore(raw, "")
	if err != nil || len(certs) != 2 {
		t.Errorf("the store has %d certificates, %v", len(certs), err)
	}
	block, _ := pem.Decode([]byte(text))
	if cert, err := x509.ParseCertificate(block.Bytes); err != nil || !cert.Equal(certs[0]) || !cert.PermittedDNSDomainsCritical {
		t.Errorf("the first of the bundle is another than the first of the store, or speaks for anybody: %v", err)
	}
	dirs := []string{c.StateDir, e.host.outlets.dir}
	if e.host.bundles != "" {
		dirs = append(dirs, e.host.bundles)
	}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			if bytes.Contains(content, []byte("PRIVATE KEY")) || bytes.Contains(content, privateKeyOID) {
				return fmt.Errorf("%s may hold a key", d.Name())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// privateKeyOID begins an elliptic curve's key in PKCS #8: version 0, its
// algorithm and its curve.
var privateKeyOID = []byte{0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01}
