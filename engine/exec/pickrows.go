package exec

import (
	"context"
	"fmt"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// eachRow picks the records of a target that meet a condition. f may write.
func (w *writer) eachRow(ctx context.Context, t *Target, tb *catalog.Table, act record.Action, with *ast.With,
	where ast.Expr, f func(*record.Row) error) error {
	each := func(row *record.Row) error {
		ok, err := w.meets(ctx, row, where)
		if !ok || err != nil {
			return err
		}
		return f(row)
	}
	w.row.search = searchesOf(where)
	switch t.Kind {
	case TargetRecord:
		return w.pick(ctx, tb, t.ID, act, each)
	case TargetRange:
		return w.g.EachRow(ctx, tb, t.ID.Key.Range(), act, each)
	}
	found, err := w.search(ctx, tb, with, where)
	if err != nil {
		return err
	}
	if found == nil {
		return w.g.EachRow(ctx, tb, nil, act, each)
	}
	elsewhere := plan.ReadsElsewhere(tb, where)
	if elsewhere {
		unfiltered(found)
	}
	ids, err := w.ids(ctx, found)
	if err != nil {
		return err
	}
	if elsewhere {
		slices.SortFunc(ids, func(a, b *value.RecordID) int { return value.Compare(a.Key, b.Key) })
	}
	for _, id := range ids {
		if err := w.r.Tick(ctx); err != nil {
			return err
		}
		if err := w.pick(ctx, tb, id, act, each); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) pick(ctx context.Context, tb *catalog.Table, id *value.RecordID, act record.Action,
	f func(*record.Row) error) error {
	row, err := w.g.Pick(ctx, tb, id, act)
	if row == nil || err != nil {
		return err
	}
	return f(row)
}

// search finds a better way to the records of a table than walking all of it; nil where there is none. Who may not read
// everything walks: what may be written is not what may be read. Only the nearest records can not be told by walking:
// they are those of the records that may be read.
func (w *writer) search(ctx context.Context, tb *catalog.Table, with *ast.With, where ast.Expr) (rows, error) {
	w.row.search = searchesOf(where)
	if where == nil || !w.r.Auth.CanRead() && (w.row.search == nil || w.row.search.knns == 0) {
		return nil, nil
	}
	from := []ast.Expr{&ast.Table{Name: tb.Name}}
	found, err := w.r.sourceFor(ctx, &w.row, &ast.Select{From: from, With: with},
		&predicate{r: w.r, env: &w.row, x: where}, nil)
	if _, whole := found.(*tableRows); whole || err != nil {
		return nil, err
	}
	return found, nil
}

// unfiltered makes a search give all that its indexes find: the WHERE is tried when the turn of a record comes.
func unfiltered(found rows) {
	switch s := found.(type) {
	case *indexRows:
		s.filter = nil
	case *textRows:
		s.filter = nil
	case *unionRows:
		for _, part := range s.parts {
			unfiltered(part)
		}
	case *unionIndexRows:
		for _, part := range s.parts {
			unfiltered(part)
		}
	}
}

// ids reads all ids first: writing may move records in the index that finds them.
func (w *writer) ids(ctx context.Context, found rows) ([]*value.RecordID, error) {
	defer found.close()
	docs, err := w.r.drain(ctx, found)
	if err != nil {
		return nil, err
	}
	out := make([]*value.RecordID, 0, len(docs))
	var seen map[string]bool
	if _, one := found.(*indexRows); !one {
		seen = make(map[string]bool, len(docs)) // a union may find a record twice, which must be changed once
	}
	for _, d := range docs {
		id := RecordOf(d)
		if id.Kind() != value.KindRecord {
			continue
		}
		if seen != nil {
			k := id.Text()
			if seen[k] {
				continue
			}
			seen[k] = true
		}
		out = append(out, id.Record())
	}
	return out, nil
}

// meets evaluates the WHERE of a statement for a picked record. A record that the caller may write but not see meets
// none.
func (w *writer) meets(ctx context.Context, row *record.Row, where ast.Expr) (bool, error) {
	if where == nil {
		return true, nil
	}
	if row.Seen.IsNone() {
		return false, nil
	}
	w.row.SetDoc(row.Seen)
	v, err := w.r.Value(ctx, &w.row, where)
	return value.Truthy(v), err
}

// explainWrite answers the EXPLAIN clause of a write: how it finds its records. FULL runs the statement too.
func (w *writer) explainWrite(ctx context.Context, x *ast.Explain, xs []ast.Expr, targets []Target, with *ast.With,
	where ast.Expr, yields bool, each func(*Target) error) (value.Value, error) {
	var out []value.Value
	for i := range xs {
		found, err := w.explainSource(ctx, xs[i:i+1], with, where, yields)
		if err != nil {
			return value.None, err
		}
		out = append(out, found...)
	}
	for _, op := range out {
		if name := inside.Field(op, "operation"); with != nil && with.NoIndex && name.Str() == "Iterate Table" {
			out = append(out, plan.Operation("Fallback", value.Field{Name: "reason", Value: value.Str("WITH NOINDEX")}))
		}
	}
	out = append(out, plan.Operation("Collector", value.Field{Name: "type", Value: value.Str("Memory")}))
	if !x.Full {
		return value.ArrayOf(out), nil
	}
	for i := range targets {
		if err := each(&targets[i]); err != nil {
			return value.None, err
		}
	}
	out = append(out, plan.Operation("RecordStrategy", value.Field{Name: "type", Value: value.Str("KeysAndValues")}),
		plan.Operation("Fetch", value.Field{Name: "count", Value: value.Int(int64(len(w.rows)))}))
	return value.ArrayOf(out), nil
}

func object(fields ...value.Field) value.Value { return value.ObjectOf(value.CopyObject(fields...)) }

// explainSource is how the records of one of the targets of a statement, as it was written, are found.
func (w *writer) explainSource(ctx context.Context, x []ast.Expr, with *ast.With, where ast.Expr,
	yields bool) (out []value.Value, err error) {
	if from, name := plan.Edges(x[0]); from != nil {
		v, err := w.r.Value(ctx, &w.row, from)
		return []value.Value{plan.Operation(name, value.Field{Name: "from", Value: v})}, err
	}
	targets, err := w.targets(ctx, w.row.up, false, x)
	for i := 0; err == nil && i < len(targets); i++ {
		var found []value.Value
		found, err = w.explainTarget(ctx, &targets[i], with, where, yields)
		out = append(out, found...)
	}
	return out, err
}

func (w *writer) explainTarget(ctx context.Context, t *Target, with *ast.With, where ast.Expr,
	yields bool) ([]value.Value, error) {
	table := value.Field{Name: "table", Value: value.Str(t.Table)}
	forward := value.Field{Name: "direction", Value: value.Str("forward")}
	switch t.Kind {
	case TargetRecord:
		name := "Iterate Record"
		if yields {
			name = "Iterate Defer"
		}
		return []value.Value{plan.Operation(name, value.Field{Name: "record", Value: value.RecordOf(t.ID)})}, nil
	case TargetRange:
		return []value.Value{plan.Operation("Iterate Range", forward, table,
			value.Field{Name: "range", Value: t.ID.Key})}, nil
	case TargetValue:
		return []value.Value{plan.Operation("Iterate Value", value.Field{Name: "value", Value: t.Value})}, nil
	}
	if yields && where == nil {
		return []value.Value{plan.Operation("Iterate Yield", table)}, nil
	}
	tb, err := w.g.Table(t.Table)
	if err != nil {
		return nil, err
	}
	found, err := w.search(ctx, tb, with, where)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return []value.Value{plan.Operation("Iterate Table", forward, table)}, nil
	}
	defer found.close()
	return explainSearch(found, table), nil
}

// explainSearch is how records are found by id or by indexes.
func explainSearch(found rows, table value.Field) []value.Value {
	switch s := found.(type) {
	case *recordRows:
		return []value.Value{plan.Operation("Iterate Record", value.Field{Name: "record", Value: value.RecordOf(s.id)})}
	case *unionIndexRows:
		return explainUnion(s.parts, table)
	case *unionRows:
		return explainUnion(s.parts, table)
	case *textRows:
		step := plan.By(s.ix.Name, plan.MatchText(s.m.x), value.Str(s.m.text))
		return []value.Value{plan.IndexOperation(table, step...)}
	case *knnScanRows:
		operator := fmt.Sprintf("<|%d,%d|>", s.knn.KNN.K, s.knn.KNN.EF)
		return []value.Value{plan.IndexOperation(table, plan.By(s.ix.Name, operator, s.k.query)...)}
	case *indexRows:
		if s.access.From.Kind == value.Unbounded && s.access.To.Kind == value.Unbounded {
			return []value.Value{plan.IndexOperation(table, plan.By(s.ix.Name, "=", plan.LeadOf(s.access.Lead))...)}
		}
		return []value.Value{plan.IndexOperation(table, plan.Between(s.ix.Name, s.access.From, s.access.To)...)}
	}
	return nil
}

// explainUnion is a union of index scans: of one index it is one step, of several a step each.
func explainUnion(parts []rows, table value.Field) []value.Value {
	var values, out []value.Value
	name := ""
	for i, p := range parts {
		ix, ok := p.(*indexRows)
		if ok && (i == 0 || ix.ix.Name == name) {
			name = ix.ix.Name
			values = append(values, plan.LeadOf(ix.access.Lead))
		}
		out = append(out, explainSearch(p, table)...)
	}
	if len(values) != len(parts) {
		return out
	}
	return []value.Value{plan.IndexOperation(table, plan.By(name, "union", value.ArrayOf(values))...)}
}
