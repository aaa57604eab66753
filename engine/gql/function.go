package gql

import (
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

// aggregates are the aggregate functions, with how many arguments they take.
var aggregates = map[string]int{"COUNT": 1, "SUM": 1, "AVG": 1, "MIN": 1, "MAX": 1, "COLLECT": 1, "COLLECT_LIST": 1,
	"STDDEV_SAMP": 1, "STDDEV_POP": 1, "PERCENTILE_CONT": 2, "PERCENTILE_DISC": 2}

// arity is how many arguments a function takes, at least and at most (-1: any number).
type arity struct{ low, high int }

var functions = map[string]arity{
	"CHAR_LENGTH": {1, 1}, "CHARACTER_LENGTH": {1, 1}, "BYTE_LENGTH": {1, 1}, "OCTET_LENGTH": {1, 1}, "UPPER": {1, 1},
	"LOWER": {1, 1}, "LEFT": {2, 2}, "RIGHT": {2, 2}, "BTRIM": {1, 2}, "LTRIM": {1, 2}, "RTRIM": {1, 2}, "SIZE": {1, 1},
	"CARDINALITY": {1, 1}, "PATH_LENGTH": {1, 1}, "ELEMENTS": {1, 1}, "ABS": {1, 1}, "MOD": {2, 2}, "FLOOR": {1, 1},
	"CEIL": {1, 1}, "CEILING": {1, 1}, "SQRT": {1, 1}, "EXP": {1, 1}, "LN": {1, 1}, "LOG10": {1, 1}, "LOG": {2, 2},
	"POWER": {2, 2}, "SIN": {1, 1}, "COS": {1, 1}, "TAN": {1, 1}, "COT": {1, 1}, "ASIN": {1, 1}, "ACOS": {1, 1},
	"ATAN": {1, 1}, "SINH": {1, 1}, "COSH": {1, 1}, "TANH": {1, 1}, "DEGREES": {1, 1}, "RADIANS": {1, 1},
	"ZONED_DATETIME": {1, 1}, "LOCAL_DATETIME": {1, 1}, "DATE": {1, 1}, "DURATION": {1, 1}, "DURATION_BETWEEN": {2, 2},
	"COALESCE": {1, -1}, "NULLIF": {2, 2}, "ALL_DIFFERENT": {2, -1}, "SAME": {2, -1}, "ELEMENT_ID": {1, 1},
	"CURRENT_TIMESTAMP": {0, 0}, "LOCAL_TIMESTAMP": {0, 0}, "CURRENT_DATE": {0, 0},
}

// call1 reads what is written name( … ).
func (p *parser) call1() (Expr, error) {
	t := p.tok
	if _, ok := aggregates[t.upper]; ok {
		return p.aggregate()
	}
	switch t.upper {
	case "CAST":
		return p.cast()
	case "EXISTS", "VALUE":
		return p.subquery()
	case "TRIM":
		return p.trim()
	case "NORMALIZE":
		return p.normalize()
	case "PROPERTY_EXISTS":
		return p.propertyExists()
	}
	want, ok := functions[t.upper]
	if !ok {
		return nil, p.fail(t.start, t.end, "", "The function `%s` is not supported yet", t.text)
	}
	args, err := p.args()
	if err != nil {
		return nil, err
	}
	f := &Func{Name: t.upper, Args: args, Span: p.span(t.start)}
	return f, p.checkArity(t, want, len(args))
}

// args reads name(a, b), from the name on.
func (p *parser) args() ([]Expr, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	if err := p.expectPunct("("); err != nil {
		return nil, err
	}
	args := []Expr{}
	if !p.at(")") {
		err := p.list(func() error {
			x, err := p.expr()
			args = append(args, x)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return args, p.expectPunct(")")
}

func (p *parser) checkArity(t token, want arity, n int) error {
	switch {
	case n >= want.low && (n <= want.high || want.high < 0):
		return nil
	case want.low == want.high && want.low == 1:
		return p.fail(t.start, p.last, "", "`%s` takes exactly one argument", t.text)
	case want.low == want.high:
		return p.fail(t.start, p.last, "", "`%s` takes exactly %d arguments", t.text, want.low)
	case want.high < 0:
		return p.fail(t.start, p.last, "", "`%s` takes at least %d arguments", t.text, want.low)
	}
	return p.fail(t.start, p.last, "", "`%s` takes %d to %d arguments", t.text, want.low, want.high)
}

func (p *parser) aggregate() (Expr, error) {
	t := p.tok
	if err := p.next(); err != nil {
		return nil, err
	}
	if err := p.next(); err != nil { // the parenthesis, which was seen
		return nil, err
	}
	a := &Aggregate{Fn: strings.ToLower(t.upper)}
	if a.Fn == "collect" {
		a.Fn = "collect_list"
	}
	if p.at("*") {
		if a.Fn != "count" {
			return nil, p.fail(t.start, p.tok.end, "", "`%s(*)` is not supported; only `count(*)` takes `*`", t.text)
		}
		if err := p.next(); err != nil {
			return nil, err
		}
	} else {
		var err error
		if a.Distinct, err = p.eat("DISTINCT"); err != nil {
			return nil, err
		}
		if !a.Distinct {
			if _, err := p.eat("ALL"); err != nil {
				return nil, err
			}
		}
		var args []Expr
		if !p.at(")") {
			err = p.list(func() error {
				x, err := p.expr()
				args = append(args, x)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		want := aggregates[t.upper]
		if err := p.checkArity(t, arity{want, want}, len(args)); err != nil {
			return nil, err
		}
		if a.Arg = args[0]; want == 2 {
			a.Arg2 = args[1]
		}
	}
	err := p.expectPunct(")")
	a.Span = p.span(t.start)
	return a, err
}

// open passes a word and the bracket after it, and gives where the word starts.
func (p *parser) open() (start int, err error) {
	start = p.tok.start
	if err = p.next(); err == nil {
		err = p.expectPunct("(")
	}
	return start, err
}

func (p *parser) cast() (Expr, error) {
	start, err := p.open()
	if err != nil {
		return nil, err
	}
	x, err := p.expr()
	if err != nil {
		return nil, err
	}
	if err := p.expect("AS"); err != nil {
		return nil, err
	}
	t, err := p.typ()
	if err != nil {
		return nil, err
	}
	switch t.Kind {
	case TypeNode, TypeEdge, TypePath:
		return nil, p.fail(start, p.last, "", "Nothing can be cast to `%s`", t.Name)
	}
	if err := p.expectPunct(")"); err != nil {
		return nil, err
	}
	return &Cast{x, t, p.span(start)}, nil
}

// trim reads TRIM([LEADING|TRAILING|BOTH] [c FROM] s), or TRIM(list, n).
func (p *parser) trim() (Expr, error) {
	f := &Func{Name: "TRIM", Spec: "BOTH"}
	start, err := p.open()
	if err != nil {
		return nil, err
	}
	spec := p.isAny("LEADING", "TRAILING", "BOTH")
	if spec {
		f.Spec = p.tok.upper
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	var x Expr
	if !spec || !p.is("FROM") {
		if x, err = p.expr(); err != nil {
			return nil, err
		}
	}
	from, err := p.eat("FROM")
	if err != nil {
		return nil, err
	}
	switch {
	case from:
		s, err := p.expr()
		if err != nil {
			return nil, err
		}
		f.Args = []Expr{s}
		if x != nil {
			f.Args = append(f.Args, x)
		}
	case p.at(",") && !spec:
		if err := p.next(); err != nil {
			return nil, err
		}
		n, err := p.expr()
		if err != nil {
			return nil, err
		}
		f.Name, f.Spec, f.Args = "TRIM_LIST", "", []Expr{x, n}
	default:
		f.Args = []Expr{x}
	}
	err = p.expectPunct(")")
	f.Span = p.span(start)
	return f, err
}

// normalize reads NORMALIZE(s[, form]).
func (p *parser) normalize() (Expr, error) {
	f := &Func{Name: "NORMALIZE", Spec: "NFC"}
	start, err := p.open()
	if err != nil {
		return nil, err
	}
	x, err := p.expr()
	if err != nil {
		return nil, err
	}
	f.Args = []Expr{x}
	if more, err := p.eatPunct(","); err != nil {
		return nil, err
	} else if more {
		if !p.isAny("NFC", "NFD", "NFKC", "NFKD") {
			return nil, p.unexpected("`NFC`, `NFD`, `NFKC` or `NFKD`")
		}
		f.Spec = p.tok.upper
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	err = p.expectPunct(")")
	f.Span = p.span(start)
	return f, err
}

// propertyExists reads PROPERTY_EXISTS(x, p): p is a name, not a value.
func (p *parser) propertyExists() (Expr, error) {
	start, err := p.open()
	if err != nil {
		return nil, err
	}
	v, err := p.variable()
	if err != nil {
		return nil, err
	}
	if err := p.expectPunct(","); err != nil {
		return nil, err
	}
	n, err := p.propertyName()
	if err != nil {
		return nil, err
	}
	err = p.expectPunct(")")
	return &Func{Name: "PROPERTY_EXISTS", Args: []Expr{&Ref{v}, &Literal{value.Str(n.Text), n.Span}},
		Span: p.span(start)}, err
}
