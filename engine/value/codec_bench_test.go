package value_test

import (
	"fmt"
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

// row is a record of 16 fields of the kinds that rows have, about 330 bytes.
func row() *value.Object {
	fields := []value.Field{
		{Name: "id", Value: value.Record("person", value.Str("0123456789abcdefghij"))},
		{Name: "name", Value: value.Str("Ada Lovelace")},
		{Name: "age", Value: value.Int(36)},
		{Name: "score", Value: value.Float(0.75)},
		{Name: "active", Value: value.Bool(true)},
		{Name: "created", Value: value.DatetimeOf(value.Datetime{Secs: 1700000000, Nanos: 123456789})},
		{Name: "tags", Value: value.Array(value.Str("math"), value.Str("engine"), value.Str("poetry"))},
		{Name: "address", Value: value.ObjectOf(value.NewObject(value.Field{Name: "city", Value: value.Str("London")},
			value.Field{Name: "zip", Value: value.Str("SW1Y")}))},
	}
	for i := range 8 {
		fields = append(fields, value.Field{Name: fmt.Sprintf("field%d", i), Value: value.Int(int64(i) * 1000)})
	}
	return value.NewObject(fields...)
}

func BenchmarkEncodeCBOR(b *testing.B) {
	v := value.ObjectOf(row())
	buf := encode(b, v)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = value.AppendCBOR(buf[:0], v)
	}
}

func BenchmarkDecodeCBOR(b *testing.B) {
	buf := encode(b, value.ObjectOf(row()))
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := value.DecodeCBOR(buf, value.DecodeLimits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeRecord(b *testing.B) {
	o := row()
	buf := record(b, o)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = value.EncodeRecord(buf[:0], o)
	}
}

func BenchmarkRecordFields(b *testing.B) {
	buf := record(b, row())
	b.ReportAllocs()
	for b.Loop() {
		if len(lazy(b, buf).Fields()) != 16 {
			b.Fatal("lost a field")
		}
	}
}

func BenchmarkRecordOneField(b *testing.B) {
	buf := record(b, row())
	b.Run("without object", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if v, ok, _ := value.RecordField(buf, "age"); !ok || v.Int() != 36 {
				b.Fatal("wrong field")
			}
		}
	})
	b.Run("new object", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if v, ok := lazy(b, buf).Get("age"); !ok || v.Int() != 36 {
				b.Fatal("wrong field")
			}
		}
	})
	b.Run("nested", func(b *testing.B) {
		o := lazy(b, buf)
		b.ReportAllocs()
		for b.Loop() {
			in, _ := o.Get("address")
			if v, ok := in.Object().Get("city"); !ok || v.Len() != 6 {
				b.Fatal("wrong field")
			}
		}
	})
}

func BenchmarkRecordCopyThrough(b *testing.B) {
	buf := record(b, row())
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out, _ = value.AppendCBOR(out[:0], value.ObjectOf(lazy(b, buf)))
	}
}

func BenchmarkRecordEdit(b *testing.B) {
	buf := record(b, row())
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out, _ = value.EncodeRecord(out[:0], lazy(b, buf).With("age", value.Int(37)))
	}
}
