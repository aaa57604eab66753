package pgwire

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// explainQuery is EXPLAIN of a statement of SQL. It tells nothing that the user could not see by the statement itself:
// there are no estimates, and ANALYZE counts the rows of the answer.
type explainQuery struct {
	query *sqlQuery
	how   *sql.Explain
}

func (e *explainQuery) columns(*conn) ([]column, bool, bool, error) {
	oid := pgtype.OID(pgtype.Text)
	if e.how.JSON {
		oid = pgtype.JSON
	}
	return []column{{name: "QUERY PLAN", oid: oid}}, true, true, nil
}

func (e *explainQuery) run(ctx context.Context, c *conn, k *call) (string, error) {
	p, err := e.query.bound(ctx, c)
	if err != nil {
		return "", err
	}
	if n := len(p.params()); n > len(k.args) {
		return "", noParameter(len(k.args) + 1)
	}
	env := &sqlEnv{c: c, ctx: ctx, plain: e.query.plain}
	defer env.end()
	var top *sql.Step
	if p.plan != nil {
		top, err = p.plan.Explain(ctx, env, k.args)
	} else {
		top, err = p.write.Explain(ctx, env, k.args)
	}
	if err != nil {
		return "", err
	}
	var took time.Duration
	counted := &countSink{}
	if e.how.Analyze {
		begun := time.Now()
		if _, err := e.query.run(ctx, c, &call{args: k.args, out: counted}); err != nil {
			return "", err
		}
		took = time.Since(begun)
		top.Lines = append([]string{"Actual Rows: " + itoa(counted.n)}, top.Lines...)
	}
	cols, _, _, _ := e.columns(c)
	if err := k.out.begin(cols); err != nil {
		return "", err
	}
	if e.how.JSON {
		plan := []value.Field{{Name: "Plan", Value: stepJSON(top)}}
		if e.how.Analyze {
			plan = append(plan, value.Field{Name: "Execution Time", Value: value.Float(milliseconds(took))})
		}
		list := value.Array(value.ObjectOf(value.NewObject(plan...)))
		return "EXPLAIN", k.out.row([]value.Value{list})
	}
	lines := stepLines(nil, top, 0)
	if e.how.Analyze {
		lines = append(lines, "Execution Time: "+strconv.FormatFloat(milliseconds(took), 'f', 3, 64)+" ms")
	}
	for _, line := range lines {
		if err := k.out.row([]value.Value{value.Str(line)}); err != nil {
			return "", err
		}
	}
	return "EXPLAIN", nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// stepLines writes a step and those below it, each deeper than the one above.
func stepLines(out []string, s *sql.Step, depth int) []string {
	indent, arrow := "", ""
	if depth > 0 {
		indent, arrow = strings.Repeat("      ", depth-1)+"  ", "->  "
	}
	out = append(out, indent+arrow+s.Title)
	for _, line := range s.Lines {
		out = append(out, indent+strings.Repeat(" ", len(arrow)+2)+line)
	}
	for _, part := range s.Parts {
		out = stepLines(out, part, depth+1)
	}
	return out
}

func stepJSON(s *sql.Step) value.Value {
	fields := []value.Field{{Name: "Node Type", Value: value.Str(s.Title)}}
	if len(s.Lines) > 0 {
		lines := make([]value.Value, len(s.Lines))
		for i, line := range s.Lines {
			lines[i] = value.Str(line)
		}
		fields = append(fields, value.Field{Name: "Details", Value: value.ArrayOf(lines)})
	}
	if len(s.Parts) > 0 {
		parts := make([]value.Value, len(s.Parts))
		for i, part := range s.Parts {
			parts[i] = stepJSON(part)
		}
		fields = append(fields, value.Field{Name: "Plans", Value: value.ArrayOf(parts)})
	}
	return value.ObjectOf(value.NewObject(fields...))
}

// countSink counts the rows of an answer.
type countSink struct{ n int }

func (*countSink) begin([]column) error { return nil }

func (s *countSink) row([]value.Value) error {
	s.n++
	return nil
}

// Explain implements sql.Explainer: the plan of the engine for the scan.
func (r *tableRelation) Explain(ctx context.Context, s *sql.Scan) ([]string, error) {
	of, most := everyRow, int64(0)
	if r.limits(s) {
		if most = s.Most; len(s.Order) > 0 {
			of = valueRows
		}
	}
	text, vars := r.query(s, of, most, false)
	run := r.c.session.Execute
	if r.c.tx.tx != nil {
		run = r.c.tx.tx.Execute
	}
	res, err := run(ctx, "EXPLAIN "+text, vars)
	if err != nil {
		return nil, err
	}
	return planLines(&res[0])
}

// planLines are the lines of a plan of the engine.
func planLines(r *engine.Result) ([]string, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	if r.Value.Kind() != value.KindString {
		return nil, errs.Internal("a plan of the engine is no text")
	}
	lines := strings.Split(strings.TrimRight(r.Value.Str(), "\n"), "\n")
	for i := range lines {
		lines[i] = "Engine: " + lines[i]
	}
	return lines, nil
}
