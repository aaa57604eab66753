package rpc

import (
	"errors"
	"strings"

	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// JSON has no record ids. Where a call can only mean one (what it works on, the ends of a relation, a row's id),
// text that spells a record id is read as one; everywhere else text stays text.

// Decoding is how messages and bodies are decoded: nested at most depth deep (0: the codec's default), record ids also
// as text, as the official JavaScript client sends those that its user has as text.
func Decoding(depth int) value.DecodeLimits {
	return value.DecodeLimits{MaxDepth: depth, MaxValues: value.SaneMaxValues,
		ParseRecord: func(text string) (*value.RecordID, error) {
			if v, ok := recordText(text); ok {
				return v.Record(), nil
			}
			return nil, errNoRecord
		}}
}

var errNoRecord = errors.New("the text is not a record id")

// recordText reads "person:1".
func recordText(text string) (value.Value, bool) {
	if strings.IndexByte(text, ':') <= 0 {
		return value.None, false
	}
	v, err := parse.RecordID(text)
	return v, err == nil && v.Record().Key.Kind() != value.KindRange
}

// ends reads one end of a relation: a record or an array of records.
func (k *call) ends(v value.Value) value.Value {
	if k.req.Format != wire.JSON {
		return v
	}
	switch v.Kind() {
	case value.KindString:
		if id, ok := recordText(v.Str()); ok {
			return id
		}
	case value.KindArray:
		out := make([]value.Value, v.Len())
		for i, e := range v.Elems() {
			out[i] = k.ends(e)
		}
		return value.ArrayOf(out)
	}
	return v
}

// rows reads the rows of an insert: one object or an array of them.
func (k *call) rows(v value.Value) value.Value {
	if k.req.Format != wire.JSON {
		return v
	}
	switch v.Kind() {
	case value.KindArray:
		out := make([]value.Value, v.Len())
		for i, e := range v.Elems() {
			out[i] = row(e)
		}
		return value.ArrayOf(out)
	case value.KindObject:
		return row(v)
	}
	return v
}

func row(v value.Value) value.Value {
	if v.Kind() != value.KindObject {
		return v
	}
	o := v.Object()
	for _, name := range [...]string{"id", "in", "out"} {
		f, ok := o.Get(name)
		if !ok || f.Kind() != value.KindString {
			continue
		}
		if id, ok := recordText(f.Str()); ok {
			o = o.With(name, id)
		}
	}
	return value.ObjectOf(o)
}
