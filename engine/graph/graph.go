// Package graph gives ISO GQL its meaning: it binds the trees of engine/gql, plans them, and runs them over the records
// of one database.
//
// A pattern runs as a chain of operators (scan, expand, repeat, check) that bind variables in one row of slots and go
// on, and take the bindings back when they return: no path is held that LIMIT or a search does not want. Records come
// from exec.Run and record.Gate alone, so permissions, computed fields, indexes and the transaction's own writes are
// those of every statement. A Program belongs to no session and is safe for concurrent use.
package graph

import (
	"context"
	"slices"
	"sync"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// Program is a text that was bound: its names are resolved, and it is ready to run.
type Program struct {
	src    *gql.Program
	query  *query
	slots  int
	writes bool
	names  []string  // of the columns, in order
	from   []int     // the places of those in a row
	idle   sync.Pool // of *runner: the memory of runs before
}

// Prepare parses and binds a text. Errors are of kind Validation and name the place.
func Prepare(text string, opt gql.Options) (*Program, error) {
	src, err := gql.Parse(text, opt)
	if err != nil {
		return nil, err
	}
	b := &binder{src: text}
	q, err := b.query(src.Query, newScope(nil), need{result: true, first: true})
	if err != nil {
		return nil, err
	}
	p := &Program{src: src, query: q, slots: b.slots, writes: b.writes}
	p.sortColumns()
	return p, nil
}

// Writes reports whether the program may write.
func (p *Program) Writes() bool { return p.writes && !p.src.Explain }

// Weight is about how many bytes the program takes.
func (p *Program) Weight() int { return len(p.src.Source)*32 + p.slots*64 }

// Statement is the program as a statement of a query.
func (p *Program) Statement() *ast.GQL {
	return &ast.GQL{Program: p, Writes: p.Writes(), Answers: p.query.returns || p.src.Explain}
}

// Run runs the program in the transaction of r: an array with an object for each row of the result.
func (p *Program) Run(ctx context.Context, r *exec.Run) (value.Value, error) {
	if err := r.Enter(ctx); err != nil {
		return value.None, err
	}
	defer r.Leave()
	x, err := p.runner(ctx, r)
	if err != nil {
		return value.None, err
	}
	out := p.outFor(r)
	if was := r.Out; was != nil {
		r.Out = nil // what runs inside has its own
		defer func() { r.Out = was }()
	}
	v, err := p.run(x, out)
	p.giveBack(x)
	return v, err
}

// run makes the answer; out is where its rows go, nil: into the answer.
func (p *Program) run(x *runner, out *exec.Out) (value.Value, error) {
	if p.src.Explain {
		return x.explain(p)
	}
	r := x.r
	defer r.Mem.Rewind(r.Mem.Mark())
	a := p.answerTo(x, out)
	err := p.query.run(x, nil, func(cols []slot) error {
		if !p.query.returns {
			return nil
		}
		return a.row(cols)
	})
	defer a.giveBack()
	if err != nil {
		return value.None, err
	}
	if !p.query.returns {
		return value.ArrayOf([]value.Value{}), nil
	}
	return a.value(), nil
}

// slotKind is the kind of content of a slot.
type slotKind uint8

const (
	isNull slotKind = iota
	isValue
	isNode
	isEdge
	isList // of what a quantified pattern has bound
	isPath
)

// slot is the binding of a variable in a row.
type slot struct {
	kind slotKind
	el   *element    // of a node or edge
	val  value.Value // of a value
	list []slot      // of a list: its elements; of a path: nodes and edges by turns
}

func nodeSlot(e *element) slot { return slot{kind: isNode, el: e} }

func valueSlot(v value.Value) slot {
	if v.IsNullish() {
		return slot{kind: isNull, val: v}
	}
	return slot{kind: isValue, val: v}
}

// runner is a program at work. It belongs to one goroutine.
type runner struct {
	ctx  context.Context // of the program
	r    *exec.Run
	g    *record.Gate
	row  []slot
	seen elements
	aggs []value.Value // of the group whose row is made

	tables []*table // that were met

	closed    [closings]closing
	closeNext int

	answers []value.Value // room for the rows of the answer
	match   *match        // the memory of one that is idle; nil: none is

	plans map[*matchStep]op
	found int // rows that patterns have found
	deep  int // edges of the paths at work
}

// runner is the state of a run of the program, in the memory of an earlier run where one is idle.
func (p *Program) runner(ctx context.Context, r *exec.Run) (*runner, error) {
	g, err := r.Gate()
	if err != nil {
		return nil, err
	}
	x, _ := p.idle.Get().(*runner)
	if x == nil {
		x = &runner{row: make([]slot, p.slots), seen: newElements()}
	}
	x.ctx, x.r, x.g = ctx, r, g
	return x, nil
}

// giveBack lets another run of the program have the memory of x, and nothing else of it.
func (p *Program) giveBack(x *runner) {
	x.seen.reset()
	clear(x.row)
	*x = runner{row: x.row, seen: x.seen, answers: x.answers, match: x.match}
	p.idle.Put(x)
}

// forget drops what was read: something was written.
func (x *runner) forget() {
	x.seen.forget()
	x.closed = [closings]closing{}
	x.tables = slices.DeleteFunc(x.tables, func(t *table) bool { return t.id == 0 })
	for _, t := range x.tables {
		t.loaded = false
	}
}

// value returns the content of a slot, records as SELECT * shows them; NULL for what is missing.
func (x *runner) value(s *slot) (value.Value, error) {
	switch s.kind {
	case isValue:
		return s.val, nil
	case isNode, isEdge:
		doc, ok, err := x.document(s)
		if err != nil || !ok {
			return value.Null, err
		}
		return doc, nil
	case isList, isPath:
		out, weight := make([]value.Value, len(s.list)), 0
		for i := range s.list {
			v, err := x.value(&s.list[i])
			if err != nil {
				return value.None, err
			}
			if weight += value.Weight(v); weight > x.r.Ex.Limits.Answer {
				return value.None, errs.LargeAnswer(x.r.Ex.Limits.Answer)
			}
			if err := x.r.Mem.Reach(weight); err != nil {
				return value.None, err
			}
			out[i] = v
		}
		return value.ArrayOf(out), nil
	}
	if s.val.IsNone() {
		return s.val, nil
	}
	return value.Null, nil
}

// binder resolves the names of a text and makes what runs.
type binder struct {
	src    string
	slots  int
	writes bool
	inAgg  bool // inside of the argument of an aggregate
	aggs   *[]*aggregate
	labels []string // the texts of the labels of edges
}

// fail is an error about a part of the text.
func (b *binder) fail(at gql.Span, format string, args ...any) error {
	return parse.Fail(b.src, errs.Internal(format, args...).Msg, parse.Block{Start: at.Start, End: at.End})
}

// varKind is the kind of thing that a variable stands for.
type varKind uint8

const (
	varNode varKind = iota
	varEdge
	varGroup // what a quantified pattern binds
	varPath
	varValue
)

func (k varKind) String() string {
	return [...]string{"a node", "an edge", "an edge group", "a path", "a value"}[k]
}

// variable is a name with its place in the row.
type variable struct {
	name     string
	slot     int
	kind     varKind
	optional bool      // it was first bound inside of an OPTIONAL
	wanted   bool      // something reads it: it is only bound, or gathered, then
	of       *variable // of a group: what it gathers
}

// want notes that something reads a variable.
func (v *variable) want() {
	for ; v != nil; v = v.of {
		v.wanted = true
	}
}

// scope is the names that can be seen.
type scope struct {
	up   *scope
	vars map[string]*variable
	list []*variable
}

func newScope(up *scope) *scope { return &scope{up: up, vars: map[string]*variable{}} }

func (s *scope) find(name string) *variable {
	for ; s != nil; s = s.up {
		if v := s.vars[name]; v != nil {
			return v
		}
	}
	return nil
}

// declare adds a variable with a slot of its own.
func (b *binder) declare(sc *scope, name string, kind varKind) *variable {
	v := &variable{name: name, slot: b.slots, kind: kind}
	b.slots++
	if name != "" {
		sc.vars[name] = v
		sc.list = append(sc.list, v)
	}
	return v
}

// lookup finds a variable that a text reads.
func (b *binder) lookup(sc *scope, n gql.Name) (*variable, error) {
	v := sc.find(n.Text)
	if v == nil {
		return nil, b.fail(n.Span, "Unknown variable `%s`", n.Text)
	}
	v.want()
	return v, nil
}
