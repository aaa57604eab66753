package sql

import (
	"strconv"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// pathStep is a step of a path of SQL/JSON: .key, .*, [n], [last - n] or [*].
type pathStep struct {
	key     string
	element bool // of an array, else of an object
	all     bool
	at      int64 // less than 0: from the end
}

// readPath reads a path that has nothing but steps, in the mode lax: filters, arithmetic and methods are refused.
func readPath(text string) ([]pathStep, error) {
	refused := sqlstate.New(sqlstate.FeatureNotSupported, "the JSON path %q has more than keys and indexes", text)
	rest, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "lax ")), "$")
	if !ok {
		return nil, refused
	}
	var out []pathStep
	for rest != "" {
		var step pathStep
		switch {
		case strings.HasPrefix(rest, ".*"):
			step, rest = pathStep{all: true}, rest[2:]
		case strings.HasPrefix(rest, `."`):
			quoted, err := strconv.QuotedPrefix(rest[1:])
			if err != nil {
				return nil, refused
			}
			if step.key, err = strconv.Unquote(quoted); err != nil {
				return nil, refused
			}
			rest = rest[1+len(quoted):]
		case rest[0] == '.':
			n := strings.IndexAny(rest[1:], ".[]()?@$*+-/%<>=!&|\"', \t\n")
			if n < 0 {
				n = len(rest) - 1
			}
			step.key, rest = rest[1:1+n], rest[1+n:]
			if step.key == "" || strings.HasPrefix(rest, "(") {
				return nil, refused
			}
		case rest[0] == '[':
			inside, after, closed := strings.Cut(rest[1:], "]")
			if step, ok = readSubscript(inside); !ok || !closed {
				return nil, refused
			}
			rest = after
		default:
			return nil, refused
		}
		out = append(out, step)
	}
	return out, nil
}

// readSubscript reads what stands between [ and ].
func readSubscript(text string) (step pathStep, ok bool) {
	text = strings.ReplaceAll(text, " ", "")
	step.element = true
	back, fromEnd := strings.CutPrefix(text, "last")
	switch {
	case text == "*":
		step.all = true
		return step, true
	case text == "last":
		step.at = -1
		return step, true
	case fromEnd && strings.HasPrefix(back, "-"):
		n, err := strconv.ParseInt(back[1:], 10, 32)
		step.at = -1 - n
		return step, err == nil && n >= 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	step.at = n
	return step, err == nil && n >= 0
}

// follow gives what a path leads to: a step to a key goes into the elements of an array, and what is no array counts as
// one of a single element.
func follow(x value.Value, path []pathStep) []value.Value {
	at := []value.Value{x}
	for _, step := range path {
		var next []value.Value
		for _, v := range at {
			next = append(next, step.from(v)...)
		}
		at = next
	}
	return at
}

func (p pathStep) from(v value.Value) []value.Value {
	list := []value.Value{v}
	if v.Kind() == value.KindArray {
		list = v.Elems()
	}
	if p.element {
		i := p.at
		if i < 0 {
			i += int64(len(list))
		}
		switch {
		case p.all:
			return list
		case i < 0 || i >= int64(len(list)):
			return nil
		}
		return list[i : i+1]
	}
	var out []value.Value
	for _, e := range list {
		if e.Kind() != value.KindObject {
			continue
		}
		if f, there := e.Object().Get(p.key); there && !p.all {
			out = append(out, member(f, pgtype.JSONB))
		}
		if p.all {
			for _, f := range e.Object().Fields() {
				out = append(out, member(f.Value, pgtype.JSONB))
			}
		}
	}
	return out
}

// pathFunctions are those that follow a path.
func pathFunctions() map[string]*Function {
	along := func(oid pgtype.OID, give func(found []value.Value) value.Value) *Function {
		return Returns(oid, 2, 2, func(c *Call) (value.Value, error) {
			path, err := readPath(c.Str(1))
			if err != nil {
				return value.None, err
			}
			return give(follow(c.Args[0], path)), nil
		}, pgtype.JSONB, pgtype.Text)
	}
	query := along(pgtype.JSONB, value.ArrayOf)
	query.Set = true
	return map[string]*Function{
		"jsonb_path_query":       query,
		"jsonb_path_query_array": along(pgtype.JSONB, value.ArrayOf),
		"jsonb_path_query_first": along(pgtype.JSONB, func(found []value.Value) value.Value {
			if len(found) == 0 {
				return value.None
			}
			return found[0]
		}),
		"jsonb_path_exists": along(pgtype.Bool, func(found []value.Value) value.Value {
			return value.Bool(len(found) > 0)
		}),
	}
}
