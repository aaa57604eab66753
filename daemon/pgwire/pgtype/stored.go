package pgtype

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/nacredb/nacre/engine/value"
)

// The initial bytes of items in stored records (see value.Slots), which are canonical CBOR.
const (
	storedNegative = 0x20
	storedText     = 0x60
	storedTag      = 0xc0
	storedNone     = storedTag | 6
	storedRecord   = storedTag | 8
	storedDatetime = storedTag | 12
	storedFalse    = 0xf4
	storedTrue     = 0xf5
	storedNull     = 0xf6
	storedFloat    = 0xfb
	storedPair     = 0x82
)

// AppendStored writes a value of a stored record with its length before it, as AppendSized writes the value of a column
// that it has become. nil is a field that is missing. ok is false, and nothing is written, for values that are not of
// the type as they are, and for kinds that have to be read first.
func AppendStored(dst, item []byte, oid OID, asBinary bool, st *Style) (out []byte, ok bool) {
	if len(item) == 0 || item[0] == storedNull || item[0] == storedNone {
		return append(dst, 0xff, 0xff, 0xff, 0xff), true
	}
	if asBinary {
		if out, ok = appendPlain(dst, item, oid); ok {
			return out, true
		}
	}
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	switch oid {
	case Int8:
		dst, ok = appendStoredInt(dst, item, asBinary)
	case Float8:
		dst, ok = appendStoredFloat(dst, item, asBinary)
	case Text:
		dst, ok = appendStoredText(dst, item)
	case Bool:
		dst, ok = appendStoredBool(dst, item, asBinary)
	case Timestamptz:
		dst, ok = appendStoredDatetime(dst, item, asBinary, st)
	}
	if !ok {
		return dst[:start], false
	}
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst, true
}

// appendPlain is AppendStored for what most columns have, in the binary format and of a length that is known before:
// numbers and short texts. ok is false for others.
func appendPlain(dst, item []byte, oid OID) (out []byte, ok bool) {
	be := binary.BigEndian
	switch oid {
	case Int8:
		if n, _, ok := storedInt(item); ok {
			return be.AppendUint64(append(dst, 0, 0, 0, 8), uint64(n)), true
		}
	case Float8:
		if item[0] == storedFloat && len(item) == 9 {
			return append(append(dst, 0, 0, 0, 8), item[1:]...), true
		}
	case Text:
		if n := int(item[0]) - storedText; n >= 0 && n < 24 && len(item) == 1+n {
			return append(append(dst, 0, 0, 0, byte(n)), item[1:]...), true
		}
		if item[0] == storedText+24 && len(item) > 1 && len(item) == 2+int(item[1]) {
			return append(append(dst, 0, 0, 0, item[1]), item[2:]...), true
		}
	}
	return dst, false
}

// StoredInto sets v to a value of a stored record as a column of the type has it, for the types of most columns. It may
// share the bytes. nil is a field that is missing. ok is false, and v is as it was, for values that are not of the type
// as they are, and for kinds that have to be read first.
func StoredInto(v *value.Value, item []byte, oid OID) (ok bool) {
	if len(item) == 0 || item[0] == storedNull || item[0] == storedNone {
		*v = value.None
		return true
	}
	switch oid {
	case Int8:
		n, _, ok := storedInt(item)
		if ok {
			*v = value.Int(n)
		}
		return ok
	case Float8:
		if item[0] == storedFloat && len(item) == 9 {
			*v = value.Float(math.Float64frombits(binary.BigEndian.Uint64(item[1:])))
			return true
		}
	case Text:
		text, ok := value.StoredText(item)
		if ok {
			*v = value.Str(text)
		}
		return ok
	}
	return false
}

// storedHead reads the head of an item: its kind, its argument and what follows it. Bytes that were cut give kind 0xff.
func storedHead(b []byte) (kind byte, n uint64, rest []byte) {
	if len(b) == 0 {
		return 0xff, 0, nil
	}
	kind, info := b[0]&0xe0, b[0]&0x1f
	if b = b[1:]; info < 24 {
		return kind, uint64(info), b
	}
	if info > 27 || len(b) < 1<<(info-24) {
		return 0xff, 0, nil
	}
	be := binary.BigEndian
	switch info {
	case 24:
		return kind, uint64(b[0]), b[1:]
	case 25:
		return kind, uint64(be.Uint16(b)), b[2:]
	case 26:
		return kind, uint64(be.Uint32(b)), b[4:]
	}
	return kind, be.Uint64(b), b[8:]
}

// storedInt is the whole number that an item is; ok is false for others.
func storedInt(item []byte) (n int64, rest []byte, ok bool) {
	kind, arg, rest := storedHead(item)
	switch kind {
	case 0:
		return int64(arg), rest, true
	case storedNegative:
		return ^int64(arg), rest, true
	}
	return 0, nil, false
}

// storedString is the text that an item is; ok is false for others.
func storedString(item []byte) (text, rest []byte, ok bool) {
	kind, n, rest := storedHead(item)
	if kind != storedText || n > uint64(len(rest)) {
		return nil, nil, false
	}
	return rest[:n], rest[n:], true
}

func appendStoredInt(dst, item []byte, asBinary bool) ([]byte, bool) {
	n, _, ok := storedInt(item)
	switch {
	case !ok:
		return dst, false
	case asBinary:
		return binary.BigEndian.AppendUint64(dst, uint64(n)), true
	}
	return strconv.AppendInt(dst, n, 10), true
}

// appendStoredFloat takes whole numbers, too: those are of the type by a conversion.
func appendStoredFloat(dst, item []byte, asBinary bool) ([]byte, bool) {
	var f float64
	if item[0] == storedFloat && len(item) == 9 {
		f = math.Float64frombits(binary.BigEndian.Uint64(item[1:]))
	} else if n, _, ok := storedInt(item); ok {
		f = float64(n)
	} else {
		return dst, false
	}
	if asBinary {
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(f)), true
	}
	return appendFloat(dst, f, 64), true
}

// appendStoredText takes the ids of records, too: those are given by their names.
func appendStoredText(dst, item []byte) ([]byte, bool) {
	if text, _, ok := storedString(item); ok {
		return append(dst, text...), true
	}
	if item[0] != storedRecord || len(item) < 2 || item[1] != storedPair {
		return dst, false
	}
	table, key, ok := storedString(item[2:])
	if !ok {
		return dst, false
	}
	if text, _, ok := storedString(key); ok {
		dst = append(value.AppendRecordIdent(dst, string(table)), ':')
		return value.AppendRecordIdent(dst, string(text)), true
	}
	if n, _, ok := storedInt(key); ok {
		dst = append(value.AppendRecordIdent(dst, string(table)), ':')
		return strconv.AppendInt(dst, n, 10), true
	}
	return dst, false
}

func appendStoredBool(dst, item []byte, asBinary bool) ([]byte, bool) {
	if item[0] != storedTrue && item[0] != storedFalse {
		return dst, false
	}
	if asBinary {
		return append(dst, item[0]-storedFalse), true
	}
	return append(dst, "ft"[item[0]-storedFalse]), true
}

func appendStoredDatetime(dst, item []byte, asBinary bool, st *Style) ([]byte, bool) {
	if item[0] != storedDatetime || len(item) < 2 || item[1] != storedPair {
		return dst, false
	}
	secs, rest, ok := storedInt(item[2:])
	if !ok {
		return dst, false
	}
	nanos, _, ok := storedInt(rest)
	if !ok {
		return dst, false
	}
	d := value.Datetime{Secs: secs, Nanos: uint32(nanos)}
	if asBinary {
		return binary.BigEndian.AppendUint64(dst, uint64(microsOf(d))), true
	}
	return appendTimestamp(dst, d, st, st), true
}
