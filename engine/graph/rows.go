package graph

import (
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// answer gathers the rows of a program: objects with a field for each column.
type answer struct {
	x       *runner
	names   []string // of the columns, in order
	from    []int    // the places of the columns in a row
	out     *exec.Out
	list    []value.Value
	objects value.Objects
	packed  *value.Packed // not nil: rows are encoded and not kept
	fields  []value.Field // of the row that is encoded
	object  *value.Object
	sum     int
}

// answerTo is the answer of a program; out is where the caller wants it: nil: as values.
func (p *Program) answerTo(x *runner, out *exec.Out) *answer {
	a := &answer{x: x, names: p.names, from: p.from, out: out, list: x.answers[:0]}
	if out != nil && !out.AsValues {
		a.packed = &value.Packed{}
		a.object, a.fields = value.MakeObject(len(a.names))
	}
	return a
}

// sortColumns notes in which order objects have the columns.
func (p *Program) sortColumns() {
	p.from = make([]int, len(p.query.columns))
	for i := range p.from {
		p.from[i] = i
	}
	slices.SortFunc(p.from, func(a, b int) int { return strings.Compare(p.query.columns[a], p.query.columns[b]) })
	for _, i := range p.from {
		p.names = append(p.names, p.query.columns[i])
	}
}

// outFor takes the place for the rows of p, where that is what r runs.
func (p *Program) outFor(r *exec.Run) *exec.Out {
	if r.Out == nil {
		return nil
	}
	if s, ok := r.Out.Of.(*ast.GQL); !ok || s.Program != any(p) {
		return nil
	}
	return r.Out
}

// row adds a row.
func (a *answer) row(cols []slot) error {
	o, fields := a.object, a.fields
	if a.packed == nil {
		o, fields = a.objects.Make(len(a.names))
	}
	for i, at := range a.from {
		v, err := a.x.value(&cols[at])
		if err != nil {
			return err
		}
		if a.out != nil && a.packed == nil {
			v = value.Detach(v)
		}
		fields[i] = value.Field{Name: a.names[i], Value: v}
	}
	row, err := a.x.r.Checked(value.ObjectOf(o))
	if err != nil {
		return err
	}
	if a.packed != nil {
		return a.pack(row)
	}
	r := a.x.r
	if a.sum += value.Weight(row); a.sum < 0 {
		return errs.LargeAnswer(r.Ex.Limits.Answer)
	}
	if err := r.Mem.Reach(a.sum); err != nil { // not charged: what a search has charged is taken back at its end
		return err
	}
	if len(a.list) >= r.Ex.Limits.Rows {
		return a.tooMany()
	}
	a.list = append(a.list, row)
	return nil
}

func (a *answer) tooMany() error {
	return errs.Internal("The statement would answer more than %d rows", a.x.r.Ex.Limits.Rows)
}

// pack encodes a row.
func (a *answer) pack(row value.Value) error {
	r := a.x.r
	if value.Exceeds(row, r.Ex.Limits.Answer-a.packed.Size()) {
		return errs.LargeAnswer(r.Ex.Limits.Answer)
	}
	if a.packed.Len() >= r.Ex.Limits.Rows {
		return a.tooMany()
	}
	a.packed.Append(row)
	return r.Mem.Reach(a.packed.Size())
}

// giveBack leaves the memory of the list to the next run.
func (a *answer) giveBack() {
	if cap(a.list) <= pooledElements {
		clear(a.list)
		a.x.answers = a.list[:0]
	}
}

// value is the answer as the statement gives it.
func (a *answer) value() value.Value {
	if a.packed != nil {
		a.out.Packed = a.packed
		return value.ArrayOf(nil)
	}
	if a.out != nil {
		a.out.Detached = true
	}
	list := make([]value.Value, len(a.list))
	copy(list, a.list)
	return value.ArrayOf(list)
}
