package pgwire

import (
	"context"
	"slices"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// product is a statement of the language of the engine, or a program of GQL.
type product struct {
	text  string // with $_1 for $1
	gql   bool
	let   string // the variable that a LET sets, or ""
	tag   tagging
	order []string // names of the columns in the order of the projections; nil: not known
	only  bool     // the answer is one value, not a list
}

// tagging is how the tag of a statement is made.
type tagging struct {
	word  string
	count bool // the number of rows follows
	rows  bool // rows are answered
}

// product reads a statement of the language, or all that is left of the text as a program of GQL.
func (c *conn) product(text string, pos int) (*statement, int, error) {
	if c.settings.dialect == isoGQL {
		r, err := rewrite(text[pos:])
		if err != nil {
			return nil, 0, shifted(err, text, pos)
		}
		return &statement{params: make([]pgtype.OID, r.most), text: strings.TrimSpace(text[pos:]),
			work: &product{text: r.text, gql: true, tag: tagging{"SELECT", true, true}}}, len(text), nil
	}
	for n := firstPart; pos+n < len(text); n *= 4 {
		if s, next, ended, err := c.productIn(text, pos, pos+n); err == nil && s != nil && ended {
			return s, next, nil
		}
	}
	s, next, _, err := c.productIn(text, pos, len(text))
	return s, next, err
}

// firstPart is how many bytes of a text are read for a statement at first. SECURITY: a text of many statements would
// be read as many times if each reading went to its end.
const firstPart = 512

// productIn reads a statement of the language in text[pos:to]; ended says that its semicolon is in there as well, so
// that what follows makes no difference.
func (c *conn) productIn(text string, pos, to int) (s *statement, next int, ended bool, err error) {
	r, err := rewrite(text[pos:to])
	if err != nil {
		return nil, 0, false, shifted(err, text, pos)
	}
	stmt, start, end, err := parse.First(r.text, parse.Options{})
	if err != nil {
		e := c.translate(err)
		if e.Position > 0 {
			moved := *e
			moved.Position = r.position(e.Position)
			return nil, 0, false, shifted(&moved, text, pos)
		}
		return nil, 0, false, e
	}
	if stmt == nil {
		return nil, to, false, nil
	}
	p := &product{text: r.text[start:end], tag: tagOf(stmt)}
	p.look(stmt)
	if counts(stmt) {
		p.text = ast.Text(stmt)
	}
	added := 0
	most := 0
	for _, at := range r.at {
		if at < end {
			added++
		}
	}
	if r.most > 0 {
		own, err := rewrite(text[pos : pos+end-added])
		if err != nil {
			return nil, 0, false, err
		}
		most = own.most
	}
	s = &statement{params: make([]pgtype.OID, most), text: strings.TrimSpace(text[pos : pos+end-added]), work: p}
	limits(stmt, s.params)
	ended = strings.HasPrefix(strings.TrimLeft(r.text[end:], " \t\r\n"), ";")
	return s, pos + end - added, ended, nil
}

// counts makes a statement that is to answer nothing answer something small for each record, so that they can be
// counted.
func counts(stmt ast.Statement) bool {
	var out **ast.Output
	switch s := stmt.(type) {
	case *ast.Create:
		out = &s.Output
	case *ast.Insert:
		out = &s.Output
	case *ast.Relate:
		out = &s.Output
	case *ast.Update:
		out = &s.Output
	case *ast.Delete:
		if s.Output == nil && !s.Only && s.Explain == nil {
			s.Output = &ast.Output{Kind: ast.OutputNone}
		}
		out = &s.Output
	default:
		return false
	}
	if *out == nil || (*out).Kind != ast.OutputNone {
		return false
	}
	one := ast.Projection{X: &ast.Literal{Value: value.Bool(true)}}
	*out = &ast.Output{Kind: ast.OutputFields, Fields: &ast.Projections{Value: true, Fields: []ast.Projection{one}}}
	return true
}

// limits finds the parameters that count rows.
func limits(stmt ast.Statement, params []pgtype.OID) {
	sel, ok := stmt.(*ast.Select)
	if !ok {
		return
	}
	for _, x := range [...]ast.Expr{sel.Limit, sel.Start} {
		if p, ok := x.(*ast.Param); ok {
			for i := range params {
				if p.Name == "_"+itoa(i+1) {
					params[i] = pgtype.Int8
				}
			}
		}
	}
}

// look notes what the answer of a statement looks like.
func (p *product) look(stmt ast.Statement) {
	switch s := stmt.(type) {
	case *ast.Let:
		p.let = s.Name
	case *ast.Select:
		p.only = s.Only
		if s.Explain == nil && s.Projections != nil && !s.Projections.Value {
			p.order = projected(s.Projections)
		}
	}
}

// projected are the names of the columns of a projection, as far as they show.
func projected(ps *ast.Projections) (names []string) {
	for i := range ps.Fields {
		f := &ps.Fields[i]
		switch {
		case f.All:
		case f.Alias != nil:
			names = append(names, topName(f.Alias))
		default:
			if id, ok := f.X.(*ast.Idiom); ok {
				names = append(names, topName(id))
			} else {
				names = append(names, ast.Text(f.X))
			}
		}
	}
	return names
}

// topName is the first name of a path.
func topName(id *ast.Idiom) string {
	text := ast.Text(id)
	if i := strings.IndexAny(text, ".["); i > 0 && text[0] != '`' {
		text = text[:i]
	}
	return strings.Trim(text, "`")
}

// tagOf is the tag of a statement.
func tagOf(stmt ast.Statement) tagging {
	switch s := stmt.(type) {
	case *ast.Create:
		return tagging{"INSERT 0", true, keepsRows(s.Output)}
	case *ast.Insert:
		return tagging{"INSERT 0", true, keepsRows(s.Output)}
	case *ast.Relate:
		return tagging{"INSERT 0", true, keepsRows(s.Output)}
	case *ast.Update:
		return tagging{"UPDATE", true, keepsRows(s.Output)}
	case *ast.Delete:
		// DELETE of the language answers nothing unless it is asked to.
		return tagging{"DELETE", true, s.Output != nil && keepsRows(s.Output)}
	case *ast.Use, *ast.Let, *ast.Option:
		return tagging{"SET", false, false}
	case *ast.Select, *ast.Return, *ast.Info, *ast.Show, *ast.Live, *ast.ExprStmt, *ast.ExplainStmt, *ast.If,
		*ast.Access:
		return tagging{"SELECT", true, true}
	case *ast.Kill:
		return tagging{"KILL", false, false}
	}
	return tagging{definitionTag(stmt), false, false}
}

func keepsRows(o *ast.Output) bool { return o == nil || o.Kind != ast.OutputNone }

// definitionTag is the first words of a statement: DEFINE TABLE, REMOVE FIELD, FOR.
func definitionTag(stmt ast.Statement) string {
	words := strings.Fields(ast.Text(stmt))
	switch {
	case len(words) == 0:
		return "OK"
	case len(words) > 1 && (words[0] == "DEFINE" || words[0] == "REMOVE" || words[0] == "ALTER" ||
		words[0] == "REBUILD"):
		return words[0] + " " + words[1]
	}
	return words[0]
}

func (p *product) columns(c *conn) ([]column, bool, bool, error) {
	if !p.tag.rows {
		return nil, false, true, nil
	}
	return nil, true, c.settings.resultJSON, nil
}

// vars are the arguments of a call as parameters of the language.
func vars(args []value.Value) *value.Object {
	if len(args) == 0 {
		return nil
	}
	fields := make([]value.Field, len(args))
	for i, a := range args {
		fields[i] = value.Field{Name: "_" + itoa(i+1), Value: a}
	}
	return value.NewObject(fields...)
}

// stored is k with the durations of the language for the intervals among its arguments.
func (k *call) stored() (*call, error) {
	out := k
	for i, a := range k.args {
		v, err := pgtype.StoredDuration(a)
		if err != nil {
			return nil, err
		}
		if v.Kind() == a.Kind() && a.Kind() != value.KindArray {
			continue
		}
		if out == k {
			copied := *k
			copied.args = slices.Clone(k.args)
			out = &copied
		}
		out.args[i] = v
	}
	return out, nil
}

func (p *product) run(ctx context.Context, c *conn, k *call) (string, error) {
	if p.tag.word != "SELECT" {
		defer c.changed() // it may have changed definitions, or the place
	}
	k, err := k.stored()
	if err != nil {
		return "", err
	}
	if p.gql {
		return p.program(ctx, c, k)
	}
	if p.let != "" {
		return "SET", p.setVariable(ctx, c, k)
	}
	a := &answer{p: p, c: c, out: k.out, json: k.json || c.settings.resultJSON}
	err = c.srv.RPC.StreamTo(ctx, c.session, c.tx.tx, p.text, vars(k.args), a)
	if err == nil && a.err != nil && !a.began && c.tx.tx == nil && strings.HasPrefix(a.err.Msg,
		"The statement writes, but has begun to answer") {
		// The rows that were kept so far came to nothing: run it as a whole.
		*a = answer{p: p, c: c, out: k.out, json: a.json}
		var res []engine.Result
		if res, err = c.srv.RPC.Execute(ctx, c.session, nil, p.text, vars(k.args)); err == nil && len(res) > 0 {
			err = a.Finished(0, &res[len(res)-1], false)
		}
	}
	if err == nil && a.err != nil {
		err = a.err
	}
	if err == nil {
		err = a.end()
	}
	if err != nil {
		return "", err
	}
	return a.tag(), nil
}

// setVariable runs LET and keeps the variable for the connection.
func (p *product) setVariable(ctx context.Context, c *conn, k *call) error {
	res, err := c.srv.RPC.Execute(ctx, c.session, c.tx.tx, p.text+"; RETURN $"+value.QuoteIdent(p.let), vars(k.args))
	if err != nil {
		return err
	}
	for i := range res {
		if res[i].Err != nil {
			return res[i].Err
		}
	}
	return c.session.Set(p.let, res[len(res)-1].Value)
}

// program runs GQL.
func (p *product) program(ctx context.Context, c *conn, k *call) (string, error) {
	res, err := c.srv.RPC.GQL(ctx, c.session, c.tx.tx, p.text, vars(k.args))
	if err != nil {
		return "", err
	}
	a := &answer{p: p, c: c, out: k.out, json: k.json || c.settings.resultJSON}
	for i := range res {
		if err := a.Finished(i, &res[i], false); err != nil {
			return "", err
		}
		if a.err != nil {
			return "", a.err
		}
	}
	if err := a.end(); err != nil {
		return "", err
	}
	return a.tag(), nil
}

// answer makes rows of what a statement answers. It implements engine.Sink.
type answer struct {
	p    *product
	c    *conn
	out  sink
	json bool

	shape *shape
	kept  []value.Value // rows that determine the columns
	held  int
	began bool
	n     int
	err   *errs.Error
}

// The sample from which the types of the columns are made.
const (
	sampleRows  = 1000
	sampleBytes = 8 << 20
)

// Begin implements engine.Sink.
func (a *answer) Begin(int) error { return nil }

// Rows implements engine.Sink.
func (a *answer) Rows(_ int, rows []value.Value) error {
	for _, row := range rows {
		if err := a.add(row); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) add(row value.Value) error {
	a.n++
	if !a.p.tag.rows {
		return nil
	}
	if a.json && a.shape == nil {
		a.shape = jsonShape
		if err := a.start(); err != nil {
			return err
		}
	}
	if a.began {
		return a.put(row)
	}
	w := value.Weight(row)
	if err := a.c.mem.Take(w); err != nil {
		return err
	}
	a.held += w
	a.kept = append(a.kept, value.Detach(row))
	if len(a.kept) < sampleRows && a.held < sampleBytes {
		return nil
	}
	return a.settle()
}

// start tells the sink of the columns.
func (a *answer) start() error {
	a.began = true
	return a.out.begin(a.shape.cols)
}

// settle makes the shape of the rows that were kept, and sends them.
func (a *answer) settle() error {
	if a.began {
		return nil
	}
	if a.shape == nil {
		a.shape = shapeOf(a.kept, a.p.order)
	}
	if err := a.start(); err != nil {
		return err
	}
	for _, row := range a.kept {
		if err := a.put(row); err != nil {
			return err
		}
	}
	a.kept = nil
	a.release()
	return nil
}

func (a *answer) release() {
	a.c.mem.Release(a.held)
	a.c.mem.Shrink()
	a.held = 0
}

func (a *answer) put(row value.Value) error {
	values, err := a.shape.row(row)
	if err != nil {
		return err
	}
	return a.out.row(values)
}

// Finished implements engine.Sink.
func (a *answer) Finished(_ int, r *engine.Result, inRows bool) error {
	if r.Err != nil {
		a.err = r.Err
		a.release()
		return nil
	}
	if inRows {
		return nil
	}
	v := r.Value
	switch v.Kind() {
	case value.KindArray, value.KindSet:
		for _, row := range v.Elems() {
			if err := a.add(row); err != nil {
				return err
			}
		}
		return nil
	case value.KindNone:
		if a.p.only || a.p.tag.count && a.p.tag.word != "SELECT" {
			return nil
		}
	}
	return a.add(v)
}

// end sends what was kept.
func (a *answer) end() error {
	if !a.p.tag.rows {
		return nil
	}
	if a.json && a.shape == nil {
		a.shape = jsonShape
	}
	return a.settle()
}

func (a *answer) tag() string {
	if a.p.tag.count {
		return a.p.tag.word + " " + itoa(a.n)
	}
	return a.p.tag.word
}
