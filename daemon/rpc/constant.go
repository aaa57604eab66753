package rpc

import (
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// Constant reads a text that is one value: a literal, an array, set, object, range or record id of such, or a
// parameter, taken from vars. Nothing is executed: the parser of such texts knows nothing else.
func Constant(text string, vars *value.Object) (value.Value, error) {
	v, err := parse.ValueWith(text, func(name string) (value.Value, bool) {
		if vars == nil {
			return value.None, true
		}
		v, _ := vars.Get(name)
		return v, true
	})
	if err == nil && v.Kind() == value.KindRecord && v.Record().Key.Kind() == value.KindRange {
		return value.None, errs.Validation("Expected a single value, not a range of records")
	}
	return v, err
}
