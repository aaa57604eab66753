package model

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// errForeign is the refusal of an address that a tenant named.
var errForeign = errors.New("the address is not one that a tenant may name")

// foreignTransport makes the connections to addresses that tenants name. The address is checked when the connection is
// made, after its name was resolved, so a name that changes its address cannot pass; no proxy of the environment is
// used, which would resolve names out of sight.
func foreignTransport(privateOK bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			if at, err := netip.ParseAddrPort(address); err != nil || !foreignAddress(at.Addr(), privateOK) {
				return errForeign
			}
			return nil
		}}
	return &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 32,
		IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 1 << 20}
}

// sharedRange is the address space between providers and their customers (RFC 6598).
var sharedRange = netip.MustParsePrefix("100.64.0.0/10")

// metadataV6 is where the machines of one cloud ask for their credentials over IPv6; those of IPv4 are link-local.
var metadataV6 = netip.MustParseAddr("fd00:ec2::254")

// foreignAddress says whether a tenant may name an address: never one of the link (where clouds keep the credentials of
// a machine), a group or none; one of the machine itself or of a private network only with privateOK.
func foreignAddress(a netip.Addr, privateOK bool) bool {
	a = a.Unmap()
	switch {
	case !a.IsValid(), a.IsLinkLocalUnicast(), a.IsMulticast(), a == metadataV6:
		return false
	case a.IsLoopback(), a.IsPrivate(), a.IsUnspecified(), sharedRange.Contains(a), embedsV4(a):
		return privateOK
	}
	return a.IsGlobalUnicast()
}

// embedsV4 says whether an IPv6 address stands for an IPv4 one behind a translator (NAT64, RFC 6052; 6to4, RFC 3056).
func embedsV4(a netip.Addr) bool {
	return netip.MustParsePrefix("64:ff9b::/96").Contains(a) || netip.MustParsePrefix("2002::/16").Contains(a)
}
