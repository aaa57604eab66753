// Package script runs the statements of a text one after another, each as soon as it is read, so that a text may be
// longer than memory and what follows a failure need not run.
//
// A BEGIN with all up to its COMMIT or CANCEL is sent as one text. A shell, whose BEGIN and COMMIT are apart, has an
// interactive transaction of the server in place of that. What a text of statements shares stays: the variables of
// LET, the place of USE, and OPTION.
package script

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// Runner runs statements over one client. It belongs to one goroutine.
type Runner struct {
	c           *client.Client
	interactive bool
	vars        *value.Object // of the caller and of LET
	kept        []kept        // what each later text begins with

	block *Step // a BEGIN whose COMMIT has not been read yet
	tx    *transaction
}

// kept is a statement that each later text begins with: OPTION, or the LET of a closure or a regular expression, which
// have no form to send.
type kept struct{ name, text string }

// transaction is an open interactive transaction.
type transaction struct {
	id     value.UUID
	failed bool // one of its statements failed
}

// New gives a runner with the variables vars, which may be nil. An interactive one keeps transactions open between
// runs.
func New(c *client.Client, vars *value.Object, interactive bool) *Runner {
	if vars == nil {
		vars = value.NewObject()
	}
	return &Runner{c: c, vars: vars, interactive: interactive}
}

// Step is a statement, or a whole block, that has run.
type Step struct {
	Number  int             // of the statement in its text, from 1
	Lines   []int           // where its statements begin: one, but for a block
	Texts   []string        // its statements, as many as Lines
	Results []client.Result // one a statement, but for what a block leaves out
	Place   *Place          // of a USE that succeeded
	Schema  bool            // definitions or tables may have changed
	Columns []string        // the order of the fields of a SELECT that names them; nil: it names none
}

// Place is the namespace and database that the session works in; "" is none.
type Place struct{ Namespace, Database string }

// Failure is the result of a step that says why it failed, and its place in Results; nil where nothing did. Of a
// block it is the statement that made the others fail. What CANCEL undid did not fail.
func (s *Step) Failure() (int, *errs.Error) {
	first := -1
	for i, r := range s.Results {
		if r.Err == nil || cancelled(r.Err) {
			continue
		}
		if !follows(r.Err) {
			return i, r.Err
		}
		if first < 0 {
			first = i
		}
	}
	if first < 0 {
		return 0, nil
	}
	return first, s.Results[first].Err
}

// follows reports whether an error only says that another statement of the transaction failed.
func follows(e *errs.Error) bool {
	return e.Kind == errs.KindQuery && e.Detail != nil && e.Detail.Kind == "NotExecuted"
}

// cancelled reports whether an error only says that CANCEL undid the statement.
func cancelled(e *errs.Error) bool {
	return e.Kind == errs.KindQuery && e.Detail != nil && e.Detail.Kind == "Cancelled"
}

// Values are the results of what succeeded.
func (s *Step) Values() []client.Result {
	return slices.DeleteFunc(slices.Clone(s.Results), func(r client.Result) bool { return r.Err != nil })
}

// Line is where the statement of result i begins.
func (s *Step) Line(i int) int { return s.Lines[min(i, len(s.Lines)-1)] }

// Text is the statement of result i.
func (s *Step) Text(i int) string { return s.Texts[min(i, len(s.Texts)-1)] }

// ErrStop, returned by the function of Run, ends the run without an error.
var ErrStop = errors.New("stop")

// Run runs the statements of r and calls each after every step. An error of each ends the run and is returned, and so
// does one that is not of a statement: of parsing, of the connection, of ctx. A block that is open at the end of r is
// sent as it is, and the server refuses it, unless the runner is interactive.
func (r *Runner) Run(ctx context.Context, in io.Reader, each func(*Step) error) error {
	stream := parse.Statements(in, parse.StreamOptions{})
	number := 0
	for {
		stmt, text, err := stream.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		number++
		step := &Step{Number: number, Lines: []int{stream.Line()}, Texts: []string{text}}
		step, err = r.statement(ctx, stmt, text, step)
		if err == nil && step != nil {
			err = each(step)
		}
		if err != nil {
			r.block = nil
			return stopped(err)
		}
	}
	if r.block == nil {
		return nil
	}
	step, err := r.sendBlock(ctx)
	if err != nil {
		return err
	}
	return stopped(each(step))
}

// Check parses a text without running any of it.
func Check(in io.Reader) error {
	stream := parse.Statements(in, parse.StreamOptions{})
	for {
		if _, _, err := stream.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func stopped(err error) error {
	if errors.Is(err, ErrStop) {
		return nil
	}
	return err
}

// statement runs a statement; nil where it waits for the end of its block.
func (r *Runner) statement(ctx context.Context, stmt ast.Statement, text string, step *Step) (*Step, error) {
	if r.block != nil {
		r.block.Texts = append(r.block.Texts, text)
		r.block.Lines = append(r.block.Lines, step.Lines...)
		if !ends(stmt) {
			return nil, nil
		}
		return r.sendBlock(ctx)
	}
	switch s := stmt.(type) {
	case *ast.Begin:
		if r.tx == nil && !(r.interactive && r.c.Interactive()) {
			r.block = step
			return nil, nil
		}
		return step, r.begin(ctx, step)
	case *ast.Commit, *ast.Cancel:
		if r.tx != nil {
			return step, r.end(ctx, step, stmt)
		}
	case *ast.Let:
		return step, r.let(ctx, s, text, step)
	case *ast.Option:
		return step, r.keep(ctx, kept{"", text}, step)
	case *ast.Use:
		return step, r.use(ctx, text, step)
	}
	step.Schema, step.Columns = changesSchema(stmt), columns(stmt)
	return step, r.send(ctx, text, step)
}

// ends reports whether a statement ends a block.
func ends(stmt ast.Statement) bool {
	switch stmt.(type) {
	case *ast.Commit, *ast.Cancel:
		return true
	}
	return false
}

// changesSchema reports whether a statement may change what names there are.
func changesSchema(stmt ast.Statement) bool {
	switch stmt.(type) {
	case *ast.Select, *ast.Return, *ast.Delete, *ast.Update, *ast.Throw, *ast.Info, *ast.Show, *ast.Live, *ast.Kill,
		*ast.Sleep:
		return false
	}
	return true
}

// columns are the names of the fields that a SELECT asks for, in its order, up to the first that is not named.
func columns(stmt ast.Statement) []string {
	s, ok := stmt.(*ast.Select)
	if !ok || s.Projections == nil {
		return nil
	}
	var names []string
	for _, f := range s.Projections.Fields {
		x := f.X
		if f.Alias != nil {
			x = f.Alias
		}
		if f.All || x == nil {
			break
		}
		names = append(names, strings.Trim(ast.Text(x), "`"))
	}
	return names
}

// send runs a text and puts its results into step, without those of what it begins with.
func (r *Runner) send(ctx context.Context, text string, step *Step) error {
	var whole strings.Builder
	for _, k := range r.kept {
		whole.WriteString(k.text + ";\n")
	}
	whole.WriteString(text)
	q := client.Text{Text: whole.String(), Vars: r.vars}
	if r.tx != nil {
		q.Txn = &r.tx.id
	}
	results, err := r.c.Run(ctx, q)
	if err != nil {
		return err
	}
	step.Results = results[min(len(r.kept), len(results)):]
	if _, failed := step.Failure(); failed != nil && r.tx != nil {
		r.tx.failed = true
	}
	return nil
}

// GQL runs a program in ISO GQL, in the open transaction if there is one, with the variables of LET as its parameters.
func (r *Runner) GQL(ctx context.Context, text string) (*Step, error) {
	p, err := gql.Parse(text, gql.Options{})
	if err != nil {
		return nil, err
	}
	step := &Step{Number: 1, Lines: []int{1}, Texts: []string{text}, Columns: p.Columns()}
	q := client.Text{Text: text, Vars: r.vars, GQL: true}
	if r.tx != nil {
		q.Txn = &r.tx.id
	}
	if step.Results, err = r.c.Run(ctx, q); err != nil {
		return nil, err
	}
	if _, failed := step.Failure(); failed != nil && r.tx != nil {
		r.tx.failed = true
	}
	return step, nil
}

// sendBlock runs the block at hand as one text.
func (r *Runner) sendBlock(ctx context.Context) (*Step, error) {
	step, text := r.block, strings.Join(r.block.Texts, ";\n")
	r.block = nil
	step.Schema = true
	return step, r.send(ctx, text, step)
}

// let runs a LET and keeps its variable.
func (r *Runner) let(ctx context.Context, s *ast.Let, text string, step *Step) error {
	if noForm(s.X) {
		return r.keep(ctx, kept{s.Name, text}, step)
	}
	err := r.send(ctx, text+";\nRETURN $"+value.QuoteIdent(s.Name), step)
	if refused, ok := errors.AsType[*errs.Error](err); ok && refused.Kind == errs.KindSerialization {
		return answered(step, err)
	}
	if err != nil || len(step.Results) != 2 {
		return err
	}
	let, got := step.Results[0], step.Results[1]
	step.Results = step.Results[:1]
	switch {
	case let.Err != nil:
	case got.Err != nil:
		step.Results = []client.Result{{Err: got.Err, Time: let.Time}}
	default:
		r.forget(s.Name)
		r.vars = r.vars.With(s.Name, got.Value)
	}
	return nil
}

// noForm reports whether an expression is a closure or a regular expression, whose values can not be sent.
func noForm(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Closure:
		return true
	case *ast.Cast:
		_, plain := x.X.(*ast.Literal)
		return plain && x.Type.Kind == value.TypeRegex
	}
	return false
}

// keep runs a statement that each later text begins with.
func (r *Runner) keep(ctx context.Context, k kept, step *Step) error {
	if err := r.send(ctx, k.text, step); err != nil {
		return err
	}
	if _, failed := step.Failure(); failed == nil {
		r.forget(k.name)
		r.kept = append(r.kept, k)
	}
	return nil
}

// forget drops the variable name.
func (r *Runner) forget(name string) {
	for i, k := range r.kept {
		if k.name == name && name != "" {
			r.kept = append(r.kept[:i:i], r.kept[i+1:]...)
			break
		}
	}
	r.vars = r.vars.Without(name)
}

// use runs a USE, and takes the client to the place: over HTTP the server keeps none.
func (r *Runner) use(ctx context.Context, text string, step *Step) error {
	if err := r.send(ctx, text, step); err != nil || len(step.Results) != 1 || step.Results[0].Err != nil {
		return err
	}
	v := step.Results[0].Value
	if v.Kind() != value.KindObject {
		return nil
	}
	ns, _ := v.Object().Get("namespace")
	db, _ := v.Object().Get("database")
	step.Place, step.Schema = &Place{}, true
	if ns.Kind() == value.KindString {
		step.Place.Namespace = ns.Str()
	}
	if db.Kind() == value.KindString {
		step.Place.Database = db.Str()
	}
	return r.c.Use(ctx, step.Place.Namespace, step.Place.Database)
}

// begin opens an interactive transaction.
func (r *Runner) begin(ctx context.Context, step *Step) error {
	if r.tx != nil {
		step.Results = []client.Result{{Err: errs.Validation("A transaction is open already: COMMIT or CANCEL ends it")}}
		return nil
	}
	id, err := r.c.Begin(ctx)
	if err != nil {
		return answered(step, err)
	}
	r.tx = &transaction{id: id}
	step.Results = []client.Result{{}}
	return nil
}

// errNotCommitted is the answer to the COMMIT of a transaction in which a statement failed: as in a text with BEGIN and
// COMMIT, nothing of it is stored.
var errNotCommitted = errs.Validation("The transaction was cancelled because a statement of it failed: nothing of it is stored")

// end commits or cancels the interactive transaction, which is over then in any case.
func (r *Runner) end(ctx context.Context, step *Step, stmt ast.Statement) error {
	id, failed := r.tx.id, r.tx.failed
	r.tx = nil
	step.Results = []client.Result{{}}
	step.Schema = true
	if _, ok := stmt.(*ast.Cancel); ok {
		return answered(step, r.c.Cancel(ctx, id))
	}
	if failed {
		step.Results = []client.Result{{Err: errNotCommitted}}
		return r.c.Cancel(ctx, id)
	}
	return answered(step, r.c.Commit(ctx, id))
}

// answered puts what the server refused into the step; other errors it gives back.
func answered(step *Step, err error) error {
	var refused *errs.Error
	if errors.As(err, &refused) {
		step.Results = []client.Result{{Err: refused}}
		return nil
	}
	return err
}

// Set gives a variable a value.
func (r *Runner) Set(name string, v value.Value) {
	r.forget(name)
	r.vars = r.vars.With(name, v)
}

// Unset removes a variable.
func (r *Runner) Unset(name string) { r.forget(name) }

// Vars are the variables, but for those that hold closures.
func (r *Runner) Vars() *value.Object { return r.vars }

// Open reports whether a transaction is open, and whether one of its statements failed.
func (r *Runner) Open() (open, failed bool) { return r.tx != nil, r.tx != nil && r.tx.failed }

// Reconnected goes on with another client, where no transaction is open. It reports whether one was lost.
func (r *Runner) Reconnected(c *client.Client) (lost bool) {
	lost = r.tx != nil
	r.c, r.tx = c, nil
	return lost
}
