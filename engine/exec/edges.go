package exec

import (
	"context"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// edges lists the edges of a node in one direction, of one table or ("") of all, by the names of the tables.
func (r *Run) edges(ctx context.Context, node *value.RecordID, dir ast.GraphDir, table string,
	keys *value.Range) ([]record.Hop, error) {
	g, err := r.Gate()
	if err != nil {
		return nil, err
	}
	var tables []string
	if table != "" {
		tables = []string{table}
	}
	var out []record.Hop
	err = g.EachEdge(ctx, node, record.Way(dir), tables, keys, func(h record.Hop) (bool, error) {
		out = append(out, h)
		return true, r.Tick(ctx)
	})
	if table == "" {
		slices.SortStableFunc(out, func(a, b record.Hop) int { return strings.Compare(a.Edge.Table, b.Edge.Table) })
	}
	return out, err
}

// references appends the records that point at id: one step of <~.
func (r *Run) references(ctx context.Context, env *Env, out []stop, id *value.RecordID,
	step *ast.Graph) ([]stop, error) {
	g, err := r.Gate()
	if err != nil {
		return nil, err
	}
	tables := step.Tables
	if step.Any {
		defs, err := r.Cat.Defs(g.DB.Inner(), ast.DefTable)
		if err != nil {
			return nil, err
		}
		for _, d := range defs {
			tables = append(tables, ast.GraphTable{Table: d.Name})
		}
	}
	for i := range tables {
		t := &tables[i]
		field := ""
		if t.Field != nil {
			field = ast.Text(t.Field)
		}
		var keys *value.Range
		if t.Key != nil {
			if field == "" {
				return nil, errs.Internal("Cannot scan a specific range of record references without a referencing field")
			}
			k, err := r.key(ctx, env, t.Key)
			if err != nil {
				return nil, err
			}
			keys = k.Range()
		}
		ids, err := g.Referrers(ctx, id, t.Table, field, keys)
		if err != nil {
			return nil, err
		}
		for _, from := range ids {
			out = append(out, stop{At: value.RecordOf(from)})
		}
	}
	return out, nil
}
