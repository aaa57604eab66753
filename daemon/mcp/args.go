package mcp

import (
	"encoding/json"
	"strings"
)

// args are the arguments of a tool. Those that are null count as absent.
type args map[string]json.RawMessage

func argsOf(raw json.RawMessage) (args, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return args{}, nil
	}
	var a args
	if raw[0] != '{' || json.Unmarshal(raw, &a) != nil {
		return nil, badParams("`arguments` must be an object")
	}
	for name, v := range a {
		if string(v) == "null" && name != "data" {
			delete(a, name)
		}
	}
	return a, nil
}

func (a args) has(name string) bool { _, ok := a[name]; return ok }

// text is the text argument name; "" where it is absent.
func (a args) text(name string) (string, error) {
	raw, ok := a[name]
	if !ok {
		return "", nil
	}
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", badParams("`%s` must be a text", name)
	}
	return s, nil
}

// name is the text argument name, which names a place.
func (a args) name(name string) (string, error) {
	s, err := a.text(name)
	if err != nil || !a.has(name) {
		return s, err
	}
	return identifier(s, "Identifier cannot be empty")
}

func (a args) flag(name string) (bool, error) {
	raw, ok := a[name]
	if !ok {
		return false, nil
	}
	switch string(raw) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, badParams("`%s` must be true or false", name)
}

// count is the whole number argument name, and whether it is there.
func (a args) count(name string) (n uint64, ok bool, err error) {
	raw, ok := a[name]
	if !ok {
		return 0, false, nil
	}
	if json.Unmarshal(raw, &n) != nil || n > 1<<63-1 {
		return 0, false, badParams("`%s` must be a whole number of at least 0", name)
	}
	return n, true, nil
}

// identifier reads a name: letters, digits and underscores, or what stands in backticks. empty says what is missing
// where it is nothing.
func identifier(s, empty string) (string, error) {
	if s == "" || s == "``" {
		return "", badParams("%s", empty)
	}
	if inner, ok := quoted(s); ok {
		if len(inner) > maxName {
			return "", badParams("Identifier contains invalid characters")
		}
		return inner, nil
	}
	for i, c := range []byte(s) {
		switch {
		case c == '_', c|0x20 >= 'a' && c|0x20 <= 'z':
		case c >= '0' && c <= '9':
			if i == 0 {
				return "", badParams("Identifier must start with a letter or underscore")
			}
		default:
			return "", badParams("Identifier contains invalid characters")
		}
	}
	if len(s) > maxName {
		return "", badParams("Identifier contains invalid characters")
	}
	return s, nil
}

// maxName is the longest name, in bytes.
const maxName = 1024

// quoted gives what stands in backticks. Neither a backtick nor a backslash may be inside.
func quoted(s string) (string, bool) {
	if len(s) < 2 || s[0] != '`' || s[len(s)-1] != '`' {
		return "", false
	}
	inner := s[1 : len(s)-1]
	return inner, !strings.ContainsAny(inner, "`\\\x00")
}

// functionName checks ident(::ident)*.
func functionName(s string) (string, error) {
	if s == "" {
		return "", badParams("Function name cannot be empty")
	}
	for part := range strings.SplitSeq(s, "::") {
		if name, err := identifier(part, "Identifier cannot be empty"); err != nil {
			return "", err
		} else if name != part {
			return "", badParams("Identifier contains invalid characters")
		}
	}
	return s, nil
}
