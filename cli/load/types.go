package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// types are how text is read as a value of a type.
var types = map[string]func(string) (value.Value, bool){
	"string":   func(t string) (value.Value, bool) { return value.Str(t), true },
	"int":      literal("", value.KindInt),
	"float":    float,
	"decimal":  decimalIn,
	"number":   literal("", value.KindInt, value.KindFloat, value.KindDecimal),
	"bool":     literal("", value.KindBool),
	"datetime": literal("d", value.KindDatetime),
	"duration": literal("", value.KindDuration),
	"uuid":     literal("u", value.KindUUID),
	"record":   literal("r", value.KindRecord),
	"json": func(t string) (value.Value, bool) {
		v, err := value.DecodeJSONValue([]byte(t), value.DecodeLimits{})
		return v, err == nil
	},
}

// Types are the names of the types that fields may have.
func Types() []string { return slices.Sorted(maps.Keys(types)) }

// ParseTypes reads field:type pairs, separated by commas.
func ParseTypes(text string) (map[string]string, error) {
	out := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		at := strings.LastIndexByte(pair, ':')
		if at < 1 {
			return nil, fmt.Errorf("types are field:type pairs, not %q", pair)
		}
		name, typ := pair[:at], pair[at+1:]
		if types[typ] == nil {
			return nil, fmt.Errorf("unknown type %q of field %s (%s)", typ, name, strings.Join(Types(), ", "))
		}
		out[name] = typ
	}
	return out, nil
}

// read reads text as a value of a type; the empty text is no value, but for a string.
func read(text, typ string) (value.Value, error) {
	if text == "" && typ != "string" {
		return value.None, nil
	}
	v, ok := types[typ](text)
	if !ok {
		return value.None, fmt.Errorf("%.100q is not of type %s", text, typ)
	}
	return v, nil
}

// literal reads text as a literal of the language: as it is, or with a prefix as a quoted one.
func literal(prefix string, kinds ...value.Kind) func(string) (value.Value, bool) {
	return func(text string) (value.Value, bool) {
		if prefix != "" {
			text = prefix + value.Quote(text)
		}
		v, err := parse.Value(text)
		return v, err == nil && slices.Contains(kinds, v.Kind())
	}
}

func float(text string) (value.Value, bool) {
	v, ok := literal("", value.KindInt, value.KindFloat)(text)
	if ok && v.Kind() == value.KindInt {
		v = value.Float(float64(v.Int()))
	}
	return v, ok
}

func decimalIn(text string) (value.Value, bool) {
	d, err := decimal.Parse(text)
	return value.DecimalOf(d), err == nil
}

// guess reads text as what it looks like: a number in the form of JSON, true, false, or else text. Numbers that would
// not read the same again, such as 007, stay text.
func guess(text string) value.Value {
	switch {
	case text == "true", text == "false":
		return value.Bool(text == "true")
	case text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9'):
		return value.Str(text)
	}
	if v, err := value.DecodeJSONValue([]byte(text), value.DecodeLimits{}); err == nil {
		if k := v.Kind(); k == value.KindInt || k == value.KindFloat {
			return v
		}
	}
	return value.Str(text)
}
