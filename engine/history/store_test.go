package history_test

import (
	"bytes"
	"testing"

	"github.com/nacredb/nacre/engine/history"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/mem"
)

// TestStore: a store that keeps its past is a store like any other.
func TestStore(t *testing.T) {
	kvtest.Run(t, func(t testing.TB) kv.Store {
		st, err := history.Wrap(t.Context(), mem.New(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return st
	})
}

// FuzzPast: keys of the past give their keys back, and foreign bytes an error.
func FuzzPast(f *testing.F) {
	f.Add(key.DBDef(nil, 1, 0, key.KindTable, "a\x00b"), uint64(5))
	f.Add(recordKey(3), uint64(0))
	f.Add([]byte{byte(key.ClassPastDef), 0, 1, 2}, uint64(1))
	f.Fuzz(func(t *testing.T, k []byte, version uint64) {
		if def, _, err := key.DecodePastDef(k); err == nil && len(def) > len(k) {
			t.Errorf("%x: the definition is longer than its past", k)
		}
		_, _, _ = key.DecodeHistory(k)
		past := key.Past(nil, k, version)
		if len(past) == 0 {
			return
		}
		prefix, v := key.CutVersion(past)
		if v != version || !bytes.Equal(prefix, key.PastPrefix(nil, k)) {
			t.Errorf("%x at %d: got %x at %d", k, version, prefix, v)
		}
		if key.Class(past[0]) == key.ClassPastDef {
			def, v, err := key.DecodePastDef(past)
			if err != nil || v != version || !bytes.Equal(def, k) {
				t.Errorf("%x at %d: got %x at %d, %v", k, version, def, v, err)
			}
		}
	})
}
