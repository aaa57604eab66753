package http

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Origins say which web pages may call.
type Origins struct {
	// Allow are the origins of pages that may call, beside the server's own; "*" for all.
	Allow []string
	// Closed is for a server that gives rights to everybody who reaches it: a page of another origin may not even read,
	// and the server answers under its own names only. Else any page could make its own name lead to the server (DNS
	// rebinding), and be the server's own origin.
	Closed bool
}

// any reports whether every origin is allowed.
func (o *Origins) any() bool { return slices.Contains(o.Allow, "*") }

// allows reports whether an origin is in the list.
func (o *Origins) allows(origin string) bool {
	return slices.ContainsFunc(o.Allow, func(allowed string) bool {
		return allowed == "*" || origin != "" && strings.EqualFold(strings.TrimSuffix(allowed, "/"), origin)
	})
}

// admits reports whether a request may come from the web page that sends it, if it is one. Clients that are no browsers
// send no Origin, and are not concerned.
//
// SECURITY: browsers send WebSocket upgrades and plain POSTs to any server without asking it first. CORS only keeps the
// answer from the page.
func (o *Origins) admits(r *http.Request) bool {
	if o.any() {
		return true
	}
	if o.Closed && (!o.known(r.Host) || crossSite(r)) {
		return false
	}
	if !o.Closed && !changes(r) {
		return true
	}
	for _, origin := range r.Header.Values("Origin") {
		if !o.allows(origin) && !sameHost(origin, r.Host) {
			return false
		}
	}
	return true
}

// changes reports whether a request may change something: all but those that only read. A GET of an endpoint is up to
// its code.
func changes(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return isUpgrade(r) || strings.HasPrefix(r.URL.Path, "/api/")
	}
	return true
}

// sameHost reports whether a page of origin comes from the host that it calls. Which scheme that is does not matter: in
// front of the server there may be a proxy that ends TLS.
func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// crossSite reports whether a browser says that a page of another site sends the request, where no Origin says which.
func crossSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return (site == "cross-site" || site == "same-site") && r.Header.Get("Origin") == "" && !probes(r.URL.Path)
}

// probes reports whether a path tells about the server alone.
func probes(path string) bool {
	switch path {
	case "/", "/status", "/health", "/version", "/ready":
		return true
	}
	return false
}

// known reports whether host is a name of a closed server: an address, which no name server can make lead elsewhere,
// localhost, or the host of an origin that is allowed.
func (o *Origins) known(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil || name == "" || name == "localhost" ||
		strings.HasSuffix(name, ".localhost") {
		return true
	}
	return slices.ContainsFunc(o.Allow, func(allowed string) bool {
		u, err := url.Parse(allowed)
		return err == nil && strings.EqualFold(u.Hostname(), name)
	})
}

// foreign refuses a request of a page that may not call.
var foreign = &refusal{http.StatusForbidden, "The origin of the request is not allowed; --allow-origin names those that are"}
