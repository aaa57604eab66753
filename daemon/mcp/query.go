package mcp

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

func runQuery(ctx context.Context, c *call) (*outcome, error) {
	text, vars, err := c.text()
	if err != nil {
		return nil, err
	}
	results, err := c.run(ctx, text, vars)
	if err != nil {
		return nil, err
	}
	return c.late(ctx, results), nil
}

// text are the arguments query and parameters.
func (c *call) text() (string, *value.Object, error) {
	text, err := c.args.text("query")
	if err != nil {
		return "", nil, err
	}
	vars, err := c.parameters("parameters")
	return text, vars, err
}

// late is the outcome of results; a statement that the end of the call stopped says why it ended.
func (c *call) late(ctx context.Context, results []engine.Result) *outcome {
	for i := range results {
		if e := results[i].Err; e != nil && ctx.Err() != nil {
			results[i].Err = errs.As(c.cause(ctx, e))
		}
	}
	return c.outcomeOf(results)
}

func runGQL(ctx context.Context, c *call) (*outcome, error) {
	text, vars, err := c.text()
	if err != nil {
		return nil, err
	}
	if err := c.mayQuery(); err != nil {
		return nil, err
	}
	results, err := c.srv.RPC.GQL(ctx, c.engine, nil, text, vars)
	if err != nil {
		return nil, c.cause(ctx, err)
	}
	return c.late(ctx, results), nil
}

func runGraphQL(ctx context.Context, c *call) (*outcome, error) {
	text, err := c.args.text("query")
	if err != nil {
		return nil, err
	}
	name, err := c.args.text("operation")
	if err != nil {
		return nil, err
	}
	vars, err := c.parameters("variables")
	if err != nil {
		return nil, err
	}
	g, err := c.engine.GraphQL(ctx)
	if err != nil {
		return nil, err
	}
	resp, err := c.srv.RPC.GraphQL(ctx, c.engine, g, &engine.GraphQLRequest{Query: text, Variables: vars,
		Operation: name})
	if err != nil {
		return nil, c.cause(ctx, err)
	}
	if ctx.Err() != nil {
		return nil, c.cause(ctx, ctx.Err())
	}
	return c.graphQLOutcome(resp), nil
}

// graphQLOutcome is {data, errors}. Errors inside do not make the tool fail.
func (c *call) graphQLOutcome(resp *engine.GraphQLResponse) *outcome {
	var body struct {
		Data   json.RawMessage `json:"data"`
		Errors json.RawMessage `json:"errors"`
	}
	if err := json.Unmarshal(resp.AppendJSON(nil), &body); err != nil {
		return c.srv.failed(errs.As(err), 0)
	}
	shape := c.srv.shaper()
	data, _ := shape.json(orNull(body.Data))
	structured := object{"data": data}
	if len(body.Errors) > 0 {
		structured["errors"], _ = shape.json(body.Errors)
	}
	return mirrored(structured)
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// runFunction calls a function as a statement: only a plain path of names stands in its text.
func runFunction(ctx context.Context, c *call) (*outcome, error) {
	name, err := c.args.text("function")
	if err != nil {
		return nil, err
	}
	if name, err = functionName(name); err != nil {
		return nil, err
	}
	var raws []json.RawMessage
	if raw, ok := c.args["args"]; ok && json.Unmarshal(raw, &raws) != nil {
		return nil, badParams("`args` must be a list")
	}
	if most := c.srv.Limits.RunArgs; len(raws) > most && most > 0 {
		return nil, badParams("`run` accepts at most %d arguments, got %d", most, len(raws))
	}
	text := []byte("RETURN " + name + "(")
	fields := make([]value.Field, len(raws))
	for i, raw := range raws {
		v, err := c.srv.typed(raw)
		if err != nil {
			return nil, err
		}
		param := "_" + strconv.Itoa(i)
		if i > 0 {
			text = append(text, ", "...)
		}
		text = append(text, "$"+param...)
		fields[i] = value.Field{Name: param, Value: v}
	}
	return c.statement(ctx, string(append(text, ')')), value.NewObject(fields...))
}

// statement runs one statement of the tool's own making.
func (c *call) statement(ctx context.Context, text string, vars *value.Object) (*outcome, error) {
	results, err := c.run(ctx, text, vars)
	if err != nil {
		return nil, err
	}
	return c.late(ctx, results), nil
}

// runExplain shows the plan of one statement. Only what reads may be explained, and it is not run.
func runExplain(ctx context.Context, c *call) (*outcome, error) {
	text, vars, err := c.text()
	if err != nil {
		return nil, err
	}
	q, err := parse.Query(text, parse.Options{MaxBytes: maxClause})
	if err != nil {
		return nil, err
	}
	if len(q.Stmts) != 1 {
		return nil, badParams("`explain` takes one statement")
	}
	sel, ok := q.Stmts[0].(*ast.Select)
	if !ok {
		return nil, badParams("`explain` takes a SELECT")
	}
	sel.Explain = nil
	return c.statement(ctx, ast.Text(&ast.ExplainStmt{Stmt: sel}), vars)
}

// The numbers of the tool sample.
const (
	samples     = 5
	mostSamples = 100
	sampleFrom  = "1000"
)

func runSample(ctx context.Context, c *call) (*outcome, error) {
	name, err := c.args.text("table")
	if err != nil {
		return nil, err
	}
	if name, err = identifier(name, "Table name cannot be empty"); err != nil {
		return nil, err
	}
	n, ok, err := c.args.count("count")
	if err != nil {
		return nil, err
	}
	if !ok {
		n = samples
	}
	n = min(n, mostSamples)
	return c.statement(ctx, "SELECT * FROM (SELECT * FROM type::table($_table) LIMIT "+sampleFrom+") ORDER BY "+
		"RAND() LIMIT $_count",
		bound(value.Field{Name: "_table", Value: value.Str(name)}, value.Field{Name: "_count",
			Value: value.Int(int64(n))}))
}
