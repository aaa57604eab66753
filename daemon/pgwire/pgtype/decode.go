package pgtype

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// plainFloat is f without an exponent.
func plainFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Decode reads a value of type oid from its binary form.
func Decode(oid OID, b []byte) (value.Value, error) {
	be := binary.BigEndian
	switch oid {
	case Bool:
		if len(b) == 1 {
			return value.Bool(b[0] != 0), nil
		}
		return value.None, badBinary()
	case Int2:
		if len(b) == 2 {
			return value.Int(int64(int16(be.Uint16(b)))), nil
		}
		return value.None, badBinary()
	case Int4:
		if len(b) == 4 {
			return value.Int(int64(int32(be.Uint32(b)))), nil
		}
		return value.None, badBinary()
	case Int8:
		if len(b) == 8 {
			return value.Int(int64(be.Uint64(b))), nil
		}
		return value.None, badBinary()
	case Float4:
		if len(b) == 4 {
			return value.Float(float64(math.Float32frombits(be.Uint32(b)))), nil
		}
		return value.None, badBinary()
	case Float8:
		if len(b) == 8 {
			return value.Float(math.Float64frombits(be.Uint64(b))), nil
		}
		return value.None, badBinary()
	case Numeric:
		return decodeNumeric(b)
	case UUID:
		if len(b) == 16 {
			return value.UUIDOf(value.UUID(b)), nil
		}
		return value.None, badBinary()
	case Bytea:
		return value.BytesOf(append([]byte(nil), b...)), nil
	case JSONB:
		if len(b) < 1 || b[0] != 1 {
			return value.None, badBinary()
		}
		return Parse(JSONB, string(b[1:]), nil)
	case Timestamptz, Timestamp, Date, Time, Interval, TimeTZ:
		return decodeTime(oid, b)
	}
	return decodeOther(oid, b)
}

func decodeOther(oid OID, b []byte) (value.Value, error) {
	switch {
	case IsInt(oid): // object ids and registered names
		if len(b) != 4 {
			return value.None, badBinary()
		}
		return value.Int(int64(binary.BigEndian.Uint32(b))), nil
	case IsText(oid), oid == JSON:
		if !utf8.Valid(b) || strings.IndexByte(string(b), 0) >= 0 {
			return value.None, sqlstate.New(sqlstate.BadEncoding, "invalid byte sequence for encoding \"UTF8\"")
		}
		return Parse(oid, string(b), nil)
	case IsArray(oid):
		return decodeArray(oid, b)
	}
	return value.None, sqlstate.New(sqlstate.InvalidText,
		"invalid parameter for type oid %d: no binary form is known", oid)
}

func badBinary() error {
	return sqlstate.New(sqlstate.InvalidBinary, "incorrect binary data format")
}

func decodeTime(oid OID, b []byte) (value.Value, error) {
	be := binary.BigEndian
	switch {
	case oid == Date && len(b) == 4:
		return value.DatetimeOf(value.Datetime{Secs: epoch + int64(int32(be.Uint32(b)))*daySeconds}), nil
	case oid == Interval && len(b) == 16:
		s := Span{Micros: int64(be.Uint64(b)), Days: int32(be.Uint32(b[8:])), Months: int32(be.Uint32(b[12:]))}
		return s.Value(), nil
	case oid == TimeTZ && len(b) == 12:
		micros, west := int64(be.Uint64(b)), int32(be.Uint32(b[8:]))
		if micros < 0 || micros > MicrosPerDay || west <= -16*3600 || west >= 16*3600 {
			return value.None, badBinary()
		}
		return Clock{micros, int(-west)}.Value(), nil
	case len(b) != 8 || oid == Date || oid == Interval || oid == TimeTZ:
		return value.None, badBinary()
	}
	micros := int64(be.Uint64(b))
	if oid == Time {
		if micros < 0 || micros > daySeconds*1_000_000 {
			return value.None, badBinary()
		}
		return value.DurationOf(value.Duration{Secs: uint64(micros / 1_000_000),
			Nanos: uint32(micros%1_000_000) * 1000}), nil
	}
	if micros == math.MaxInt64 || micros == math.MinInt64 {
		return value.None, sqlstate.New(sqlstate.DatetimeOverflow, "a datetime cannot be infinite")
	}
	secs := floorDiv(micros, 1_000_000)
	d := value.Datetime{Secs: epoch + secs, Nanos: uint32(micros-secs*1_000_000) * 1000}
	if again := microsOf(d); again == math.MaxInt64 || again == math.MinInt64 {
		return value.None, sqlstate.New(sqlstate.DatetimeOverflow, "timestamp out of range")
	}
	return value.DatetimeOf(d), nil
}

func decodeNumeric(b []byte) (value.Value, error) {
	be := binary.BigEndian
	if len(b) < 8 {
		return value.None, badBinary()
	}
	n, weight, sign, scale := int(be.Uint16(b)), int(int16(be.Uint16(b[2:]))), be.Uint16(b[4:]), int(be.Uint16(b[6:]))
	switch sign {
	case numericNaN, numericInf, numericNegInf:
		return value.None, sqlstate.New(sqlstate.InvalidText, "a decimal cannot be NaN or infinite")
	case 0, numericNegative:
	default:
		return value.None, badBinary()
	}
	if len(b) != 8+2*n || weight > 64 || weight < -64 || scale > 1000 || n > 128 {
		return value.None, badBinary()
	}
	group := func(i int) (int, bool) {
		if i < 0 || i >= n {
			return 0, true
		}
		d := int(be.Uint16(b[8+2*i:]))
		return d, d < 10000
	}
	var text strings.Builder
	if sign == numericNegative {
		text.WriteByte('-')
	}
	put := func(i int) bool {
		d, ok := group(i)
		text.WriteString(strconv.Itoa(10000 + d)[1:])
		return ok
	}
	if weight < 0 {
		text.WriteByte('0')
	}
	for i := 0; i <= weight; i++ {
		if !put(i) {
			return value.None, badBinary()
		}
	}
	if scale > 0 {
		text.WriteByte('.')
		start := text.Len()
		for i := weight + 1; text.Len()-start < scale; i++ {
			if !put(i) {
				return value.None, badBinary()
			}
		}
		return parseNumeric(text.String()[:start+scale])
	}
	return parseNumeric(text.String())
}

// maxArray is how many elements an array of a parameter may have.
const maxArray = 1 << 20

func decodeArray(oid OID, b []byte) (value.Value, error) {
	be := binary.BigEndian
	if len(b) < 12 {
		return value.None, badBinary()
	}
	dims, elem := int(be.Uint32(b)), OID(be.Uint32(b[8:]))
	if dims < 0 || dims > 6 || len(b) < 12+8*dims || elem != ElemOf(oid) {
		return value.None, badBinary()
	}
	sizes, count := make([]int, dims), 1
	for i := range sizes {
		sizes[i] = int(int32(be.Uint32(b[12+8*i:])))
		if sizes[i] < 0 || sizes[i] > maxArray || count*sizes[i] > maxArray {
			return value.None, badBinary()
		}
		count *= sizes[i]
	}
	b = b[12+8*dims:]
	if dims == 0 || count == 0 {
		return value.ArrayOf(nil), nil
	}
	if len(b) < 4*count {
		return value.None, badBinary()
	}
	flat := make([]value.Value, count)
	for i := range flat {
		if len(b) < 4 {
			return value.None, badBinary()
		}
		size := int32(be.Uint32(b))
		b = b[4:]
		if size < 0 {
			continue
		}
		if int(size) > len(b) {
			return value.None, badBinary()
		}
		v, err := Decode(elem, b[:size])
		if err != nil {
			return value.None, err
		}
		flat[i], b = v, b[size:]
	}
	if len(b) != 0 {
		return value.None, badBinary()
	}
	for d := dims - 1; d > 0; d-- {
		next := make([]value.Value, 0, len(flat)/sizes[d])
		for i := 0; i < len(flat); i += sizes[d] {
			next = append(next, value.ArrayOf(flat[i:i+sizes[d]]))
		}
		flat = next
	}
	return value.ArrayOf(flat), nil
}
