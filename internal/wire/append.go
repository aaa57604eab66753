package wire

import (
	"encoding/binary"
	"unicode/utf8"
)

// Major types and single bytes of CBOR, and keys that every message carries.
const (
	cborUint  = 0 << 5
	cborNeg   = 1 << 5
	cborText  = 3 << 5
	cborArray = 4 << 5
	cborMap   = 5 << 5
	cborNull  = 0xf6
	cborNone  = "\xc6\xf6"

	cborKeyCause  = "\x65cause" + cborNone
	cborKeyCode   = "\x64code"
	cborKeyID     = "\x62id"
	cborKeyError  = "\x65error"
	cborKeyResult = "\x66result"
	cborKeyStatus = "\x66status"
	cborKeyTime   = "\x64time"
	cborKeyType   = "\x64type"
)

// appendHead writes the head of a CBOR item.
func appendHead(dst []byte, major byte, n int) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n <= 0xff:
		return append(dst, major|24, byte(n))
	case n <= 0xffff:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(n))
	case n <= 0xffffffff:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), uint64(n))
}

func appendCBORText(dst []byte, s string) []byte {
	return append(appendHead(dst, cborText, len(s)), s...)
}

func appendCBORInt(dst []byte, n int) []byte {
	if n < 0 {
		return appendHead(dst, cborNeg, -1-n)
	}
	return appendHead(dst, cborUint, n)
}

const hexDigits = "0123456789abcdef"

// appendJSONString writes s quoted. Bytes that are not UTF-8 become the replacement character.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
