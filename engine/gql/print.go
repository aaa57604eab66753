package gql

import (
	"math"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

// Text is a program in its canonical form: it parses to the same tree, but for the names of columns that have no alias,
// which are the text as it was written.
func (p *Program) Text() string {
	w := &printer{}
	if p.Explain {
		w.s("EXPLAIN ")
	}
	w.query(p.Query)
	return w.b.String()
}

// LabelText is a label expression as text; nil is the empty text.
func LabelText(l Label) string {
	w := &printer{}
	if l != nil {
		w.label(l, 0)
	}
	return w.b.String()
}

// ExprText is an expression in its canonical form: equal texts say that two expressions are the same.
func ExprText(x Expr) string {
	w := &printer{}
	w.expr(x, 0)
	return w.b.String()
}

type printer struct{ b strings.Builder }

func (w *printer) s(parts ...string) {
	for _, p := range parts {
		w.b.WriteString(p)
	}
}

// param prints a parameter, in backticks where it needs them.
func (w *printer) param(n string) {
	if p := (&parser{src: n}); n != "" && p.word(0) == n {
		w.s("$", n)
		return
	}
	w.s("$`", quote(n, '`'), "`")
}

// name prints an identifier, in backticks where it needs them.
func (w *printer) name(n string) {
	p := &parser{src: n}
	if n != "" && p.word(0) == n && !reserved()[strings.ToUpper(n)] && !contextual[strings.ToUpper(n)] {
		w.s(n)
		return
	}
	w.s("`", quote(n, '`'), "`")
}

// contextual are words that are no reserved words, and mean something where a name may stand.
var contextual = map[string]bool{"SHORTEST": true, "WALK": true, "TRAIL": true, "SIMPLE": true, "ACYCLIC": true,
	"REPEATABLE": true,
	"DIFFERENT":  true, "KEEP": true, "EXPLAIN": true, "FIRST": true, "LAST": true}

// quote escapes what may not stand between the quotes q.
func quote(s string, q rune) string {
	var b strings.Builder
	for _, r := range s {
		switch r {
		case q, '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (w *printer) query(q *Query) {
	for i, c := range q.Parts {
		if i > 0 {
			w.s(" NEXT ")
			for j, y := range c.Yield {
				w.s([]string{"YIELD ", ", "}[min(j, 1)])
				w.item(y)
			}
			if c.Yield != nil {
				w.s(" ")
			}
		}
		w.composite(c)
	}
}

func (w *printer) composite(c *Composite) {
	for i, l := range c.Arms {
		if i > 0 {
			w.s(" ", [...]string{"", "UNION", "EXCEPT", "INTERSECT", "OTHERWISE"}[c.Op], " ")
			if c.All {
				w.s("ALL ")
			}
		}
		w.linear(l)
	}
}

func (w *printer) linear(l *Linear) {
	if l.Braced != nil {
		w.s("{ ")
		w.query(l.Braced)
		w.s(" }")
		return
	}
	for i, s := range l.Steps {
		if i > 0 {
			w.s(" ")
		}
		w.step(s)
	}
	if len(l.Steps) > 0 && (l.Finish || l.Result != nil) {
		w.s(" ")
	}
	if l.Finish {
		w.s("FINISH")
	}
	if r := l.Result; r != nil {
		w.result(r)
	}
}

func (w *printer) result(r *Result) {
	w.s("RETURN ")
	if r.Distinct {
		w.s("DISTINCT ")
	}
	if r.Star {
		w.s("*")
	}
	for i, it := range r.Items {
		if i > 0 {
			w.s(", ")
		}
		w.item(it)
	}
	for i, g := range r.Group {
		w.s([]string{" GROUP BY ", ", "}[min(i, 1)])
		w.expr(g, 0)
	}
	if o := &r.Order; len(o.Keys) > 0 || o.Skip != nil || o.Limit != nil {
		w.s(" ")
		w.order(o)
	}
}

func (w *printer) item(it Item) {
	w.expr(it.X, 0)
	if it.Named {
		w.s(" AS ")
		w.name(it.Alias)
	}
}

func (w *printer) order(o *Order) {
	space := ""
	for i, k := range o.Keys {
		w.s([]string{"ORDER BY ", ", "}[min(i, 1)])
		w.expr(k.X, 0)
		if k.Desc {
			w.s(" DESC")
		}
		w.s([...]string{"", " NULLS FIRST", " NULLS LAST"}[k.Nulls])
		space = " "
	}
	if o.Skip != nil {
		w.s(space, "OFFSET ")
		w.expr(o.Skip, 0)
		space = " "
	}
	if o.Limit != nil {
		w.s(space, "LIMIT ")
		w.expr(o.Limit, 0)
	}
}

func (w *printer) names(ns []Name) {
	for i, n := range ns {
		if i > 0 {
			w.s(", ")
		}
		w.name(n.Text)
	}
}

func (w *printer) step(s Step) {
	switch s := s.(type) {
	case *Match:
		w.match(s)
	case *OptionalBlock:
		w.s("OPTIONAL {")
		for _, in := range s.Steps {
			w.s(" ")
			w.step(in)
		}
		w.s(" }")
	case *Insert:
		w.insert(s)
	case *Set:
		for i, it := range s.Items {
			w.s([]string{"SET ", ", "}[min(i, 1)])
			w.name(it.Var.Text)
			if it.Prop.Text != "" {
				w.s(".")
				w.name(it.Prop.Text)
			}
			w.s(" = ")
			w.expr(it.X, 0)
		}
	case *Remove:
		for i, it := range s.Items {
			w.s([]string{"REMOVE ", ", "}[min(i, 1)])
			w.name(it.Var.Text)
			w.s(".")
			w.name(it.Prop.Text)
		}
	case *Delete:
		if s.Detach {
			w.s("DETACH ")
		}
		w.s("DELETE ")
		w.names(s.Vars)
	case *Let:
		w.s("LET ")
		w.definitions(s.Items)
	case *Filter:
		w.s("FILTER ")
		w.expr(s.X, 0)
	case *For:
		w.s("FOR ")
		w.name(s.Var.Text)
		w.s(" IN ")
		w.expr(s.List, 0)
		if s.Ordinality.Text != "" {
			w.s(" WITH ORDINALITY ")
			w.name(s.Ordinality.Text)
		}
		if s.Offset.Text != "" {
			w.s(" WITH OFFSET ")
			w.name(s.Offset.Text)
		}
	case *Order:
		w.order(s)
	case *Call:
		if s.Optional {
			w.s("OPTIONAL ")
		}
		w.s("CALL ")
		if !s.All {
			w.s("(")
			w.names(s.Imports)
			w.s(") ")
		}
		w.s("{ ")
		w.query(s.Body)
		w.s(" }")
	}
}

func (w *printer) definitions(items []Field) {
	for i, f := range items {
		if i > 0 {
			w.s(", ")
		}
		w.name(f.Name.Text)
		w.s(" = ")
		w.expr(f.X, 0)
	}
}

func (w *printer) match(m *Match) {
	if m.Optional {
		w.s("OPTIONAL ")
	}
	w.s("MATCH ", [...]string{"", "DIFFERENT EDGES ", "REPEATABLE ELEMENTS "}[m.Mode])
	for i, p := range m.Patterns {
		if i > 0 {
			w.s(", ")
		}
		w.path(p)
	}
	if m.Keep != nil {
		w.s(" KEEP ")
		w.prefix(m.Keep)
	}
	if m.Where != nil {
		w.s(" WHERE ")
		w.expr(m.Where, 0)
	}
	if m.Yield != nil {
		w.s(" YIELD ")
		w.names(m.Yield)
	}
}

func (w *printer) path(p *Path) {
	if p.Var.Text != "" {
		w.name(p.Var.Text)
		w.s(" = ")
	}
	if p.Prefix != nil {
		w.prefix(p.Prefix)
		w.s(" ")
	}
	w.term(p.Term)
}

var modeNames = [...]string{PathDefault: "", PathWalk: "WALK", PathTrail: "TRAIL", PathSimple: "SIMPLE",
	PathAcyclic: "ACYCLIC"}

func (w *printer) prefix(p *Prefix) {
	mode := modeNames[p.Mode]
	parts := []string{}
	switch p.Search {
	case SearchAll:
		parts = append(parts, "ALL")
	case SearchAny:
		parts = append(parts, "ANY")
	case SearchAllShortest:
		parts = append(parts, "ALL SHORTEST")
	case SearchShortest:
		if p.Count == nil {
			parts = append(parts, "ANY SHORTEST")
		} else {
			parts = append(parts, "SHORTEST")
		}
	case SearchGroups:
		parts = append(parts, "SHORTEST")
	}
	if p.Count != nil {
		parts = append(parts, ExprText(p.Count))
	}
	if mode != "" {
		parts = append(parts, mode)
	}
	if p.Search == SearchGroups {
		parts = append(parts, "GROUPS")
	}
	w.s(strings.Join(parts, " "))
}

func (w *printer) term(t *Term) {
	for i, c := range t.Branches {
		if i > 0 {
			w.s([]string{" | ", " |+| "}[btoi(t.Multi)])
		}
		for j, f := range c.Factors {
			if j > 0 {
				if _, edge := f.(*Edge); edge { // after another edge, -- would begin a comment
					w.s(" ")
				}
			}
			w.factor(f)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w *printer) factor(f Factor) {
	switch f := f.(type) {
	case *Node:
		w.s("(")
		w.filler(f.Var, f.Label, f.Where, f.Props)
		w.s(")")
	case *Edge:
		w.s([...]string{"-[", "<-[", "-[", "~["}[f.Dir])
		w.filler(f.Var, f.Label, f.Where, f.Props)
		w.s([...]string{"]->", "]-", "]-", "]~"}[f.Dir])
		w.quant(f.Quant)
	case *Group:
		w.s("(")
		if f.Var.Text != "" {
			w.name(f.Var.Text)
			w.s(" = ")
		}
		if f.Mode != PathDefault {
			w.s(modeNames[f.Mode], " ")
		}
		w.term(f.Term)
		if f.Where != nil {
			w.s(" WHERE ")
			w.expr(f.Where, 0)
		}
		w.s(")")
		w.quant(f.Quant)
	}
}

func (w *printer) quant(q *Quant) {
	switch {
	case q == nil:
	case q.Optional:
		w.s("?")
	case q.Max < 0:
		w.s("{", strconv.Itoa(q.Min), ",}")
	default:
		w.s("{", strconv.Itoa(q.Min), ",", strconv.Itoa(q.Max), "}")
	}
}

func (w *printer) filler(v Name, l Label, where Expr, props []Field) {
	if v.Text != "" {
		w.name(v.Text)
	}
	if l != nil {
		w.s(":")
		w.label(l, 0)
	}
	if where != nil {
		w.s(" WHERE ")
		w.expr(where, 0)
	}
	if len(props) > 0 {
		w.s(" ")
		w.fields(props)
	}
}

// label prints a label expression inside of one of rank outer: 0 none, 1 |, 2 &, 3 !.
func (w *printer) label(l Label, outer int) {
	rank := 4
	switch l.(type) {
	case *LabelOr:
		rank = 1
	case *LabelAnd:
		rank = 2
	case *LabelNot:
		rank = 3
	}
	if rank < outer {
		w.s("(")
		defer w.s(")")
	}
	switch l := l.(type) {
	case *LabelName:
		w.name(l.Name.Text)
	case *LabelAny:
		w.s("%")
	case *LabelNot:
		w.s("!")
		w.label(l.X, 3)
	case *LabelAnd:
		w.label(l.L, 2)
		w.s("&")
		w.label(l.R, 3)
	case *LabelOr:
		w.label(l.L, 1)
		w.s("|")
		w.label(l.R, 2)
	}
}

func (w *printer) fields(fields []Field) {
	w.s("{")
	for i, f := range fields {
		if i > 0 {
			w.s(", ")
		}
		w.name(f.Name.Text)
		w.s(": ")
		w.expr(f.X, 0)
	}
	w.s("}")
}

func (w *printer) insert(s *Insert) {
	w.s("INSERT ")
	for i, p := range s.Paths {
		if i > 0 {
			w.s(", ")
		}
		for j, n := range p.Nodes {
			if j > 0 {
				e := p.Edges[j-1]
				w.s([]string{"-[", "<-["}[btoi(e.Left)])
				w.fill(e.Var, e.Label, len(e.Props) > 0, e.Props)
				w.s([]string{"]->", "]-"}[btoi(e.Left)])
			}
			w.s("(")
			w.fill(n.Var, n.Label, n.HasProps, n.Props)
			w.s(")")
		}
	}
}

func (w *printer) fill(v, l Name, has bool, props []Field) {
	if v.Text != "" {
		w.name(v.Text)
	}
	if l.Text != "" {
		w.s(":")
		w.name(l.Text)
	}
	if has {
		w.s(" ")
		w.fields(props)
	}
}

// The ranks of operators, loosest first, as the parser reads them.
const (
	rankOr = iota + 1
	rankAnd
	rankTruth
	rankNot
	rankCompare
	rankCat
	rankSum
	rankProduct
	rankSign
	rankTest
	rankAtom
)

func rankOf(x Expr) int {
	switch x := x.(type) {
	case *Binary:
		switch x.Op {
		case Or, Xor:
			return rankOr
		case And:
			return rankAnd
		case Concatenate:
			return rankCat
		case Add, Sub:
			return rankSum
		case Mul, Div:
			return rankProduct
		}
		return rankCompare
	case *Unary:
		if x.Op == Not {
			return rankNot
		}
		return rankSign
	case *Is:
		return rankTruth
	case *IsNull, *IsTyped, *IsLabeled, *IsEnd, *IsDirected, *IsNormalized:
		return rankTest
	}
	return rankAtom
}

var opTexts = [...]string{Or: " OR ", Xor: " XOR ", And: " AND ", Not: "NOT ", Equal: " = ", NotEqual: " <> ",
	Less:      " < ",
	LessEqual: " <= ", More: " > ", MoreEqual: " >= ", Concatenate: " || ", Add: " + ", Sub: " - ", Mul: " * ",
	Div:  " / ",
	Plus: "+", Minus: "- "}

// expr prints an expression that must bind at least as close as outer.
func (w *printer) expr(x Expr, outer int) {
	rank := rankOf(x)
	if rank < outer {
		w.s("(")
		defer w.s(")")
	}
	switch x := x.(type) {
	case *Binary:
		left, right := rank, rank+1
		if rank == rankCompare {
			left = rank + 1
		}
		if rank == rankAnd {
			right = rankTruth
		}
		if _, test := x.R.(*IsNull); test && x.Op >= Equal {
			right = rankAtom
		}
		if _, implied := x.L.(*Operand); !implied {
			w.expr(x.L, left)
		}
		w.s(opTexts[x.Op])
		w.expr(x.R, right)
	case *Unary:
		w.s(opTexts[x.Op])
		w.expr(x.X, rank)
	case *Is:
		w.expr(x.X, rankTruth)
		w.is(x.Not, [...]string{"TRUE", "FALSE", "UNKNOWN"}[x.Truth])
	case *IsNull:
		w.tested(x.X)
		w.is(x.Not, "NULL")
	case *IsTyped:
		w.tested(x.X)
		w.is(x.Not, "TYPED ", x.Type.Name)
	case *IsLabeled:
		w.tested(x.X)
		w.is(x.Not, "LABELED ")
		w.label(x.Label, 4) // an | behind it would be one of labels
	case *IsEnd:
		w.tested(x.X)
		w.is(x.Not, []string{"DESTINATION OF ", "SOURCE OF "}[btoi(x.Source)])
		w.expr(x.Edge, rankAtom)
	case *IsDirected:
		w.tested(x.X)
		w.is(x.Not, "DIRECTED")
	case *IsNormalized:
		w.tested(x.X)
		w.is(x.Not, x.Form, " NORMALIZED")
	default:
		w.atom(x)
	}
}

// tested prints the operand of a test. A test of a test, and of what CASE compares, needs care.
func (w *printer) tested(x Expr) {
	if _, implied := x.(*Operand); !implied {
		w.expr(x, rankAtom)
	}
}

func (w *printer) is(not bool, what ...string) {
	w.s(" IS ")
	if not {
		w.s("NOT ")
	}
	w.s(what...)
}

func (w *printer) atom(x Expr) {
	switch x := x.(type) {
	case *Literal:
		w.literal(x.Value)
	case *Param:
		w.param(x.Name.Text)
	case *Ref:
		w.name(x.Name.Text)
	case *List:
		w.list("[", x.Elems, "]")
	case *Map:
		w.fields(x.Fields)
	case *Prop:
		rank := rankAtom
		if _, ok := x.X.(*Literal); ok { // 1.a would be a number
			rank++
		}
		w.expr(x.X, rank)
		w.s(".")
		w.name(x.Name.Text)
	case *Aggregate:
		w.aggregate(x)
	case *Func:
		w.function(x)
	case *Case:
		w.caseOf(x)
	case *Cast:
		w.s("CAST(")
		w.expr(x.X, 0)
		w.s(" AS ", x.Type.Name, ")")
	case *Exists:
		w.s("EXISTS { ")
		w.query(x.Query)
		w.s(" }")
	case *Scalar:
		w.s("VALUE { ")
		w.query(x.Query)
		w.s(" }")
	case *LetIn:
		w.s("LET ")
		w.definitions(x.Items)
		w.s(" IN ")
		w.expr(x.X, 0)
		w.s(" END")
	case *PathOf:
		w.list("PATH[", x.Elems, "]")
	}
}

func (w *printer) list(open string, xs []Expr, end string) {
	w.s(open)
	for i, x := range xs {
		if i > 0 {
			w.s(", ")
		}
		w.expr(x, 0)
	}
	w.s(end)
}

func (w *printer) literal(v value.Value) {
	switch v.Kind() {
	case value.KindNull:
		w.s("NULL")
	case value.KindBool:
		w.s([]string{"FALSE", "TRUE"}[btoi(v.Bool())])
	case value.KindInt:
		w.s(strconv.FormatInt(v.Int(), 10))
	case value.KindFloat:
		f := v.Float()
		if f == math.Trunc(f) && math.Abs(f) < 1e15 {
			w.s(strconv.FormatFloat(f, 'f', 1, 64))
		} else {
			w.s(strconv.FormatFloat(f, 'e', -1, 64))
		}
	default:
		w.s("'", quote(v.Str(), '\''), "'")
	}
}

func (w *printer) aggregate(a *Aggregate) {
	w.s(strings.ToUpper(a.Fn), "(")
	switch {
	case a.Arg == nil:
		w.s("*")
	case a.Distinct:
		w.s("DISTINCT ")
	}
	if a.Arg != nil {
		w.expr(a.Arg, 0)
	}
	if a.Arg2 != nil {
		w.s(", ")
		w.expr(a.Arg2, 0)
	}
	w.s(")")
}

func (w *printer) function(f *Func) {
	switch f.Name {
	case "TRIM":
		w.s("TRIM(", f.Spec, " ")
		if len(f.Args) == 2 {
			w.expr(f.Args[1], 0)
			w.s(" ")
		}
		w.s("FROM ")
		w.expr(f.Args[0], 0)
		w.s(")")
		return
	case "TRIM_LIST":
		w.list("TRIM(", f.Args, ")")
		return
	case "NORMALIZE":
		w.s("NORMALIZE(")
		w.expr(f.Args[0], 0)
		w.s(", ", f.Spec, ")")
		return
	case "PROPERTY_EXISTS":
		w.s("PROPERTY_EXISTS(")
		w.expr(f.Args[0], 0)
		w.s(", ")
		w.name(f.Args[1].(*Literal).Value.Str())
		w.s(")")
		return
	}
	w.list(f.Name+"(", f.Args, ")")
}

func (w *printer) caseOf(c *Case) {
	w.s("CASE")
	if c.Operand != nil {
		w.s(" ")
		w.expr(c.Operand, 0)
	}
	for _, wh := range c.Whens {
		w.s(" WHEN ")
		for i, x := range wh.Conds {
			if i > 0 {
				w.s(", ")
			}
			w.expr(x, 0)
		}
		w.s(" THEN ")
		w.expr(wh.Then, 0)
	}
	if c.Else != nil {
		w.s(" ELSE ")
		w.expr(c.Else, 0)
	}
	w.s(" END")
}
