package inside

import (
	"fmt"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Bound is the number of rows that a value of LIMIT or START means; NONE and NULL are 0. clause names it in the error
// for what is no number of rows; scanned says that it is of the scan of a table, which has other words.
func Bound(v value.Value, clause string, scanned bool) (int64, error) {
	must := clause + " must be a non-negative integer"
	integer, got := ": expected integer", ": expected non-negative integer"
	if scanned {
		must, integer, got = "LIMIT/START must be a non-negative integer", "", ""
	}
	n, ok := Whole(v)
	switch {
	case v.IsNullish():
		return 0, nil
	case !ok && scanned:
		return 0, errs.Internal("LIMIT/START must be an integer, got %s", debugText(v))
	case !ok:
		return 0, errs.Internal("%s%s, got %s", must, integer, debugText(v))
	case n < 0:
		return 0, errs.Internal("%s%s, got %d", must, got, n)
	}
	return n, nil
}

// debugText names a value as the reference's texts about LIMIT do.
func debugText(v value.Value) string {
	if v.Kind() == value.KindString {
		return fmt.Sprintf("String(%q)", v.Beginning(errs.LongestMsg).Str())
	}
	return v.Brief()
}
