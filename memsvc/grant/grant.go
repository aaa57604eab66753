// Package grant decides what a caller may do and see: scopes, patterns, clauses and regions. Every check of the service
// is made here; everything that is not granted is refused.
package grant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// Verb is one right.
type Verb string

// The verbs.
const (
	Read        Verb = "memory:read"
	Write       Verb = "memory:write"
	Forget      Verb = "memory:forget"
	ScopeRead   Verb = "scope:read"
	ScopeCreate Verb = "scope:create"
	ScopeDelete Verb = "scope:delete"
	Manage      Verb = "grant:manage"
)

// Verbs are all of them.
var Verbs = []Verb{Read, Write, Forget, ScopeRead, ScopeCreate, ScopeDelete, Manage}

// Limits of scopes.
const (
	MaxDepth   = 16
	MaxSegment = 128
	MaxClauses = 64
)

// Root is the scope above all others.
const Root = "/"

// Path makes the canonical form of a scope: segments joined by slashes, no slash at the ends; / is the root.
func Path(s string) (string, error) {
	s = strings.TrimSpace(s)
	trimmed := strings.Trim(s, "/")
	if trimmed == "" {
		if s == "" {
			return "", fmt.Errorf("a scope is empty")
		}
		return Root, nil
	}
	segments := strings.Split(trimmed, "/")
	if len(segments) > MaxDepth {
		return "", fmt.Errorf("a scope is deeper than %d", MaxDepth)
	}
	for _, seg := range segments {
		if seg == "" || len(seg) > MaxSegment || seg == "." || seg == ".." || strings.ContainsFunc(seg, badRune) {
			return "", fmt.Errorf("the scope %.60q has a bad segment", s)
		}
	}
	return trimmed, nil
}

func badRune(r rune) bool { return r < 0x20 || r == 0x7f || r == '*' || r == 0xFFFD }

// Under reports whether path is node or below it.
func Under(path, node string) bool {
	return node == Root || path == node || (strings.HasPrefix(path, node) && path[len(node)] == '/')
}

// Pattern is a set of scopes: one node, or a node and all below.
type Pattern struct {
	Node string
	Deep bool
}

// ParsePattern reads a pattern: a/b, a/b/* or *.
func ParsePattern(s string) (Pattern, error) {
	s = strings.TrimSpace(s)
	if s == "*" || s == "/*" {
		return Pattern{Root, true}, nil
	}
	head, deep := strings.CutSuffix(s, "/*")
	node, err := Path(head)
	return Pattern{node, deep}, err
}

// String is the text that ParsePattern reads.
func (p Pattern) String() string {
	switch {
	case !p.Deep:
		return p.Node
	case p.Node == Root:
		return "*"
	}
	return p.Node + "/*"
}

// covers reports whether path is in the set.
func (p Pattern) covers(path string) bool {
	if p.Deep {
		return Under(path, p.Node)
	}
	return path == p.Node
}

// meet returns the pattern that matches exactly where both match.
func (p Pattern) meet(q Pattern) (Pattern, bool) {
	switch {
	case p.covers(q.Node) && (p.Deep || !q.Deep):
		return q, true
	case q.covers(p.Node) && (q.Deep || !p.Deep):
		return p, true
	case p.Deep && !q.Deep && p.covers(q.Node):
		return q, true
	case p.Node == q.Node:
		return Pattern{p.Node, p.Deep && q.Deep}, true
	}
	return Pattern{}, false
}

// Grants lists the scopes that a principal may read and write, as texts: the form that is stored and sent as JSON.
type Grants map[string][]string

// UnmarshalJSON reads a map from verbs to patterns. A pattern is a text, or an object whose keys and values in their
// order are the segments of a scope.
func (g *Grants) UnmarshalJSON(b []byte) error {
	var raw map[string][]PatternText
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	if raw == nil {
		*g = nil
		return nil
	}
	out := make(Grants, len(raw))
	for verb, ps := range raw {
		list := make([]string, len(ps))
		for i, p := range ps {
			list[i] = string(p)
		}
		out[verb] = list
	}
	*g = out
	return nil
}

// PatternText is the text of a pattern in a request.
type PatternText string

// UnmarshalJSON reads a text, or an object such as {"org": "acme", "user": "alice"}, which is org/acme/user/alice.
func (p *PatternText) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return json.Unmarshal(b, (*string)(p))
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	var parts []string
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var value string
		if err := dec.Decode(&value); err != nil {
			return err
		}
		parts = append(parts, key.(string), value)
	}
	*p = PatternText(strings.Join(parts, "/"))
	return nil
}

// Check reads every verb and pattern of g.
func (g Grants) Check() error {
	for verb, patterns := range g {
		if !known(Verb(verb)) {
			return fmt.Errorf("there is no verb %.40q", verb)
		}
		if len(patterns) > MaxClauses {
			return fmt.Errorf("%s has more than %d patterns", verb, MaxClauses)
		}
		for _, p := range patterns {
			if _, err := ParsePattern(p); err != nil {
				return fmt.Errorf("%s: %w", verb, err)
			}
		}
	}
	return nil
}

func known(v Verb) bool {
	for _, k := range Verbs {
		if k == v {
			return true
		}
	}
	return false
}

// All are the grants of an administrator.
func All() Grants {
	g := Grants{}
	for _, v := range Verbs {
		g[string(v)] = []string{"*"}
	}
	return g
}

// patterns gives those of a verb; a text that does not parse grants nothing.
func (g Grants) patterns(v Verb) []Pattern {
	var out []Pattern
	for _, s := range g[string(v)] {
		if p, err := ParsePattern(s); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// Within reports whether everything that g grants, outer grants too.
func (g Grants) Within(outer Grants) bool {
	for verb := range g {
		for _, p := range g.patterns(Verb(verb)) {
			ok := false
			for _, q := range outer.patterns(Verb(verb)) {
				m, meets := p.meet(q)
				ok = ok || (meets && m == p)
			}
			if !ok {
				return false
			}
		}
	}
	return true
}

// Region is the grants of a caller: what all of the layers allow (principal, key, delegation).
type Region struct{ verbs map[Verb][]Pattern }

// Intersect makes the region that every one of the layers grants. No layer grants nothing.
func Intersect(layers ...Grants) Region {
	r := Region{verbs: map[Verb][]Pattern{}}
	for _, v := range Verbs {
		for i, g := range layers {
			if i == 0 {
				r.verbs[v] = g.patterns(v)
				continue
			}
			var both []Pattern
			for _, p := range r.verbs[v] {
				for _, q := range g.patterns(v) {
					if m, ok := p.meet(q); ok {
						both = append(both, m)
					}
				}
			}
			r.verbs[v] = both
		}
	}
	return r
}

// May reports whether the region holds a verb at path.
func (r Region) May(v Verb, path string) bool {
	for _, p := range r.verbs[v] {
		if p.covers(path) {
			return true
		}
	}
	return false
}

// Any reports whether the region holds a verb anywhere.
func (r Region) Any(v Verb) bool { return len(r.verbs[v]) > 0 }

// Everywhere reports whether the region holds a verb at every scope.
func (r Region) Everywhere(v Verb) bool {
	for _, p := range r.verbs[v] {
		if p.Deep && p.Node == Root {
			return true
		}
	}
	return false
}

// Grants is the region as texts, sorted.
func (r Region) Grants() Grants {
	g := Grants{}
	for v, ps := range r.verbs {
		for _, p := range ps {
			g[string(v)] = append(g[string(v)], p.String())
		}
		sort.Strings(g[string(v)])
	}
	return g
}

// Key names the region for caches: equal regions, equal keys.
func (r Region) Key() string {
	var b strings.Builder
	g := r.Grants()
	for _, v := range Verbs {
		fmt.Fprintf(&b, "%s=%s;", v, strings.Join(g[string(v)], ","))
	}
	return b.String()
}

// sees reports whether a record at path is visible: inside of the region, or above a node of it, since what holds
// for an organisation holds for its members.
func (r Region) sees(v Verb, path string) bool {
	for _, p := range r.verbs[v] {
		if p.covers(path) || Under(p.Node, path) {
			return true
		}
	}
	return false
}

// Clauses are the scopes of a record: one clause with all of its paths covered suffices.
type Clauses [][]string

// Visible reports whether a verb of the region reaches a record: no clause, no sight.
func (r Region) Visible(v Verb, c Clauses) bool {
	for _, clause := range c {
		ok := len(clause) > 0
		for _, path := range clause {
			ok = ok && r.sees(v, path)
		}
		if ok {
			return true
		}
	}
	return false
}

// Writable reports whether the region may change a record: every clause with all of its paths inside of it.
func (r Region) Writable(v Verb, c Clauses) bool {
	for _, clause := range c {
		for _, path := range clause {
			if !r.May(v, path) {
				return false
			}
		}
		if len(clause) == 0 {
			return false
		}
	}
	return len(c) > 0
}

// Home is the clauses of a write that names no scope: the roots of the write region.
func (r Region) Home() Clauses {
	var out Clauses
	seen := map[string]bool{}
	for _, p := range r.verbs[Write] {
		if !seen[p.Node] && len(out) < MaxClauses {
			seen[p.Node] = true
			out = append(out, []string{p.Node})
		}
	}
	return out.canonical()
}

// Lens narrows a read to records that involve the scopes of one of its clauses. An empty lens matches everything.
func (c Clauses) Lens(record Clauses) bool {
	if len(c) == 0 {
		return true
	}
	for _, want := range c {
		ok := true
		for _, node := range want {
			ok = ok && record.involve(node)
		}
		if ok {
			return true
		}
	}
	return false
}

func (c Clauses) involve(node string) bool {
	for _, clause := range c {
		for _, path := range clause {
			if Under(path, node) {
				return true
			}
		}
	}
	return false
}

// Key names the clauses; the same set has the same key.
func (c Clauses) Key() string {
	parts := make([]string, len(c))
	for i, clause := range c {
		parts[i] = strings.Join(clause, "\x1f")
	}
	return strings.Join(parts, "\x1e")
}

// canonical sorts clauses and their paths, without doubles.
func (c Clauses) canonical() Clauses {
	seen := map[string]bool{}
	var out Clauses
	for _, clause := range c {
		clause = append([]string(nil), clause...)
		sort.Strings(clause)
		k := strings.Join(clause, "\x1f")
		if !seen[k] {
			seen[k] = true
			out = append(out, clause)
		}
	}
	sort.Slice(out, func(i, j int) bool { return strings.Join(out[i], "\x1f") < strings.Join(out[j], "\x1f") })
	return out
}

// Join is the clauses of both: a record that two writers share.
func (c Clauses) Join(d Clauses) Clauses {
	return append(append(Clauses(nil), c...), d...).canonical()
}

// Without drops the clauses that touch node or what is below.
func (c Clauses) Without(node string) Clauses {
	var out Clauses
	for _, clause := range c {
		if !(Clauses{clause}).involve(node) {
			out = append(out, clause)
		}
	}
	return out
}

// ParseClauses reads what a request gives: a path, a list of paths (any of them), or a list of lists (all of one of
// them). A path may be an object of pairs. nil stands for nothing given.
func ParseClauses(v any) (Clauses, error) {
	var out Clauses
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []any:
		if len(v) == 0 {
			return nil, fmt.Errorf("a set of scopes is empty")
		}
		for _, e := range v {
			clause, err := parseClause(e)
			if err != nil {
				return nil, err
			}
			out = append(out, clause)
		}
	default:
		clause, err := parseClause(v)
		if err != nil {
			return nil, err
		}
		out = Clauses{clause}
	}
	if len(out) > MaxClauses {
		return nil, fmt.Errorf("there are more than %d clauses", MaxClauses)
	}
	return out.canonical(), nil
}

func parseClause(v any) ([]string, error) {
	switch v := v.(type) {
	case string:
		p, err := Path(v)
		return []string{p}, err
	case []any:
		if len(v) == 0 || len(v) > MaxDepth {
			return nil, fmt.Errorf("a clause holds from 1 to %d scopes", MaxDepth)
		}
		var out []string
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("a scope is a text")
			}
			p, err := Path(s)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
		return out, nil
	}
	return nil, fmt.Errorf("scopes are a path, a list of paths, or a list of lists of paths")
}

// Caller is who makes a call: a principal through one of its keys.
type Caller struct {
	Context    string
	Principal  string
	Kind       string
	Key        string // id of the key
	OnBehalfOf string // the principal that the caller acts for; "" for itself
	Region     Region
}
