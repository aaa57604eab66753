package value

import "strconv"

// appendJSON appends the object as JSON, from its bytes where it is unchanged.
func (e *encoded) appendJSON(dst []byte) []byte {
	if len(e.edits) == 0 {
		w := storedJSON{storedItems{e.rec, int(e.head)}}
		return w.item(dst)
	}
	dst = append(dst, '{')
	start := len(dst)
	name := func(s string) {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(jsonString(dst, s), ':')
	}
	e.merged(func(old entry) bool {
		name(old.name)
		w := storedJSON{storedItems{old.value, 0}}
		dst = w.item(dst)
		return true
	}, func(d edit) bool {
		name(d.name)
		dst = AppendJSON(dst, d.value)
		return true
	})
	return append(dst, '}')
}

// storedJSON turns stored values into JSON without making values of them.
type storedJSON struct{ storedItems }

// item appends the value at p and moves past it.
func (w *storedJSON) item(dst []byte) []byte {
	start := w.p
	if start < len(w.b) && w.b[start] >= majorOther {
		return w.appendSimple(dst)
	}
	major, n := w.head()
	switch major {
	case majorUint:
		return strconv.AppendInt(dst, int64(n), 10)
	case majorNeg:
		return strconv.AppendInt(dst, ^int64(n), 10)
	case majorText:
		return jsonString(dst, w.text(n))
	case majorBytes:
		return jsonBytes(dst, w.take(n))
	case majorArray:
		dst = append(dst, '[')
		for i := range n {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = w.item(dst)
		}
		return append(dst, ']')
	case majorMap:
		dst = append(dst, '{')
		for i := range n {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(w.item(dst), ':')
			dst = w.item(dst)
		}
		return append(dst, '}')
	default:
		return w.tagged(dst, start, n)
	}
}

func (w *storedJSON) appendSimple(dst []byte) []byte {
	switch v := w.simple(); v.Kind() {
	case KindBool:
		return strconv.AppendBool(dst, v.Bool())
	case KindFloat:
		return jsonFloat(dst, v.Float())
	}
	return append(dst, "null"...)
}

// tagged appends a tagged value: record ids with plain keys and sets from the bytes, others by way
// of their value.
func (w *storedJSON) tagged(dst []byte, start int, tag uint64) []byte {
	switch tag {
	case tagNone:
		w.p++
		return append(dst, "null"...)
	case tagSet:
		return w.item(dst)
	case tagRecord:
		if out, ok := w.record(dst); ok {
			return out
		}
	}
	return AppendJSON(dst, w.decode(start))
}

// record appends a record id whose key is text or an int.
func (w *storedJSON) record(dst []byte) ([]byte, bool) {
	table := w.table()
	start := len(dst) + 1
	dst, ok := w.appendKey(append(AppendRecordIdent(append(dst, '"'), table), ':'))
	if !ok {
		return dst[:start-1], false
	}
	return jsonQuoteTail(dst, start), true
}
