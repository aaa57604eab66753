package value_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

// recount is the weight of a value that is not encoded, by looking at all of it.
func recount(v value.Value) int {
	const each = 48
	n := each
	switch v.Kind() {
	case value.KindString, value.KindTable:
		n += len(v.Str())
	case value.KindBytes:
		n += len(v.Bytes())
	case value.KindArray, value.KindSet:
		for _, e := range v.Elems() {
			n += recount(e)
		}
	case value.KindObject:
		for _, f := range v.Object().Fields() {
			n += len(f.Name) + recount(f.Value)
		}
	case value.KindRecord:
		n += len(v.Record().Table) + recount(v.Record().Key)
	case value.KindFile:
		n += len(v.File().Bucket) + len(v.File().Key)
	case value.KindRange:
		n += recount(v.Range().Start.Value) + recount(v.Range().End.Value)
	case value.KindGeometry:
		return value.Weight(v)
	}
	return n
}

func TestValuesCarryTheirWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := valuetest.Value(3).Draw(t, "v")
		if got, want := value.Weight(v), recount(v); got != want {
			t.Fatalf("%s weighs %d, want %d", v, got, want)
		}
		if got := value.Weight(value.Detach(v)); got != recount(v) {
			t.Fatalf("%s weighs %d when detached, want %d", v, got, recount(v))
		}
		o := valuetest.Object(3).Draw(t, "o").Object().With("a", v)
		if got := value.ObjectOf(o.Without("a").With("b", v)); value.Weight(got) != recount(got) {
			t.Fatalf("%s weighs %d, want %d", got, value.Weight(got), recount(got))
		}
		b := record(t, o)
		stored := value.ObjectOf(lazy(t, b))
		if got := value.Weight(stored); got < len(b) || got > len(b)+100 {
			t.Fatalf("a record of %d bytes weighs %d", len(b), got)
		}
		edited := value.ObjectOf(stored.Object().With("z", v))
		if got := value.Weight(edited); got < len(b)+value.Weight(v) {
			t.Fatalf("a record of %d bytes with %d more weighs %d", len(b), value.Weight(v), got)
		}
	})
}

// TestWeightsStopAtTheirEnd: the weight of a value that holds itself many times over neither wraps round nor is taken
// for less than a limit, however high that is.
func TestWeightsStopAtTheirEnd(t *testing.T) {
	for name, twice := range map[string]func(value.Value) value.Value{
		"array": func(v value.Value) value.Value { return value.Array(v, v) },
		"object": func(v value.Value) value.Value {
			return value.ObjectOf(value.NewObject(value.Field{Name: "a", Value: v}, value.Field{Name: "b", Value: v}))
		},
		"record": func(v value.Value) value.Value { return value.Record("t", value.Array(v, v)) },
		"range": func(v value.Value) value.Value {
			return value.RangeOf(&value.Range{Start: value.Bound{Kind: value.Included, Value: v},
				End: value.Bound{Kind: value.Included, Value: v}})
		},
	} {
		v, last := value.Array(value.Int(1)), 0
		for range 200 {
			if v = twice(v); value.Weight(v) < last {
				t.Fatalf("%s: %d after %d", name, value.Weight(v), last)
			}
			last = value.Weight(v)
		}
		if last != 1<<32-1 || !value.Exceeds(v, 1<<40) {
			t.Errorf("%s: weighs %d", name, last)
		}
	}
}
