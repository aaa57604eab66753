package store

import (
	"fmt"
	"math"
	"reflect"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine/value"
)

// Rows are Go structs: a field with tag db:"name" is the field of that name of the record, db:"id" the text key of the
// record. Empty fields are left out when they are the zero of a pointer, time, slice, map or text.

type structField struct {
	name  string
	index int
}

var structFields sync.Map // reflect.Type → []structField

func fieldsOf(t reflect.Type) []structField {
	if f, ok := structFields.Load(t); ok {
		return f.([]structField)
	}
	var out []structField
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("db"); name != "" {
			out = append(out, structField{name, i})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	structFields.Store(t, out)
	return out
}

var (
	timeType  = reflect.TypeFor[time.Time]()
	valueType = reflect.TypeFor[value.Value]()
)

// Datetime is t as a value of the database; NONE for the zero time.
func Datetime(t time.Time) value.Value {
	if t.IsZero() {
		return value.None
	}
	return value.DatetimeOf(value.Datetime{Secs: t.Unix(), Nanos: uint32(t.Nanosecond())})
}

// encode turns any Go value of a row into a value.
func encode(v reflect.Value) value.Value {
	switch {
	case !v.IsValid():
		return value.None
	case v.Type() == valueType:
		return v.Interface().(value.Value)
	case v.Type() == timeType:
		return Datetime(v.Interface().(time.Time))
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return value.None
		}
		return encode(v.Elem())
	case reflect.String:
		return value.Str(strings.ToValidUTF8(v.String(), "\uFFFD"))
	case reflect.Bool:
		return value.Bool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return value.Int(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return value.Int(int64(v.Uint()))
	case reflect.Float32, reflect.Float64:
		return value.Float(v.Float())
	case reflect.Slice:
		return encodeSlice(v)
	case reflect.Map:
		return encodeMap(v)
	case reflect.Struct:
		return encodeStruct(v)
	}
	return value.None
}

func encodeSlice(v reflect.Value) value.Value {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return value.BytesOf(v.Bytes())
	}
	out := make([]value.Value, v.Len())
	for i := range out {
		out[i] = encode(v.Index(i))
	}
	return value.ArrayOf(out)
}

func encodeMap(v reflect.Value) value.Value {
	fields := make([]value.Field, 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		if e := encode(it.Value()); !e.IsNone() {
			fields = append(fields, value.Field{Name: it.Key().String(), Value: e})
		} else if it.Value().Kind() == reflect.Interface {
			fields = append(fields, value.Field{Name: it.Key().String(), Value: value.Value{}})
		}
	}
	return value.ObjectOf(value.NewObject(fields...))
}

func encodeStruct(v reflect.Value) value.Value {
	fields := make([]value.Field, 0, v.NumField())
	for _, f := range fieldsOf(v.Type()) {
		fv := v.Field(f.index)
		if f.name == "id" || empty(fv) {
			continue
		}
		if e := encode(fv); !e.IsNone() {
			fields = append(fields, value.Field{Name: f.name, Value: e})
		}
	}
	return value.ObjectOf(value.NewObject(fields...))
}

func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	}
	return false
}

// row is a struct as a record of table.
func row(table string, s any) value.Value {
	v := reflect.Indirect(reflect.ValueOf(s))
	o := encodeStruct(v).Object()
	for _, f := range fieldsOf(v.Type()) {
		if f.name == "id" {
			o = o.With("id", ID(table, v.Field(f.index).String()))
		}
	}
	return value.ObjectOf(o)
}

// ID is a record with a text key.
func ID(table, key string) value.Value { return value.Record(table, value.Str(key)) }

// Span is the records of table whose keys are from low on and below high.
func Span(table, low, high string) value.Value {
	r := &value.Range{Start: value.Bound{Kind: value.Included, Value: value.Str(low)},
		End: value.Bound{Kind: value.Excluded, Value: value.Str(high)}}
	return value.Record(table, value.RangeOf(r))
}

// From is the records of table whose keys are from low on.
func From(table, low string) value.Value {
	return value.Record(table, value.RangeOf(&value.Range{Start: value.Bound{Kind: value.Included,
		Value: value.Str(low)}}))
}

// decode reads v into a Go value. What does not fit is an error: rows are written by this package only.
func decode(v value.Value, into reflect.Value) error {
	if into.Type() == valueType {
		into.Set(reflect.ValueOf(v))
		return nil
	}
	if v.IsNullish() {
		into.SetZero()
		return nil
	}
	if into.Type() == timeType {
		if v.Kind() != value.KindDatetime {
			return fmt.Errorf("%s is no time", v.Kind())
		}
		d := v.Datetime()
		into.Set(reflect.ValueOf(time.Unix(d.Secs, int64(d.Nanos)).UTC()))
		return nil
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return decode(v, into.Elem())
	case reflect.Interface:
		into.Set(reflect.ValueOf(Plain(v)))
	case reflect.String:
		into.SetString(textOf(v))
	case reflect.Bool:
		into.SetBool(v.Kind() == value.KindBool && v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		into.SetInt(int64(number(v)))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		into.SetUint(uint64(number(v)))
	case reflect.Float32, reflect.Float64:
		into.SetFloat(number(v))
	case reflect.Slice:
		return decodeSlice(v, into)
	case reflect.Map:
		return decodeMap(v, into)
	case reflect.Struct:
		return decodeStruct(v, into)
	}
	return nil
}

func number(v value.Value) float64 {
	switch v.Kind() {
	case value.KindInt:
		return float64(v.Int())
	case value.KindFloat:
		return v.Float()
	}
	return math.NaN()
}

// textOf is a text, or the text key of a record.
func textOf(v value.Value) string {
	switch v.Kind() {
	case value.KindString:
		return v.Str()
	case value.KindRecord:
		return textOf(v.Record().Key)
	}
	return v.Text()
}

func decodeSlice(v value.Value, into reflect.Value) error {
	if into.Type().Elem().Kind() == reflect.Uint8 {
		if v.Kind() == value.KindBytes {
			into.SetBytes(append([]byte(nil), v.Bytes()...))
		}
		return nil
	}
	if v.Kind() != value.KindArray {
		return fmt.Errorf("%s is no list", v.Kind())
	}
	elems := v.Elems()
	out := reflect.MakeSlice(into.Type(), len(elems), len(elems))
	for i, e := range elems {
		if err := decode(e, out.Index(i)); err != nil {
			return err
		}
	}
	into.Set(out)
	return nil
}

func decodeMap(v value.Value, into reflect.Value) error {
	if v.Kind() != value.KindObject {
		return fmt.Errorf("%s is no object", v.Kind())
	}
	out := reflect.MakeMapWithSize(into.Type(), v.Object().Len())
	for _, f := range v.Object().Fields() {
		e := reflect.New(into.Type().Elem()).Elem()
		if err := decode(f.Value, e); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		out.SetMapIndex(reflect.ValueOf(f.Name), e)
	}
	into.Set(out)
	return nil
}

func decodeStruct(v value.Value, into reflect.Value) error {
	if v.Kind() != value.KindObject {
		return fmt.Errorf("%s is no object", v.Kind())
	}
	for _, f := range fieldsOf(into.Type()) {
		if fv, ok := v.Object().Get(f.name); ok {
			if err := decode(fv, into.Field(f.index)); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
	}
	return nil
}

// Plain is v as encoding/json would decode it, with times as time.Time and whole numbers as int64.
func Plain(v value.Value) any {
	switch v.Kind() {
	case value.KindNone, value.KindNull:
		return nil
	case value.KindBool:
		return v.Bool()
	case value.KindInt:
		return v.Int()
	case value.KindFloat:
		return v.Float()
	case value.KindDatetime:
		d := v.Datetime()
		return time.Unix(d.Secs, int64(d.Nanos)).UTC()
	case value.KindArray:
		out := make([]any, v.Len())
		for i, e := range v.Elems() {
			out[i] = Plain(e)
		}
		return out
	case value.KindObject:
		out := make(map[string]any, v.Object().Len())
		for _, f := range v.Object().Fields() {
			out[f.Name] = Plain(f.Value)
		}
		return out
	}
	return textOf(v)
}
