package auth

import (
	"strings"

	"github.com/nacredb/nacre/engine/errs"
)

// Capabilities limit what the engine does for any client, on top of its rights. The zero value allows nothing;
// of an allow and a deny that both match, the deny wins. Every front door and the evaluator ask the May methods, and
// nothing else decides about a capability.
type Capabilities struct {
	Functions    Filter // "string::len", "http" (a family); "fn" for those of users
	Net          Filter // host, host:port, CIDR; matched by the caller that resolves names
	RPC          Filter // method names
	HTTP         Filter // route names
	Query        Filter // "guest", "record", "system"
	Eval         Filter // likewise: whose statements may run texts by eval::surql
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

// open reports whether f allows every name there is.
func (f Filter) open() bool { return f.Allow.All && !f.Deny.All && len(f.Deny.Names) == 0 }

// MayCall refuses a function: "string::len", "fn::greet". How it is called (by name, as a method, as an aggregate,
// inside of a definition) makes no difference. A nil c refuses nothing.
func (c *Capabilities) MayCall(path string) error {
	if c == nil || c.Functions.open() || c.Functions.AllowsFunction(path) {
		return nil
	}
	return errs.NotAllowed("Function '%s' is not allowed to be executed", path)
}

// MayCallCustom is MayCall for the function fn::name.
func (c *Capabilities) MayCallCustom(name string) error {
	if c == nil || c.Functions.open() {
		return nil
	}
	return c.MayCall("fn::" + name)
}

// MayCallModel is MayCall for the model ml::name.
func (c *Capabilities) MayCallModel(name string) error {
	if c == nil || c.Functions.open() {
		return nil
	}
	return c.MayCall("ml::" + name)
}

// MayTry refuses an experimental feature. A nil c refuses nothing.
func (c *Capabilities) MayTry(feature string) error {
	if c == nil || c.Experimental.Allows(feature) {
		return nil
	}
	return errs.NotAllowed("Experimental capability `%s` is not enabled", feature)
}

// MayScript refuses embedded scripts with the error refusal. A nil c allows none.
func (c *Capabilities) MayScript(refusal error) error {
	if c != nil && c.Scripting {
		return nil
	}
	return refusal
}

// MayUse refuses a method of the RPC protocol on every transport. A nil c refuses nothing.
func (c *Capabilities) MayUse(method string) error {
	if c == nil || c.RPC.Allows(method) {
		return nil
	}
	return errs.With(errs.KindNotAllowed, "Method", map[string]any{"name": method}, "Method not allowed")
}

// MayVisit refuses an HTTP route. A nil c refuses nothing.
func (c *Capabilities) MayVisit(route string) error {
	if c == nil || c.HTTP.Allows(route) {
		return nil
	}
	return errs.NotAllowed("The HTTP route '%s' is forbidden", route)
}

// MayEnter refuses a principal without an identity where there are no guests.
func (c *Capabilities) MayEnter(p *Principal) error {
	if p.Level != Guest || c.Guests {
		return nil
	}
	return errs.NotAllowed("Anonymous access not allowed: Not enough permissions to perform this action")
}

// The classes of principals that Capabilities.Query names.
const (
	classGuest  = "guest"
	classRecord = "record"
	classSystem = "system"
)

// Classes are the names that Capabilities.Query may hold.
func Classes() []string { return []string{classGuest, classRecord, classSystem} }

// MayQuery refuses statements of a client's own making by the class of its principal. Endpoints that the database
// defines and sign-in are not bound by it.
func (c *Capabilities) MayQuery(p *Principal) error {
	if who := p.class(); !c.Query.Allows(who) {
		return errs.NotAllowed("Statements are not allowed for %s sessions", who)
	}
	return nil
}

// MayEval refuses texts that a statement makes and runs, by the class of the session's principal. Who may not send
// statements may not make them either.
func (c *Capabilities) MayEval(p *Principal) error {
	if c == nil {
		return nil
	}
	if err := c.MayQuery(p); err != nil {
		return err
	}
	if who := p.class(); !c.Eval.Allows(who) {
		return errs.NotAllowed("Evaluating statements is not allowed for %s sessions", who)
	}
	return nil
}

// class returns the kind of principal that p is: guest, record or system.
func (p *Principal) class() string {
	switch {
	case p.IsSystem():
		return classSystem
	case p.Level == Guest:
		return classGuest
	}
	return classRecord
}

// DefaultCapabilities allow functions, methods, routes and queries, and deny network access, scripting,
// guests and experiments.
func DefaultCapabilities() *Capabilities {
	return &Capabilities{Functions: Everything(), RPC: Everything(), HTTP: Everything(), Query: Everything()}
}

// AllCapabilities allow everything but eval::surql, which has to be asked for: for embedding with a trusted caller, and
// tests.
func AllCapabilities() *Capabilities {
	c := DefaultCapabilities()
	c.Net, c.Experimental, c.Scripting, c.Guests = Everything(), Everything(), true, true
	return c
}
