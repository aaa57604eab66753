package graph

import "github.com/nacredb/nacre/engine/gql"

// eachRef calls f with every variable that an expression names. Those inside of subqueries are included: a subquery may
// hide a name of the scope around it, which only makes an expression wait longer for its variables.
func eachRef(x gql.Expr, f func(*gql.Ref)) {
	all := func(xs ...gql.Expr) {
		for _, x := range xs {
			if x != nil {
				eachRef(x, f)
			}
		}
	}
	fields := func(fs []gql.Field) {
		for _, fd := range fs {
			eachRef(fd.X, f)
		}
	}
	switch x := x.(type) {
	case *gql.Ref:
		f(x)
	case *gql.List:
		all(x.Elems...)
	case *gql.PathOf:
		all(x.Elems...)
	case *gql.Map:
		fields(x.Fields)
	case *gql.Prop:
		all(x.X)
	case *gql.Unary:
		all(x.X)
	case *gql.Binary:
		all(x.L, x.R)
	case *gql.IsNull:
		all(x.X)
	case *gql.Is:
		all(x.X)
	case *gql.IsTyped:
		all(x.X)
	case *gql.IsLabeled:
		all(x.X)
	case *gql.IsEnd:
		all(x.X, x.Edge)
	case *gql.IsDirected:
		all(x.X)
	case *gql.IsNormalized:
		all(x.X)
	case *gql.Aggregate:
		all(x.Arg, x.Arg2)
	case *gql.Func:
		all(x.Args...)
	case *gql.Cast:
		all(x.X)
	case *gql.LetIn:
		fields(x.Items)
		all(x.X)
	case *gql.Case:
		all(x.Operand, x.Else)
		for _, w := range x.Whens {
			all(w.Conds...)
			all(w.Then)
		}
	case *gql.Exists:
		queryRefs(x.Query, f)
	case *gql.Scalar:
		queryRefs(x.Query, f)
	}
}

// queryRefs is eachRef for all expressions and pattern variables of a query.
func queryRefs(q *gql.Query, f func(*gql.Ref)) {
	for _, c := range q.Parts {
		for _, l := range c.Arms {
			if l.Braced != nil {
				queryRefs(l.Braced, f)
			}
			for _, s := range l.Steps {
				stepRefs(s, f)
			}
			if r := l.Result; r != nil {
				for _, it := range r.Items {
					eachRef(it.X, f)
				}
				for _, g := range r.Group {
					eachRef(g, f)
				}
				for _, k := range r.Order.Keys {
					eachRef(k.X, f)
				}
			}
		}
	}
}

func stepRefs(s gql.Step, f func(*gql.Ref)) {
	switch s := s.(type) {
	case *gql.Match:
		for _, p := range s.Patterns {
			termRefs(p.Term, f)
		}
		if s.Where != nil {
			eachRef(s.Where, f)
		}
	case *gql.OptionalBlock:
		for _, in := range s.Steps {
			stepRefs(in, f)
		}
	case *gql.Let:
		for _, d := range s.Items {
			eachRef(d.X, f)
		}
	case *gql.Filter:
		eachRef(s.X, f)
	case *gql.For:
		eachRef(s.List, f)
	case *gql.Order:
		for _, k := range s.Keys {
			eachRef(k.X, f)
		}
	case *gql.Call:
		for _, n := range s.Imports {
			f(&gql.Ref{Name: n})
		}
		queryRefs(s.Body, f)
	}
}

// termRefs is eachRef for a pattern, its variables included.
func termRefs(t *gql.Term, f func(*gql.Ref)) {
	fill := func(n gql.Name, where gql.Expr, props []gql.Field) {
		if n.Text != "" {
			f(&gql.Ref{Name: n})
		}
		if where != nil {
			eachRef(where, f)
		}
		for _, p := range props {
			eachRef(p.X, f)
		}
	}
	for _, c := range t.Branches {
		for _, x := range c.Factors {
			switch x := x.(type) {
			case *gql.Node:
				fill(x.Var, x.Where, x.Props)
			case *gql.Edge:
				fill(x.Var, x.Where, x.Props)
			case *gql.Group:
				termRefs(x.Term, f)
				if x.Where != nil {
					eachRef(x.Where, f)
				}
			}
		}
	}
}
