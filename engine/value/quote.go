package value

import "strings"

// AppendQuoted appends s as a string literal: in single quotes, or in double ones when it holds a
// single quote.
func AppendQuoted(dst []byte, s string) []byte {
	q := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 {
		q = '"'
	}
	return appendEscaped(dst, s, q)
}

// Quote is s as a string literal.
func Quote(s string) string { return string(AppendQuoted(nil, s)) }

// appendEscaped writes s between quotes q, escaping q, backslashes and the control characters that
// have an escape of their own; others stand as they are.
func appendEscaped(dst []byte, s string, q byte) []byte {
	dst = append(dst, q)
	from := 0
	for i := range len(s) {
		var esc string
		switch c := s[i]; {
		case c == q:
			dst = append(append(dst, s[from:i]...), '\\', q)
			from = i + 1
			continue
		case c > '\r' && c != '\\':
			continue
		case c == '\\':
			esc = `\\`
		case c == 0:
			esc = `\0`
		case c == '\b':
			esc = `\u{8}`
		case c == '\t':
			esc = `\t`
		case c == '\n':
			esc = `\n`
		case c == '\f':
			esc = `\f`
		case c == '\r':
			esc = `\r`
		default:
			continue
		}
		dst = append(append(dst, s[from:i]...), esc...)
		from = i + 1
	}
	return append(append(dst, s[from:]...), q)
}

// AppendKey appends an object key: bare when it is an identifier that does not read as a number, else in double quotes.
func AppendKey(dst []byte, name string) []byte {
	if isPlainIdent(name) && !isNumberWord(name) {
		return append(dst, name...)
	}
	return appendEscaped(dst, name, '"')
}

// AppendIdent appends the name of a table, field, parameter …: bare when it is an identifier and no
// reserved word, else in backticks.
func AppendIdent(dst []byte, name string) []byte {
	if isPlainIdent(name) && !IsReserved(name) {
		return append(dst, name...)
	}
	return appendEscaped(dst, name, '`')
}

// QuoteIdent is name as AppendIdent writes it.
func QuoteIdent(name string) string {
	if isPlainIdent(name) && !IsReserved(name) {
		return name
	}
	return string(AppendIdent(nil, name))
}

// AppendRecordIdent appends a table name or string key inside a record id: bare when it is made of
// letters, digits and underscores and is not a number, else in backticks. No word is reserved there but those that read
// as numbers. In the texts of definitions and exports the table's name goes by AppendIdent: they are read back.
func AppendRecordIdent(dst []byte, name string) []byte {
	letter := false
	if isNumberWord(name) {
		return appendEscaped(dst, name, '`')
	}
	for i := range len(name) {
		c := name[i]
		if !isWordByte(c) {
			return appendEscaped(dst, name, '`')
		}
		letter = letter || c > '9' && c != '_'
	}
	if !letter {
		return appendEscaped(dst, name, '`')
	}
	return append(dst, name...)
}

// QuoteRecordIdent is name as AppendRecordIdent writes it.
func QuoteRecordIdent(name string) string { return string(AppendRecordIdent(nil, name)) }

// isNumberWord reports whether name is the literal of a number; in this spelling only.
func isNumberWord(name string) bool { return name == "NaN" || name == "Infinity" }

// isPlainIdent reports whether name reads as one identifier token.
func isPlainIdent(name string) bool {
	if name == "" || name[0] <= '9' {
		return false
	}
	for i := range len(name) {
		if !isWordByte(name[i]) {
			return false
		}
	}
	return true
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// IsReserved reports whether name, in any case, is a word that must be quoted where an identifier is
// expected. NaN and Infinity count in their exact spelling only.
func IsReserved(name string) bool {
	if len(name) > 8 || len(name) < 2 {
		return false
	}
	if isNumberWord(name) {
		return true
	}
	var buf [8]byte
	for i := range len(name) {
		buf[i] = name[i] | 0x20
	}
	switch string(buf[:len(name)]) {
	case "after", "all", "alter", "before", "begin", "break", "by", "cancel", "commit", "continue", "create",
		"define", "delete", "diff", "explain", "false", "for", "function", "if", "info", "insert", "kill",
		"let", "live",
		"none", "null", "option", "rand", "rebuild", "relate", "remove", "return", "select", "sequence", "show",
		"sleep", "table", "tb", "throw", "true", "update", "upsert", "use", "value", "where":
		return true
	}
	return false
}
