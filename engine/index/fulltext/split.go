package fulltext

import (
	"unicode"
	"unicode/utf8"
)

// class is the class of a character for the tokenizers.
type class uint8

const (
	classOther class = iota // splits words and is dropped, with any tokenizer
	classBlank
	classLower // letters without upper case count as lower
	classUpper
	classDigit
	classPunct // ASCII only: other punctuation is classOther, as the language has it
)

// asciiClass classes the characters up to 127.
var asciiClass = func() (t [utf8.RuneSelf]class) {
	for c := range t {
		switch {
		case c == ' ' || '\t' <= c && c <= '\r':
			t[c] = classBlank
		case 'a' <= c && c <= 'z':
			t[c] = classLower
		case 'A' <= c && c <= 'Z':
			t[c] = classUpper
		case '0' <= c && c <= '9':
			t[c] = classDigit
		case '!' <= c && c <= '~':
			t[c] = classPunct
		}
	}
	return t
}()

func classOf(r rune) class {
	if r < utf8.RuneSelf {
		return asciiClass[r]
	}
	switch {
	case unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r):
		return classUpper
	case unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) || unicode.Is(unicode.Other_Alphabetic, r):
		return classLower
	case unicode.IsNumber(r):
		return classDigit
	case unicode.IsSpace(r):
		return classBlank
	}
	return classOther
}

// splitter cuts a text into words by its tokenizers.
type splitter struct {
	blank bool // blanks separate words; without it they are a part of them
	class bool // letters, digits and punctuation are words apart
	camel bool // an upper-case letter after anything else begins a word, and so does a letter after what is none
	punct bool // each punctuation character is a word
}

func newSplitter(tokenizers []string) splitter {
	var s splitter
	for _, t := range tokenizers {
		switch t {
		case "BLANK":
			s.blank = true
		case "CLASS":
			s.class, s.blank = true, true
		case "CAMEL":
			s.camel, s.blank = true, true
		case "PUNCT":
			s.punct = true
		}
	}
	return s
}

// tokens appends the words of a text.
func (s splitter) tokens(dst []Token, text string) []Token {
	s.each(text, func(from, to, begin, end int) {
		dst = append(dst, Token{Term: text[from:to], Start: begin, End: end, PartStart: begin, PartEnd: end})
	})
	return dst
}

// each calls word for the words of a text: from and to are their places in bytes, begin and end in characters.
func (s splitter) each(text string, word func(from, to, begin, end int)) {
	begin, at := -1, 0 // in characters; begin of the word under way, or -1
	from := 0          // its first byte
	prev := classOther
	for i, r := range text {
		c := classOf(r)
		switch {
		case c == classOther, c == classBlank && s.blank:
			if begin >= 0 {
				word(from, i, begin, at)
				begin = -1
			}
		case begin < 0:
			begin, from = at, i
		case c != prev && s.cuts(prev, c), c == classPunct && s.punct:
			word(from, i, begin, at)
			begin, from = at, i
		}
		prev = c
		at++
	}
	if begin >= 0 {
		word(from, len(text), begin, at)
	}
}

// cuts reports whether a word ends between two characters that both belong to words.
func (s splitter) cuts(prev, c class) bool {
	if s.punct && (prev == classPunct || c == classPunct) {
		return true
	}
	if s.camel && (c == classUpper && prev != classUpper || c == classLower && kind(prev) != classLower) {
		return true
	}
	return s.class && kind(prev) != kind(c)
}

// kind is the class without case.
func kind(c class) class {
	if c == classUpper {
		return classLower
	}
	return c
}
