package fn

import (
	"fmt"
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

// entry is one row of the table as the families write it.
type entry struct {
	// sig is "path(name: type, name?: type, ...name: type) -> result"; ? marks what may be left out, ... what may
	// be repeated. Words before the path: "volatile" (the result is not fixed by the arguments), "steady" (it is for as
	// long as a statement runs), "calls" (closures among the arguments, which may do anything), "net", "files" and
	// "eval" (needs that capability), "method" (the path form is known but not implemented) and "pathless" (there is no
	// path form).
	sig  string
	doc  string
	impl Impl
	on   kinds  // receivers of the method form
	as   string // its name; the path after the family with "_" for "::" when empty
}

// kinds is a set of value kinds.
type kinds uint32

func kindSet(ks ...value.Kind) kinds {
	var s kinds
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

func (s kinds) has(k value.Kind) bool { return s>>k&1 == 1 }

const anyKind kinds = 1<<(value.KindClosure+1) - 1

// methodsOn gives all entries that do not say otherwise a method form on values of kinds on.
func methodsOn(on kinds, entries []entry) []entry {
	for i := range entries {
		if entries[i].on == 0 {
			entries[i].on = on
		}
	}
	return entries
}

// noMethod as an entry's receivers: only the path form exists.
const noMethod kinds = 1 << 31

// parseSignature makes the Func of an entry. A malformed signature is a mistake in this package and panics.
func parseSignature(e entry) *Func {
	f := &Func{Impl: e.impl, Pure: true, Doc: e.doc}
	sig := e.sig
	for {
		word, rest, ok := strings.Cut(sig, " ")
		if !ok || strings.Contains(word, "(") {
			break
		}
		switch word {
		case "volatile", "calls":
			f.Pure = false
		case "steady":
			f.Pure, f.Steady = false, true
		case "net", "files", "eval":
			f.Needs = word
		case "method":
			f.MethodOnly = true
		case "pathless":
			f.pathless = true
		default:
			panic(fmt.Sprintf("function table: bad word %q in %q", word, e.sig))
		}
		sig = rest
	}
	head, result, ok := strings.Cut(sig, ") -> ")
	name, params, ok2 := strings.Cut(head, "(")
	if !ok || !ok2 {
		panic(fmt.Sprintf("function table: bad signature %q", e.sig))
	}
	f.Name, f.Result = name, result
	if params != "" {
		for _, p := range strings.Split(params, ", ") {
			f.addParam(p, e.sig)
		}
	}
	f.least, f.most = len(f.Params)-f.Optional, len(f.Params)
	if f.Variadic {
		f.least, f.most = f.least-1, -1
	}
	return f
}

func (f *Func) addParam(text, sig string) {
	name, typ, ok := strings.Cut(text, ": ")
	if !ok {
		panic(fmt.Sprintf("function table: parameter %q of %q has no type", text, sig))
	}
	if rest, ok := strings.CutPrefix(name, "..."); ok {
		name, f.Variadic = rest, true
	}
	if rest, ok := strings.CutSuffix(name, "?"); ok {
		name = rest
		f.Optional++
	}
	t := parseType(typ, sig)
	f.Params = append(f.Params, Param{Name: name, Type: t, text: typ, fits: fitting(t)})
}

// simpleTypes are the types that parameters have, by their text.
func simpleType(text string) (value.TypeKind, bool) {
	switch text {
	case "any":
		return value.TypeAny, true
	case "int":
		return value.TypeInt, true
	case "float":
		return value.TypeFloat, true
	case "number":
		return value.TypeNumber, true
	case "string":
		return value.TypeString, true
	case "bytes":
		return value.TypeBytes, true
	case "bool":
		return value.TypeBool, true
	case "datetime":
		return value.TypeDatetime, true
	case "duration":
		return value.TypeDuration, true
	case "uuid":
		return value.TypeUUID, true
	case "function":
		return value.TypeFunction, true
	case "file":
		return value.TypeFile, true
	case "object":
		return value.TypeObject, true
	case "record":
		return value.TypeRecord, true
	case "geometry":
		return value.TypeGeometry, true
	case "set":
		return value.TypeSet, true
	case "array":
		return value.TypeArray, true
	}
	return 0, false
}

func parseType(text, sig string) *value.Type {
	if inner, ok := strings.CutPrefix(text, "array<"); ok {
		return &value.Type{Kind: value.TypeArray, Max: -1, Elem: parseType(strings.TrimSuffix(inner, ">"), sig)}
	}
	k, ok := simpleType(text)
	if !ok {
		panic(fmt.Sprintf("function table: unknown type %q in %q", text, sig))
	}
	if k == value.TypeAny {
		return value.Any
	}
	return &value.Type{Kind: k, Max: -1}
}

// typeText is the text of an element's type.
func typeText(t *value.Type) string {
	if t.Elem != nil {
		return "array<" + typeText(t.Elem) + ">"
	}
	for _, text := range []string{"number", "string", "datetime", "int", "float", "array", "any"} {
		if k, _ := simpleType(text); k == t.Kind {
			return text
		}
	}
	return "any"
}

// methodName is the path in a signature after its family, with "_" for "::".
func methodName(sig string) string {
	head, _, _ := strings.Cut(sig, "(")
	_, rest, _ := strings.Cut(head[strings.LastIndexByte(head, ' ')+1:], "::")
	return strings.ReplaceAll(rest, "::", "_")
}
