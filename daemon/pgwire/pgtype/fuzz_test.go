package pgtype

import (
	"testing"
	"unicode/utf8"
)

// Decode and Parse take what a client sends for any type. A value that they give can be written in both formats, and
// its binary form is read again.
func FuzzDecode(f *testing.F) {
	for _, oid := range []OID{Bool, Int2, Int4, Int8, Float4, Float8, Numeric, Text, Bytea, UUID, Timestamptz, Date,
		Time, TimeTZ, Interval,
		JSON, JSONB, TextArray, ArrayOf(Int8), ArrayOf(Numeric), Oid, Name, Char} {
		f.Add(oid, []byte("1"))
		f.Add(oid, []byte("\x00\x00\x00\x01\x00\x00\x00\x00"))
	}
	f.Add(Numeric, []byte("\x00\x02\x00\x00\x00\x00\x00\x01\x00\x0c\x1b\x58"))
	f.Add(TextArray, []byte(`{a,"b\"",NULL,{c}}`))
	f.Add(ArrayOf(Int4),
		[]byte("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x17\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x07"))
	f.Add(Timestamptz, []byte("2024-02-29 12:30:45.123456+05:30 BC"))
	f.Add(Interval, []byte("P1DT2H3.5S"))
	f.Add(Interval, []byte("3 days 04:05:06.789"))
	f.Add(Interval, []byte("@ 1 year -2.5 mons 3-4 05:06:07.8 ago"))
	f.Add(Interval, []byte("\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\x00\x00\x00\x01"))
	f.Add(TimeTZ, []byte("2024-02-29 12:30:45.123456-05:30:15"))
	f.Add(TimeTZ, []byte("\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff"))
	f.Add(JSONB, []byte("\x01{\"a\":[1,null]}"))
	f.Fuzz(func(t *testing.T, oid uint32, b []byte) {
		st := &Style{}
		if v, err := Decode(oid, b); err == nil {
			AppendText(nil, oid, v, st)
			again := AppendBinary(nil, oid, v, st)
			if _, err := Decode(oid, again); err != nil {
				t.Errorf("type %d: %x is read as %s, and written as %x: %v", oid, b, v.Text(), again, err)
			}
		}
		if !utf8.Valid(b) {
			return
		}
		if v, err := Parse(oid, string(b), st); err == nil {
			text := AppendText(nil, oid, v, st)
			AppendBinary(nil, oid, v, st)
			if _, err := Parse(oid, string(text), st); err != nil && !IsReg(oid) {
				t.Errorf("type %d: %q is read as %s, and written as %q: %v", oid, b, v.Text(), text, err)
			}
		}
	})
}
