package auth

import "strings"

// Capabilities are what the engine may do for anybody, whatever their rights. The zero value allows nothing;
// of an allow and a deny that both match, the deny wins.
type Capabilities struct {
	Functions    Filter // "string::len", "http" (a family)
	Net          Filter // host, host:port, CIDR; matched by the caller that resolves names
	RPC          Filter // method names
	HTTP         Filter // route names
	Query        Filter // "guest", "record", "system"
	Experimental Filter // "files", …
	Scripting    bool
	Guests       bool
}

// Filter is an allow list and a deny list.
type Filter struct{ Allow, Deny Set }

// Set is everything, or named things. Names are lower case.
type Set struct {
	All   bool
	Names map[string]bool
}

// Everything allows all names.
func Everything() Filter { return Filter{Allow: Set{All: true}} }

// NewSet makes a set of names.
func NewSet(names ...string) Set {
	s := Set{Names: make(map[string]bool, len(names))}
	for _, n := range names {
		s.Names[strings.ToLower(n)] = true
	}
	return s
}

// Has reports whether s holds name.
func (s Set) Has(name string) bool { return s.All || s.Names[name] }

// Allows reports whether name is allowed and not denied.
func (f Filter) Allows(name string) bool { return f.Allow.Has(name) && !f.Deny.Has(name) }

// AllowsFunction reports whether the function at a path may be called: its family ("http") or full path
// ("http::get") is allowed, and neither is denied.
func (f Filter) AllowsFunction(path string) bool {
	family, _, _ := strings.Cut(path, "::")
	return (f.Allow.Has(path) || f.Allow.Has(family)) && !f.Deny.Has(path) && !f.Deny.Has(family)
}

// DefaultCapabilities allow functions, methods, routes and queries, and deny network access, scripting,
// guests and experiments.
func DefaultCapabilities() *Capabilities {
	return &Capabilities{Functions: Everything(), RPC: Everything(), HTTP: Everything(), Query: Everything()}
}

// AllCapabilities allow everything: for embedding with a trusted caller, and tests.
func AllCapabilities() *Capabilities {
	c := DefaultCapabilities()
	c.Net, c.Experimental, c.Scripting, c.Guests = Everything(), Everything(), true, true
	return c
}
