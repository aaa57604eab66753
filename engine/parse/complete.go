package parse

import "strings"

// Complete reports whether text could run as it is, or is wrong in a way that more text will not mend. It is false
// when the text ends inside a construct: a shell then asks for another line.
func Complete(text string) bool {
	p := newParser(text, Options{})
	if p.err == nil {
		p.statements()
	}
	if p.err == nil || strings.HasPrefix(p.err.Msg, "Unexpected end of file") {
		return p.err == nil
	}
	// A delimiter that is still open at the end of the text reads "Unexpected token … expected delimiter".
	blocks := p.err.Blocks
	return len(blocks) < 2 || blocks[0].Start < len(strings.TrimRight(text, " \t\r\n"))
}
