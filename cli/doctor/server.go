package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The times of the checks of a server.
const (
	serverTime  = 5 * time.Second
	certSoon    = 30 * 24 * time.Hour // before the end of a certificate
	clockApart  = 2 * time.Second     // the Date header has whole seconds
	clockBroken = time.Minute
)

var noAddress = Finding{"server", Failure, "the address is not one of a server", "use ws://HOST:PORT or https://HOST"}

// server checks the way to a server: reachability, state, clocks and certificate.
func server(ctx context.Context, address string) []Finding {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return []Finding{noAddress}
	}
	secure := u.Scheme == "wss" || u.Scheme == "https" || u.Scheme == "grpcs"
	u.Scheme = map[bool]string{true: "https", false: "http"}[secure]
	u.User, u.RawQuery, u.Path = nil, "", "/ready"
	ctx, stop := context.WithTimeout(ctx, serverTime)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return []Finding{noAddress}
	}
	began := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return []Finding{unreachable(u.Host, err)}
	}
	defer res.Body.Close()
	took := time.Since(began).Round(10 * time.Microsecond)
	out := []Finding{{"server", OK, fmt.Sprintf("%s is ready, answers in %v", u.Host, took), ""}}
	if res.StatusCode != http.StatusOK {
		text := fmt.Sprintf("%s answers but is not ready (status %d)", u.Host, res.StatusCode)
		out[0] = Finding{"server", Failure, text, "its log says why: an import, the disk, or it stops"}
	}
	if !secure && !local(u.Host) {
		text := "the connection to " + u.Host + " is not encrypted"
		out = append(out, Finding{"tls", Warning, text, "use wss:// or https://"})
	}
	if res.TLS != nil && len(res.TLS.PeerCertificates) > 0 {
		out = append(out, certificate(res.TLS.PeerCertificates[0].NotAfter, time.Now()))
	}
	if at, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		out = append(out, apart(time.Since(at)))
	}
	return out
}

func unreachable(host string, err error) Finding {
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		return Finding{"tls", Failure, "the certificate of " + host + " is not accepted: " + cert.Err.Error(),
			"renew it, or use the name that it is for"}
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return Finding{"server", Failure, "the host " + dns.Name + " is not known", "check the address"}
	}
	return Finding{"server", Failure, host + " does not answer",
		"is it running? nacre start runs one; -e names another address"}
}

// certificate judges the end of a certificate.
func certificate(end, now time.Time) Finding {
	left := end.Sub(now)
	text := fmt.Sprintf("the certificate ends on %s, in %d days", end.Format(time.DateOnly), int(left.Hours()/24))
	switch {
	case left <= 0:
		return Finding{"tls", Failure, "the certificate ended on " + end.Format(time.DateOnly), "renew it"}
	case left < certSoon:
		return Finding{"tls", Warning, text, "renew it"}
	}
	return Finding{"tls", OK, text, ""}
}

// apart judges how far the clock here is before that of the server.
func apart(d time.Duration) Finding {
	level, hint := OK, ""
	switch d = d.Abs(); {
	case d > clockBroken:
		level, hint = Failure, "set one of them: tokens are refused otherwise"
	case d > clockApart:
		level, hint = Warning, "run a time service on both"
	}
	return Finding{"server clock", level, fmt.Sprintf("%v apart from the clock here", d.Round(time.Second)), hint}
}

// local reports whether an address is of this machine.
func local(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
