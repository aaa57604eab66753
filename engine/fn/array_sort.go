package fn

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/value"
)

// descending reads the order argument of a sort: false and 'desc' turn it round, all else is ascending.
func descending(args []value.Value) bool {
	if len(args) < 2 {
		return false
	}
	switch args[1].Kind() {
	case value.KindBool:
		return !args[1].Bool()
	case value.KindString:
		return args[1].Str() == "desc"
	}
	return false
}

func arraySort(_ Call, args []value.Value) (value.Value, error) {
	return sortedBy(args[0].Elems(), descending(args), value.Compare), nil
}

func arraySortDesc(_ Call, args []value.Value) (value.Value, error) {
	return sortedBy(args[0].Elems(), true, value.Compare), nil
}

func arraySortLexical(_ Call, args []value.Value) (value.Value, error) {
	return sortedBy(args[0].Elems(), descending(args), stringsBy(collation{lexical: true})), nil
}

func arraySortNatural(_ Call, args []value.Value) (value.Value, error) {
	return sortedBy(args[0].Elems(), descending(args), stringsBy(collation{natural: true})), nil
}

func arraySortNaturalLexical(_ Call, args []value.Value) (value.Value, error) {
	return sortedBy(args[0].Elems(), descending(args), stringsBy(collation{lexical: true, natural: true})), nil
}

func sortedBy(items []value.Value, desc bool, cmp func(a, b value.Value) int) value.Value {
	out := slices.Clone(items)
	if desc {
		slices.SortStableFunc(out, func(a, b value.Value) int { return cmp(b, a) })
	} else {
		slices.SortStableFunc(out, cmp)
	}
	return value.ArrayOf(out)
}

// stringsBy compares two strings by c and everything else as the language does.
func stringsBy(c collation) func(a, b value.Value) int {
	return func(a, b value.Value) int {
		if a.Kind() == value.KindString && b.Kind() == value.KindString {
			return c.compare(a.Str(), b.Str())
		}
		return value.Compare(a, b)
	}
}

// collation is a way to compare texts. lexical: by ASCII readings in lower case, marks before letters and digits.
// natural: runs of digits by their value, the shorter run first. Texts that come out equal compare by bytes.
type collation struct{ lexical, natural bool }

func (c collation) compare(a, b string) int {
	x, y := collationReader{s: a, lexical: c.lexical}, collationReader{s: b, lexical: c.lexical}
	p, okP := x.next()
	q, okQ := y.next()
	for okP && okQ {
		if c.natural && isDigit(p) && isDigit(q) {
			var order int
			if order, p, okP, q, okQ = compareRuns(&x, p, &y, q); order != 0 {
				return order
			}
			continue
		}
		if order := c.compareRunes(p, q); order != 0 {
			return order
		}
		p, okP = x.next()
		q, okQ = y.next()
	}
	switch {
	case okQ:
		return -1
	case okP:
		return 1
	}
	return strings.Compare(a, b)
}

func (c collation) compareRunes(p, q rune) int {
	if c.lexical {
		if wordP, wordQ := isAlnum(byte(p)), isAlnum(byte(q)); wordP != wordQ {
			if wordP {
				return 1
			}
			return -1
		}
	}
	return int(p) - int(q)
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// compareRuns compares two runs of digits that begin with p and q; it also gives the characters behind them.
func compareRuns(x *collationReader, p rune, y *collationReader, q rune) (order int, nextP rune, okP bool, nextQ rune, okQ bool) {
	lenX, valueX, nextP, okP := x.run(p)
	lenY, valueY, nextQ, okQ := y.run(q)
	if order = compareDigits(valueX, valueY); order == 0 {
		order = lenX - lenY
	}
	return order, nextP, okP, nextQ, okQ
}

// collationReader gives the characters of a text one by one as a collation sees them.
type collationReader struct {
	s       string
	lexical bool
	pending []byte
	buf     [16]byte
}

func (r *collationReader) next() (rune, bool) {
	for {
		if len(r.pending) > 0 {
			b := r.pending[0]
			r.pending = r.pending[1:]
			return rune(lower(b)), true
		}
		if r.s == "" {
			return 0, false
		}
		c, n := utf8.DecodeRuneInString(r.s)
		r.s = r.s[n:]
		switch {
		case !r.lexical:
			return c, true
		case c < utf8.RuneSelf:
			return rune(lower(byte(c))), true
		}
		r.pending = transliterate(r.buf[:0], c)
	}
}

// run reads on while there are digits; first is the one already read. digits has no leading zeros' weight in it: it is
// compared by value.
func (r *collationReader) run(first rune) (length int, digits string, next rune, ok bool) {
	var b []byte
	next, ok = first, true
	for ok && isDigit(next) {
		b = append(b, byte(next))
		next, ok = r.next()
	}
	return len(b), string(b), next, ok
}
