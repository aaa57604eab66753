package sql

import (
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/engine/value"
)

// Statement is a statement of SQL: *Select, *Insert, *Update, *Delete, *Truncate or *Explain.
type Statement interface{}

// Expr is an expression.
type Expr interface{}

type (
	literal struct {
		v   value.Value
		oid pgtype.OID
	}
	colRef struct {
		parts []string
		pos   int
	}
	star     struct{ table string }
	paramRef struct{ n int }
	unary    struct {
		op string
		x  Expr
	}
	binary struct {
		op   string
		l, r Expr
		pos  int
	}
	cast struct {
		x  Expr
		to typeName
	}
	caseExpr struct {
		x     Expr // nil: each WHEN is a condition
		whens [][2]Expr
		els   Expr // may be nil
	}
	call struct {
		schema, name string
		args         []Expr
		names        []string // of the arguments, "" for one without; nil: none has one
		star         bool     // count(*)
		distinct     bool
		variadic     bool
		order        []orderKey
		within       []orderKey // of WITHIN GROUP; nil: there is none
		filter       Expr
		over         *window
		pos          int
	}
	window struct {
		partition []Expr
		order     []orderKey
		frame     *frame // nil: RANGE UNBOUNDED PRECEDING
		name      string // of one of WINDOW that it stands for; "": none
		bare      bool   // OVER name, without parentheses: the frame is that of name, too
		at        int    // place of the name
		open      int    // place of the parenthesis
	}
	frame struct {
		mode     string // rows, range, groups
		from, to frameBound
		exclude  exclusion
	}
	frameBound struct {
		kind   boundKind
		offset Expr // of preceding and following
		at     int
	}
	isTest struct {
		x    Expr
		kind string // null, true, false, unknown
		not  bool
	}
	inTest struct {
		x    Expr
		list []Expr
		sub  *Select
		not  bool
	}
	between struct {
		x, low, high   Expr
		not, symmetric bool
	}
	anyTest struct {
		x   Expr
		op  string
		arr Expr // an array, or nil
		sub *Select
		all bool
	}
	exists    struct{ sub *Select }
	scalarSub struct{ sub *Select }
	arrayLit  struct{ elems []Expr }
	arraySub  struct{ sub *Select }
	rowExpr   struct{ elems []Expr }
	index     struct {
		x      Expr
		lo, hi Expr
		slice  bool
	}
	fieldOf struct {
		x    Expr
		name string
	}
)

// typeName is a type as it is written.
type typeName struct {
	name   string
	pos    int
	mods   []Token       // in parentheses behind it: a length, or a precision and a scale
	fields pgtype.Fields // of an interval
}

type orderKey struct {
	x          Expr
	desc       bool
	nullsFirst bool
}

// Select is a query.
type Select struct {
	with      []cte
	recursive bool
	core      *core    // or
	values    [][]Expr // or
	set       *setOp
	order     []orderKey
	limit     Expr
	offset    Expr
	text      string // as it is written
}

type cte struct {
	name string
	cols []string
	sub  *Select
}

type setOp struct {
	op   string // union, intersect, except
	all  bool
	l, r *Select
}

type core struct {
	distinct   bool
	distinctOn []Expr
	items      []item
	from       []fromItem
	where      Expr
	group      []Expr // also *groupingSet
	having     Expr
	// groupDistinct drops grouping sets that are there already.
	groupDistinct bool
}

// groupingSet is an element of GROUP BY that is not one expression.
type groupingSet struct {
	kind string // list, rollup, cube, sets
	list []Expr
	at   int
}

type item struct {
	x     Expr
	alias string
}

type fromItem interface{}

type (
	tableRef struct {
		schema, name, alias string
		cols                []string
		pos                 int
	}
	subRef struct {
		sub     *Select
		alias   string
		cols    []string
		lateral bool
	}
	funcRef struct {
		fn         *call
		alias      string
		cols       []string
		defs       []definition // in the place of cols
		ordinality bool
	}
	join struct {
		kind    string // inner, left, right, full, cross
		l, r    fromItem
		on      Expr
		using   []string
		natural bool
	}
)

// withList is WITH in front of a statement that writes.
type withList struct {
	list      []cte
	recursive bool
}

// Insert is INSERT INTO one table.
type Insert struct {
	with      withList
	Table     *tableRef
	Columns   []string
	Source    *Select // nil: DEFAULT VALUES
	Conflict  *conflict
	Returning []item
}

type conflict struct {
	cols       []string // of a unique key; nil: see constraint
	constraint string   // its name; "": any
	set        []assign // none: DO NOTHING
	where      Expr
}

// assign is an assignment to a column, or to the columns of a row.
type assign struct {
	cols []string
	list []Expr  // one for each column, nil: DEFAULT; or
	sub  *Select // a query of one row
}

// Update is UPDATE of one table.
type Update struct {
	with      withList
	Table     *tableRef
	Set       []assign
	From      []fromItem
	Where     Expr
	Returning []item
}

// Truncate is TRUNCATE.
type Truncate struct{ Tables []*tableRef }

// Delete is DELETE FROM one table.
type Delete struct {
	with      withList
	Table     *tableRef
	Using     []fromItem
	Where     Expr
	Returning []item
}
