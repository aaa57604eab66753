package parse

// Count is about how many statements a text has, and whether it can be cut into tokens at all. It does not parse: what
// it takes grows with the length of the text, and with nothing else.
func Count(text string) (int, bool) {
	lex := lexer{src: text}
	n, depth, empty := 0, 0, true
	for {
		t, err := lex.next()
		if err != nil {
			return 0, false
		}
		switch t.kind {
		case tEOF:
			if !empty {
				n++
			}
			return n, true
		case tLBrace, tLParen, tLBracket:
			depth++
		case tRBrace, tRParen, tRBracket:
			depth--
		case tSemi:
			if depth == 0 {
				if !empty {
					n++
				}
				empty = true
				continue
			}
		}
		empty = false
	}
}
