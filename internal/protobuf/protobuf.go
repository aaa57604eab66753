// Package protobuf is the protobuf form of values and errors: the messages of proto/protocol/v1.
//
// It reads and writes the bytes itself. Messages that protobuf-go would build of a value take up to forty times the
// memory of its bytes, before anybody can count them; here depth and number are bounded while they are read, and a
// value is made once. Tests hold both directions to the generated code. Decoders promise an error, never a panic, for
// any input.
package protobuf

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacredb/nacre/engine/errs"
)

// The members of the oneof in Value.
const (
	valueNone           = 1
	valueNull           = 2
	valueBool           = 3
	valueInt            = 4
	valueFloat          = 5
	valueDecimal        = 6
	valueString         = 7
	valueBytes          = 8
	valueDuration       = 9
	valueDatetime       = 10
	valueUUID           = 11
	valueGeometry       = 12
	valueTable          = 13
	valueRecordID       = 14
	valueStringRecordID = 15
	valueFile           = 16
	valueRange          = 17
	valueRegex          = 18
	valueObject         = 19
	valueArray          = 20
	valueSet            = 21
)

// The members of the oneof in RecordIdKey.
const (
	keyInt     = 1
	keyString  = 2
	keyUUID    = 3
	keyArray   = 4
	keyRange   = 5
	keyObject  = 6
	keyFloat   = 7
	keyDecimal = 8
)

// The members of the oneofs in ValueBound and RecordIdKeyBound.
const (
	boundInclusive = 1
	boundExclusive = 2
	boundUnbounded = 3
)

// Open writes the tag of a field whose content is a message, with room for a short length. Seal is called with at
// when the content is written.
func Open(dst []byte, field protowire.Number) (out []byte, at int) {
	dst = append(protowire.AppendTag(dst, field, protowire.BytesType), 0)
	return dst, len(dst)
}

// Seal writes the length of the content from at on in front of it.
func Seal(dst []byte, at int) []byte {
	if n := len(dst) - at; n < 0x80 {
		dst[at-1] = byte(n)
		return dst
	}
	return sealLong(dst, at)
}

func sealLong(dst []byte, at int) []byte {
	n := len(dst) - at
	more := protowire.SizeVarint(uint64(n)) - 1
	dst = append(dst, "\x00\x00\x00\x00\x00\x00\x00\x00\x00"[:more]...)
	copy(dst[at+more:], dst[at:at+n])
	protowire.AppendVarint(dst[:at-1], uint64(n))
	return dst
}

// openWide is Open with room for a length of two bytes. sealWide is called with at.
func openWide(dst []byte, field protowire.Number) (out []byte, at int) {
	dst = append(protowire.AppendTag(dst, field, protowire.BytesType), 0, 0)
	return dst, len(dst)
}

// sealWide is Seal for openWide. It moves the content where its length does not have two bytes.
func sealWide(dst []byte, at int) []byte {
	n := len(dst) - at
	if n >= 0x80 && n < 1<<14 {
		dst[at-2], dst[at-1] = byte(n)|0x80, byte(n>>7)
		return dst
	}
	if n < 0x80 {
		dst[at-2] = byte(n)
		copy(dst[at-1:], dst[at:])
		return dst[:len(dst)-1]
	}
	more := protowire.SizeVarint(uint64(n)) - 2
	dst = append(dst, "\x00\x00\x00\x00\x00\x00\x00\x00"[:more]...)
	copy(dst[at+more:], dst[at:at+n])
	protowire.AppendVarint(dst[:at-2], uint64(n))
	return dst
}

// Scan reads the fields of a message one by one. Fields that a reader does not know it leaves out.
type Scan struct {
	Num protowire.Number
	N   uint64 // of a number, as it is on the wire
	B   []byte // the content of bytes, texts and messages; nil where it is a number

	rest []byte
}

// Fields scans the message b.
func Fields(b []byte) Scan { return Scan{rest: b} }

// Next reads the next field; false at the end.
func (s *Scan) Next() (bool, error) {
	if len(s.rest) == 0 {
		return false, nil
	}
	// Nearly all fields are short texts and messages: their tag and their length have a byte each.
	if b := s.rest; len(b) >= 2 && b[0] >= 8 && b[0] < 0x80 && b[0]&7 == byte(protowire.BytesType) &&
		b[1] < 0x80 && int(b[1]) <= len(b)-2 {
		end := 2 + int(b[1])
		s.Num, s.N, s.B, s.rest = protowire.Number(b[0]>>3), 0, b[2:end:end], b[end:]
		return true, nil
	}
	num, typ, n := protowire.ConsumeTag(s.rest)
	if n < 0 {
		return false, malformed()
	}
	s.rest, s.Num, s.B, s.N = s.rest[n:], num, nil, 0
	switch typ {
	case protowire.VarintType:
		s.N, n = protowire.ConsumeVarint(s.rest)
	case protowire.Fixed64Type:
		s.N, n = protowire.ConsumeFixed64(s.rest)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(s.rest)
		s.N = uint64(v)
	case protowire.BytesType:
		s.B, n = protowire.ConsumeBytes(s.rest)
		if s.B == nil && n >= 0 {
			s.B = []byte{}
		}
	default: // groups, which these messages do not have
		return false, malformed()
	}
	if n < 0 {
		return false, malformed()
	}
	s.rest = s.rest[n:]
	return true, nil
}

func malformed() *errs.Error { return refused("the message is not valid protobuf") }

// refused is a message that the receiver does not take.
func refused(format string, args ...any) *errs.Error {
	return errs.With(errs.KindSerialization, "Deserialization", nil, "The request cannot be read: "+format, args...)
}
