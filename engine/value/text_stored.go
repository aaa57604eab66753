package value

import "strconv"

// AppendWith appends the text of the object: { a: 1 }. Its values are written by other. Where they are in stored bytes,
// that is asked only for those whose text may be a matter of taste: all but bools, NULL, ints, floats, strings, bytes,
// arrays of such, objects, and record ids of a plain table name with a key of text or an int, which have to be as
// AppendText writes them.
func (o *Object) AppendWith(dst []byte, other func([]byte, Value) []byte) []byte {
	e := o.enc
	if e != nil && len(e.edits) == 0 {
		w := storedText{storedItems{e.rec, int(e.head)}, other}
		return w.item(dst)
	}
	dst = append(dst, "{ "...)
	start := len(dst)
	name := func(s string) {
		if len(dst) > start {
			dst = append(dst, ", "...)
		}
		dst = append(AppendKey(dst, s), ": "...)
	}
	if e == nil {
		for _, f := range o.Fields() {
			name(f.Name)
			dst = other(dst, f.Value)
		}
		return append(dst, " }"...)
	}
	e.merged(func(old entry) bool {
		name(old.name)
		w := storedText{storedItems{old.value, 0}, other}
		dst = w.item(dst)
		return true
	}, func(d edit) bool {
		name(d.name)
		dst = other(dst, d.value)
		return true
	})
	return append(dst, " }"...)
}

// storedText turns stored values into text without making values of them.
type storedText struct {
	storedItems
	other func([]byte, Value) []byte
}

// item appends the value at p and moves past it.
func (w *storedText) item(dst []byte) []byte {
	start := w.p
	if start < len(w.b) && w.b[start] >= majorOther {
		return w.simple().AppendText(dst)
	}
	major, n := w.head()
	switch major {
	case majorUint:
		return strconv.AppendInt(dst, int64(n), 10)
	case majorNeg:
		return strconv.AppendInt(dst, ^int64(n), 10)
	case majorText:
		return AppendQuoted(dst, w.text(n))
	case majorBytes:
		return appendBytes(dst, w.take(n))
	case majorArray:
		dst = append(dst, '[')
		for i := range n {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = w.item(dst)
		}
		return append(dst, ']')
	case majorMap:
		dst = append(dst, "{ "...)
		for i := range n {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			_, size := w.head()
			dst = append(AppendKey(dst, w.text(size)), ": "...)
			dst = w.item(dst)
		}
		return append(dst, " }"...)
	default:
		return w.tagged(dst, start, n)
	}
}

// tagged appends a tagged value.
func (w *storedText) tagged(dst []byte, start int, tag uint64) []byte {
	if tag == tagRecord {
		if table := w.table(); isPlainIdent(table) && !IsReserved(table) {
			before := len(dst)
			if out, ok := w.appendKey(append(append(dst, table...), ':')); ok {
				return out
			}
			dst = dst[:before]
		}
	}
	return w.other(dst, w.decode(start))
}
