package protobuf

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Objects that are still in their stored bytes, which are CBOR, are written from those without values in between. What
// is written is the same. Bytes that are not what the store wrote make it panic, as they do wherever they are read.

// The initial bytes of CBOR items, and the tags of the protocol.
const (
	cborNeg   = 0x20
	cborBytes = 0x40
	cborText  = 0x60
	cborArray = 0x80
	cborMap   = 0xa0
	cborTag   = 0xc0
	cborFalse = 0xf4
	cborNull  = 0xf6
	cborFloat = 0xfb
	cborShort = 24 // arguments below this one are in the initial byte

	cborNone     = 6
	cborRecord   = 8
	cborDecimal  = 10
	cborDatetime = 12
	cborUUID     = 37
	cborSet      = 56
)

// The tags of fields in messages that have values inside.
const (
	tagOne = 1<<3 | 2 // a KeyValue of an Object, its key, a Value of a list, the table of a RecordId, what a Uuid has
	tagTwo = 2<<3 | 2 // the value of a KeyValue, the key of a RecordId
)

func tooDeep() error { return errs.New(errs.KindSerialization, "The value nests too deep to be sent") }

// storedHead reads the head of an item at p: its major type, its argument, and where its content is.
func storedHead(b []byte, p int) (major byte, n uint64, next int) {
	ib := b[p]
	major, p = ib&0xe0, p+1
	switch info := ib & 0x1f; {
	case info < cborShort:
		return major, uint64(info), p
	case info == cborShort:
		return major, uint64(b[p]), p + 1
	case info == cborShort+1:
		return major, uint64(binary.BigEndian.Uint16(b[p:])), p + 2
	case info == cborShort+2:
		return major, uint64(binary.BigEndian.Uint32(b[p:])), p + 4
	}
	return major, binary.BigEndian.Uint64(b[p:]), p + 8
}

// storedText is the text, or are the bytes, at p, and where the next item is.
func storedText(b []byte, p int) (text []byte, next int) {
	_, n, p := storedHead(b, p)
	return b[p : p+int(n)], p + int(n)
}

// appendStored appends the content of a Value message for the item at p, and gives where the next one is.
func appendStored(dst, b []byte, p, levels int) ([]byte, int, error) {
	switch ib := b[p]; {
	case ib == cborFloat:
		bits := binary.BigEndian.Uint64(b[p+1:])
		return binary.LittleEndian.AppendUint64(append(dst, valueFloat<<3|1), bits), p + 9, nil
	case ib == cborNull:
		return append(dst, valueNull<<3|2, 0), p + 1, nil
	case ib >= cborFalse:
		return append(dst, valueBool<<3, ib-cborFalse), p + 1, nil
	}
	start := p
	major, n, p := storedHead(b, p)
	switch major {
	case 0:
		return protowire.AppendVarint(append(dst, valueInt<<3), n), p, nil
	case cborNeg:
		return protowire.AppendVarint(append(dst, valueInt<<3), ^n), p, nil
	case cborText:
		next := p + int(n)
		return appendBytes(append(dst, valueString<<3|2), b[p:next]), next, nil
	case cborBytes:
		next := p + int(n)
		return appendBytes(append(dst, valueBytes<<3|2), b[p:next]), next, nil
	}
	if major == cborTag {
		return appendStoredTag(dst, b, start, p, n, levels)
	}
	var at int
	var err error
	if major == cborMap {
		dst, at = Open(dst, valueObject)
		dst, p, err = appendStoredFields(dst, b, p, n, levels-1)
	} else {
		dst, at = Open(dst, valueArray)
		dst, p, err = appendStoredList(dst, b, p, n, levels-1)
	}
	return Seal(dst, at), p, err
}

// appendStoredTag is appendStored for the item at start with a tag, whose content is at p.
func appendStoredTag(dst, b []byte, start, p int, tag uint64, levels int) (_ []byte, _ int, err error) {
	var at int
	switch tag {
	case cborNone:
		return append(dst, valueNone<<3|2, 0), p + 1, nil
	case cborRecord:
		table, next := storedText(b, p+1) // behind the head of a pair
		if n := int(b[next]) - cborText; n >= 0 && n < cborShort && len(table) > 0 && len(table) < cborShort {
			end := next + 1 + n
			dst = append(dst, valueRecordID<<3|2, byte(len(table)+n+6), tagOne, byte(len(table)))
			dst = append(append(dst, table...), tagTwo, byte(n+2), keyString<<3|2, byte(n))
			return append(dst, b[next+1:end]...), end, nil
		}
		dst, at = Open(dst, valueRecordID)
		if len(table) > 0 {
			dst = appendBytes(append(dst, tagOne), table)
		}
		dst = append(dst, tagTwo, 0)
		in := len(dst)
		dst, p, err = appendStoredKey(dst, b, next, levels-1)
		return Seal(Seal(dst, in), at), p, err
	case cborDatetime:
		major, secs, next := storedHead(b, p+1)
		if major == cborNeg {
			secs = ^secs
		}
		_, nanos, next := storedHead(b, next)
		d := value.Datetime{Secs: int64(secs), Nanos: uint32(nanos)}
		return AppendDatetime(dst, valueDatetime, d), next, nil
	case cborUUID:
		dst, p = appendStoredUUID(append(dst, valueUUID<<3|2), b, p)
		return dst, p, nil
	case cborDecimal:
		text, next := storedText(b, p)
		dst, at = Open(dst, valueDecimal)
		return Seal(appendBytes(append(dst, tagOne), text), at), next, nil
	case cborSet:
		_, n, next := storedHead(b, p)
		dst, at = Open(dst, valueSet)
		dst, p, err = appendStoredList(dst, b, next, n, levels-1)
		return Seal(dst, at), p, err
	}
	v, size := value.StoredValue(b[start:])
	dst, err = appendValue(dst, v, levels)
	return dst, start + size, err
}

// appendStoredUUID appends a Uuid message behind its tag.
func appendStoredUUID(dst, b []byte, p int) ([]byte, int) {
	id, next := storedText(b, p)
	return append(append(dst, byte(len(id)+2), tagOne, byte(len(id))), id...), next
}

// appendStoredFields appends the content of an Object message for n fields at p.
func appendStoredFields(dst, b []byte, p int, n uint64, levels int) (_ []byte, _ int, err error) {
	if levels == 0 && n > 0 {
		return dst, p, tooDeep()
	}
	for range n {
		if out, next := appendShort(dst, b, p); next > 0 {
			dst, p = out, next
			continue
		}
		// Nearly all names are short.
		if size := int(b[p]) - cborText; size > 0 && size < cborShort {
			name, v := b[p+1:p+1+size], p+1+size
			dst = append(append(append(dst, tagOne, 0, tagOne, byte(size)), name...), tagTwo, 0)
			in := len(dst)
			if dst, p, err = appendStored(dst, b, v, levels); err != nil {
				return dst, p, err
			}
			dst = Seal(Seal(dst, in), in-size-4)
			continue
		}
		name, v := storedText(b, p)
		dst = append(dst, tagOne, 0)
		at := len(dst)
		if len(name) > 0 {
			dst = appendBytes(append(dst, tagOne), name)
		}
		dst = append(dst, tagTwo, 0)
		in := len(dst)
		if dst, p, err = appendStored(dst, b, v, levels); err != nil {
			return dst, p, err
		}
		dst = Seal(Seal(dst, in), at)
	}
	return dst, p, nil
}

const (
	// chunk is how many bytes are copied of every short text: that is cheaper than a copy of as many
	// bytes as there are.
	chunk = 24
	// window is more than a short field takes: tags and lengths, a name, and a text or a number.
	window = 64
)

// appendShort appends a field whose name is short and whose value is a short text, a number, a bool or NULL. next is 0
// where it is none of those, or there is no room: then nothing was done.
func appendShort(dst, b []byte, p int) (out []byte, next int) {
	size := int(b[p]) - cborText
	if size <= 0 || size >= cborShort || cap(dst)-len(dst) < window || len(b)-p <= chunk {
		return dst, 0
	}
	at := len(dst)
	w := dst[at : at+window]
	w[0], w[2], w[3] = tagOne, tagOne, byte(size)
	*(*[chunk]byte)(w[4:]) = *(*[chunk]byte)(b[p+1:])
	k, v := 4+size, p+1+size
	w[k] = tagTwo
	switch ib := b[v]; {
	case ib >= cborText && ib < cborText+cborShort:
		n := int(ib - cborText)
		w[k+1], w[k+2], w[k+3] = byte(n+2), valueString<<3|2, byte(n)
		if text := b[v+1:]; len(text) >= chunk {
			*(*[chunk]byte)(w[k+4:]) = *(*[chunk]byte)(text)
		} else {
			copy(w[k+4:], text[:n])
		}
		k, next = k+4+n, v+1+n
	case ib < cborNeg:
		var n uint64
		_, n, next = storedHead(b, v)
		size := binary.PutUvarint(w[k+3:], n)
		w[k+1], w[k+2] = byte(1+size), valueInt<<3
		k += 3 + size
	case ib == cborFloat:
		w[k+1], w[k+2] = 9, valueFloat<<3|1
		binary.LittleEndian.PutUint64(w[k+3:], binary.BigEndian.Uint64(b[v+1:]))
		k, next = k+11, v+9
	case ib == cborFalse || ib == cborFalse+1:
		w[k+1], w[k+2], w[k+3] = 2, valueBool<<3, ib-cborFalse
		k, next = k+4, v+1
	case ib == cborNull:
		w[k+1], w[k+2], w[k+3] = 2, valueNull<<3|2, 0
		k, next = k+4, v+1
	default:
		return dst, 0
	}
	w[1] = byte(k - 2)
	return dst[:at+k], next
}

// appendStoredList appends the content of an Array or Set message for n elements at p.
func appendStoredList(dst, b []byte, p int, n uint64, levels int) (_ []byte, _ int, err error) {
	if levels == 0 && n > 0 {
		return dst, p, tooDeep()
	}
	for range n {
		dst = append(dst, tagOne, 0)
		at := len(dst)
		if dst, p, err = appendStored(dst, b, p, levels); err != nil {
			return dst, p, err
		}
		dst = Seal(dst, at)
	}
	return dst, p, nil
}

// appendStoredKey appends the content of a RecordIdKey message for the item at p.
func appendStoredKey(dst, b []byte, p, levels int) (_ []byte, _ int, err error) {
	if levels == 0 {
		return dst, p, tooDeep()
	}
	var at int
	switch major, n, next := storedHead(b, p); major {
	case 0:
		return protowire.AppendVarint(append(dst, keyInt<<3), n), next, nil
	case cborNeg:
		return protowire.AppendVarint(append(dst, keyInt<<3), ^n), next, nil
	case cborText:
		end := next + int(n)
		return appendBytes(append(dst, keyString<<3|2), b[next:end]), end, nil
	case cborArray:
		dst, at = Open(dst, keyArray)
		dst, p, err = appendStoredList(dst, b, next, n, levels-1)
	case cborMap:
		dst, at = Open(dst, keyObject)
		dst, p, err = appendStoredFields(dst, b, next, n, levels-1)
	default:
		if n == cborUUID {
			dst, p = appendStoredUUID(append(dst, keyUUID<<3|2), b, next)
			return dst, p, nil
		}
		v, size := value.StoredValue(b[p:])
		dst, err = appendKey(dst, v, levels)
		return dst, p + size, err
	}
	return Seal(dst, at), p, err
}

func appendBytes(dst, b []byte) []byte {
	if len(b) < 0x80 {
		return append(append(dst, byte(len(b))), b...)
	}
	return protowire.AppendBytes(dst, b)
}
