package record

import (
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// AsKey is the key that an id field means: a key, or the key of a record id of any table. NONE stays NONE.
func AsKey(v value.Value) (value.Value, error) {
	key := v
	if v.Kind() == value.KindRecord {
		key = v.Record().Key
	}
	switch key.Kind() {
	case value.KindNone, value.KindInt, value.KindUUID, value.KindArray, value.KindObject:
		return key, nil
	case value.KindString:
		if key.Len() > 0 {
			return key, nil
		}
	case value.KindFloat:
		return value.Int(int64(key.Float())), nil
	}
	return value.None, errs.Internal("Found %s for the Record ID but this is not a valid id", v.Brief())
}
