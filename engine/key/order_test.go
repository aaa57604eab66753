package key_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

// related draws two values that often are equal or differ late: neighbours in a list, or the same
// number in other clothes.
func related(t *rapid.T, gen *rapid.Generator[value.Value]) (a, b value.Value) {
	a, b = gen.Draw(t, "a"), gen.Draw(t, "b")
	switch rapid.IntRange(0, 3).Draw(t, "related") {
	case 0:
		return value.Array(value.Int(1), a), value.Array(value.Float(1), b)
	case 1:
		return value.Array(a), value.Array(a, b)
	case 2:
		return obj("n", a), obj("n", b)
	}
	return a, b
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func TestIndexKeysSortLikeValues(t *testing.T) {
	gen := valuetest.Value(2)
	rapid.Check(t, func(t *rapid.T) {
		a, b := related(t, gen)
		ka, kb := key.AppendValue(nil, a), key.AppendValue(nil, b)
		if got, want := bytes.Compare(ka, kb), value.Compare(a, b); got != sign(want) {
			t.Fatalf("%s and %s compare %d, their keys %d:\n%x\n%x", a, b, want, got, ka, kb)
		}
	})
}

func TestNumberKeysSortLikeNumbers(t *testing.T) {
	gen := valuetest.Number()
	rapid.Check(t, func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		ka, kb := key.AppendValue(nil, a), key.AppendValue(nil, b)
		if got, want := bytes.Compare(ka, kb), value.Compare(a, b); got != sign(want) {
			t.Fatalf("%s and %s compare %d, their keys %d:\n%x\n%x", a, b, want, got, ka, kb)
		}
	})
}

// Decimals next to a float, one step of their last digit away, are where rounding would show.
func TestDecimalsNextToFloats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.OneOf(rapid.Float64Range(-2, 2), rapid.Float64Range(-1e20, 1e20)).Draw(t, "f")
		d, ok := decimal.FromFloat(f)
		if !ok {
			t.Skip()
		}
		d.Lo += rapid.SampledFrom([]uint64{0, 1, ^uint64(0)}).Draw(t, "step")
		if d.IsZero() {
			d.Neg = false
		}
		a, b := value.Float(f), value.DecimalOf(d)
		if got, want := bytes.Compare(key.AppendValue(nil, a), key.AppendValue(nil, b)),
			value.Compare(a, b); got != sign(want) {
			t.Fatalf("%s and %s compare %d, their keys %d", a, b, want, got)
		}
	})
}

// Record keys sort as their values do, where equal numbers of different kinds stand apart.
func TestRecordKeysSortLikeValues(t *testing.T) {
	gen := valuetest.RecordKey(2)
	rapid.Check(t, func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		ka, kb := key.AppendRecordKey(nil, a), key.AppendRecordKey(nil, b)
		folded := bytes.Compare(key.AppendValue(nil, a), key.AppendValue(nil, b))
		if got := bytes.Compare(ka, kb); got != folded && !onlyKindsDiffer(a, b) {
			t.Fatalf("%s and %s compare %d, their keys %d:\n%x\n%x", a, b, folded, got, ka, kb)
		}
	})
}

// onlyKindsDiffer reports whether a and b have equal numbers of different kinds at the first place
// where their record keys differ, so that the kinds decide.
func onlyKindsDiffer(a, b value.Value) bool {
	switch {
	case a.Kind().IsNumber() && b.Kind().IsNumber():
		return value.Equal(a, b)
	case a.Kind() != b.Kind():
		return false
	case a.Kind() == value.KindArray || a.Kind() == value.KindSet:
		x, y := a.Elems(), b.Elems()
		for i := range min(len(x), len(y)) {
			if !bytes.Equal(key.AppendRecordKey(nil, value.Array(x[i])), key.AppendRecordKey(nil, value.Array(y[i]))) {
				return onlyKindsDiffer(x[i], y[i])
			}
		}
	case a.Kind() == value.KindObject:
		x, y := a.Object().Fields(), b.Object().Fields()
		for i := range min(len(x), len(y)) {
			if x[i].Name != y[i].Name {
				return false
			}
			if !bytes.Equal(key.AppendRecordKey(nil, value.Array(x[i].Value)),
				key.AppendRecordKey(nil, value.Array(y[i].Value))) {
				return onlyKindsDiffer(x[i].Value, y[i].Value)
			}
		}
	case a.Kind() == value.KindRange:
		x, y := a.Range(), b.Range()
		if x.Start.Kind != y.Start.Kind {
			return false
		}
		if x.Start.Kind != value.Unbounded && !value.Equal(x.Start.Value, y.Start.Value) {
			return onlyKindsDiffer(x.Start.Value, y.Start.Value)
		}
		return true
	case a.Kind() == value.KindRecord:
		return onlyKindsDiffer(a.Record().Key, b.Record().Key)
	}
	return false
}

func TestRecordKeysReadBack(t *testing.T) {
	gen := valuetest.RecordKey(3)
	rapid.Check(t, func(t *rapid.T) {
		v := gen.Draw(t, "key")
		k := key.Record(nil, 1, 2, 3, v)
		got, err := key.DecodeRecord(k)
		if err != nil {
			t.Fatalf("%s %x: %v", v, k, err)
		}
		if !value.Equal(got, v) || !bytes.Equal(key.Record(nil, 1, 2, 3, got), k) {
			t.Fatalf("%s came back as %s", v, got)
		}
		e := key.Edge(nil, 1, 2, 3, v, key.In, 7, value.Int(5))
		if dir, tb, edge, err := key.DecodeEdge(e); err != nil || dir != key.In || tb != 7 || edge.Int() != 5 {
			t.Fatalf("edge of %s: %d %d %s %v", v, dir, tb, edge, err)
		}
		tb, node, err := key.DecodeEdgeEnd(key.EdgeEnd(nil, 9, v))
		if err != nil || tb != 9 || !value.Equal(node, v) {
			t.Fatalf("end %s: %d %s %v", v, tb, node, err)
		}
	})
}

func TestIndexKeysGiveTheirRecord(t *testing.T) {
	gen := valuetest.Value(2)
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.SliceOfN(gen, 0, 3).Draw(t, "fields")
		rec := valuetest.RecordKey(1).Draw(t, "record")
		got, err := key.DecodeIndex(key.Index(nil, 1, 2, 3, 4, fields, rec), nil, len(fields))
		if err != nil || !value.Equal(got, rec) {
			t.Fatalf("%s came back as %s, %v", rec, got, err)
		}
	})
}

func FuzzReadRecordKey(f *testing.F) {
	for _, v := range inOrder() {
		f.Add(key.AppendRecordKey(nil, v))
	}
	f.Fuzz(func(t *testing.T, k []byte) {
		v, rest, err := key.ReadRecordKey(k)
		if err != nil {
			return
		}
		once := key.AppendRecordKey(nil, v)
		again, tail, err := key.ReadRecordKey(once)
		if err != nil || len(tail) > 0 {
			t.Fatalf("%x: read %s, wrote %x: %v", k[:len(k)-len(rest)], v, once, err)
		}
		if twice := key.AppendRecordKey(nil, again); !bytes.Equal(once, twice) {
			t.Fatalf("%x and %x", once, twice)
		}
	})
}

func BenchmarkRecordKey(b *testing.B) {
	buf := make([]byte, 0, 128)
	for _, bc := range []struct {
		name string
		key  value.Value
	}{
		{"int", value.Int(123456)},
		{"text", value.Str("0123456789abcdefghij")},
		{"array", value.Array(value.Str("London"), value.DatetimeOf(value.Datetime{Secs: 1700000000}), value.Int(7))},
	} {
		b.Run("append "+bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buf = key.Record(buf[:0], 1, 2, 3, bc.key)
			}
		})
		b.Run("read "+bc.name, func(b *testing.B) {
			k := key.Record(nil, 1, 2, 3, bc.key)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := key.DecodeRecord(k); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkIndexKey(b *testing.B) {
	buf := make([]byte, 0, 128)
	for _, bc := range []struct {
		name  string
		field value.Value
	}{
		{"int", value.Int(123456)}, {"float", value.Float(19.99)}, {"decimal", dec(1999, 2)},
		{"text", value.Str("somebody@example.com")},
	} {
		b.Run(bc.name, func(b *testing.B) {
			fields, rec := []value.Value{bc.field}, value.Str("0123456789abcdefghij")
			b.ReportAllocs()
			for b.Loop() {
				buf = key.Index(buf[:0], 1, 2, 3, 4, fields, rec)
			}
		})
	}
}
