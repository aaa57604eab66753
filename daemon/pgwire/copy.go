package pgwire

import (
	"context"
	"slices"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/catalog"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
)

// copyStatement is COPY, from or to the client.
type copyStatement struct {
	table string
	cols  []string
	query *statement // COPY (query) TO STDOUT
	in    bool
	form  copyForm
}

// copyForm is how the rows are written.
type copyForm struct {
	format     string // text, csv or binary
	delimiter  byte
	null       string
	header     bool
	match      bool // the header must name the columns
	quote      byte
	escape     byte
	forceQuote map[string]bool // nil: none; with "*": all
	forceNull  map[string]bool
	notNull    map[string]bool
}

func readCopy(c *conn, w *words) (work, error) {
	w.take()
	k := &copyStatement{}
	if err := k.readSource(c, w); err != nil {
		return nil, err
	}
	switch {
	case w.eat("from"):
		k.in = true
	case !w.eat("to"):
		return nil, w.bad()
	}
	if k.in && k.query != nil {
		return nil, w.bad()
	}
	if !w.eat("stdin") && !w.eat("stdout") {
		return nil, sqlstate.New(sqlstate.Denied, "COPY to or from a file or program of the server is not allowed").
			Hinted("Use STDIN or STDOUT, or \\copy of psql.")
	}
	return k, k.readForm(w)
}

func (k *copyStatement) readSource(c *conn, w *words) (err error) {
	if w.eat("(") {
		at := w.tokens[w.pos-1].End
		end, ok := closing(w.text, at)
		if !ok {
			return w.bad()
		}
		s, _, err := c.next(w.text[:end], at)
		if err != nil {
			return err
		}
		if s == nil {
			return w.bad()
		}
		k.query = s
		tokens, stop, err := sql.Tokens(w.text, end+1)
		if err != nil {
			return err
		}
		w.tokens, w.pos, w.end = tokens, 0, stop
		return nil
	}
	w.eat("binary")
	if k.table, err = w.name(); err != nil {
		return err
	}
	for w.eat(".") {
		if k.table, err = w.name(); err != nil {
			return err
		}
	}
	if !w.eat("(") {
		return nil
	}
	for {
		name, err := w.name()
		if err != nil {
			return err
		}
		k.cols = append(k.cols, name)
		if w.eat(")") {
			return nil
		}
		if !w.eat(",") {
			return w.bad()
		}
	}
}

// closing is the parenthesis that closes the one before byte at.
func closing(text string, at int) (int, bool) {
	depth := 1
	for i := at; i < len(text); {
		if n := inert(text[i:], true); n > 0 {
			i += n
			continue
		}
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i, true
			}
		}
		i++
	}
	return 0, false
}

// copyOptions are the names of options whose value is one word or string.
func (k *copyStatement) readForm(w *words) error {
	f := &k.form
	f.format = "text"
	given := map[string]string{}
	lists := map[string]map[string]bool{}
	w.eat("with")
	inside := w.eat("(")
	for !w.over() && !(inside && w.eat(")")) {
		name, err := w.name()
		if err != nil {
			return err
		}
		if !inside && (name == "csv" || name == "binary") {
			given["format"] = name
			continue
		}
		if name == "force" { // the old form
			next, err := w.name()
			if err != nil {
				return err
			}
			if name += "_" + next; next == "not" {
				w.eat("null")
				name = "force_not_null"
			}
		}
		w.eat("as")
		switch {
		case w.eat("*"):
			lists[name] = map[string]bool{"*": true}
		case w.eat("("):
			list := map[string]bool{}
			for !w.eat(")") {
				col, err := w.name()
				if err != nil {
					return err
				}
				list[col] = true
				w.eat(",")
			}
			lists[name] = list
		case strings.HasPrefix(name, "force_"):
			col, err := w.name()
			if err != nil {
				return err
			}
			lists[name] = map[string]bool{col: true}
		case w.over(), w.peek().Is(","), w.peek().Is(")"), !inside && name == "header":
			given[name] = "true"
		default:
			given[name] = w.take().Text
		}
		w.eat(",")
	}
	if err := w.nothing(); err != nil {
		return err
	}
	return f.apply(given, lists)
}

func (f *copyForm) apply(given map[string]string, lists map[string]map[string]bool) error {
	bad := func(name, v string) error {
		return sqlstate.New(sqlstate.InvalidParameter, "COPY %s cannot be %q", name, v)
	}
	if v, ok := given["format"]; ok {
		f.format = strings.ToLower(v)
	}
	switch f.format {
	case "text":
		f.delimiter, f.null = '\t', `\N`
	case "csv":
		f.delimiter, f.quote, f.escape = ',', '"', '"'
	case "binary":
	default:
		return sqlstate.New(sqlstate.InvalidParameter, "COPY format %q not recognized", f.format)
	}
	one := func(name string, to *byte) error {
		v, ok := given[name]
		if !ok {
			return nil
		}
		if len(v) != 1 || v == "\n" || v == "\r" {
			return bad(name, v)
		}
		*to = v[0]
		return nil
	}
	if err := one("delimiter", &f.delimiter); err != nil {
		return err
	}
	if err := one("quote", &f.quote); err != nil {
		return err
	}
	f.escape = f.quote
	if err := one("escape", &f.escape); err != nil {
		return err
	}
	for name, v := range given {
		switch name {
		case "null":
			f.null = v
		case "header":
			switch strings.ToLower(v) {
			case "match":
				f.header, f.match = true, true
			case "true", "on", "1":
				f.header = true
			case "false", "off", "0":
			default:
				return bad(name, v)
			}
		case "encoding":
			if u := strings.ToUpper(v); u != "UTF8" && u != "UTF-8" {
				return sqlstate.New(sqlstate.FeatureNotSupported, "the encoding %q is not supported: use UTF8", v)
			}
		case "on_error":
			if v != "stop" {
				return sqlstate.New(sqlstate.FeatureNotSupported, "COPY ON_ERROR %s is not supported", v)
			}
		case "format", "delimiter", "quote", "escape", "freeze", "oids":
		default:
			return sqlstate.New(sqlstate.SyntaxError, "option %q not recognized", name)
		}
	}
	f.forceQuote, f.forceNull, f.notNull = lists["force_quote"], lists["force_null"], lists["force_not_null"]
	return f.check(given)
}

// notDelimiters mean something else in the text format: what is written with one of them could not be read again.
const notDelimiters = `\.abcdefghijklmnopqrstuvwxyz0123456789`

// check refuses options that contradict each other, as PostgreSQL does.
func (f *copyForm) check(given map[string]string) error {
	for _, name := range []string{"delimiter", "null", "quote", "escape"} {
		_, ok := given[name]
		switch {
		case !ok:
		case f.format == "binary":
			return sqlstate.New(sqlstate.SyntaxError, "cannot specify %s in BINARY mode", strings.ToUpper(name))
		case f.format == "text" && (name == "quote" || name == "escape"):
			return sqlstate.New(sqlstate.FeatureNotSupported, "COPY %s available only in CSV mode", name)
		}
	}
	switch {
	case f.format == "binary":
	case f.format == "text" && strings.IndexByte(notDelimiters, f.delimiter) >= 0:
		return sqlstate.New(sqlstate.InvalidParameter, "COPY delimiter cannot be %q", string([]byte{f.delimiter}))
	case f.format == "csv" && f.delimiter == f.quote:
		return sqlstate.New(sqlstate.InvalidParameter, "COPY delimiter and quote must be different")
	case strings.ContainsAny(f.null, "\r\n"):
		return sqlstate.New(sqlstate.InvalidParameter, "COPY null representation cannot use newline or carriage return")
	case strings.IndexByte(f.null, f.delimiter) >= 0:
		return sqlstate.New(sqlstate.FeatureNotSupported, "COPY delimiter must not appear in the NULL specification")
	case f.format == "csv" && strings.IndexByte(f.null, f.quote) >= 0:
		return sqlstate.New(sqlstate.FeatureNotSupported, "CSV quote character must not appear in the NULL specification")
	}
	return nil
}

func (k *copyStatement) columns(*conn) ([]column, bool, bool, error) { return nil, false, true, nil }

// reads reports that the statement reads the messages of the client itself.
func (k *copyStatement) reads() bool { return k.in }

// relation finds the table and its columns.
func (k *copyStatement) relation(ctx context.Context, c *conn) (*tableRelation, []int, error) {
	env := &sqlEnv{c: c, ctx: ctx}
	if _, err := env.full(); err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(c.schema.Tables, func(t *catalog.Table) bool { return t.Name == k.table })
	if i < 0 {
		return nil, nil, sqlstate.New(sqlstate.UndefinedTable, "relation %q does not exist", k.table)
	}
	r := newTableRelation(c, c.schema.Tables[i])
	var cols []int
	for j := range r.cols {
		if k.cols == nil {
			cols = append(cols, j)
		}
	}
	for _, name := range k.cols {
		j := slices.IndexFunc(r.cols, func(col sql.Column) bool { return col.Name == name })
		if j < 0 {
			return nil, nil, sqlstate.New(sqlstate.UndefinedColumn, "column %q of relation %q does not exist", name,
				k.table)
		}
		if slices.Contains(cols, j) {
			return nil, nil, sqlstate.New(sqlstate.DuplicateColumn, "column %q specified more than once", name)
		}
		cols = append(cols, j)
	}
	return r, cols, nil
}

func (k *copyStatement) run(ctx context.Context, c *conn, how *call) (string, error) {
	if k.in {
		return k.receive(c)
	}
	out := &copyOut{c: c, form: &k.form}
	if k.query != nil {
		if _, err := k.query.work.run(ctx, c, &call{args: how.args, out: out}); err != nil {
			return "", err
		}
		if !out.began {
			return "", sqlstate.New(sqlstate.SyntaxError, "COPY needs a query that answers rows")
		}
		return out.end()
	}
	r, cols, err := k.relation(ctx, c)
	if err != nil {
		return "", err
	}
	list := make([]column, len(cols))
	for i, j := range cols {
		list[i] = column{name: r.cols[j].Name, oid: r.cols[j].OID}
	}
	if err := out.begin(list); err != nil {
		return "", err
	}
	if err := out.scan(ctx, r, cols); err != nil {
		return "", err
	}
	return out.end()
}

// response says what the data of a COPY looks like.
func (f *copyForm) response(n int) (format byte, codes []uint16) {
	if f.format == "binary" {
		format = 1
	}
	for range n {
		codes = append(codes, uint16(format))
	}
	return format, codes
}
