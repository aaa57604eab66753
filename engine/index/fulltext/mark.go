package fulltext

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/value"
)

// Texts appends the texts that a value holds: strings, numbers and booleans, those in arrays and objects too. Numbers
// are indexed as they are written in the language, with the letters of their types.
func Texts(dst []string, v value.Value) []string { return appendTexts(dst, v, value.Value.Text) }

// Shown is Texts with numbers as they are shown.
func Shown(dst []string, v value.Value) []string { return appendTexts(dst, v, shownNumber) }

func shownNumber(v value.Value) string {
	text := value.ToString(v)
	if v.Kind() == value.KindFloat {
		return strings.TrimSuffix(text, "f")
	}
	return text
}

func appendTexts(dst []string, v value.Value, number func(value.Value) string) []string {
	switch v.Kind() {
	case value.KindString:
		return append(dst, v.Str())
	case value.KindInt, value.KindBool, value.KindFloat, value.KindDecimal:
		return append(dst, number(v))
	case value.KindArray:
		for _, e := range v.Elems() {
			dst = appendTexts(dst, e, number)
		}
	case value.KindObject:
		for _, f := range v.Object().Fields() {
			dst = appendTexts(dst, f.Value, number)
		}
	}
	return dst
}

// Span is a part of a text, in characters.
type Span struct{ Start, End int }

// Spans are the parts of a text where terms of a query are: whole words, or only the part of a word that is the term.
// They are in order and do not overlap.
func (q *Query) Spans(a *Analyzer, text string, part bool) []Span {
	var out []Span
	for _, t := range a.Analyze(&Scratch{}, text) {
		if !slices.Contains(q.Terms, t.Term) {
			continue
		}
		s := Span{t.Start, t.End}
		if part {
			s = Span{t.PartStart, t.PartEnd}
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Span) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return a.End - b.End
	})
	kept := out[:0]
	for _, s := range out {
		if n := len(kept) - 1; n >= 0 && s.Start < kept[n].End {
			kept[n].End = max(kept[n].End, s.End)
			continue
		}
		if s.Start < s.End {
			kept = append(kept, s)
		}
	}
	return kept
}

// Highlight puts a prefix before and a suffix behind each span of a text.
func Highlight(text string, spans []Span, prefix, suffix string) string {
	if len(spans) == 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(spans)*(len(prefix)+len(suffix)))
	at, char := 0, 0
	for _, s := range spans {
		from := skip(text, at, s.Start-char)
		to := skip(text, from, s.End-s.Start)
		if from == to {
			break // what was indexed is longer than what is shown
		}
		b.WriteString(text[at:from])
		b.WriteString(prefix)
		b.WriteString(text[from:to])
		b.WriteString(suffix)
		at, char = to, s.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// skip is the place n characters after at; the end of the text where there are fewer.
func skip(text string, at, n int) int {
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}
