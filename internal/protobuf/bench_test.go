package protobuf_test

import (
	"testing"

	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/protobuf"
)

// benchRow is a record of some kinds of fields.
const benchRow = `{ address: { city: 'a city', street: 'a street', zip: 12345 }, at: d'2024-01-01T00:00:00Z', id: t:4711,
	n: 4711, name: 'a name of some length', owner: person:tobie, price: 1.5, tags: ['a', 'b'] }`

func row(b *testing.B) value.Value {
	v, err := parse.Value(benchRow)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// Decoding a record, beside the same in CBOR.
func BenchmarkDecode(b *testing.B) {
	v := row(b)
	pb := must(protobuf.AppendValue(nil, v))
	cbor, err := value.AppendCBOR(nil, v)
	if err != nil {
		b.Fatal(err)
	}
	for _, own := range []bool{true, false} {
		lim := value.DecodeLimits{Own: own}
		of := map[bool]string{true: "own", false: "copy"}[own]
		b.Run("protobuf/"+of, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := protobuf.DecodeValue(pb, lim); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("cbor/"+of, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := value.DecodeCBORValue(cbor, lim); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
