package exec

import (
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

// Targets evaluates the FROM list of a statement, or what a write works on. Arrays (and mocks) are
// taken apart one level; nothing else is.
func (r *Run) Targets(env *Env, xs []ast.Expr) ([]Target, error) {
	out := make([]Target, 0, len(xs))
	for _, x := range xs {
		if t, ok := x.(*ast.Table); ok {
			out = append(out, Target{Kind: TargetTable, Table: t.Name, Value: value.TableOf(t.Name)})
			continue
		}
		v, err := r.Eval(env, x)
		if err != nil {
			return nil, err
		}
		if v.Kind() != value.KindArray {
			out = append(out, TargetOf(v))
			continue
		}
		for _, e := range v.Elems() {
			out = append(out, TargetOf(e))
		}
	}
	return out, nil
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
