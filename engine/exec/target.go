package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// TargetKind says what a statement works on.
type TargetKind uint8

// The kinds of targets.
const (
	TargetValue  TargetKind = iota // any other value: a row of SELECT, an error for writes
	TargetTable                    // Table
	TargetRecord                   // ID
	TargetRange                    // ID, whose key is a range
)

// Target is one thing that a statement works on.
type Target struct {
	Kind  TargetKind
	Table string          // of a table, record or range
	ID    *value.RecordID // of a record or range
	Value value.Value     // what the target was written as
}

// Targets evaluates what a write works on. Arrays (and mocks) are taken apart one level, arrays that are written out
// two; names in those are tables.
func (r *Run) Targets(ctx context.Context, env *Env, xs []ast.Expr) ([]Target, error) {
	out := make([]Target, 0, len(xs))
	for _, x := range xs {
		list, ok := x.(*ast.Array)
		if !ok {
			list = &ast.Array{Elems: []ast.Expr{x}}
		}
		for _, e := range list.Elems {
			var err error
			if out, err = r.appendTargets(ctx, env, out, e); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// appendTargets appends what x stands for; a list only in part.
func (r *Run) appendTargets(ctx context.Context, env *Env, out []Target, x ast.Expr) ([]Target, error) {
	if list, ok := x.(*ast.Array); ok {
		for _, e := range list.Elems {
			t, err := r.targetOf(ctx, env, e)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
		return out, nil
	}
	t, err := r.targetOf(ctx, env, x)
	if err != nil || t.Value.Kind() != value.KindArray {
		return append(out, t), err
	}
	for _, e := range t.Value.Elems() {
		out = append(out, TargetOf(e))
	}
	return out, nil
}

// targetOf evaluates one target.
func (r *Run) targetOf(ctx context.Context, env *Env, x ast.Expr) (Target, error) {
	for {
		p, ok := x.(*ast.Paren)
		if !ok {
			break
		}
		x = p.X
	}
	if id, ok := x.(*ast.Idiom); ok && len(id.Parts) == 1 {
		if f, ok := id.Parts[0].(*ast.PartField); ok {
			x = &ast.Table{Name: f.Name}
		}
	}
	if t, ok := x.(*ast.Table); ok {
		return Target{Kind: TargetTable, Table: t.Name, Value: value.TableOf(t.Name)}, nil
	}
	v, err := r.Value(ctx, env, x)
	return TargetOf(v), err
}

// TargetOf says what a single value is as a target.
func TargetOf(v value.Value) Target {
	switch v.Kind() {
	case value.KindTable:
		return Target{Kind: TargetTable, Table: v.Table(), Value: v}
	case value.KindRecord:
		id := v.Record()
		kind := TargetRecord
		if id.Key.Kind() == value.KindRange {
			kind = TargetRange
		}
		return Target{Kind: kind, Table: id.Table, ID: id, Value: v}
	}
	return Target{Kind: TargetValue, Value: v}
}
