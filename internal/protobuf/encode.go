package protobuf

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// maxLevels is the deepest nesting that is written. Clients stop reading at a hundred levels or more of messages, and a
// value takes up to three for each of its own.
const maxLevels = 256

// AppendValue appends the content of a Value message. The error is for values without a wire form (closures) and for
// those that nest too deep; what dst has behind its length then is to be thrown away.
func AppendValue(dst []byte, v value.Value) ([]byte, error) { return appendValue(dst, v, maxLevels) }

// AppendField appends a field whose content is the value v.
func AppendField(dst []byte, field protowire.Number, v value.Value) ([]byte, error) {
	return appendField(dst, field, v, maxLevels)
}

func appendField(dst []byte, field protowire.Number, v value.Value, levels int) ([]byte, error) {
	if v.Kind() == value.KindObject {
		if b := v.Object().StoredMap(); len(b) >= wideFrom { // a row, as most of what is sent
			dst, at := openWide(dst, field)
			dst, err := appendStoredObject(dst, b, levels)
			return sealWide(dst, at), err
		}
	}
	dst, at := Open(dst, field)
	dst, err := appendValue(dst, v, levels)
	return Seal(dst, at), err
}

func appendValue(dst []byte, v value.Value, levels int) ([]byte, error) {
	if levels == 0 {
		return dst, tooDeep()
	}
	switch v.Kind() {
	case value.KindNone:
		return append(dst, valueNone<<3|2, 0), nil
	case value.KindNull:
		return append(dst, valueNull<<3|2, 0), nil
	case value.KindBool:
		return protowire.AppendVarint(append(dst, valueBool<<3), protowire.EncodeBool(v.Bool())), nil
	case value.KindInt:
		return protowire.AppendVarint(append(dst, valueInt<<3), uint64(v.Int())), nil
	case value.KindFloat:
		return protowire.AppendFixed64(append(dst, valueFloat<<3|1), math.Float64bits(v.Float())), nil
	case value.KindDecimal:
		return appendDecimal(dst, valueDecimal, v.Decimal()), nil
	case value.KindString:
		return AppendText(dst, valueString, v.Str()), nil
	case value.KindBytes:
		return protowire.AppendBytes(append(dst, valueBytes<<3|2), v.Bytes()), nil
	case value.KindDuration:
		d := v.Duration()
		return AppendDuration(dst, valueDuration, d), nil
	case value.KindDatetime:
		return AppendDatetime(dst, valueDatetime, v.Datetime()), nil
	case value.KindUUID:
		return AppendUUID(dst, valueUUID, v.UUID()), nil
	case value.KindGeometry:
		dst, at := Open(dst, valueGeometry)
		return Seal(appendGeometry(dst, v.Geometry()), at), nil
	case value.KindTable:
		return AppendText(dst, valueTable, v.Table()), nil
	case value.KindRegex:
		return AppendText(dst, valueRegex, v.Regex().Source), nil
	case value.KindFile:
		dst, at := Open(dst, valueFile)
		dst = AppendString(dst, 1, v.File().Bucket)
		return Seal(AppendString(dst, 2, v.File().Key), at), nil
	}
	return appendNested(dst, v, levels)
}

// appendNested appends a value that has values inside.
func appendNested(dst []byte, v value.Value, levels int) ([]byte, error) {
	var at int
	var err error
	switch v.Kind() {
	case value.KindObject:
		if b := v.Object().StoredMap(); len(b) >= wideFrom {
			return appendStoredObject(dst, b, levels)
		}
		dst, at = Open(dst, valueObject)
		dst, err = appendObject(dst, v.Object(), levels-1)
	case value.KindArray:
		dst, at = Open(dst, valueArray)
		dst, err = appendList(dst, v.Elems(), levels-1)
	case value.KindSet:
		dst, at = Open(dst, valueSet)
		dst, err = appendList(dst, v.Elems(), levels-1)
	case value.KindRecord:
		dst, at = Open(dst, valueRecordID)
		dst, err = appendRecord(dst, v.Record(), levels-1)
	case value.KindRange:
		dst, at = Open(dst, valueRange)
		dst, err = appendRange(dst, v.Range(), levels-1, appendValue)
	default:
		return dst, errs.New(errs.KindSerialization, "Tried to serialize a value which cannot be serialized.")
	}
	return Seal(dst, at), err
}

// AppendText appends a text field that is there even if it is empty: a member of a oneof.
func AppendText(dst []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, field, protowire.BytesType), s)
}

// AppendString appends a text field; an empty one is left out.
func AppendString(dst []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	return AppendText(dst, field, s)
}

// AppendUint appends a number field; 0 is left out.
func AppendUint(dst []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), n)
}

// AppendDuration appends a field that is a Duration.
func AppendDuration(dst []byte, field protowire.Number, d value.Duration) []byte {
	dst, at := Open(dst, field)
	dst = AppendUint(dst, 1, d.Secs)
	return Seal(AppendUint(dst, 2, uint64(d.Nanos)), at)
}

// AppendDatetime appends a field that is a Datetime.
func AppendDatetime(dst []byte, field protowire.Number, d value.Datetime) []byte {
	dst, at := Open(dst, field)
	dst = AppendUint(dst, 1, uint64(d.Secs))
	return Seal(AppendUint(dst, 2, uint64(d.Nanos)), at)
}

// AppendUUID appends a field that is a Uuid.
func AppendUUID(dst []byte, field protowire.Number, u value.UUID) []byte {
	dst, at := Open(dst, field)
	return Seal(protowire.AppendBytes(append(dst, 1<<3|2), u[:]), at)
}

func appendDecimal(dst []byte, field protowire.Number, d decimal.Decimal) []byte {
	dst, at := Open(dst, field)
	return Seal(AppendText(dst, 1, d.String()), at)
}

// AppendObject appends the content of an Object or Variables message: its fields in the order of their names.
func AppendObject(dst []byte, o *value.Object) ([]byte, error) {
	return appendObject(dst, o, maxLevels)
}

// wideFrom is the size in the store from which an object takes 128 bytes and more here.
const wideFrom = 128

// appendStoredObject appends the content of a Value message for an object of at least wideFrom bytes.
func appendStoredObject(dst, b []byte, levels int) ([]byte, error) {
	if levels == 0 {
		return dst, tooDeep()
	}
	dst, at := openWide(dst, valueObject)
	_, n, p := storedHead(b, 0)
	dst, _, err := appendStoredFields(dst, b, p, n, levels-1)
	return sealWide(dst, at), err
}

func appendObject(dst []byte, o *value.Object, levels int) ([]byte, error) {
	if b := o.StoredMap(); b != nil {
		_, n, p := storedHead(b, 0)
		dst, _, err := appendStoredFields(dst, b, p, n, levels)
		return dst, err
	}
	for name, v := range o.All() {
		var at int
		dst, at = Open(dst, 1)
		dst = AppendString(dst, 1, name)
		var err error
		if dst, err = appendField(dst, 2, v, levels); err != nil {
			return dst, err
		}
		dst = Seal(dst, at)
	}
	return dst, nil
}

func appendList(dst []byte, elems []value.Value, levels int) ([]byte, error) {
	var err error
	for _, e := range elems {
		if dst, err = appendField(dst, 1, e, levels); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// AppendRecord appends the content of a RecordId message.
func AppendRecord(dst []byte, r *value.RecordID) ([]byte, error) {
	return appendRecord(dst, r, maxLevels)
}

func appendRecord(dst []byte, r *value.RecordID, levels int) ([]byte, error) {
	dst, at := Open(AppendString(dst, 1, r.Table), 2)
	dst, err := appendKey(dst, r.Key, levels)
	return Seal(dst, at), err
}

func appendKey(dst []byte, k value.Value, levels int) ([]byte, error) {
	if levels == 0 {
		return dst, tooDeep()
	}
	var at int
	var err error
	switch k.Kind() {
	case value.KindInt:
		return protowire.AppendVarint(append(dst, keyInt<<3), uint64(k.Int())), nil
	case value.KindString:
		return AppendText(dst, keyString, k.Str()), nil
	case value.KindUUID:
		return AppendUUID(dst, keyUUID, k.UUID()), nil
	case value.KindArray:
		dst, at = Open(dst, keyArray)
		dst, err = appendList(dst, k.Elems(), levels-1)
	case value.KindObject:
		dst, at = Open(dst, keyObject)
		dst, err = appendObject(dst, k.Object(), levels-1)
	case value.KindRange:
		dst, at = Open(dst, keyRange)
		dst, err = appendRange(dst, k.Range(), levels-1, appendKey)
	default:
		return dst, errs.New(errs.KindSerialization, "Tried to serialize a value which cannot be serialized.")
	}
	return Seal(dst, at), err
}

// appendRange appends the content of a Range or RecordIdKeyRange; item appends what is at a bound.
func appendRange(
	dst []byte, r *value.Range, levels int, item func([]byte, value.Value, int) ([]byte, error),
) ([]byte, error) {
	for i, b := range [...]value.Bound{r.Start, r.End} {
		var at, inner int
		dst, at = Open(dst, protowire.Number(i+1))
		member := protowire.Number(boundInclusive)
		switch b.Kind {
		case value.Unbounded:
			dst = Seal(append(dst, boundUnbounded<<3|2, 0), at)
			continue
		case value.Excluded:
			member = boundExclusive
		}
		dst, inner = Open(dst, member)
		var err error
		if dst, err = item(dst, b.Value, levels); err != nil {
			return dst, err
		}
		dst = Seal(Seal(dst, inner), at)
	}
	return dst, nil
}
