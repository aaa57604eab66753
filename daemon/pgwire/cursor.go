package pgwire

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// inner reads the rest of w as one statement of either language, and stops at its end.
func (w *words) inner(c *conn) (*statement, error) {
	at := w.peek().Pos
	if w.pos > 0 && w.over() {
		at = w.tokens[w.pos-1].End
	}
	s, next, err := c.next(w.text, at)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, w.bad()
	}
	w.end = next
	return s, nil
}

// declare is DECLARE: it runs the query and keeps its answer.
type declare struct {
	name   string
	hold   bool
	scroll bool
	binary bool
	query  *statement
}

func readDeclare(c *conn, w *words) (work, error) {
	w.take()
	name, err := w.name()
	if err != nil {
		return nil, err
	}
	d := &declare{name: name, scroll: true}
	for !w.eat("cursor") {
		switch {
		case w.eat("binary"):
			d.binary = true
		case w.eat("insensitive"), w.eat("asensitive"), w.eat("scroll"):
		case w.eat("no", "scroll"):
			d.scroll = false
		default:
			return nil, w.bad()
		}
	}
	switch {
	case w.eat("with", "hold"):
		d.hold = true
	case w.eat("without", "hold"):
	}
	if !w.eat("for") {
		return nil, w.bad()
	}
	if d.query, err = w.inner(c); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *declare) paramTypes() []pgtype.OID { return d.query.params }

func (d *declare) columns(*conn) ([]column, bool, bool, error) { return nil, false, true, nil }

func (d *declare) run(ctx context.Context, c *conn, k *call) (string, error) {
	switch {
	case !d.hold && !c.tx.block:
		return "", sqlstate.New(sqlstate.NoTransaction, "DECLARE CURSOR can only be used in transaction blocks")
	case c.portals[d.name] != nil:
		return "", sqlstate.New(sqlstate.DuplicateCursor, "cursor %q already exists", d.name)
	case len(c.portals) >= c.srv.Limits.Portals:
		return "", sqlstate.New(sqlstate.TooMuch, "too many portals on this connection")
	}
	b := &buffer{c: c}
	tag, err := d.query.work.run(ctx, c, &call{args: k.args, out: b})
	if err != nil {
		b.drop()
		return "", err
	}
	if !b.began {
		b.drop()
		return "", sqlstate.New(sqlstate.SyntaxError, "a cursor needs a statement that answers rows")
	}
	b.tag = tag
	p := &portal{name: d.name, stmt: &prepared{stmt: d.query}, ran: b, hold: d.hold, simple: true, scroll: d.scroll}
	if d.binary {
		p.formats = []int16{1}
	}
	c.portals[d.name] = p
	return "DECLARE CURSOR", nil
}

// fetch is FETCH or MOVE.
type fetch struct {
	name string
	move bool
	// The rows from the position on: step is their direction, count how many. to is the position to go to first.
	step, count int
	absolute    bool
	relative    bool
	to          int
}

const allRows = math.MaxInt32

func readFetch(_ *conn, w *words) (work, error) {
	f := &fetch{move: w.take().Text == "move", step: 1, count: 1}
	number := func(none int) (int, error) {
		negative := w.eat("-")
		if t := w.peek(); t.Kind == sql.Number {
			w.take()
			n, err := strconv.ParseInt(t.Text, 10, 32)
			if err != nil {
				return 0, sqlstate.New(sqlstate.OutOfRange, "value %q is out of range for type integer", t.Text)
			}
			if negative {
				n = -n
			}
			return int(n), nil
		}
		if w.eat("all") {
			return allRows, nil
		}
		return none, nil
	}
	var err error
	switch {
	case w.eat("next"):
	case w.eat("prior"):
		f.step = -1
	case w.eat("first"):
		f.absolute, f.to = true, 1
	case w.eat("last"):
		f.absolute, f.to = true, -1
	case w.eat("absolute"):
		f.absolute = true
		f.to, err = number(0)
	case w.eat("relative"):
		f.relative = true
		f.to, err = number(0)
	case w.eat("backward"):
		f.step = -1
		f.count, err = number(1)
	default:
		w.eat("forward")
		f.count, err = number(1)
	}
	if err != nil {
		return nil, err
	}
	if f.count < 0 {
		f.step, f.count = -f.step, -f.count
	}
	if !w.eat("from") {
		w.eat("in")
	}
	if f.name, err = w.name(); err != nil {
		return nil, err
	}
	return f, w.nothing()
}

func noCursor(name string) error {
	return sqlstate.New(sqlstate.UnknownCursor, "cursor %q does not exist", name)
}

func (f *fetch) cursor(c *conn) (*portal, error) {
	p := c.portals[f.name]
	if p == nil || p.ran == nil {
		return nil, noCursor(f.name)
	}
	return p, nil
}

func (f *fetch) columns(c *conn) ([]column, bool, bool, error) {
	if f.move {
		return nil, false, true, nil
	}
	p, err := f.cursor(c)
	if err != nil {
		return nil, false, false, err
	}
	return p.ran.cols, true, true, nil
}

func (f *fetch) run(_ context.Context, c *conn, k *call) (string, error) {
	p, err := f.cursor(c)
	if err != nil {
		return "", err
	}
	if !p.scroll && (f.step < 0 || f.absolute || f.relative && f.to < 0) {
		return "", sqlstate.New(sqlstate.NotReady,
			"cursor can only scan forward").Hinted("Declare it with SCROLL option to enable backward scan.")
	}
	if !f.move {
		if w, ok := k.out.(*wireSink); ok && w.formats == nil {
			w.formats = p.formats
		}
		if err := k.out.begin(p.ran.cols); err != nil {
			return "", err
		}
	}
	n := 0
	for _, i := range f.rows(p) {
		n++
		if f.move {
			continue
		}
		if err := k.out.row(append([]value.Value(nil), p.ran.rows[i]...)); err != nil {
			return "", err
		}
	}
	word := "FETCH "
	if f.move {
		word = "MOVE "
	}
	return word + itoa(n), nil
}

// rows are the indexes of the rows that f takes; the position of p moves: 0 is before the first row, i on row i.
func (f *fetch) rows(p *portal) (out []int) {
	n := len(p.ran.rows)
	on := func(pos int) []int {
		p.pos = min(max(pos, 0), n+1)
		if p.pos < 1 || p.pos > n {
			return nil
		}
		return []int{p.pos - 1}
	}
	switch {
	case f.absolute && f.to < 0:
		return on(n + 1 + f.to)
	case f.absolute:
		return on(f.to)
	case f.relative:
		return on(p.pos + f.to)
	case f.count == 0:
		return on(p.pos)
	}
	for i := 0; i < f.count; i++ {
		one := on(p.pos + f.step)
		if one == nil {
			break
		}
		out = append(out, one...)
	}
	return out
}

func readClose(_ *conn, w *words) (work, error) {
	w.take()
	if w.eat("all") {
		return &control{do: func(_ context.Context, c *conn) (string, error) {
			for name, p := range c.portals {
				if p.simple {
					c.dropPortal(name)
				}
			}
			return "CLOSE CURSOR ALL", nil
		}}, w.nothing()
	}
	name, err := w.name()
	if err != nil {
		return nil, err
	}
	return &control{do: func(_ context.Context, c *conn) (string, error) {
		if c.portals[name] == nil {
			return "", noCursor(name)
		}
		c.dropPortal(name)
		return "CLOSE CURSOR", nil
	}}, w.nothing()
}

func readPrepare(c *conn, w *words) (work, error) {
	w.take()
	if w.eat("transaction") {
		return nil, twoPhase()
	}
	name, err := w.name()
	if err != nil {
		return nil, err
	}
	var oids []pgtype.OID
	if w.eat("(") {
		if oids, err = readTypeList(w); err != nil {
			return nil, err
		}
	}
	if !w.eat("as") {
		return nil, w.bad()
	}
	at := w.tokens[w.pos-1].End
	if _, err := w.inner(c); err != nil {
		return nil, err
	}
	text := w.text[at:w.end]
	return &control{do: func(_ context.Context, c *conn) (string, error) {
		if c.statements[name] != nil {
			return "", sqlstate.New(sqlstate.DuplicateStatement, "prepared statement %q already exists", name)
		}
		return "PREPARE", c.prepare(name, text, oids)
	}}, nil
}

// readTypeList reads names of types up to a closing parenthesis.
func readTypeList(w *words) (oids []pgtype.OID, err error) {
	for {
		var parts []string
		for !w.eat(",") {
			if w.over() {
				return nil, w.bad()
			}
			if w.peek().Is(")") {
				break
			}
			parts = append(parts, w.take().Text)
		}
		name := strings.ReplaceAll(strings.Join(parts, " "), " [ ]", "[]")
		oid, ok := pgtype.Named(name)
		if !ok {
			return nil, sqlstate.New(sqlstate.UndefinedObject, "type %q does not exist", name)
		}
		oids = append(oids, oid)
		if w.eat(")") {
			return oids, nil
		}
	}
}

// executeStatement is EXECUTE.
type executeStatement struct {
	name string
	args []literal
}

// literal is a constant as EXECUTE takes it.
type literal struct {
	text string
	null bool
}

func readExecute(_ *conn, w *words) (work, error) {
	w.take()
	name, err := w.name()
	if err != nil {
		return nil, err
	}
	e := &executeStatement{name: name}
	if !w.eat("(") {
		return e, w.nothing()
	}
	for !w.eat(")") {
		l, err := readLiteral(w)
		if err != nil {
			return nil, err
		}
		e.args = append(e.args, l)
		if !w.eat(",") && !w.peek().Is(")") {
			return nil, w.bad()
		}
	}
	return e, w.nothing()
}

// readLiteral reads a string, a number, TRUE, FALSE or NULL, and passes a cast behind it.
func readLiteral(w *words) (l literal, err error) {
	sign := ""
	if w.eat("-") {
		sign = "-"
	}
	switch t := w.take(); {
	case t.Kind == sql.Number:
		l.text = sign + t.Text
	case t.Kind == sql.String && sign == "":
		l.text = t.Text
	case t.Is("null"):
		l.null = true
	case t.Is("true"), t.Is("false"):
		l.text = t.Text
	default:
		w.pos--
		return l, w.bad()
	}
	if w.eat("::") {
		for !w.over() && !w.peek().Is(",") && !w.peek().Is(")") {
			w.take()
		}
	}
	return l, nil
}

func (e *executeStatement) columns(c *conn) ([]column, bool, bool, error) {
	p := c.statements[e.name]
	if p == nil {
		return nil, false, false, noStatement(e.name)
	}
	if p.stmt == nil {
		return nil, false, true, nil
	}
	return p.stmt.work.columns(c)
}

func (e *executeStatement) run(ctx context.Context, c *conn, k *call) (string, error) {
	p := c.statements[e.name]
	if p == nil {
		return "", noStatement(e.name)
	}
	if len(e.args) != len(p.params) {
		return "", sqlstate.New(sqlstate.SyntaxError, "wrong number of parameters for prepared statement %q", e.name)
	}
	if p.stmt == nil {
		return "", nil
	}
	args := make([]value.Value, len(e.args))
	for i, a := range e.args {
		if a.null {
			args[i] = value.Null
			continue
		}
		v, err := c.argument(p.params[i], []byte(a.text), false)
		if err != nil {
			return "", err
		}
		args[i] = v
	}
	if _, again := p.stmt.work.(*executeStatement); again {
		return "", sqlstate.New(sqlstate.FeatureNotSupported, "a prepared statement cannot execute another")
	}
	return p.stmt.work.run(ctx, c, &call{args: args, json: k.json, out: k.out})
}
