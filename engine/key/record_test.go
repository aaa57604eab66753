package key_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/value"
)

func obj(name string, v value.Value) value.Value {
	return value.ObjectOf(value.NewObject(value.Field{Name: name, Value: v}))
}

func dec(lo uint64, scale uint8) value.Value {
	return value.DecimalOf(decimal.Decimal{Lo: lo, Scale: scale})
}

func span(start, end value.Bound) *value.Range { return &value.Range{Start: start, End: end} }

func incl(v value.Value) value.Bound { return value.Bound{Kind: value.Included, Value: v} }
func excl(v value.Value) value.Bound { return value.Bound{Kind: value.Excluded, Value: v} }

var open value.Bound

// inOrder are record keys in the order in which the reference lists them.
func inOrder() []value.Value {
	str, arr := value.Str, value.Array
	return []value.Value{
		value.Int(math.MinInt64), value.Int(math.MinInt64 + 1), value.Int(-65536), value.Int(-257), value.Int(-256),
		value.Int(-255),
		value.Int(-1), value.Int(0), value.Int(1), value.Int(255), value.Int(256), value.Int(65535),
		value.Int(math.MaxInt64),
		str(""), str("\x00"), str("\x00\x00"), str("\x00a\x00"), str("\x00\xff"), str("\x01"), str("1.5"), str("a"),
		str("a\x00"),
		str("a\x00b"), str("aa"), str("é"),
		value.UUIDOf(value.UUID{}), value.UUIDOf(value.UUID{15: 1}),
		arr(), arr(value.None), arr(value.Null), arr(value.Bool(false)), arr(value.Bool(true)),
		arr(value.Float(math.Inf(-1))), arr(value.Int(math.MinInt64)), arr(value.Float(-1.5)), arr(value.Int(-1)),
		arr(value.Int(-1), value.Int(1)),
		arr(value.Float(-1)), arr(value.Int(0)), arr(value.Float(0)), arr(value.Float(5e-324)),
		arr(dec(1, 1)), arr(value.Int(1)), arr(value.Int(1), str("a")), arr(value.Int(1), str("z")),
		arr(value.Int(1), value.RangeOf(span(open, open))), arr(value.Float(1)), arr(value.Float(1), str("0")),
		arr(dec(1, 0)),
		arr(dec(10, 1)), arr(dec(14, 1)), arr(value.Float(1.5)), arr(dec(16, 1)), arr(value.Int(2)),
		arr(value.Int(2), str("a")),
		arr(value.Int(9007199254740992)), arr(value.Float(9007199254740992)), arr(value.Int(9007199254740993)),
		arr(dec(9007199254740993, 0)),
		arr(value.Float(9007199254740994)), arr(value.Int(math.MaxInt64)), arr(value.Float(1 << 63)),
		arr(value.Float(math.Inf(1))), arr(value.Float(math.NaN())),
		arr(str("a")), arr(value.DurationOf(value.Duration{Secs: 3600})),
		arr(value.DatetimeOf(value.Datetime{Secs: -1})),
		arr(value.DatetimeOf(value.Datetime{Secs: 5})), arr(value.UUIDOf(value.UUID{})), arr(arr()),
		arr(value.SetOfSorted(nil)),
		arr(value.ObjectOf(nil)), arr(value.GeometryOf(&value.Geometry{Point: value.Point{X: -1, Y: 2}})),
		arr(value.GeometryOf(&value.Geometry{Point: value.Point{X: 1, Y: 2}})), arr(value.BytesOf(nil)),
		arr(value.BytesOf([]byte{0})),
		arr(value.TableOf("t")), arr(value.Record("t", value.Int(1))), arr(value.Record("t", str("a"))),
		arr(value.FileOf(&value.File{Bucket: "b", Key: "/k"})), arr(value.RangeOf(span(open, open))),
		arr(value.RangeOf(span(open, incl(value.Int(2))))), arr(value.RangeOf(span(open, excl(value.Int(2))))),
		arr(value.RangeOf(span(incl(value.Int(1)), excl(value.Int(2))))),
		arr(value.RangeOf(span(excl(value.Int(0)), open))),
		value.ObjectOf(nil), obj("a", value.None), obj("a", value.Int(1)), obj("a", value.Float(1)),
		obj("a", arr(value.Int(1))), obj("b", value.Int(0)),
	}
}

func TestRecordKeysSortLikeRecordIDs(t *testing.T) {
	var prev []byte
	for i, v := range inOrder() {
		k := key.Record(nil, 1, 2, 3, v)
		if i > 0 && bytes.Compare(prev, k) >= 0 {
			t.Errorf("key %d (kind %s) %x does not sort after %x", i, v.Kind(), k, prev)
		}
		prev = k
	}
}

func TestRecordKeysReadBackToTheSameBytes(t *testing.T) {
	for i, v := range inOrder() {
		k := key.Record(nil, 1, 2, 3, v)
		got, err := key.DecodeRecord(k)
		if err != nil {
			t.Errorf("key %d: %v", i, err)
			continue
		}
		if got.Kind() != v.Kind() || !bytes.Equal(key.Record(nil, 1, 2, 3, got), k) {
			t.Errorf("key %d of kind %s came back different: %x", i, v.Kind(), k)
		}
		e := key.Edge(nil, 1, 2, 3, v, key.Out, 9, v)
		if dir, tb, edge, err := key.DecodeEdge(e); err != nil || dir != key.Out || tb != 9 ||
			!bytes.Equal(key.Record(nil, 1, 2, 3, edge), k) {
			t.Errorf("edge %d: direction %d, table %d, %v", i, dir, tb, err)
		}
	}
}

func TestNegativeZeroIsZero(t *testing.T) {
	a := key.Record(nil, 1, 1, 1, value.Array(value.Float(math.Copysign(0, -1))))
	b := key.Record(nil, 1, 1, 1, value.Array(value.Float(0)))
	if !bytes.Equal(a, b) {
		t.Errorf("-0 %x, 0 %x", a, b)
	}
}

func TestRecordRangeHoldsWhatItsBoundsSay(t *testing.T) {
	all := inOrder()
	for _, tc := range []struct {
		name string
		r    *value.Range
		from int // -1: from the first
		to   int // -1: to the last
	}{
		{name: "whole table", from: 0, to: len(all)},
		{name: "both open", r: span(open, open), from: 0, to: len(all)},
		{name: "from included to excluded", r: span(incl(all[5]), excl(all[9])), from: 5, to: 9},
		{name: "from excluded to included", r: span(excl(all[5]), incl(all[9])), from: 6, to: 10},
		{name: "empty when turned round", r: span(incl(all[9]), excl(all[5])), from: 9, to: 9},
		{name: "strings with zero bytes", r: span(excl(all[13]), incl(all[15])), from: 14, to: 16},
		{name: "from a string on", r: span(incl(value.Str("a")), open), from: 20, to: len(all)},
	} {
		start, end := key.RecordRange(1, 2, 3, tc.r)
		for i, v := range all {
			k := key.Record(nil, 1, 2, 3, v)
			in := bytes.Compare(k, start) >= 0 && (end == nil || bytes.Compare(k, end) < 0)
			if want := i >= tc.from && i < tc.to; in != want {
				t.Errorf("%s: key %d inside: %v, want %v", tc.name, i, in, want)
			}
		}
		if other := key.Record(nil, 1, 2, 4, all[0]); end == nil || bytes.Compare(other, end) < 0 {
			t.Errorf("%s: reaches into the next table", tc.name)
		}
	}
}

func TestHistoryIsNewestFirst(t *testing.T) {
	k := value.Str("a")
	old, recent := key.History(nil, 1, 1, 1, k, 5), key.History(nil, 1, 1, 1, k, math.MaxUint64)
	if bytes.Compare(recent, old) >= 0 {
		t.Error("the newer version does not come first")
	}
	got, version, err := key.DecodeHistory(old)
	if err != nil || version != 5 || got.Str() != "a" {
		t.Errorf("got %v %d %v", got, version, err)
	}
	start, end := key.HistoryRange(1, 1, 1, span(excl(value.Str("")), incl(k)))
	for _, h := range [][]byte{old, recent, key.History(nil, 1, 1, 1, k, 0)} {
		if bytes.Compare(h, start) < 0 || bytes.Compare(h, end) >= 0 {
			t.Errorf("%x is outside of its record's range", h)
		}
	}
	if h := key.History(nil, 1, 1, 1, value.Str(""), 0); bytes.Compare(h, start) >= 0 {
		t.Error("an excluded record's oldest version is inside")
	}
}

func TestSpaces(t *testing.T) {
	k := value.Int(1)
	for _, tc := range []struct {
		name string
		key  []byte
		want int
	}{
		{"record", key.Record(nil, 1, 2, 3, k), 13},
		{"index", key.Index(nil, 1, 2, 3, 4, []value.Value{k}, k), 17},
		{"database definition", key.DBDef(nil, 1, 2, key.KindTable, "t"), 9},
		{"root definition", key.RootDef(nil, key.KindUser, "u"), 1},
		{"nothing", nil, 0},
		{"unknown class", []byte{0xee, 1, 2, 3}, 0},
		{"cut", []byte{byte(key.ClassRecord), 0, 0, 0}, 0},
	} {
		if got := key.SpaceLen(tc.key); got != tc.want {
			t.Errorf("%s: got %d, want %d", tc.name, got, tc.want)
		}
	}
	dropped := key.TablePrefixes(1, 2, 3)
	for _, k := range [][]byte{key.Record(nil, 1, 2, 3, k), key.Index(nil, 1, 2, 3, 4, nil, k),
		key.Edge(nil, 1, 2, 3, k, key.In, 1, k),
		key.TableDef(nil, 1, 2, 3, key.KindField, "f"), key.Counter(nil, 1, 2, 3, 0, 0),
		key.Live(nil, 1, 2, 3, [16]byte{})} {
		n := 0
		for _, p := range dropped {
			if bytes.HasPrefix(k, p) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%x is under %d prefixes of its table", k, n)
		}
	}
}

func TestDefinitionsReadBack(t *testing.T) {
	kind, names, err := key.DecodeDef(key.DBDef(nil, 1, 2, key.KindGrant, "acc\x00ess", "id"))
	if err != nil || kind != key.KindGrant || len(names) != 2 || names[0] != "acc\x00ess" || names[1] != "id" {
		t.Errorf("got %d %q %v", kind, names, err)
	}
}
