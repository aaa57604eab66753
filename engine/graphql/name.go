package graphql

import (
	"strings"

	"github.com/nacredb/nacre/engine/ast"
)

// camel joins the parts of a name between _ and -, the first of them in lower case, the others capitalised.
func camel(s string) string {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '_' || r == '-' })
	for i, p := range parts {
		if i == 0 {
			parts[i] = strings.ToLower(p[:1]) + p[1:]
		} else {
			parts[i] = capital(p)
		}
	}
	if len(parts) == 0 {
		return s
	}
	return strings.Join(parts, "")
}

func pascal(s string) string { return capital(camel(s)) }

// capital is s with its first letter in upper case.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// plural is the plural of a name by rules alone: person is persons.
func plural(s string) string {
	switch {
	case s == "" || strings.HasSuffix(s, "s"):
		return s
	case hasSuffix(s, "ch", "sh", "x", "z"):
		return s + "es"
	case len(s) > 1 && s[len(s)-1] == 'y' && !strings.ContainsRune("aeiouAEIOU", rune(s[len(s)-2])):
		return s[:len(s)-1] + "ies"
	}
	return s + "s"
}

func hasSuffix(s string, suffixes ...string) bool {
	for _, x := range suffixes {
		if strings.HasSuffix(s, x) {
			return true
		}
	}
	return false
}

// graphName makes a name that GraphQL allows.
func graphName(s string) string {
	if ast.GraphQLName(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '_', r < 128 && (r|0x20 >= 'a' && r|0x20 <= 'z'):
			b.WriteRune(r)
		case r >= '0' && r <= '9':
			if i == 0 {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	name := b.String()
	if strings.HasPrefix(name, "__") {
		name = "f" + name
	}
	return name
}

// enumWord is a text as part of the name of an enum or of its items.
func enumWord(s string) string {
	var b strings.Builder
	gap := false
	for _, c := range []byte(strings.ToUpper(s)) {
		if c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			if gap {
				b.WriteByte('_')
			}
			gap = false
			b.WriteByte(c)
			continue
		}
		gap = true
	}
	name := b.String()
	if gap && name == "" || name == "" {
		return "V"
	}
	if s != "" && !letter(name[0]) {
		name = "V" + name
	}
	return name
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
