// Package catalog holds the definitions of a store: namespaces, databases, tables and everything
// that DEFINE makes.
//
// A definition is its normalised syntax node plus an id and, where needed, facts that its canonical
// text does not show. It is stored as that text and read back through the parser, so INFO, export
// and the stored form can not disagree. Reading goes through the transaction at hand: it sees its
// own uncommitted definitions and no others. Parsed definitions are kept in a Cache for the
// whole engine and found again by schema version, so that a statement on a known table decodes
// nothing. The package does not check rights and does not touch records.
package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Scope is the place of a definition: ids of the namespace, database and table that it belongs to, 0 above.
// Ids are unique in the whole store and never used again.
type Scope struct{ NS, DB, TB uint32 }

// Def is one definition. It is immutable.
type Def struct {
	Scope Scope
	Kind  ast.DefKind
	Name  string        // the key that INFO lists it under
	ID    uint32        // of a namespace, database, table or index; else 0
	Stmt  ast.Statement // normalised; its Mode is ModeCreate
	Extra *value.Object // facts beside the text (STRICT of a database, SCRAM verifiers, …); never nil
	By    Definer       // who defined it
	raw   []byte        // the stored bytes, to see whether a cached Def is still the one
	rev   int64         // of a table
	place int64         // of a field, see Defined
	views []string      // of a table
}

// Definer is the authority that a definition was made with: the level of the user, and the roles as bits (1 VIEWER,
// 2 EDITOR, 4 OWNER; a role has those below it). The code of the definition never has more.
type Definer struct {
	Base  ast.Base
	Roles uint8
}

// everyRole are the roles of the definer of what earlier versions stored without one: an OWNER of the level.
const everyRole = 7

// Lower returns the common part of two definers: the lower level and the lower role.
func (d Definer) Lower(other Definer) Definer {
	return Definer{Base: max(d.Base, other.Base), Roles: d.Roles & other.Roles}
}

// Base is the level that a scope is on.
func (s Scope) Base() ast.Base {
	switch {
	case s.DB != 0:
		return ast.BaseDatabase
	case s.NS != 0:
		return ast.BaseNamespace
	}
	return ast.BaseRoot
}

// owner is an OWNER of the level of a scope.
func (s Scope) owner() Definer { return Definer{s.Base(), everyRole} }

// Namespace is a defined namespace.
type Namespace struct {
	*Def
	Define *ast.DefineNamespace
}

// Database is a defined database.
type Database struct {
	*Def
	NS     *Namespace
	Define *ast.DefineDatabase
}

// Inner is the scope of the definitions in the namespace.
func (ns *Namespace) Inner() Scope { return Scope{NS: ns.ID} }

// Inner is the scope of the definitions in the database.
func (db *Database) Inner() Scope { return Scope{NS: db.Scope.NS, DB: db.ID} }

// Table is the compiled view of a table: everything that a read or write of its records asks. It is immutable.
type Table struct {
	*Def
	DB      *Database
	Define  *ast.DefineTable
	Fields  []*Field // in order of their names
	Indexes []*Index // those that are Ready, in order of their names
	Unready []*Index // the others, likewise: of them writers keep those that are Building
	Events  []*Event // in order of their names
	Views   []string // tables defined AS SELECT … FROM this one, by name

	IDField  *Field   // DEFINE FIELD id, or nil
	Computed []*Field // the COMPUTED ones, each after those that it reads
	// HasRules: writes must go through the field pipeline (fields are defined, or SCHEMAFULL).
	HasRules bool
	// FieldReads: some field hides itself from some readers (its select permission is not FULL).
	FieldReads bool
	// GuardReadsComputed: the select permission of the table may look at COMPUTED fields.
	GuardReadsComputed bool
	// RulesReadComputed: that, or the select permission of some field, may look at COMPUTED fields.
	RulesReadComputed bool
	// References: some field is a REFERENCE.
	References bool
	// Open is the tree of names that a SCHEMAFULL table accepts; nil for schemaless ones.
	Open *Shape
	// Order is Fields in the order in which writes run their clauses: each after those that its VALUE and DEFAULT read.
	Order []*Field

	// EventViews are the table as each of Events sees it: with the COMPUTED fields that its text names.
	EventViews []*Table

	whole *Table // see Needing
}

// Inner is the scope of the definitions on the table.
func (tb *Table) Inner() Scope {
	return Scope{NS: tb.Scope.NS, DB: tb.Scope.DB, TB: tb.ID}
}

// Index finds an index by name, ready or not, or nil.
func (tb *Table) Index(name string) *Index {
	for _, list := range [2][]*Index{tb.Indexes, tb.Unready} {
		for _, ix := range list {
			if ix.Name == name {
				return ix
			}
		}
	}
	return nil
}

// Successor is the index that is built to take the place of the one with a name, or could not be, or nil.
func (tb *Table) Successor(name string) *Index { return tb.Index(stagedPrefix + name) }

// LastDefined is the index of a name as it was defined last: the one that is to take its place, if there is one, or the
// one that is there, or nil.
func (tb *Table) LastDefined(name string) *Index {
	if next := tb.Successor(name); next != nil {
		return next
	}
	return tb.Index(name)
}

// AllIndexes are the indexes of the table, ready or not, and those that are to take the place of others.
func (tb *Table) AllIndexes() []*Index {
	if len(tb.Unready) == 0 {
		return tb.Indexes
	}
	return slices.Concat(tb.Indexes, tb.Unready)
}

// Wanted are the indexes that the table has once all are built: of two with a name the new one, unless the records do
// not fit it.
func (tb *Table) Wanted() []*Index {
	var out []*Index
	for _, ix := range tb.AllIndexes() {
		next := tb.Successor(ix.Called())
		if replaced := next != nil && next.Build.State != Failed; ix.Staged() == replaced {
			out = append(out, ix)
		}
	}
	return out
}

// Field finds a field by its canonical name, or nil.
func (tb *Table) Field(name string) *Field {
	for _, f := range tb.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Field is a defined field.
type Field struct {
	*Def
	Define *ast.DefineField
	Path   []Step // the name taken apart

	// Optional: the type lets the value be NONE by name (option<T>).
	Optional bool
	// Skip is the path of a field around this one that is optional, or of any type: where it is NONE, this field is not
	// looked at. Nil: none.
	Skip []Step
}

// Step is one step of a field's path: a name, every element (or value), or one element.
type Step struct {
	Name string // with Index the number of the element, lastElement, or "" for one that no list has
	All  bool
	// Index is a step to one element of an array. In anything but an array it leads to the field of that name.
	Index bool
}

// lastElement is the Name of a step to the last element of an array, a[$].
const lastElement = "$"

// In is the place that an Index step leads to in an array of n elements; false where there is none.
func (s Step) In(n int) (int, bool) {
	if s.Name == lastElement {
		return n - 1, n > 0
	}
	i, err := strconv.Atoi(s.Name)
	return i, err == nil && i < n
}

// Named reports whether the step leads to a field of an object.
func (s Step) Named() bool { return !s.All && !(s.Index && (s.Name == "" || s.Name == lastElement)) }

// Index is a defined index.
type Index struct {
	*Def
	Define *ast.DefineIndex
	Paths  [][]Step // of the indexed fields; a nil one is an expression that must be evaluated
	// Whole has, for each field that ends with …, the path before it: a list there is one key and has no keys for its
	// elements. It is nil for other fields, and where no field ends so.
	Whole []ast.Expr
	Build Build
}

// Unique reports whether the index refuses a second record with the same values.
func (ix *Index) Unique() bool { return ix.Define.Kind == ast.IndexUnique }

// stagedPrefix stands before the name of an index that is to take the place of another one. No list shows it.
const stagedPrefix = "\x00next "

// StagedName is the name of a definition until it takes the place of the one that is called name.
func StagedName(name string) string { return stagedPrefix + name }

// Staged reports whether the index is to take the place of another one once it is built.
func (ix *Index) Staged() bool { return strings.HasPrefix(ix.Name, stagedPrefix) }

// Called is the name of the index as users know it.
func (ix *Index) Called() string { return strings.TrimPrefix(ix.Name, stagedPrefix) }

// Event is a defined event.
type Event struct {
	*Def
	Define *ast.DefineEvent
}

// Shape is a tree of accepted field names. Any: everything below is accepted. Elements with some named fields
// accept others too, as the reference does. So does a path that has fields below it but is no field itself.
type Shape struct {
	Any    bool
	Named  bool   // a field of its own; what has none is only on the way to others
	Elem   *Shape // of array elements ("*"); nil: none named
	Fields map[string]*Shape
	At     []ShapeAt // of single elements
}

// ShapeAt is the shape of one element of an array.
type ShapeAt struct {
	Step  Step
	Shape *Shape
}

// Element is the shape of element i of an array of n; nil where none is named.
func (s *Shape) Element(i, n int) *Shape {
	for _, a := range s.At {
		if k, ok := a.Step.In(n); ok && k == i {
			return a.Shape
		}
	}
	return s.Elem
}

func (s *Shape) child(st Step) *Shape {
	if st.All {
		if s.Elem == nil {
			s.Elem = &Shape{}
		}
		return s.Elem
	}
	if st.Index {
		for _, a := range s.At {
			if a.Step == st {
				return a.Shape
			}
		}
		s.At = append(s.At, ShapeAt{st, &Shape{}})
		return s.At[len(s.At)-1].Shape
	}
	if s.Fields == nil {
		s.Fields = map[string]*Shape{}
	}
	c := s.Fields[st.Name]
	if c == nil {
		c = &Shape{}
		s.Fields[st.Name] = c
	}
	return c
}

// compile fills in what follows from the definitions.
func (tb *Table) compile() {
	tb.HasRules = len(tb.Fields) > 0 || tb.Define.Schemafull
	mayBeMissing := tb.mayBeMissing()
	for _, f := range tb.Fields {
		d := f.Define
		f.Optional = allowsNone(d.Type)
		f.Skip = f.skip(mayBeMissing)
		if f.Name == "id" {
			tb.IDField = f
		}
		if d.Computed != nil {
			tb.Computed = append(tb.Computed, f)
		}
		if d.Permissions.Given && d.Permissions.Select.Kind != ast.PermissionFull {
			tb.FieldReads = true
		}
		if d.Reference != nil {
			tb.References = true
		}
	}
	tb.GuardReadsComputed = tb.readsComputed(&tb.Define.Permissions.Select)
	tb.RulesReadComputed = tb.GuardReadsComputed
	for _, f := range tb.Fields {
		tb.RulesReadComputed = tb.RulesReadComputed || tb.readsComputed(&f.Define.Permissions.Select)
	}
	if tb.Define.Schemafull {
		tb.Open = tb.shape()
	}
	tb.Order, tb.Computed = inOrder(tb.Fields, clauseReads), inOrder(tb.Computed, computedReads)
	for _, e := range tb.Events {
		tb.EventViews = append(tb.EventViews, tb.eventView(e))
	}
}

// readsComputed looks for the names of COMPUTED fields, and for the whole record, in the text of a permission.
func (tb *Table) readsComputed(p *ast.Permission) bool {
	where := p.Where
	if where == nil || len(tb.Computed) == 0 {
		return false
	}
	text := ast.Text(where)
	for _, f := range tb.Computed {
		if strings.Contains(text, f.Path[0].Name) {
			return true
		}
	}
	return strings.Contains(text, "$this") || strings.Contains(text, "*") || strings.Contains(text, "@")
}

// HidesPartOf reports whether an index is over something that a field hides from some readers; an index over
// expressions is taken for one.
func (tb *Table) HidesPartOf(ix *Index) bool {
	for _, path := range ix.Paths {
		if path == nil || tb.HidesPath(path) {
			return true
		}
	}
	return false
}

// HidesPath reports whether a field at path, around it or inside it hides itself from some readers.
func (tb *Table) HidesPath(path []Step) bool {
	for _, f := range tb.Fields {
		p := &f.Define.Permissions
		if !p.Given || p.Select.Kind == ast.PermissionFull {
			continue
		}
		if meet(path, f.Path) {
			return true
		}
	}
	return false
}

// meet reports whether what two paths lead to may be the same, or one inside the other. Names lead into the elements of
// lists as .* does, so a.b and a.*.b meet.
func meet(a, b []Step) bool {
	switch {
	case len(a) == 0 || len(b) == 0:
		return true
	case (a[0].All || a[0].Index) && (meet(a[1:], b) || meet(a[1:], b[1:])):
		return true
	case (b[0].All || b[0].Index) && (meet(a, b[1:]) || meet(a[1:], b[1:])):
		return true
	}
	return a[0] == b[0] && meet(a[1:], b[1:])
}

// mayBeMissing are the paths of the fields, of plain names, that may be NONE.
func (tb *Table) mayBeMissing() map[string]bool {
	out := map[string]bool{}
	for _, f := range tb.Fields {
		if d := f.Define; Plain(f.Path) && (allowsNone(d.Type) || isAny(d.Type)) {
			out[pathKey(f.Path)] = true
		}
	}
	return out
}

// pathKey is a text that no other path of plain names has.
func pathKey(path []Step) string {
	var b strings.Builder
	for _, s := range path {
		b.WriteString(strconv.Quote(s.Name))
	}
	return b.String()
}

// skip finds the innermost field around f that may be NONE, of those that come before it by plain names.
func (f *Field) skip(mayBeMissing map[string]bool) []Step {
	for n := len(f.Path) - 1; n > 0 && len(mayBeMissing) > 0; n-- {
		if outer := f.Path[:n]; Plain(outer) && mayBeMissing[pathKey(outer)] {
			return outer
		}
	}
	return nil
}

// Within reports whether path lies inside outer. One element lies inside of all elements.
func Within(path, outer []Step) bool {
	if len(path) <= len(outer) {
		return false
	}
	for i, st := range outer {
		if path[i] != st && !(st.All && path[i].Index) {
			return false
		}
	}
	return true
}

// isAny reports whether a definition says TYPE any; one without TYPE does not.
func isAny(t *value.Type) bool { return t != nil && t.Kind == value.TypeAny }

func allowsNone(t *value.Type) bool {
	if t == nil {
		return false
	}
	if t.Kind == value.TypeUnion {
		for _, a := range t.Alts {
			if allowsNone(a) {
				return true
			}
		}
	}
	return t.Kind == value.TypeNone
}

func (tb *Table) shape() *Shape {
	root := &Shape{}
	for _, f := range tb.Fields {
		s := root
		for _, st := range f.Path {
			s = s.child(st)
		}
		s.Named = true
		s.Any = s.Any || f.Define.Flexible || opensItself(f.Define.Type)
	}
	return root
}

// opensItself reports whether a type of its own says what may be inside, so that names below it are not
// looked up in the table: literal objects and elements of typed collections.
func opensItself(t *value.Type) bool {
	if t == nil {
		return false
	}
	switch t.Kind {
	case value.TypeAny, value.TypeFields, value.TypeTuple:
		return true
	case value.TypeUnion:
		for _, a := range t.Alts {
			if opensItself(a) {
				return true
			}
		}
	}
	return false
}

// PathOf takes a field name apart; parts other than names, .* and indexes do not occur in definitions.
func PathOf(name *ast.Idiom) []Step {
	if name == nil {
		return nil
	}
	out := make([]Step, 0, len(name.Parts))
	for _, p := range name.Parts {
		switch p := p.(type) {
		case *ast.PartField:
			out = append(out, Step{Name: p.Name})
		case *ast.PartStart:
			if t, ok := p.X.(*ast.Table); ok {
				out = append(out, Step{Name: t.Name})
			}
		case *ast.PartIndex:
			out = append(out, Step{Name: elementName(p.X), Index: true})
		case *ast.PartLast:
			out = append(out, Step{Name: lastElement, Index: true})
		default:
			out = append(out, Step{All: true})
		}
	}
	return out
}

// elementName is the number of an element as the Name of a step; "" for an index that no list has.
func elementName(x ast.Expr) string {
	if l, ok := x.(*ast.Literal); ok && l.Value.Kind() == value.KindInt && l.Value.Int() >= 0 {
		return strconv.FormatInt(l.Value.Int(), 10)
	}
	return ""
}

// indexPaths are the paths of an index's fields; nil for what is not a plain path.
func indexPaths(fields []ast.Expr) [][]Step {
	out := make([][]Step, len(fields))
next:
	for i, x := range fields {
		id, ok := x.(*ast.Idiom)
		if !ok {
			continue
		}
		for _, p := range id.Parts {
			switch p.(type) {
			case *ast.PartField, *ast.PartAll:
			default:
				continue next
			}
		}
		out[i] = PathOf(id)
	}
	return out
}

// wholeFields are the paths before … of an ordered or unique index's fields that end with it.
func wholeFields(def *ast.DefineIndex) []ast.Expr {
	if def.Kind != ast.IndexOrdered && def.Kind != ast.IndexUnique {
		return nil
	}
	var out []ast.Expr
	for i, x := range def.Fields {
		id, ok := x.(*ast.Idiom)
		if !ok || len(id.Parts) < 2 {
			continue
		}
		if _, flat := id.Parts[len(id.Parts)-1].(*ast.PartFlatten); !flat {
			continue
		}
		if out == nil {
			out = make([]ast.Expr, len(def.Fields))
		}
		out[i] = &ast.Idiom{Parts: id.Parts[:len(id.Parts)-1]}
	}
	return out
}

// IsWhole reports whether a list in field i is one key.
func (ix *Index) IsWhole(i int) bool { return i < len(ix.Whole) && ix.Whole[i] != nil }

// Plain reports whether a path is names only.
func Plain(path []Step) bool {
	for _, s := range path {
		if s.All || s.Index {
			return false
		}
	}
	return true
}

// PathText is a path in the form of error texts: a.*.b, unquoted.
func PathText(path []Step) string {
	var b strings.Builder
	for i, s := range path {
		if s.Index {
			b.WriteString("[" + s.Name + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		if s.All {
			b.WriteByte('*')
		} else {
			b.WriteString(s.Name)
		}
	}
	return b.String()
}
