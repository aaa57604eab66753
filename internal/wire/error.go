package wire

import (
	"sort"
	"strconv"
	"time"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// ParseError answers a message that cannot be read at all.
func ParseError() *errs.Error { return errs.With(errs.KindValidation, "Parse", nil, "Parse error") }

// InvalidRequest answers a message whose envelope is wrong.
func InvalidRequest() *errs.Error {
	return errs.With(errs.KindValidation, "InvalidRequest", nil, "Invalid request")
}

// AppendError writes the error object {cause, code, details, kind, message}; details only where e has them.
// The cause is always empty: causes are logged, not sent.
func AppendError(dst []byte, f Format, e *errs.Error) []byte {
	if f == JSON {
		dst = append(dst, `{"cause":null,"code":`...)
		dst = strconv.AppendInt(dst, int64(Code(e)), 10)
		if e.Detail != nil {
			dst = append(dst, `,"details":`...)
			dst = appendDetailJSON(dst, e.Detail)
		}
		dst = append(dst, `,"kind":"`...)
		dst = append(dst, e.Kind.String()...)
		dst = append(dst, `","message":`...)
		return append(appendJSONString(dst, e.Msg), '}')
	}
	n := 4
	if e.Detail != nil {
		n++
	}
	dst = appendHead(dst, cborMap, n)
	dst = append(dst, cborKeyCause...)
	dst = append(dst, cborKeyCode...)
	dst = appendCBORInt(dst, Code(e))
	if e.Detail != nil {
		dst = appendCBORText(dst, "details")
		dst = appendDetailCBOR(dst, e.Detail)
	}
	dst = appendCBORText(dst, "kind")
	dst = appendCBORText(dst, e.Kind.String())
	dst = appendCBORText(dst, "message")
	return appendCBORText(dst, e.Msg)
}

// ErrorValue is the error object as a value, for messages that hold one inside.
func ErrorValue(e *errs.Error) value.Value {
	fields := []value.Field{
		{Name: "cause", Value: value.None},
		{Name: "code", Value: value.Int(int64(Code(e)))},
		{Name: "kind", Value: value.Str(e.Kind.String())},
		{Name: "message", Value: value.Str(e.Msg)},
	}
	if e.Detail != nil {
		fields = append(fields, value.Field{Name: "details", Value: detailValue(e.Detail)})
	}
	return value.ObjectOf(value.NewObject(fields...))
}

func detailValue(d *errs.Detail) value.Value {
	fields := []value.Field{{Name: "kind", Value: value.Str(d.Kind)}}
	if content := DetailContent(d); !content.IsNone() {
		fields = append(fields, value.Field{Name: "details", Value: content})
	}
	return value.ObjectOf(value.NewObject(fields...))
}

// DetailContent returns the content of d beside its name, as an object, or NONE where there is none.
func DetailContent(d *errs.Detail) value.Value {
	switch {
	case d.Inner != nil:
		return detailValue(d.Inner)
	case len(d.Fields) > 0:
		inner := make([]value.Field, 0, len(d.Fields))
		for name, field := range d.Fields {
			inner = append(inner, value.Field{Name: name, Value: detailFieldValue(field)})
		}
		return value.ObjectOf(value.NewObject(inner...))
	}
	return value.None
}

func detailFieldValue(field any) value.Value {
	switch x := field.(type) {
	case string:
		return value.Str(x)
	case time.Duration:
		return value.DurationOf(durationOf(x))
	case *errs.Detail:
		return detailValue(x)
	}
	return value.Null
}

func appendDetailJSON(dst []byte, d *errs.Detail) []byte {
	dst = append(dst, '{')
	switch {
	case d.Inner != nil:
		dst = append(dst, `"details":`...)
		dst = append(appendDetailJSON(dst, d.Inner), ',')
	case len(d.Fields) > 0:
		dst = append(dst, `"details":{`...)
		for i, name := range fieldNames(d.Fields) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendJSONString(dst, name), ':')
			dst = appendDetailFieldJSON(dst, d.Fields[name])
		}
		dst = append(dst, "},"...)
	}
	dst = append(dst, `"kind":`...)
	return append(appendJSONString(dst, d.Kind), '}')
}

func appendDetailCBOR(dst []byte, d *errs.Detail) []byte {
	n := 1
	if d.Inner != nil || len(d.Fields) > 0 {
		n++
	}
	dst = appendHead(dst, cborMap, n)
	switch {
	case d.Inner != nil:
		dst = appendCBORText(dst, "details")
		dst = appendDetailCBOR(dst, d.Inner)
	case len(d.Fields) > 0:
		dst = appendCBORText(dst, "details")
		dst = appendHead(dst, cborMap, len(d.Fields))
		for _, name := range fieldNames(d.Fields) {
			dst = appendCBORText(dst, name)
			dst = appendDetailFieldCBOR(dst, d.Fields[name])
		}
	}
	dst = appendCBORText(dst, "kind")
	return appendCBORText(dst, d.Kind)
}

func fieldNames(fields map[string]any) []string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func appendDetailFieldJSON(dst []byte, field any) []byte {
	switch x := field.(type) {
	case string:
		return appendJSONString(dst, x)
	case time.Duration:
		return append(append(append(dst, '"'), value.DurationOf(durationOf(x)).String()...), '"')
	case *errs.Detail:
		return appendDetailJSON(dst, x)
	}
	return append(dst, "null"...)
}

func appendDetailFieldCBOR(dst []byte, field any) []byte {
	switch x := field.(type) {
	case string:
		return appendCBORText(dst, x)
	case time.Duration:
		if out, err := value.AppendCBOR(dst, value.DurationOf(durationOf(x))); err == nil {
			return out
		}
	case *errs.Detail:
		return appendDetailCBOR(dst, x)
	}
	return append(dst, cborNull)
}

func durationOf(d time.Duration) value.Duration {
	return value.Duration{Secs: uint64(d / time.Second), Nanos: uint32(d % time.Second)}
}

// ReadDetail reads what DetailContent gives: a nested detail, or the fields of one. Fields that are neither texts nor
// durations are left out.
func ReadDetail(o *value.Object) (inner *errs.Detail, fields map[string]any) {
	if kind, ok := o.Get("kind"); ok && kind.Kind() == value.KindString {
		inner = &errs.Detail{Kind: kind.Str()}
		if details, ok := o.Get("details"); ok && details.Kind() == value.KindObject {
			inner.Inner, inner.Fields = ReadDetail(details.Object())
		}
		return inner, nil
	}
	fields = map[string]any{}
	for _, f := range o.Fields() {
		switch f.Value.Kind() {
		case value.KindString:
			fields[f.Name] = f.Value.Str()
		case value.KindDuration:
			fields[f.Name] = f.Value.Duration().Std()
		}
	}
	return nil, fields
}
