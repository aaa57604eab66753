package key_test

import (
	"bytes"
	"testing"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/value"
)

func TestEqualNumbersAreOneIndexKey(t *testing.T) {
	for _, same := range [][]value.Value{
		{value.Int(1), value.Float(1), dec(1, 0), dec(100, 2)},
		{value.Float(0.1), dec(1, 1), dec(10, 2)},
		{value.Int(1 << 60), value.Float(1 << 60), dec(1<<60, 0)},
		{value.Int(-1 << 63), value.Float(-1 << 63)},
		{value.Float(1.5), dec(15, 1)},
		{value.Int(0), value.DecimalOf(decimal.Decimal{Neg: true})},
	} {
		first := key.AppendValue(nil, same[0])
		for i, v := range same[1:] {
			if got := key.AppendValue(nil, v); !bytes.Equal(got, first) {
				t.Errorf("%v: number %d is %x, want %x", same, i+1, got, first)
			}
		}
	}
	a, b := key.AppendValue(nil, value.Int(9007199254740993)), key.AppendValue(nil, value.Float(9007199254740992))
	if bytes.Equal(a, b) {
		t.Error("an int was rounded to a float")
	}
}

func TestIndexEntriesGiveTheirRecord(t *testing.T) {
	fields := []value.Value{value.Float(1.5), dec(7, 1), value.Str("a\x00b"), value.Array(value.Int(1)),
		obj("x", value.None),
		value.Record("t", value.Array(value.Int(1), value.Float(1))), value.RangeOf(span(incl(value.Int(1)), open)),
		value.Int(-1 << 63),
		value.GeometryOf(&value.Geometry{Kind: value.GeometryLine, Line: []value.Point{{X: 1}, {Y: 2}}})}
	for i, v := range inOrder() {
		k := key.Index(nil, 1, 2, 3, 4, fields, v)
		got, err := key.DecodeIndex(k, nil, len(fields))
		if err != nil || !bytes.Equal(key.AppendRecordKey(nil, got), key.AppendRecordKey(nil, v)) {
			t.Errorf("record %d: got %v, %v", i, got, err)
		}
		got, err = key.DecodeIndex(key.IndexUnique(nil, 1, 2, 3, 4, fields), key.AppendRecordKey(nil, v), len(fields))
		if err != nil || got.Kind() != v.Kind() {
			t.Errorf("unique record %d: got %v, %v", i, got, err)
		}
		lead, err := key.IndexFields(k, 2)
		if err != nil || !bytes.Equal(key.IndexUnique(nil, 1, 2, 3, 4, fields[:2])[17:], lead) {
			t.Errorf("leading fields %x, %v", lead, err)
		}
	}
}

func TestIndexRangeHoldsWhatItsBoundsSay(t *testing.T) {
	lead := []value.Value{value.Str("b")}
	inside := func(from, to value.Bound, lead []value.Value, fields ...value.Value) bool {
		start, end := key.IndexRange(1, 1, 1, 1, lead, from, to)
		k := key.Index(nil, 1, 1, 1, 1, fields, value.Int(7))
		return bytes.Compare(k, start) >= 0 && bytes.Compare(k, end) < 0
	}
	b, one, two := value.Str("b"), value.Int(1), value.Int(2)
	for _, tc := range []struct {
		name     string
		from, to value.Bound
		lead     []value.Value
		fields   []value.Value
		want     bool
	}{
		{"equal prefix", open, open, lead, []value.Value{b, one}, true},
		{"other prefix", open, open, lead, []value.Value{value.Str("ba"), one}, false},
		{"prefix with a zero byte", open, open, lead, []value.Value{value.Str("b\x00"), one}, false},
		{"no prefix", open, open, nil, []value.Value{one}, true},
		{"from included", incl(one), open, lead, []value.Value{b, value.Float(1)}, true},
		{"from excluded", excl(one), open, lead, []value.Value{b, value.Float(1)}, false},
		{"from excluded, above", excl(one), open, lead, []value.Value{b, value.Float(1.25)}, true},
		{"to included", open, incl(two), lead, []value.Value{b, dec(2, 0)}, true},
		{"to excluded", open, excl(two), lead, []value.Value{b, dec(2, 0)}, false},
		{"to included, string", open, incl(b), nil, []value.Value{b}, true},
		{"to included, longer string", open, incl(b), nil, []value.Value{value.Str("b\x00")}, false},
		{"crossed", excl(two), excl(one), nil, []value.Value{value.Float(1.5)}, false},
	} {
		if got := inside(tc.from, tc.to, tc.lead, tc.fields...); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestChanges(t *testing.T) {
	start, end := key.ChangeRange(1, 2, 5, 7)
	for v, want := range map[uint64]bool{4: false, 5: true, 6: true, 7: false} {
		k := key.Change(nil, 1, 2, v, 3)
		if got := bytes.Compare(k, start) >= 0 && bytes.Compare(k, end) < 0; got != want {
			t.Errorf("versionstamp %d inside: %v, want %v", v, got, want)
		}
		if vs, tb, err := key.DecodeChange(k); err != nil || vs != v || tb != 3 {
			t.Errorf("got %d %d %v", vs, tb, err)
		}
	}
}

func TestReferencesReadBack(t *testing.T) {
	k := key.Reference(nil, 1, 2, 3, value.Str("x"), 9, "auth\x00or", value.Int(5))
	tb, field, who, err := key.DecodeReference(k)
	if err != nil || tb != 9 || field != "auth\x00or" || who.Int() != 5 {
		t.Errorf("got %d %q %v %v", tb, field, who, err)
	}
}
