package catalog

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Reading lists the fields of the current record that an expression or a statement reads. It may name more than that.
type Reading struct {
	Fields []string // each once, in order; the first part of every path
	All    bool     // it may look at the record as a whole
}

// Reads reports whether the field may be looked at.
func (r *Reading) Reads(field string) bool { return r.All || slices.Contains(r.Fields, field) }

func (r *Reading) add(field string) {
	if !slices.Contains(r.Fields, field) {
		r.Fields = append(r.Fields, field)
	}
}

// ReadingOf finds what expressions read: the paths in them, also those of rows of their own, as they may be those of
// the record; $this, $self and $parent; functions that take the names of fields as text. What writes inside of them may
// read anything.
func ReadingOf(xs ...ast.Expr) *Reading {
	r := &Reading{}
	for _, x := range xs {
		ast.Inspect(x, r.visit)
	}
	return r
}

// ReadingOfSelect finds what a SELECT reads of its rows.
func ReadingOfSelect(s *ast.Select) *Reading {
	r := &Reading{}
	ast.Inspect(s, r.visit)
	r.selected(s)
	return r
}

// selected notes the clauses of a SELECT that ast.Inspect leaves out.
func (r *Reading) selected(s *ast.Select) {
	if s.Group != nil {
		r.idioms(s.Group.By)
	}
	r.idioms(s.Split)
	if s.Order != nil {
		for _, k := range s.Order.Keys {
			ast.Inspect(k.Key, r.visit)
		}
	}
	for _, x := range slices.Concat(s.Fetch, s.Omit) {
		if _, path := x.(*ast.Idiom); !path {
			r.All = true // a parameter, or a function that gives names
		}
		ast.Inspect(x, r.visit)
	}
}

func (r *Reading) idioms(paths []*ast.Idiom) {
	for _, id := range paths {
		ast.Inspect(id, r.visit)
	}
}

// readingOfData finds what the data clause and the condition of a statement read of the records that it writes.
func readingOfData(d *ast.Data, where ast.Expr) *Reading {
	r := ReadingOf(where)
	if d == nil {
		return r
	}
	for i := range d.Set {
		ast.Inspect(d.Set[i].X, r.visit)
		ast.Inspect(d.Set[i].Place, r.visit)
	}
	r.idioms(d.Unset)
	ast.Inspect(d.X, r.visit)
	r.All = r.All || d.Kind == ast.DataPatch // its operations name paths as texts
	return r
}

func (r *Reading) visit(n any) bool {
	switch n := n.(type) {
	case *ast.Idiom:
		return r.path(n.Parts)
	case *ast.Param:
		r.All = r.All || rowParam(n)
	case *ast.Script, *ast.GQL:
		r.All = true
	case *ast.Call:
		if n.Kind == ast.CallBuiltin && (n.Path == "type::field" || n.Path == "type::fields") {
			r.All = true
		}
	case *ast.Select:
		r.selected(n)
	case *ast.ExprStmt, *ast.Let, *ast.Return, *ast.Throw, *ast.If, *ast.For, *ast.Break, *ast.Continue, *ast.Sleep:
	case ast.Statement:
		r.All = true
	}
	return true
}

// path notes where a path begins. It is false where that has looked into the path already.
func (r *Reading) path(parts []ast.Part) bool {
	if len(parts) == 0 {
		return true
	}
	switch p := parts[0].(type) {
	case *ast.PartField:
		r.add(p.Name)
	case *ast.PartGraph:
	case *ast.PartStart:
		param, ok := p.X.(*ast.Param)
		if !ok || !rowParam(param) {
			return true
		}
		if name := nextName(parts); name != "" {
			r.add(name)
			for _, part := range parts[1:] {
				ast.Inspect(part, r.visit)
			}
			return false
		}
		r.All = true
	default:
		r.All = true
	}
	return true
}

func rowParam(p *ast.Param) bool { return p.Name == "this" || p.Name == "self" || p.Name == "parent" }

// nextName is the field that the second part of a path leads to; "" where it leads elsewhere.
func nextName(parts []ast.Part) string {
	if len(parts) < 2 {
		return ""
	}
	switch p := parts[1].(type) {
	case *ast.PartField:
		return p.Name
	case *ast.PartIndex:
		if l, ok := p.X.(*ast.Literal); ok && l.Value.Kind() == value.KindString {
			return l.Value.Str()
		}
	}
	return ""
}

// FirstField is the field of the record that a path begins with, "" where it begins with something else.
func FirstField(parts []ast.Part) string {
	switch p := parts[0].(type) {
	case *ast.PartField:
		return p.Name
	case *ast.PartStart:
		if this, ok := p.X.(*ast.Param); ok && (this.Name == "this" || this.Name == "self") {
			return nextName(parts)
		}
	}
	return ""
}

// fieldsNamed are the fields of the record that an expression names: the first part of every path in it, also behind
// $this and $self. The list is not nil.
func fieldsNamed(out []string, x ast.Expr) []string {
	if x == nil {
		return out
	}
	ast.Inspect(x, func(n any) bool {
		if id, ok := n.(*ast.Idiom); ok && len(id.Parts) > 0 {
			if name := FirstField(id.Parts); name != "" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
		return true
	})
	return out
}

// Needing is the table as a statement sees it that reads no more than r: without the COMPUTED fields that it, its other
// COMPUTED fields and the permissions do not read. What is kept by the pointer of a table belongs to Whole of it.
func (tb *Table) Needing(r *Reading) *Table {
	if r.All || len(tb.Computed) == 0 || tb.RulesReadComputed {
		return tb
	}
	return tb.narrowed(r)
}

// NeedingData is Needing for a statement that writes records, by its data clause and its condition.
func (tb *Table) NeedingData(d *ast.Data, where ast.Expr) *Table {
	if len(tb.Computed) == 0 { // nothing to look for
		return tb
	}
	return tb.Needing(readingOfData(d, where))
}

// narrowed is Needing without the fields that permissions read.
func (tb *Table) narrowed(r *Reading) *Table {
	needed := make([]bool, len(tb.Computed))
	for again := true; again; {
		again = false
		for i, f := range tb.Computed {
			if !needed[i] && r.Reads(f.Path[0].Name) {
				needed[i], again = true, true
				inner := ReadingOf(f.Define.Computed)
				if inner.All {
					return tb
				}
				r = &Reading{Fields: slices.Concat(r.Fields, inner.Fields)}
			}
		}
	}
	var kept []*Field
	for i, f := range tb.Computed {
		if needed[i] {
			kept = append(kept, f)
		}
	}
	if len(kept) == len(tb.Computed) {
		return tb
	}
	out := *tb
	out.Computed, out.whole = kept, tb.Whole()
	return &out
}

// wholeRecord finds a record of an event that is used as a whole in its text.
var wholeRecord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$(before|after|value|this|self|parent)\b($|[^.\[\w])`)
})

// eventView is the table with the COMPUTED fields that the text of an event names, or all where it uses the record as a
// whole.
func (tb *Table) eventView(e *Event) *Table {
	if len(tb.Computed) == 0 {
		return tb
	}
	text := ast.Text(e.Define)
	if wholeRecord().MatchString(text) {
		return tb
	}
	r := &Reading{}
	for _, f := range tb.Computed {
		if strings.Contains(text, f.Path[0].Name) {
			r.add(f.Path[0].Name)
		}
	}
	return tb.narrowed(r)
}

// Whole is the table with all of its COMPUTED fields.
func (tb *Table) Whole() *Table {
	if tb.whole != nil {
		return tb.whole
	}
	return tb
}

// inOrder sorts fields so that each comes after those that it reads, as far as they do not read one another; else they
// stay in the order of their names. Fields of one name at the top stay together.
func inOrder(fields []*Field, reads func(*Field) []string) []*Field {
	groups, names := map[string][]*Field{}, []string{}
	needs := map[string][]string{}
	for _, f := range fields {
		name := f.Path[0].Name
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], f)
		needs[name] = append(needs[name], reads(f)...)
	}
	out, state := make([]*Field, 0, len(fields)), map[string]bool{} // state: being visited (false) or done (true)
	var visit func(name string)
	visit = func(name string) {
		if _, seen := state[name]; seen || groups[name] == nil {
			return
		}
		state[name] = false
		for _, n := range needs[name] {
			visit(n)
		}
		state[name] = true
		out = append(out, groups[name]...)
	}
	for _, name := range names {
		visit(name)
	}
	return out
}

// clauseReads are the fields that the VALUE and DEFAULT of a field read.
func clauseReads(f *Field) []string {
	return fieldsNamed(fieldsNamed(nil, f.Define.Value), f.Define.Default)
}

func computedReads(f *Field) []string { return fieldsNamed(nil, f.Define.Computed) }

// Circle finds fields that depend on one another, with the field called name defined as d: COMPUTED ones by what they
// compute, others by VALUE and DEFAULT. It gives the names on the way round, the first one twice; nil: there are none.
// A field that reads itself is no circle unless it is COMPUTED.
func (tb *Table) Circle(name string, d *ast.DefineField) []string {
	reads := clauseReads
	if d.Computed != nil {
		reads = computedReads
	}
	needs := map[string][]string{}
	add := func(f *Field) {
		at := f.Path[0].Name
		needs[at] = slices.Concat(needs[at], reads(f))
	}
	for _, f := range tb.Fields {
		if f.Name != name && (f.Define.Computed != nil) == (d.Computed != nil) {
			add(f)
		}
	}
	add(&Field{Define: d, Path: PathOf(d.Name)})
	if d.Computed == nil {
		for n := range needs {
			needs[n] = slices.DeleteFunc(needs[n], func(read string) bool { return read == n })
		}
	}
	names := make([]string, 0, len(needs))
	for n := range needs {
		names = append(names, n)
	}
	slices.Sort(names)
	// the way round is shown from the field that is defined
	if at := slices.Index(names, PathOf(d.Name)[0].Name); at > 0 {
		names[0], names[at] = names[at], names[0]
	}
	s := circleSearch{needs: needs, done: map[string]bool{}}
	for _, n := range names {
		if s.visit(n) {
			return s.way
		}
	}
	return nil
}

// circleSearch walks dependencies depth first.
type circleSearch struct {
	needs map[string][]string
	done  map[string]bool // those from which no circle is reached
	way   []string
}

func (s *circleSearch) visit(name string) (found bool) {
	if s.done[name] || len(s.needs[name]) == 0 {
		return false
	}
	if at := slices.Index(s.way, name); at >= 0 {
		s.way = append(s.way[at:], name)
		return true
	}
	s.way = append(s.way, name)
	for _, n := range s.needs[name] {
		if s.visit(n) {
			return true
		}
	}
	s.way = s.way[:len(s.way)-1]
	s.done[name] = true
	return false
}
