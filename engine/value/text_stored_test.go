package value_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

// A record has the same text from its stored bytes as from its values, also after fields were changed in it.
func TestTextOfStoredBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain := valuetest.Object(3).Draw(t, "record").Object()
		stored, err := value.EncodeRecord(nil, plain)
		if err != nil {
			t.Skip(err)
		}
		record, err := value.RecordObject(stored)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := value.ObjectOf(record).Text(), value.ObjectOf(plain).Text(); got != want {
			t.Fatalf("from stored bytes %s, want %s", got, want)
		}
		name := rapid.SampledFrom([]string{"a", "b", "m", "z", "a b"}).Draw(t, "name")
		v := valuetest.Value(1).Draw(t, "v")
		got, want := value.ObjectOf(record.With(name, v)).Text(), value.ObjectOf(plain.With(name, v)).Text()
		if got != want {
			t.Fatalf("changed in stored bytes %s, want %s", got, want)
		}
	})
}
