package pgwire

import (
	"testing"

	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// Ids that are read without the parser are the records that it reads.
func TestSimpleIDs(t *testing.T) {
	for key, simple := range map[string]bool{"1": true, "0": true, "007": false, "-1": false, "a": true, "a1": true,
		"_x": true, "true": true, "none": true, "null": true, "NaN": true, "inf": true, "1a": false, "1e5": false,
		"999999999999999999": true, "9223372036854775808": false, "": false, "a-b": false, "rand()": false,
		"rand": true,
		"ä":    false, "d": true, "u": true, "[1]": false, "a b": false, "1_0": false, "01a": false, "ulid": true} {
		got, ok := simpleID("item", key)
		if ok != simple {
			t.Errorf("%q is simple: %v", key, ok)
		}
		if !ok {
			continue
		}
		want, err := parse.RecordID("item:" + key)
		if err != nil && got.Text() != "item:"+key {
			continue // a record of this key prints otherwise: the filter drops it
		}
		if err != nil || !value.Equal(got, want) {
			t.Errorf("%q is %s, and %s to the parser (%v)", key, got, want, err)
		}
	}
}
