package parse

import (
	"errors"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// regex is /…/: the current token is its first slash. \/ stands for a slash.
func (p *parser) regex() ast.Expr {
	start := p.tok.start
	for i := start + 1; i < len(p.src); i++ {
		switch p.src[i] {
		case '\\':
			i++
		case '/':
			source := strings.ReplaceAll(p.src[start+1:i], `\/`, "/")
			p.resume(i + 1)
			return p.regexLiteral(source, token{tSlash, start, i + 1})
		}
	}
	p.open = true
	p.fail("Failed to lex regex, unexpected eof", token{tSlash, start, len(p.src)}, "")
	return nil
}

// regexWork is how many bytes of other text take as long to read as a byte of a pattern.
const regexWork = 16

// maxRegexes bounds the memory of all regular expressions of one text together, in bytes.
const maxRegexes = 64 << 20

func (p *parser) regexLiteral(source string, t token) ast.Expr {
	if p.work += regexWork * len(source); p.work-p.polled >= pollEach {
		p.poll()
	}
	re, err := value.CompileRegex(source)
	if errors.Is(err, value.ErrRegexTooLarge) {
		p.fail("Invalid regex syntax "+err.Error(), t, "")
		return nil
	}
	if err != nil {
		if _, bad := syntax.Parse(source, syntax.Perl); bad != nil {
			err = bad // of the source as it stands
		}
		p.fail("Invalid regex syntax regex parse error:\n"+regexError(source, err), t, "")
		return nil
	}
	if p.regexes += re.Cost; p.regexes > maxRegexes {
		p.fail("The regular expressions of the text are too large together", t, "")
		return nil
	}
	return p.literal(value.RegexOf(re))
}

// regexError shows the pattern, what is wrong in it, and why.
func regexError(source string, err error) string {
	msg, at, width := err.Error(), 0, 1
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		msg = regexMessage(e)
		switch i := strings.Index(source, e.Expr); {
		case e.Code == syntax.ErrMissingParen:
			at = utf8.RuneCountInString(source[:unclosedGroup(source)])
		case i >= 0:
			at, width = utf8.RuneCountInString(source[:i]), max(1, utf8.RuneCountInString(e.Expr))
		}
	}
	const indent = "    "
	return indent + source + "\n" + indent + strings.Repeat(" ", at) + strings.Repeat("^", width) + "\nerror: " + msg
}

// unclosedGroup is the offset of the innermost parenthesis of a pattern that nothing closes; 0 if there is none.
func unclosedGroup(source string) int {
	var open []int
	class := false
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			open = append(open, i)
		case c == ')' && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return 0
	}
	return open[len(open)-1]
}

func regexMessage(e *syntax.Error) string {
	switch e.Code {
	case syntax.ErrMissingParen:
		return "unclosed group"
	case syntax.ErrUnexpectedParen:
		return "unopened group"
	case syntax.ErrMissingBracket:
		return "unclosed character class"
	case syntax.ErrInvalidRepeatSize:
		return "invalid repetition count range, the start must be <= the end"
	case syntax.ErrMissingRepeatArgument:
		return "repetition operator missing expression"
	case syntax.ErrInvalidCharRange:
		return "invalid character class range, the start must be <= the end"
	case syntax.ErrInvalidPerlOp:
		return "look-around, including look-ahead and look-behind, is not supported"
	case syntax.ErrInvalidEscape:
		return "unrecognized escape sequence"
	case syntax.ErrTrailingBackslash:
		return "incomplete escape sequence, reached end of pattern prematurely"
	}
	return e.Code.String()
}
