package gql

import (
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

// expr reads an expression. The operators by rank, loosest first: OR and XOR, AND, IS TRUE, NOT, comparison, ||, + and
// -, * and /, signs.
func (p *parser) expr() (Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	return p.operators(p.conj, func() (Op, bool) {
		if p.is("XOR") {
			return Xor, true
		}
		return Or, p.is("OR")
	})
}

// operators reads operands with operators of one rank between them, which bind to the left.
func (p *parser) operators(operand func() (Expr, error), operator func() (Op, bool)) (Expr, error) {
	l, err := operand()
	for n := 0; err == nil; n++ {
		op, ok := operator()
		if !ok {
			break
		}
		if err := p.chain(n); err != nil {
			return nil, err
		}
		at := Span{p.tok.start, p.tok.end}
		if err := p.next(); err != nil {
			return nil, err
		}
		l, err = p.rightOf(op, l, at, operand)
	}
	return l, err
}

func (p *parser) rightOf(op Op, l Expr, at Span, right func() (Expr, error)) (Expr, error) {
	start := p.tok.start
	r, err := right()
	if err != nil {
		return nil, err
	}
	if _, ok := r.(*IsNull); ok && op >= Equal && p.src[start] != '(' {
		return nil, p.fail(at.Start, p.last, "put the operand in parentheses",
			"`IS NULL` may only directly follow a simple expression")
	}
	return &Binary{Op: op, L: l, R: r, Span: at}, nil
}

func (p *parser) conj() (Expr, error) {
	return p.operators(p.truth, func() (Op, bool) { return And, p.is("AND") })
}

// truth reads c IS [NOT] TRUE and the like.
func (p *parser) truth() (Expr, error) {
	x, err := p.neg()
	for n := 0; err == nil && p.is("IS"); n++ {
		if err = p.chain(n); err != nil {
			break
		}
		if err = p.next(); err != nil {
			break
		}
		is := &Is{X: x}
		if is.Not, err = p.eat("NOT"); err != nil {
			break
		}
		switch {
		case p.is("TRUE"):
			is.Truth = IsTrue
		case p.is("FALSE"):
			is.Truth = IsFalse
		case p.is("UNKNOWN"):
			is.Truth = IsUnknown
		case p.is("NULL"):
			return nil, p.fail(p.tok.start, p.tok.end, "put the operand in parentheses",
				"`IS NULL` may only directly follow a simple expression")
		default:
			return nil, p.unexpected("`TRUE`, `FALSE` or `UNKNOWN`")
		}
		x, err = is, p.next()
	}
	return x, err
}

func (p *parser) neg() (Expr, error) {
	if !p.is("NOT") {
		return p.comparison()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	start := p.tok.start
	if err := p.next(); err != nil {
		return nil, err
	}
	x, err := p.neg()
	return &Unary{Op: Not, X: x, Span: p.span(start)}, err
}

// noOperators are words that other languages have as operators, with what GQL says of them.
var noOperators = map[string]string{"IN": "IN` membership", "LIKE": "LIKE`", "STARTS": "STARTS WITH`",
	"ENDS":     "ENDS WITH`",
	"CONTAINS": "CONTAINS`"}

func (p *parser) comparison() (Expr, error) {
	l, err := p.cat()
	if err != nil {
		return nil, err
	}
	op, ok, err := p.comparator()
	if err != nil || !ok {
		return l, err
	}
	at := Span{p.last - 1, p.last}
	x, err := p.rightOf(op, l, at, p.cat)
	if err != nil {
		return nil, err
	}
	at = Span{p.tok.start, p.tok.end}
	if _, again, err := p.comparator(); err != nil {
		return nil, err
	} else if again {
		return nil, p.fail(at.Start, at.End, "combine the comparisons with AND",
			"Comparison operators cannot be chained")
	}
	return x, nil
}

// comparator reads a comparison operator if one is there.
func (p *parser) comparator() (op Op, ok bool, err error) {
	t := p.tok
	if t.kind == tokWord && noOperators[t.upper] != "" && (p.lets == 0 || t.upper != "IN") {
		return op, false, p.fail(t.start, t.end, "", "GQL has no `%s operator", noOperators[t.upper])
	}
	if t.kind != tokPunct {
		return op, false, nil
	}
	switch t.text {
	case "!=":
		return op, false, p.fail(t.start, t.end, "", "GQL uses `<>` for inequality")
	case "=":
		return Equal, true, p.next()
	case "<", ">":
	default:
		return op, false, nil
	}
	op = Less
	if t.text == ">" {
		op = More
	}
	if err := p.next(); err != nil {
		return op, true, err
	}
	if p.tok.start != t.end { // the parts of an operator stand together
		return op, true, nil
	}
	switch {
	case p.at("=") && op == Less:
		return LessEqual, true, p.next()
	case p.at("=") && op == More:
		return MoreEqual, true, p.next()
	case p.at(">") && op == Less:
		return NotEqual, true, p.next()
	}
	return op, true, nil
}

func (p *parser) cat() (Expr, error) {
	return p.operators(p.sum, func() (Op, bool) { return Concatenate, p.at("||") })
}

func (p *parser) sum() (Expr, error) {
	return p.operators(p.product, func() (Op, bool) {
		if p.at("-") {
			return Sub, true
		}
		return Add, p.at("+")
	})
}

func (p *parser) product() (Expr, error) {
	return p.operators(p.sign, func() (Op, bool) {
		if p.at("/") {
			return Div, true
		}
		return Mul, p.at("*")
	})
}

func (p *parser) sign() (Expr, error) {
	op := Plus
	switch {
	case p.at("-"):
		op = Minus
	case !p.at("+"):
		return p.primary()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	start := p.tok.start
	if err := p.next(); err != nil {
		return nil, err
	}
	x, err := p.sign()
	return &Unary{Op: op, X: x, Span: p.span(start)}, err
}

// primary reads an atom with its properties and the tests that may follow a simple expression.
func (p *parser) primary() (Expr, error) {
	x, err := p.atom()
	if err != nil {
		return nil, err
	}
	for n := 0; p.at("."); n++ {
		if err := p.chain(n); err != nil {
			return nil, err
		}
		if err := p.next(); err != nil {
			return nil, err
		}
		n, err := p.propertyName()
		if err != nil {
			return nil, err
		}
		x = &Prop{X: x, Name: n}
	}
	return p.test(x)
}

// test reads what may follow a simple expression: IS NULL and its like, :label, ::type.
func (p *parser) test(x Expr) (Expr, error) {
	switch {
	case p.at("::"):
		if err := p.next(); err != nil {
			return nil, err
		}
		t, err := p.typ()
		return &IsTyped{X: x, Type: t}, err
	case p.at(":"):
		if _, ok := x.(*Ref); !ok {
			return x, nil
		}
		if err := p.next(); err != nil {
			return nil, err
		}
		l, err := p.label()
		return &IsLabeled{X: x, Label: l}, err
	case !p.is("IS"):
		return x, nil
	}
	m := p.mark()
	if err := p.next(); err != nil {
		return nil, err
	}
	not, err := p.eat("NOT")
	if err != nil {
		return nil, err
	}
	word := p.tok.upper
	if p.tok.kind != tokWord {
		word = ""
	}
	switch word {
	case "NULL":
		return &IsNull{X: x, Not: not}, p.next()
	case "TYPED":
		if err := p.next(); err != nil {
			return nil, err
		}
		t, err := p.typ()
		return &IsTyped{X: x, Not: not, Type: t}, err
	case "LABELED":
		if err := p.next(); err != nil {
			return nil, err
		}
		l, err := p.label()
		return &IsLabeled{X: x, Not: not, Label: l}, err
	case "SOURCE", "DESTINATION":
		if err := p.next(); err != nil {
			return nil, err
		}
		if err := p.expect("OF"); err != nil {
			return nil, err
		}
		n, err := p.variable()
		return &IsEnd{X: x, Not: not, Source: word == "SOURCE", Edge: &Ref{n}}, err
	case "DIRECTED":
		return &IsDirected{X: x, Not: not}, p.next()
	case "NFC", "NFD", "NFKC", "NFKD", "NORMALIZED":
		form := "NFC"
		if word != "NORMALIZED" {
			form = word
			if err := p.next(); err != nil {
				return nil, err
			}
		}
		return &IsNormalized{X: x, Not: not, Form: form}, p.expect("NORMALIZED")
	}
	p.reset(m) // IS TRUE, which stands further out
	return x, nil
}

func (p *parser) param() (Expr, error) {
	t := p.tok
	n := Name{t.text, Span{t.start, t.end}}
	if err := p.free(n, "Parameter"); err != nil {
		return nil, err
	}
	switch t.text {
	case "this", "self", "parent", "value", "before", "after", "event", "auth", "session", "token", "access":
		return nil, p.fail(t.start, t.end, "", "The parameter name `$%s` is reserved by the engine", t.text)
	}
	return &Param{n}, p.next()
}

// literal is a constant at tok.
func (p *parser) literal(v value.Value) (Expr, error) {
	return &Literal{v, Span{p.tok.start, p.tok.end}}, p.next()
}

func (p *parser) atom() (Expr, error) {
	t := p.tok
	switch t.kind {
	case tokNumber:
		return p.literal(t.val)
	case tokString, tokDouble: // where a value is expected, double quotes make a string
		return p.literal(value.Str(t.text))
	case tokQuoted:
		n, err := p.variable()
		return &Ref{n}, err
	case tokParam:
		return p.param()
	case tokPunct:
		return p.bracketed()
	case tokEnd:
		return nil, p.unexpected("an expression")
	}
	return p.wordAtom()
}

// bracketed reads a list, a map, or an expression in parentheses.
func (p *parser) bracketed() (Expr, error) {
	start := p.tok.start
	switch p.tok.text {
	case "(":
		if err := p.next(); err != nil {
			return nil, err
		}
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		return x, p.expectPunct(")")
	case "[":
		elems, err := p.elems()
		return &List{elems, p.span(start)}, err
	case "{":
		fields, err := p.fields()
		return &Map{fields, p.span(start)}, err
	}
	return nil, p.unexpected("an expression")
}

// elems reads [a, b, …].
func (p *parser) elems() ([]Expr, error) {
	if err := p.expectPunct("["); err != nil {
		return nil, err
	}
	elems := []Expr{}
	if !p.at("]") {
		err := p.list(func() error {
			x, err := p.expr()
			elems = append(elems, x)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return elems, p.expectPunct("]")
}

// wordAtom reads what begins with a word.
func (p *parser) wordAtom() (Expr, error) {
	t := p.tok
	switch t.upper {
	case "TRUE":
		return p.literal(value.Bool(true))
	case "FALSE":
		return p.literal(value.Bool(false))
	case "NULL", "UNKNOWN":
		return p.literal(value.Null)
	case "CASE":
		return p.caseOf()
	case "LET":
		return p.letIn()
	case "SESSION_USER", "CURRENT_USER", "CURRENT_ROLE", "SYSTEM_USER":
		return nil, p.fail(t.start, t.end, "", "`%s` value specification is not supported", t.upper)
	}
	next, err := p.peek()
	if err != nil {
		return nil, err
	}
	switch {
	case next.kind == tokPunct && next.text == "(" && t.upper != "NOT":
		return p.call1()
	case next.kind == tokPunct && next.text == "[" && (t.upper == "LIST" || t.upper == "ARRAY" || t.upper == "PATH"):
		if err := p.next(); err != nil {
			return nil, err
		}
		elems, err := p.elems()
		if t.upper == "PATH" {
			return &PathOf{elems, p.span(t.start)}, err
		}
		return &List{elems, p.span(t.start)}, err
	case next.kind == tokPunct && next.text == "{":
		switch t.upper {
		case "RECORD":
			if err := p.next(); err != nil {
				return nil, err
			}
			fields, err := p.fields()
			return &Map{fields, p.span(t.start)}, err
		case "EXISTS", "VALUE":
			return p.subquery()
		}
	case (next.kind == tokString || next.kind == tokDouble) && temporal[t.upper] != "":
		if err := p.next(); err != nil {
			return nil, err
		}
		arg, err := p.literal(value.Str(next.text))
		return &Func{Name: temporal[t.upper], Args: []Expr{arg}, Span: p.span(t.start)}, err
	case instants[t.upper]:
		return &Func{Name: t.upper, Span: Span{t.start, t.end}}, p.next()
	}
	n, err := p.variable()
	return &Ref{n}, err
}

// temporal are the words that stand before the text of a temporal literal, and the functions that read it.
var temporal = map[string]string{"DATE": "DATE", "DATETIME": "ZONED_DATETIME", "TIMESTAMP": "ZONED_DATETIME",
	"DURATION": "DURATION"}

// instants are the functions that are called without parentheses.
var instants = map[string]bool{"CURRENT_TIMESTAMP": true, "LOCAL_TIMESTAMP": true, "CURRENT_DATE": true}

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

func (p *parser) cast() (Expr, error) {
	start := p.tok.start
	if err := p.next(); err != nil {
		return nil, err
	}
	if err := p.expectPunct("("); err != nil {
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

// subquery reads EXISTS or VALUE with a query in braces or parentheses. EXISTS takes a pattern as well.
func (p *parser) subquery() (Expr, error) {
	t := p.tok
	exists := t.upper == "EXISTS"
	if err := p.next(); err != nil {
		return nil, err
	}
	end := "}"
	if p.at("(") {
		end = ")"
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.next(); err != nil {
		return nil, err
	}
	var q *Query
	var err error
	if exists && p.beginsPattern() {
		q, err = p.existsPattern()
	} else {
		q, err = p.query()
	}
	if err != nil {
		return nil, err
	}
	if err := p.expectPunct(end); err != nil {
		return nil, err
	}
	if exists {
		return &Exists{q, p.span(t.start)}, nil
	}
	return &Scalar{q, p.span(t.start)}, nil
}

// beginsPattern reports whether a graph pattern stands at tok, and no statement.
func (p *parser) beginsPattern() bool {
	if p.at("(") || p.at("-") || p.at("<") || p.at("~") {
		return true
	}
	if p.isAny("ANY", "ALL") {
		return true
	}
	if next, err := p.peek(); err == nil && p.isName() {
		if p.tok.kind != tokWord || !reserved[p.tok.upper] {
			return next.kind == tokPunct && (next.text == "=" || next.text == "(") || p.isAny("SHORTEST", "WALK",
				"TRAIL", "SIMPLE", "ACYCLIC")
		}
	}
	return false
}

// existsPattern reads pattern [WHERE condition] as the query MATCH pattern.
func (p *parser) existsPattern() (*Query, error) {
	m := &Match{}
	start := p.tok.start
	err := p.list(func() error {
		pt, err := p.path()
		m.Patterns = append(m.Patterns, pt)
		return err
	})
	if err != nil {
		return nil, err
	}
	if where, err := p.eat("WHERE"); err != nil {
		return nil, err
	} else if where {
		if m.Where, err = p.expr(); err != nil {
			return nil, err
		}
	}
	m.Span = p.span(start)
	return &Query{Parts: []*Composite{{Arms: []*Linear{{Span: m.Span, Steps: []Step{m}}}}}}, nil
}

// trim reads TRIM([LEADING|TRAILING|BOTH] [c FROM] s), or TRIM(list, n).
func (p *parser) trim() (Expr, error) {
	f := &Func{Name: "TRIM", Spec: "BOTH"}
	start := p.tok.start
	if err := p.next(); err != nil {
		return nil, err
	}
	if err := p.expectPunct("("); err != nil {
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
	var err error
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
	start := p.tok.start
	if err := p.next(); err != nil {
		return nil, err
	}
	if err := p.expectPunct("("); err != nil {
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
	start := p.tok.start
	if err := p.next(); err != nil {
		return nil, err
	}
	if err := p.expectPunct("("); err != nil {
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

func (p *parser) caseOf() (Expr, error) {
	c := &Case{}
	start := p.tok.start
	if err := p.next(); err != nil {
		return nil, err
	}
	var err error
	if !p.is("WHEN") {
		if c.Operand, err = p.expr(); err != nil {
			return nil, err
		}
	}
	for p.is("WHEN") {
		w, err := p.when(c.Operand != nil)
		if err != nil {
			return nil, err
		}
		c.Whens = append(c.Whens, w)
	}
	if len(c.Whens) == 0 {
		return nil, p.unexpected("`WHEN`")
	}
	if other, err := p.eat("ELSE"); err != nil {
		return nil, err
	} else if other {
		if c.Else, err = p.expr(); err != nil {
			return nil, err
		}
	}
	err = p.expect("END")
	c.Span = p.span(start)
	return c, err
}

// when reads WHEN … THEN …; of a CASE with an operand the conditions are values, or tests without their left side.
func (p *parser) when(operand bool) (When, error) {
	var w When
	if err := p.next(); err != nil {
		return w, err
	}
	one := func() error {
		x, err := p.expr()
		w.Conds = append(w.Conds, x)
		return err
	}
	if operand {
		err := p.list(func() error {
			x, err := p.whenOperand()
			w.Conds = append(w.Conds, x)
			return err
		})
		if err != nil {
			return w, err
		}
	} else if err := one(); err != nil {
		return w, err
	}
	if err := p.expect("THEN"); err != nil {
		return w, err
	}
	x, err := p.expr()
	w.Then = x
	return w, err
}

func (p *parser) whenOperand() (Expr, error) {
	if p.is("IS") {
		x, err := p.test(&Operand{})
		if err == nil && p.is("IS") {
			err = p.unexpected("`NULL` or another test of a value")
		}
		return x, err
	}
	at := Span{p.tok.start, p.tok.end}
	op, ok, err := p.comparator()
	if err != nil {
		return nil, err
	}
	if !ok {
		op = Equal
	}
	return p.rightOf(op, &Operand{}, at, p.cat)
}

func (p *parser) letIn() (Expr, error) {
	l := &LetIn{}
	start := p.tok.start
	if err := p.next(); err != nil {
		return nil, err
	}
	p.lets++
	err := p.list(func() error {
		f, err := p.definition()
		l.Items = append(l.Items, f)
		return err
	})
	p.lets--
	if err != nil {
		return nil, err
	}
	if err := p.expect("IN"); err != nil {
		return nil, err
	}
	if l.X, err = p.expr(); err != nil {
		return nil, err
	}
	err = p.expect("END")
	l.Span = p.span(start)
	return l, err
}
