package pgwire

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

// checkStoredInto holds that a value that is read from its bytes is what it becomes in a column of a type.
func checkStoredInto(t *rapid.T, item []byte, oid pgtype.OID, v value.Value) {
	got := value.Str("before")
	if !pgtype.StoredInto(&got, item, oid) {
		if got.Text() != value.Str("before").Text() {
			t.Fatalf("%s as %d: %s is left behind", v, oid, got)
		}
		if v.Kind() == value.KindString && oid == pgtype.Text || v.Kind() == value.KindInt && oid == pgtype.Int8 ||
			v.Kind() == value.KindFloat && oid == pgtype.Float8 {
			t.Fatalf("%s as %d is not read from its bytes", v, oid)
		}
		return
	}
	want, err := fitColumn(&sql.Column{Name: "f", OID: oid}, v)
	if err != nil || got.Kind() != want.Kind() || got.Text() != want.Text() {
		t.Fatalf("%s as %d is %s, want %s, %v", v, oid, got, want, err)
	}
}

// What goes out from the bytes of a record is what its value becomes in a column of any type, and the kinds that most
// records hold do go out from their bytes.
func TestAppendStored(t *testing.T) {
	oids := []pgtype.OID{pgtype.Bool, pgtype.Int8, pgtype.Float8, pgtype.Numeric, pgtype.Text, pgtype.Timestamptz,
		pgtype.Interval, pgtype.UUID, pgtype.Bytea, pgtype.JSONB, 1016, 1009}
	own := map[value.Kind]pgtype.OID{value.KindBool: pgtype.Bool, value.KindInt: pgtype.Int8,
		value.KindFloat: pgtype.Float8, value.KindString: pgtype.Text, value.KindDatetime: pgtype.Timestamptz}
	styles := []*pgtype.Style{{}, {Zone: time.FixedZone("", -12600)}}
	rapid.Check(t, func(t *rapid.T) {
		v := valuetest.Value(2).Draw(t, "value")
		raw, err := value.EncodeRecord(nil, value.NewObject(value.Field{Name: "a", Value: value.Int(1)},
			value.Field{Name: "f", Value: v}))
		if err != nil {
			t.Skip("it cannot be stored")
		}
		o, err := value.RecordObject(raw)
		if err != nil {
			t.Fatal(err)
		}
		slots := value.NewSlots([]string{"f"})
		if !slots.Open(o) {
			t.Fatal("a stored record is none")
		}
		st := rapid.SampledFrom(styles).Draw(t, "style")
		for _, oid := range oids {
			checkStoredInto(t, slots.Item(0), oid, v)
			for _, asBinary := range []bool{false, true} {
				before := []byte("before")
				got, ok := pgtype.AppendStored(before, slots.Item(0), oid, asBinary, st)
				if !ok {
					if !bytes.Equal(got, before) {
						t.Fatalf("%s as %d: %q is left behind", v, oid, got)
					}
					if own[v.Kind()] == oid && oid != 0 {
						t.Fatalf("%s as %d is not written from its bytes", v, oid)
					}
					continue
				}
				fits, err := fitColumn(&sql.Column{Name: "f", OID: oid}, v)
				if err != nil {
					t.Fatalf("%s as %d goes out, but %v", v, oid, err)
				}
				if want := pgtype.AppendSized([]byte("before"), oid, fits, asBinary, st); !bytes.Equal(got, want) {
					t.Fatalf("%s as %d: %q, want %q", v, oid, got, want)
				}
			}
		}
	})
}
