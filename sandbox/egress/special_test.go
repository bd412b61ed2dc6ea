package egress

import (
	"net/netip"
	"testing"
)

func TestANameMayResolveToNoSpecialPurposeAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ special, ordinary string }{
		{"0.0.0.0", "1.0.0.0"},
		{"10.255.255.255", "11.0.0.0"},
		{"100.64.0.1", "100.63.255.255"},
		{"100.127.255.255", "100.128.0.0"},
		{"127.0.0.1", "126.255.255.255"},
		{"169.254.169.254", "169.253.255.255"},
		{"172.16.0.1", "172.15.255.255"},
		{"172.31.255.255", "172.32.0.0"},
		{"192.0.0.1", "192.0.1.0"},
		{"192.0.2.1", "192.0.3.0"},
		{"192.31.196.1", "192.31.197.0"},
		{"192.52.193.1", "192.52.194.0"},
		{"192.88.99.1", "192.88.98.255"},
		{"192.168.0.1", "192.167.255.255"},
		{"192.175.48.6", "192.175.49.0"},
		{"198.18.0.1", "198.17.255.255"},
		{"198.19.255.255", "198.20.0.0"},
		{"198.51.100.1", "198.51.101.0"},
		{"203.0.113.1", "203.0.114.0"},
		{"224.0.0.1", "223.255.255.255"},
		{"255.255.255.255", "223.255.255.254"},
		{"168.63.129.16", "168.63.129.17"},
		{"100.100.100.200", "100.128.0.1"},
		{"::", "2000::"},
		{"::1", "2000::1"},
		{"::7f00:1", "2a00::7f00:1"},
		{"::ffff:8.8.8.8", "8.8.8.8"},
		{"64:ff9b::8.8.8.8", "2606:4700::1111"},
		{"64:ff9b:1::a9fe:a9fe", "2606:4700::a9fe:a9fe"},
		{"100::1", "2100::1"},
		{"2001::1", "2001:200::1"},
		{"2001:2::1", "2001:600::1"},
		{"2001:10::1", "2001:4860::1"},
		{"2001:20::1", "2001:4861::1"},
		{"2001:db8::1", "2001:db9::1"},
		{"2002:808:808::1", "2003::1"},
		{"2620:4f:8000::1", "2620:4f:8001::1"},
		{"3fff::1", "3fff:1000::1"},
		{"5f00::1", "2f00::1"},
		{"fc00::1", "2c0f::1"},
		{"fd00:ec2::254", "2a00:ec2::254"},
		{"fd00:ec2::23", "2a00:ec2::23"},
		{"fd20:ce::254", "2a00:ce::254"},
		{"fe80::1", "2e80::1"},
		{"fec0::1", "2ec0::1"},
		{"ff02::1", "2f02::1"},
	} {
		if why, special := SpecialAddress(netip.MustParseAddr(c.special)); !special || why == "" {
			t.Errorf("%s is not special", c.special)
		}
		if why, special := SpecialAddress(netip.MustParseAddr(c.ordinary)); special {
			t.Errorf("%s is %s", c.ordinary, why)
		}
	}
	if _, special := SpecialAddress(netip.Addr{}); !special {
		t.Error("no address is an ordinary one")
	}
	if _, special := SpecialAddress(netip.MustParseAddr("fe80::1%eth0")); !special {
		t.Error("a zone hides a link-local address")
	}
}

func TestMetadataIsRefusedInEveryFormThatCarriesIt(t *testing.T) {
	t.Parallel()
	for blocked, open := range map[string]string{
		"169.254.169.254":        "169.255.169.254",
		"::ffff:169.254.169.254": "::ffff:8.8.8.8",
		"64:ff9b::a9fe:a9fe":     "64:ff9b::808:808",
		"64:ff9b:1::a9fe:a9fe":   "64:ff9b::808:809",
		"2002:a9fe:a9fe::1":      "2002:808:808::1",
		"2001:0:a9fe:a9fe::1":    "2001:db8:a9fe::1",
		"::a9fe:a9fe":            "1::a9fe:a9fe",
		"fd00:ec2::123":          "fd00:ec2::124",
		"fd00:42::42":            "fd00:42::43",
	} {
		if _, got := BlockedAddress(netip.MustParseAddr(blocked)); !got {
			t.Errorf("%s can be opened by a rule", blocked)
		}
		if why, got := BlockedAddress(netip.MustParseAddr(open)); got {
			t.Errorf("%s cannot be opened by a rule: %s", open, why)
		}
	}
}
