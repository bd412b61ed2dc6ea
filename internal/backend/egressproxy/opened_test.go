package egressproxy

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func readAll(resp *http.Response) (reply, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(body), resp.Close}, err
}

// authorityIsConfined holds the certificate that guests are to trust against
// hosts that it has no business with.
func authorityIsConfined(s *scene) error {
	block, rest := pem.Decode(s.proxy.CAPEM())
	if block == nil || len(rest) > 0 || block.Type != "CERTIFICATE" {
		return errors.New("CAPEM is not one certificate")
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	if !ca.PermittedDNSDomainsCritical || len(ca.PermittedDNSDomains) == 0 || len(ca.ExcludedIPRanges) != 2 || !ca.MaxPathLenZero {
		return errors.New("the authority is not constrained")
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	verify := func(host string, addr netip.Addr, name string) error {
		cert, err := s.proxy.authority.Certificate(host, addr, time.Now())
		if err != nil {
			return err
		}
		leaf, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil {
			return err
		}
		_, err = leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name})
		return err
	}
	if err := verify(goodHost, netip.Addr{}, goodHost); err != nil {
		return fmt.Errorf("a certificate for its own host: %w", err)
	}
	if verify(evilHost, netip.Addr{}, evilHost) == nil {
		return errors.New("it has a good certificate for another host")
	}
	if verify("", netip.MustParseAddr("11.0.0.9"), "11.0.0.9") == nil {
		return errors.New("it has a good certificate for an address")
	}
	return nil
}

// narrowed holds a tunnel and an opened connection open while the rules change.
func narrowed(s *scene) error {
	through, err := s.tls(goodHost+":443", goodHost, false)
	if err != nil {
		return err
	}
	defer through.Close()
	opened, err := s.tls(evilHost+":443", evilHost, true, "http/1.1")
	if err != nil {
		return err
	}
	defer opened.Close()
	parse := func(name string, r sandbox.EgressRule) egress.Rule {
		parsed, _ := egress.ParseRule(name, r, nil)
		return parsed
	}
	same := egress.NewSet([]egress.Rule{parse("api", rule(goodHost, "443", "*", "*")), parse("evil", rule(evilHost, "443", "GET", "/v1"))})
	if n := s.proxy.Reload(same); n != 0 {
		return fmt.Errorf("%d connections were ended by rules that admit them", n)
	}
	ask := func(path string) (reply, error) {
		if _, err := fmt.Fprintf(opened, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, evilHost); err != nil {
			return reply{}, err
		}
		return readReply(newReader(opened), http.MethodGet)
	}
	r, err := ask("/v1")
	if err := allowed("the next request, under the new rules", r, err); err != nil {
		return err
	}
	if n := s.proxy.Reload(nil); n < 2 { // the request that was answered may count as well
		return fmt.Errorf("%d of 2 connections were ended by rules that admit nothing", n)
	}
	if err := steps(closedByPeer(through), closedByPeer(opened)); err != nil {
		return err
	}
	return s.events.code(sandbox.CodeEgressRulesChanged)
}
