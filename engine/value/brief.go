package value

import "unicode/utf8"

// briefLen is how much of a value an error text can use: more than errs keeps of an argument, so that what is left out
// shows there.
const briefLen = 1<<10 + 64

// Brief is v's Text for an error: only the beginning of a large value is written, so that an error about a hundred
// megabytes costs no more than any other. The text of a value that was cut does not read back.
func (v Value) Brief() string { return v.Beginning(briefLen).Text() }

// Beginning is v, or of a large v so much of its beginning that its Text has at least n bytes.
func (v Value) Beginning(n int) Value {
	return v.cut(&n)
}

// cut is v without what is beyond left bytes. It counts down left by the least that the text of v takes.
func (v Value) cut(left *int) Value {
	*left--
	switch v.Kind() {
	case KindString:
		return Str(cutString(v.Str(), left))
	case KindBytes:
		b := v.Bytes()
		n := min(len(b), max(*left, 0))
		*left -= n
		return BytesOf(b[:n])
	case KindArray:
		return ArrayOf(cutElems(v.Elems(), left))
	case KindSet:
		return SetOfSorted(cutElems(v.Elems(), left))
	case KindObject:
		return ObjectOf(ObjectOfSorted(cutFields(v.Object().Fields(), left)))
	case KindRecord:
		r := v.Record()
		return RecordOf(&RecordID{Table: cutString(r.Table, left), Key: r.Key.cut(left)})
	case KindRange:
		r := v.Range()
		return RangeOf(&Range{Start: r.Start.cut(left), End: r.End.cut(left)})
	case KindGeometry:
		if Weight(v) > longestGeometry {
			return Str("geometry")
		}
	}
	return v
}

// longestGeometry is the weight of geometries that errors show.
const longestGeometry = 32 << 10

func (b Bound) cut(left *int) Bound {
	if b.Kind != Unbounded {
		b.Value = b.Value.cut(left)
	}
	return b
}

func cutString(s string, left *int) string {
	n := max(*left, 0)
	*left -= len(s)
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func cutElems(elems []Value, left *int) []Value {
	for i, e := range elems {
		if *left <= 0 {
			return elems[:i:i]
		}
		if c := e.cut(left); *left <= 0 {
			return append(elems[:i:i], c)
		}
	}
	return elems
}

func cutFields(fields []Field, left *int) []Field {
	for i, f := range fields {
		if *left <= 0 {
			return fields[:i:i]
		}
		name := cutString(f.Name, left)
		if c := f.Value.cut(left); *left <= 0 {
			return append(fields[:i:i], Field{Name: name, Value: c})
		}
	}
	return fields
}
