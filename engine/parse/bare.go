package parse

import (
	"math"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

// bare reads a value straight from the text at an offset, without tokens: a string without escapes, a number, a word, a
// datetime or a record id, behind which a comma or a closing mark stands, which becomes the current token. Most values
// of rows are such ones. Otherwise it passes nothing, and the value is for simple to read, or to fail at.
func (p *parser) bare(from int) (v value.Value, ok bool) {
	if p.hasNext || p.err != nil || p.work-p.polled >= pollEach || p.depth >= p.opt.Depth {
		return v, false
	}
	start := p.lex.blanks(from)
	v, k, end := p.bareValue(start)
	if k == tEOF {
		return v, false
	}
	at := p.lex.blanks(end)
	closing := singles[p.lex.at(at)]
	if closing != tComma && closing != tRBrace && closing != tRBracket {
		return v, false
	}
	p.prev, p.tok, p.lex.pos = token{k, start, end}, token{closing, at, at + 1}, at+1
	p.work += at + 1 - from
	return v, true
}

// bareValue is the value at an offset, the kind of its token, and where it ends; tEOF where it is of no form that bare
// reads.
func (p *parser) bareValue(start int) (v value.Value, k kind, end int) {
	switch c := p.lex.at(start); c {
	case '\'', '"':
		text, end := p.bareText(start)
		if end == 0 {
			return v, tEOF, 0
		}
		return value.Str(text), tString, end
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return p.bareNumber(start, start)
	case '-':
		return p.bareNumber(start, start+1)
	case 'd':
		if q := p.lex.at(start + 1); q != '\'' && q != '"' {
			break
		}
		text, end := p.bareText(start + 1)
		if end == 0 {
			return v, tEOF, 0
		}
		d, err := value.ReadDatetime(text)
		if err != nil { // for datetime to tell
			return v, tEOF, 0
		}
		return value.DatetimeOf(d), tDatetime, end
	case 't':
		if v, k, end = p.bareWord(start, "true", kwTrue, value.Bool(true)); k != tEOF {
			return v, k, end
		}
	case 'f':
		if v, k, end = p.bareWord(start, "false", kwFalse, value.Bool(false)); k != tEOF {
			return v, k, end
		}
	case 'N':
		if p.lex.at(start+1) == 'O' {
			return p.bareWord(start, "NONE", kwNone, value.None)
		}
		return p.bareWord(start, "NULL", kwNull, value.Null)
	}
	return p.bareRecord(start)
}

// bareRecord is a record id whose table and key are words, or its key a number. Rows mostly name the same table.
func (p *parser) bareRecord(start int) (v value.Value, k kind, end int) {
	if classes[p.lex.at(start)]&classIdentStart == 0 {
		return v, tEOF, 0
	}
	colon := p.bareEnd(start)
	table := p.src[start:colon]
	if p.lex.at(colon) != ':' || table != p.rows.table && !plainName(table) {
		return v, tEOF, 0
	}
	p.rows.table = table
	first := colon + 1
	if end = p.bareEnd(first); end == first {
		return v, tEOF, 0
	}
	key := p.src[first:end]
	if strings.Trim(key, "0123456789") == "" {
		return value.Record(table, digitsValue(key)), tIdent, end
	}
	if !isDigit(key[0]) && !plainName(key) {
		return v, tEOF, 0
	}
	return value.Record(table, value.Str(key)), tIdent, end
}

// bareEnd is where a word ends that begins at an offset.
func (p *parser) bareEnd(start int) (end int) {
	for end = start; isIdentByte(p.lex.at(end)); end++ {
	}
	return end
}

// plainName reports whether a word is a name, and nothing else.
func plainName(word string) bool { return wordKind(word) == tIdent }

// bareText is what stands between a quote and the next one of its kind, and the offset behind that; 0 where there are
// escapes, or no end.
func (p *parser) bareText(open int) (text string, end int) {
	rest := p.src[open+1:]
	n := strings.IndexByte(rest, p.src[open])
	if n < 0 {
		return "", 0
	}
	if text = rest[:n]; strings.IndexByte(text, '\\') >= 0 {
		return "", 0
	}
	return text, open + n + 2
}

// bareWord is a value that a word stands for.
func (p *parser) bareWord(start int, word string, k kind, v value.Value) (value.Value, kind, int) {
	end := start + len(word)
	if !strings.HasPrefix(p.src[start:], word) || isIdentByte(p.lex.at(end)) {
		return v, tEOF, 0
	}
	return v, k, end
}

// bareDigits is how many digits always fit an int64.
const bareDigits = 18

// bareNumber is a number whose first digit, behind its sign, is at first: an integer, or a float without exponent.
func (p *parser) bareNumber(start, first int) (v value.Value, k kind, end int) {
	n := int64(0)
	for end = first; isDigit(p.lex.at(end)); end++ {
		n = n*10 + int64(p.src[end]-'0')
	}
	if end == first || end-first > bareDigits {
		return v, tEOF, 0
	}
	if first > start {
		n = -n
	}
	if p.lex.at(end) != '.' && p.lex.at(end) != 'f' {
		return value.Int(n), tDigits, end
	}
	if p.lex.at(end) == '.' {
		fraction := end + 1
		for end = fraction; isDigit(p.lex.at(end)); end++ {
		}
		if end == fraction {
			return v, tEOF, 0
		}
	}
	f, err := strconv.ParseFloat(p.src[first:end], 64)
	if err != nil && !math.IsInf(f, 0) {
		return v, tEOF, 0
	}
	if first > start {
		f = -f
	}
	if p.lex.at(end) == 'f' {
		end++
	}
	return value.Float(f), tDigits, end
}
