package text

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Piece is a part of a text: bytes from Start to End.
type Piece struct {
	Start, End int
	Section    string // heading above it
	Ref        int    // number of the section
}

// Sizes of chunks, in tokens.
const (
	chunkTokens   = 400
	chunkOverlap  = 60
	TurnTokens    = 512
	TurnOverlap   = 64
	sentenceGroup = 5
)

// Sentences cuts s at the ends of sentences and at empty lines.
func Sentences(s string) []Piece {
	var out []Piece
	start := 0
	add := func(end int) {
		a, b := trim(s, start, end)
		if a < b {
			out = append(out, Piece{Start: a, End: b})
		}
		start = end
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n' && i+1 < len(s) && s[i+1] == '\n':
			add(i)
		case c == '.' || c == '!' || c == '?':
			for i+1 < len(s) && strings.ContainsRune(".!?\"')", rune(s[i+1])) {
				i++
			}
			if i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\n' {
				add(i + 1)
			}
		}
	}
	add(len(s))
	return out
}

func trim(s string, a, b int) (int, int) {
	t := s[a:b]
	left := len(t) - len(strings.TrimLeftFunc(t, unicode.IsSpace))
	a += left
	return a, a + len(strings.TrimRightFunc(s[a:b], unicode.IsSpace))
}

// Window cuts s into pieces of at most size tokens that overlap, at spaces where there are some.
func Window(s string, from, to, size, overlap int) []Piece {
	var out []Piece
	for from < to {
		end := min(to, from+size*4)
		if end < to {
			end = breakAt(s, from+size*2, end)
		}
		a, b := trim(s, from, end)
		if a < b {
			out = append(out, Piece{Start: a, End: b})
		}
		if end >= to {
			break
		}
		from = max(from+1, breakAt(s, from+1, end-overlap*4))
	}
	return out
}

// breakAt is the last place after a space between low and high, else the start of the rune at high.
func breakAt(s string, low, high int) int {
	if high <= low {
		return min(low, len(s))
	}
	if i := strings.LastIndexAny(s[low:high], " \n\t"); i >= 0 {
		return low + i + 1
	}
	for high > 0 && high < len(s) && s[high]&0xC0 == 0x80 {
		high--
	}
	return high
}

var heading = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(#{1,6}) +(.+?) *#*$`) })

// Chunks cuts a document by a strategy: section, fixed or sentence. Headings are those of Markdown.
func Chunks(s, strategy string) []Piece {
	switch strategy {
	case "fixed":
		return Window(s, 0, len(s), chunkTokens, chunkOverlap)
	case "sentence":
		return grouped(Sentences(s))
	}
	var out []Piece
	start, name, ref := 0, "", 0
	section := func(end int) {
		for _, p := range paragraphs(s, start, end) {
			p.Section, p.Ref = name, ref
			out = append(out, p)
		}
	}
	for _, m := range heading().FindAllStringSubmatchIndex(s, -1) {
		section(m[0])
		start, name, ref = m[0], Clip(s[m[4]:m[5]], 200), ref+1
	}
	section(len(s))
	return out
}

// grouped joins sentences into windows that share one sentence.
func grouped(all []Piece) []Piece {
	var out []Piece
	for i := 0; i < len(all); i += sentenceGroup - 1 {
		j := min(len(all), i+sentenceGroup) - 1
		out = append(out, Piece{Start: all[i].Start, End: all[j].End})
		if j == len(all)-1 {
			break
		}
	}
	return out
}

// paragraphs packs paragraphs up to the size of a chunk; a longer one is cut.
func paragraphs(s string, from, to int) []Piece {
	var out []Piece
	start := from
	flush := func(end int) {
		a, b := trim(s, start, end)
		if a < b {
			out = append(out, Window(s, a, b, chunkTokens, chunkOverlap)...)
		}
		start = end
	}
	last := from
	for i := from; i < to; {
		n := strings.Index(s[i:to], "\n\n")
		if n < 0 {
			break
		}
		i += n + 2
		if Tokens(s[start:i]) > chunkTokens && last > start {
			flush(last)
		}
		last = i
	}
	if last > start && Tokens(s[start:to]) > chunkTokens {
		flush(last)
	}
	flush(to)
	return out
}

var speakerHead = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*([A-Z][\p{L}'’.-]{0,30}(?: [A-Z][\p{L}'’.-]{0,30}){0,2}): `)
})

// notSpeakers are words that stand before a colon and are no names.
var notSpeakers = sync.OnceValue(func() map[string]bool {
	return set(`note todo warning subject re fwd date from to cc update edit example question answer hint tip p.s ps summary http https`)
})

// Speaker is the name at the start of a turn (Name: text), or "".
func Speaker(s string) string {
	m := speakerHead().FindStringSubmatch(Clip(s, 120))
	if m == nil || notSpeakers()[strings.ToLower(m[1])] {
		return ""
	}
	return m[1]
}

// Names are words that look like names: they are capitalised where a sentence does not begin, or not a common word.
func Names(s string) []string {
	var out []string
	seen := map[string]bool{}
	for _, sen := range Sentences(Clip(s, maxDated)) {
		words := Words(s[sen.Start:sen.End])
		for i := 0; i < len(words); i++ {
			if !capital(words[i].Text) || Stop(words[i].Lower) || calendarWord(words[i].Lower) {
				continue
			}
			j := i + 1
			for j < len(words) && capital(words[j].Text) && words[j].Start == words[j-1].End+1 &&
				!Stop(words[j].Lower) && j-i < 4 {
				j++
			}
			if i == 0 && j == 1 && common(words[0].Lower) {
				continue
			}
			name := strings.TrimSuffix(s[sen.Start+words[i].Start:sen.Start+words[j-1].End], "'s")
			if k := strings.ToLower(name); !seen[k] && len(out) < 64 {
				seen[k] = true
				out = append(out, name)
			}
			i = j - 1
		}
	}
	return out
}

func capital(w string) bool {
	for _, r := range w {
		return unicode.IsUpper(r)
	}
	return false
}

func calendarWord(w string) bool {
	_, m := months[w]
	_, d := weekdays[w]
	return m || d
}

// common reports a word of the language, as far as the word vectors know it among the frequent ones.
func common(w string) bool {
	i, ok := loadLexicon().index[Stem(w)]
	return ok && i < 12000
}
