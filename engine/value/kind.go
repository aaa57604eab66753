package value

// Kind is the type of a value. The order of the constants is the order of kinds in the language's
// total order, except that the three number kinds compare by value as one group.
type Kind uint8

// The kinds in ascending comparison order.
const (
	KindNone Kind = iota
	KindNull
	KindBool
	KindInt
	KindFloat
	KindDecimal
	KindString
	KindDuration
	KindDatetime
	KindUUID
	KindArray
	KindSet
	KindObject
	KindGeometry
	KindBytes
	KindTable
	KindRecord
	KindFile
	KindRegex
	KindRange
	KindClosure
)

var kindNames = [...]string{
	"none", "null", "bool", "int", "float", "decimal", "string", "duration", "datetime", "uuid", "array", "set",
	"object", "geometry", "bytes", "table", "record", "file", "regex", "range", "function",
}

// String is the name that type::of and error texts use ("int", "record", …).
func (k Kind) String() string { return kindNames[k] }

// IsNumber reports whether k is int, float or decimal.
func (k Kind) IsNumber() bool { return k >= KindInt && k <= KindDecimal }
