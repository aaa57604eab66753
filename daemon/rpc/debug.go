package rpc

import (
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// debugLimit bounds how much of a wrong parameter an error text repeats.
const debugLimit = 256

// debugText names a wrong parameter in the form that clients know from the reference: Number(Int(1)), Bool(true), …
func debugText(v value.Value) string {
	text := string(appendDebug(nil, v, 0))
	if len(text) > debugLimit {
		text = strings.ToValidUTF8(text[:debugLimit], "") + "…"
	}
	return text
}

func appendDebug(dst []byte, v value.Value, depth int) []byte {
	if len(dst) > debugLimit || depth > 8 {
		return append(dst, "…"...)
	}
	switch v.Kind() {
	case value.KindNone:
		return append(dst, "None"...)
	case value.KindNull:
		return append(dst, "Null"...)
	case value.KindBool:
		return append(strconv.AppendBool(append(dst, "Bool("...), v.Bool()), ')')
	case value.KindInt:
		return append(strconv.AppendInt(append(dst, "Number(Int("...), v.Int(), 10), "))"...)
	case value.KindFloat:
		return append(strconv.AppendFloat(append(dst, "Number(Float("...), v.Float(), 'f', -1, 64), "))"...)
	case value.KindDecimal:
		return append(append(append(dst, "Number(Decimal("...), strings.TrimSuffix(v.String(), "dec")...), "))"...)
	case value.KindString:
		return append(strconv.AppendQuote(append(dst, "String("...), v.Str()), ')')
	case value.KindTable:
		return append(strconv.AppendQuote(append(dst, "Table(Table("...), v.Table()), "))"...)
	case value.KindDuration:
		d := v.Duration()
		dst = append(dst, "Duration(Duration("...)
		return append(wire.AppendDuration(dst, time.Duration(d.Secs)*time.Second+time.Duration(d.Nanos)), "))"...)
	case value.KindUUID:
		return append(append(append(dst, "Uuid(Uuid("...), v.UUID().String()...), "))"...)
	case value.KindArray, value.KindSet:
		return appendDebugList(append(dst, "Array(Array(["...), v.Elems(), depth)
	case value.KindObject:
		return appendDebugObject(dst, v.Object(), depth)
	}
	return append(append(append(dst, v.Kind().String()...), '('), append([]byte(v.String()), ')')...)
}

func appendDebugList(dst []byte, elems []value.Value, depth int) []byte {
	for i, e := range elems {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendDebug(dst, e, depth+1)
		if len(dst) > debugLimit {
			break
		}
	}
	return append(dst, "]))"...)
}

func appendDebugObject(dst []byte, o *value.Object, depth int) []byte {
	dst = append(dst, "Object(Object({"...)
	for i, f := range o.Fields() {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(strconv.AppendQuote(dst, f.Name), ": "...)
		dst = appendDebug(dst, f.Value, depth+1)
		if len(dst) > debugLimit {
			break
		}
	}
	return append(dst, "}))"...)
}
