package sql

import (
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/engine/value"
)

// longestText is how long a text that a function makes may be.
const longestText = 64 << 20

// Returns is a Function that gives values of one type.
func Returns(oid pgtype.OID, min, max int, eval func(c *Call) (value.Value, error), args ...pgtype.OID) *Function {
	return &Function{Min: min, Max: max, Type: func([]pgtype.OID) pgtype.OID { return oid }, Eval: eval, Args: args}
}

// text is a function of texts.
func text(min, max int, f func(c *Call) string, args ...pgtype.OID) *Function {
	if args == nil {
		args = []pgtype.OID{pgtype.Text}
	}
	return Returns(pgtype.Text, min, max, func(c *Call) (value.Value, error) { return value.Str(f(c)), nil }, args...)
}

func integer(min, max int, f func(c *Call) int64, args ...pgtype.OID) *Function {
	return Returns(pgtype.Int4, min, max, func(c *Call) (value.Value, error) { return value.Int(f(c)), nil }, args...)
}

func firstType(oids []pgtype.OID) pgtype.OID {
	if len(oids) == 0 {
		return pgtype.Text
	}
	return oids[0]
}

func elemType(oids []pgtype.OID) pgtype.OID {
	if e := pgtype.ElemOf(firstType(oids)); e != 0 {
		return e
	}
	return pgtype.Text
}

var functions map[string]*Function

func init() {
	functions = map[string]*Function{}
	for _, group := range []map[string]*Function{textFunctions(), numberFunctions(), arrayFunctions(),
		timeFunctions(), jsonFunctions()} {
		for name, f := range group {
			functions[name] = f
		}
	}
}

func always2(oid pgtype.OID) func([]pgtype.OID) pgtype.OID {
	return func([]pgtype.OID) pgtype.OID { return oid }
}
