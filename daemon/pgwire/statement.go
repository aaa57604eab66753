package pgwire

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// statement is one statement of a text, ready to run.
type statement struct {
	text   string // its source
	work   work
	params []pgtype.OID // what $1, $2, … are taken for; 0: not known
}

// work is a statement that is ready to run.
type work interface {
	// columns are what the statement answers, as far as that is known before it runs. rows: it answers rows; known:
	// cols is what they have.
	columns(c *conn) (cols []column, rows, known bool, err error)
	// run does it, and gives the tag of the answer.
	run(ctx context.Context, c *conn, call *call) (tag string, err error)
}

// call is how a statement is to run.
type call struct {
	args []value.Value
	json bool // the client was told of one column of jsonb
	out  sink
}

// sink takes the rows of an answer.
type sink interface {
	// begin says which columns there are, once and before the rows.
	begin(cols []column) error
	// row takes a row, which is good until row returns.
	row(values []value.Value) error
}

// heals is work that a transaction which has failed still does.
type heals interface{ heals() bool }

// mostStatements is how many statements a text may have, statementCost about what one takes in memory.
//
// SECURITY: longestReading bounds texts whose statements make each other long to read, such as brackets that stay open.
const (
	longestReading = 10 * time.Second
	mostStatements = 100_000
	statementCost  = 256
)

// split reads the statements of a text. It must be closed by what it returns besides.
func (c *conn) split(text string) (list []*statement, done func(), err error) {
	held, was := 0, c.settings.dialect
	defer func() { c.settings.dialect = was }()
	done = func() {
		c.mem.Release(held)
		c.mem.Shrink()
	}
	for pos, begun := 0, time.Now(); ; {
		s, next, err := c.next(text, pos)
		if err == nil && time.Since(begun) > longestReading {
			err = sqlstate.New(sqlstate.TooMuch,
				"the statements of one message take too long to read: send fewer of them at a time")
		}
		if err != nil {
			done()
			return nil, nil, err
		}
		if s != nil {
			if len(list) > 0 || len(text) > smallMessage {
				if err := c.mem.Take(statementCost); err != nil {
					done()
					return nil, nil, err
				}
				held += statementCost
			}
			if k, ok := s.work.(*control); ok && k.speaks != "" {
				if d, known := dialects[strings.ToLower(k.speaks)]; known {
					c.settings.dialect = d
				}
			}
			if list = append(list, s); len(list) > mostStatements {
				done()
				return nil, nil, sqlstate.New(sqlstate.TooMuch, "too many statements in one message")
			}
		}
		if next >= len(text) {
			return list, done, nil
		}
		pos = next
	}
}

// next reads the statement at byte pos of a text; nil where there is none. next is where to go on.
func (c *conn) next(text string, pos int) (s *statement, next int, err error) {
	pos = skipBlanks(text, pos)
	if pos >= len(text) {
		return nil, len(text), nil
	}
	word := firstWord(text[pos:])
	if read, ok := controls[word]; ok {
		tokens, end, err := sql.Tokens(text, pos)
		if err == nil || holdsOther[word] {
			in := &words{tokens: tokens, text: text, at: pos, end: end}
			w, err := read(c, in)
			if err != nil {
				return nil, 0, err
			}
			if w != nil {
				s := &statement{text: strings.TrimSpace(text[pos:in.end]), work: w}
				if p, ok := w.(interface{ paramTypes() []pgtype.OID }); ok {
					s.params = p.paramTypes()
				}
				return s, in.end, nil
			}
		}
	}
	if c.settings.dialect != isoGQL || queryWords[word] {
		s, end, err := c.sqlStatement(text, pos, word)
		if s != nil || err != nil {
			return s, end, err
		}
	}
	s, next, err = c.product(text, pos)
	if err != nil && c.settings.dialect == plainSQL {
		err = cmp.Or(refused(text, pos, word), err)
	}
	return s, next, err
}

// holdsOther begin statements in which there may be one of the language, which the lexer of SQL cannot read.
var holdsOther = map[string]bool{"declare": true, "prepare": true, "copy": true}

// queryWords begin what may be a query of SQL.
var queryWords = map[string]bool{"select": true, "with": true, "values": true, "table": true, "(": true}

// definitions begin statements of SQL that are refused, with what follows where the language has the word, too.
var definitions = map[string]map[string]bool{
	"create": kinds, "drop": kinds, "alter": kinds, "comment": nil, "grant": nil, "revoke": nil, "merge": nil,
	"call": nil, "do": nil, "refresh": nil, "reindex": nil, "cluster": nil,
}

// kinds are what SQL defines.
var kinds = map[string]bool{"table": true, "index": true, "unique": true, "view": true, "schema": true, "type": true,
	"sequence": true, "extension": true, "function": true, "procedure": true, "temp": true, "temporary": true,
	"unlogged": true, "or": true, "materialized": true, "database": true, "role": true, "user": true, "trigger": true,
	"domain": true, "policy": true, "publication": true, "foreign": true}

// refused is the error of a statement that defines something in the way of SQL, which the language cannot read either;
// nil where it is none.
func refused(text string, pos int, word string) error {
	after, ok := definitions[word]
	tokens, _, err := sql.Tokens(text, pos)
	if !ok || err != nil || len(tokens) < 2 {
		return nil
	}
	name := strings.ToUpper(word)
	if after != nil {
		if tokens[1].Kind != sql.Ident || !after[tokens[1].Text] {
			return nil
		}
		name += " " + strings.ToUpper(tokens[1].Text)
	}
	return sqlstate.New(sqlstate.FeatureNotSupported, "%s is not supported", name).
		Hinted("ServiceQL has DEFINE TABLE, DEFINE FIELD, DEFINE INDEX, DEFINE USER and REMOVE.").
		At(1 + characters(text, pos))
}

// skipBlanks passes blanks, comments of either language and semicolons.
func skipBlanks(text string, pos int) int {
	for pos < len(text) {
		rest := text[pos:]
		switch {
		case strings.IndexByte(" \t\n\r\v\f;", rest[0]) >= 0:
			pos++
		case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "//"), rest[0] == '#':
			i := strings.IndexByte(rest, '\n')
			if i < 0 {
				return len(text)
			}
			pos += i + 1
		case strings.HasPrefix(rest, "/*"):
			end := commentEnd(rest)
			if end < 0 {
				return pos
			}
			pos += end
		default:
			return pos
		}
	}
	return pos
}

// commentEnd is the end of the comment at the start of s, which may hold others; -1 where it does not end.
func commentEnd(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); {
		switch s[i : i+2] {
		case "/*":
			depth++
			i += 2
		case "*/":
			depth--
			i += 2
			if depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return -1
}

// firstWord is the word at the start of s in lower case, or an opening parenthesis.
func firstWord(s string) string {
	if strings.HasPrefix(s, "(") {
		return "("
	}
	n := 0
	for n < len(s) && n < 16 && (s[n]|0x20 >= 'a' && s[n]|0x20 <= 'z' || s[n] == '_') {
		n++
	}
	return strings.ToLower(s[:n])
}

// words are the tokens of a statement that is the server's own.
type words struct {
	tokens []sql.Token
	text   string
	at     int // byte where the statement begins
	end    int // and ends
	pos    int
}

func (w *words) peek() sql.Token {
	if w.pos < len(w.tokens) {
		return w.tokens[w.pos]
	}
	return sql.Token{Pos: w.end, End: w.end}
}

func (w *words) take() sql.Token {
	t := w.peek()
	if w.pos < len(w.tokens) {
		w.pos++
	}
	return t
}

// eat takes the next words if they are these.
func (w *words) eat(list ...string) bool {
	for i, word := range list {
		if w.pos+i >= len(w.tokens) || !w.tokens[w.pos+i].Is(word) {
			return false
		}
	}
	w.pos += len(list)
	return true
}

func (w *words) over() bool { return w.pos >= len(w.tokens) }

// bad is a syntax error at the next word.
func (w *words) bad() error {
	t := w.peek()
	e := sqlstate.New(sqlstate.SyntaxError, "syntax error at end of input")
	if t.End > t.Pos {
		e = sqlstate.New(sqlstate.SyntaxError, "syntax error at or near %q", w.text[t.Pos:t.End])
	}
	return e.At(characters(w.text, t.Pos) + 1)
}

// name takes an identifier.
func (w *words) name() (string, error) {
	t := w.peek()
	if t.Kind != sql.Ident && t.Kind != sql.Quoted {
		return "", w.bad()
	}
	w.pos++
	return t.Text, nil
}

// nothing refuses further words.
func (w *words) nothing() error {
	if w.over() {
		return nil
	}
	return w.bad()
}
