package sql

import (
	"crypto/sha256"
	"maps"
	"strings"
	"sync"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// longestText is how long a text may be that an operator, a function or an aggregate makes, mostElements how many
// elements an array.
const (
	longestText  = 64 << 20
	mostElements = 4 << 20
)

// fits refuses n bytes or elements where most are allowed.
//
// SECURITY: doubled some times over, a text of one byte is larger than the machine. So this is asked before it is made.
func fits(n, most int) error {
	if n > most {
		return sqlstate.New(sqlstate.TooMuch, "requested length too large")
	}
	return nil
}

// small refuses a text that a function has made too long.
func small(v value.Value) error {
	if v.Kind() == value.KindString {
		return fits(len(v.Str()), longestText)
	}
	return nil
}

// joined joins texts with a separator between them.
func joined(parts []string, between string) (value.Value, error) {
	n := 0
	for _, p := range parts {
		n += len(p) + len(between)
	}
	if err := fits(n, longestText); err != nil {
		return value.None, err
	}
	return value.Str(strings.Join(parts, between)), nil
}

// longestKey is how long the key of an expression may be before a hash stands for it.
const longestKey = 256

// keyed makes the key of an expression of those of its parts.
//
// SECURITY: keys that grow with every level take the square of a long expression in time.
func keyed(parts ...string) string {
	k := strings.Join(parts, "")
	if len(k) <= longestKey {
		return k
	}
	sum := sha256.Sum256([]byte(k))
	return "%" + string(sum[:])
}

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

// functions are those of SQL by their names. They are made when the first one is called.
var functions = sync.OnceValue(func() map[string]*Function {
	all := textFunctions()
	for _, group := range []map[string]*Function{numberFunctions(), arrayFunctions(), timeFunctions(), jsonFunctions(),
		pathFunctions(), recordFunctions()} {
		maps.Copy(all, group)
	}
	return all
})

func always2(oid pgtype.OID) func([]pgtype.OID) pgtype.OID {
	return func([]pgtype.OID) pgtype.OID { return oid }
}
