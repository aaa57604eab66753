package sql

// Relations are the relations that a query reads, by schema and name, without those of WITH.
func (s *Select) Relations() [][2]string {
	w := &walker{}
	w.query(s, nil)
	return w.found
}

// walker looks for relations in a tree.
type walker struct{ found [][2]string }

func (w *walker) query(s *Select, known []string) {
	if s == nil {
		return
	}
	for _, c := range s.with {
		known = append(known[:len(known):len(known)], c.name)
		w.query(c.sub, known)
	}
	switch {
	case s.set != nil:
		w.query(s.set.l, known)
		w.query(s.set.r, known)
	case s.core != nil:
		for _, f := range s.core.from {
			w.from(f, known)
		}
		for _, it := range s.core.items {
			w.expr(it.x, known)
		}
		w.exprs(known, append(append([]Expr{s.core.where, s.core.having}, s.core.group...), s.core.distinctOn...)...)
	}
	for _, row := range s.values {
		w.exprs(known, row...)
	}
	w.keys(s.order, known)
	w.exprs(known, s.limit, s.offset)
}

func (w *walker) from(f fromItem, known []string) {
	switch f := f.(type) {
	case *tableRef:
		for _, k := range known {
			if f.schema == "" && k == f.name {
				return
			}
		}
		w.found = append(w.found, [2]string{f.schema, f.name})
	case *subRef:
		w.query(f.sub, known)
	case *funcRef:
		w.expr(f.fn, known)
	case *join:
		w.from(f.l, known)
		w.from(f.r, known)
		w.expr(f.on, known)
	}
}

func (w *walker) exprs(known []string, list ...Expr) {
	for _, x := range list {
		w.expr(x, known)
	}
}

func (w *walker) expr(x Expr, known []string) {
	switch x := x.(type) {
	case *unary:
		w.expr(x.x, known)
	case *binary:
		w.exprs(known, x.l, x.r)
	case *cast:
		w.expr(x.x, known)
	case *caseExpr:
		w.exprs(known, x.x, x.els)
		for _, p := range x.whens {
			w.exprs(known, p[0], p[1])
		}
	case *call:
		w.exprs(known, x.args...)
		w.expr(x.filter, known)
		w.keys(x.order, known)
		w.keys(x.within, known)
		if x.over != nil {
			w.window(x.over, known)
		}
	case *isTest:
		w.expr(x.x, known)
	case *inTest:
		w.expr(x.x, known)
		w.exprs(known, x.list...)
		w.query(x.sub, known)
	case *between:
		w.exprs(known, x.x, x.low, x.high)
	case *anyTest:
		w.exprs(known, x.x, x.arr)
		w.query(x.sub, known)
	case *exists:
		w.query(x.sub, known)
	case *scalarSub:
		w.query(x.sub, known)
	case *arrayLit:
		w.exprs(known, x.elems...)
	case *arraySub:
		w.query(x.sub, known)
	case *rowExpr:
		w.exprs(known, x.elems...)
	case *index:
		w.exprs(known, x.x, x.lo, x.hi)
	case *fieldOf:
		w.expr(x.x, known)
	case *groupingSet:
		w.exprs(known, x.list...)
	}
}

func (w *walker) keys(list []orderKey, known []string) {
	for _, k := range list {
		w.expr(k.x, known)
	}
}

func (w *walker) window(over *window, known []string) {
	w.exprs(known, over.partition...)
	w.keys(over.order, known)
	if over.frame != nil {
		w.exprs(known, over.frame.from.offset, over.frame.to.offset)
	}
}
