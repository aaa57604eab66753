package value

import (
	"fmt"

	"github.com/nacredb/nacre/engine/errs"
)

// The CBOR major types, shifted into place.
const (
	majorUint  = 0 << 5
	majorNeg   = 1 << 5
	majorBytes = 2 << 5
	majorText  = 3 << 5
	majorArray = 4 << 5
	majorMap   = 5 << 5
	majorTag   = 6 << 5
	majorOther = 7 << 5
)

// Single bytes with a meaning of their own.
const (
	cborFalse     = 0xf4
	cborTrue      = 0xf5
	cborNull      = 0xf6
	cborUndefined = 0xf7
	cborFloat16   = 0xf9
	cborFloat32   = 0xfa
	cborFloat64   = 0xfb
	cborBreak     = 0xff
)

// The tags of the protocol. Those marked "read" are accepted and never written.
const (
	tagDatetimeText = 0  // read: RFC 3339 text
	tagNone         = 6  // null
	tagTable        = 7  // text
	tagRecord       = 8  // [table, key]; read: text too
	tagUUIDText     = 9  // read: text
	tagDecimal      = 10 // text
	tagDatetime     = 12 // [seconds, nanoseconds]
	tagDurationText = 13 // read: text
	tagDuration     = 14 // [], [seconds] or [seconds, nanoseconds]
	tagUUID         = 37 // 16 bytes
	tagRange        = 49 // [bound or null, bound or null]
	tagIncluded     = 50 // any value
	tagExcluded     = 51 // any value
	tagFile         = 55 // [bucket, key]
	tagSet          = 56 // array
	tagRegex        = 60 // text; in stored records only, never on the wire
	tagPoint        = 88 // [x, y]; the other geometries follow in the order of GeometryKind
	tagCollection   = 94
)

// DefaultMaxDepth is the nesting of arrays, objects and tags that decoders allow when DecodeLimits says nothing.
const DefaultMaxDepth = 128

// SaneMaxValues is a bound of MaxValues for what comes from outside: 4 Mi, some 256 MiB in memory.
const SaneMaxValues = 4 << 20

// DecodeLimits bounds what a decoder accepts. The zero DecodeLimits means the defaults.
type DecodeLimits struct {
	// MaxDepth is the deepest nesting of containers; 0 means DefaultMaxDepth.
	MaxDepth int
	// MaxValues is how many elements and fields there may be in all containers together; 0: as many as come. A value
	// takes more memory than its shortest encoding, by a factor of up to a hundred.
	MaxValues int
	// Own says that the input is handed over: it does not change any more, and strings may be parts of it.
	Own bool
	// ParseRecord reads the text form of a record id ("person:1"). Where it is nil such text is refused.
	ParseRecord func(text string) (*RecordID, error)
	// ParseText may turn the text of a JSON string (not of a name) into another value: JSON-RPC takes
	// what spells a record id, uuid or datetime as such. Where it is nil texts are strings.
	ParseText func(text string) (Value, bool)
	// ParseObject gives the value that an object of JSON stands for; its error ends the reading. Where it is nil
	// objects are objects.
	ParseObject func(o *Object) (Value, error)
	// Decimals says that whole numbers of JSON beyond 64 bits are decimals, not floats.
	Decimals bool
}

func (l DecodeLimits) depth() int {
	if l.MaxDepth <= 0 {
		return DefaultMaxDepth
	}
	return l.MaxDepth
}

// DecodeError is input that is not what it should be. Offset is the byte at which that was noticed.
type DecodeError struct {
	Format string // "CBOR" or "JSON"
	Offset int
	Reason string
}

// Error implements error.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("invalid %s at byte %d: %s", e.Format, e.Offset, e.Reason)
}

// errNotEncodable answers values that have no encoded form: regexes and closures.
func errNotEncodable() error {
	return errs.New(errs.KindSerialization, "Tried to serialize a value which cannot be serialized.")
}
