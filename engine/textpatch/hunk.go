package textpatch

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	margin  = 4  // characters of context
	maxBits = 32 // longest pattern of the fuzzy search
)

// hunk is a part of a patch: a script with context and its place in the two texts.
type hunk struct {
	script       []edit
	fromA, fromB int // offsets in characters
	lenA, lenB   int
}

// hunksOf cuts a script over a into hunks with context.
func (j *job) hunksOf(a []rune, script []edit) []hunk {
	var out []hunk
	var h hunk
	at, bt := 0, 0
	// The text as it is when the hunks before have been applied, and as it was before this one.
	pre, post := a, append([]rune(nil), a...)
	for i, e := range script {
		if len(h.script) == 0 && e.op != keep {
			h.fromA, h.fromB = at, bt
		}
		switch e.op {
		case insert:
			h.script = append(h.script, e)
			h.lenB += len(e.text)
			post = j.join(post[:bt], e.text, post[bt:])
		case remove:
			h.lenA += len(e.text)
			h.script = append(h.script, e)
			post = j.join(post[:bt], post[bt+len(e.text):])
		default:
			if len(e.text) <= 2*margin && len(h.script) > 0 && i < len(script)-1 {
				h.script = append(h.script, e)
				h.lenA += len(e.text)
				h.lenB += len(e.text)
			}
			if len(e.text) >= 2*margin && len(h.script) > 0 {
				out = append(out, j.withContext(h, pre))
				h = hunk{}
				pre, at = post, bt
			}
		}
		if e.op != insert {
			at += len(e.text)
		}
		if e.op != remove {
			bt += len(e.text)
		}
	}
	if len(h.script) > 0 {
		out = append(out, j.withContext(h, pre))
	}
	return out
}

// withContext adds the characters around the hunk: as many as make its pattern unique in text, and a
// margin.
func (j *job) withContext(h hunk, text []rune) hunk {
	if len(text) == 0 {
		return h
	}
	pattern := text[h.fromB : h.fromB+h.lenA]
	pad := 0
	for j.index(text, pattern, 0) != j.lastIndex(text, pattern, len(text)) && len(pattern) < maxBits-2*margin {
		pad += margin
		pattern = text[max(0, h.fromB-pad):min(len(text), h.fromB+h.lenA+pad)]
	}
	pad += margin
	prefix := text[max(0, h.fromB-pad):h.fromB]
	suffix := text[h.fromB+h.lenA : min(len(text), h.fromB+h.lenA+pad)]
	script := appendRun(nil, keep, prefix)
	h.script = appendRun(append(script, h.script...), keep, suffix)
	h.fromA -= len(prefix)
	h.fromB -= len(prefix)
	h.lenA += len(prefix) + len(suffix)
	h.lenB += len(prefix) + len(suffix)
	return h
}

func (h hunk) write(out *strings.Builder) {
	out.WriteString("@@ -" + place(h.fromA, h.lenA) + " +" + place(h.fromB, h.lenB) + " @@\n")
	for _, e := range h.script {
		out.WriteByte(" +-"[(e.op+3)%3])
		encode(out, e.text)
		out.WriteByte('\n')
	}
}

// place counts from 1; an empty stretch stands before its offset.
func place(from, n int) string {
	if n > 0 {
		from++
	}
	return strconv.Itoa(from) + "," + strconv.Itoa(n)
}

// encode percent-encodes all but letters, digits, blanks and the marks that a URI may hold.
func encode(out *strings.Builder, text []rune) {
	var buf [utf8.UTFMax]byte
	for _, r := range text {
		for _, c := range buf[:utf8.EncodeRune(buf[:], r)] {
			if isWord(rune(c)) || strings.IndexByte(" -_.!~*'();/?:@&=+$,#", c) >= 0 {
				out.WriteByte(c)
			} else {
				out.WriteString("%" +
					strings.ToUpper(string("0123456789abcdef"[c>>4])+string("0123456789abcdef"[c&15])))
			}
		}
	}
}

// ErrInput is a text that is no patch.
var ErrInput = errors.New("InvalidInput")

func decode(s string) ([]rune, error) {
	var out []byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if i+2 >= len(s) {
				return nil, ErrInput
			}
			n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				return nil, ErrInput
			}
			c = byte(n)
			i += 2
		}
		out = append(out, c)
	}
	if !utf8.Valid(out) {
		return nil, ErrInput
	}
	return []rune(string(out)), nil
}

// parse reads a patch.
func parse(patch string) ([]hunk, error) {
	var out []hunk
	lines := strings.Split(patch, "\n")
	for i := 0; i < len(lines); {
		if lines[i] == "" {
			i++
			continue
		}
		h, err := parseHeader(lines[i])
		if err != nil {
			return nil, err
		}
		for i++; i < len(lines) && !strings.HasPrefix(lines[i], "@"); i++ {
			if lines[i] == "" {
				continue
			}
			o := strings.IndexByte("- +", lines[i][0])
			if o < 0 {
				return nil, ErrInput
			}
			text, err := decode(lines[i][1:])
			if err != nil {
				return nil, err
			}
			h.script = append(h.script, edit{op(o - 1), text})
		}
		out = append(out, h)
	}
	return out, nil
}

// parseHeader reads "@@ -1,5 +1,6 @@". The lengths default to 1.
func parseHeader(line string) (hunk, error) {
	words := strings.Fields(line)
	if len(words) != 4 || words[0] != "@@" || words[3] != "@@" || words[1][0] != '-' || words[2][0] != '+' {
		return hunk{}, ErrInput
	}
	var h hunk
	var err1, err2 error
	h.fromA, h.lenA, err1 = parsePlace(words[1][1:])
	h.fromB, h.lenB, err2 = parsePlace(words[2][1:])
	if err1 != nil || err2 != nil {
		return hunk{}, ErrInput
	}
	return h, nil
}

func parsePlace(s string) (from, n int, err error) {
	a, b, both := strings.Cut(s, ",")
	m, err := strconv.ParseUint(a, 10, 31)
	if err != nil {
		return 0, 0, err
	}
	n = 1
	if both {
		k, err := strconv.ParseUint(b, 10, 31)
		if err != nil {
			return 0, 0, err
		}
		n = int(k)
	}
	if from = int(m); n > 0 && from > 0 {
		from--
	}
	return from, n, nil
}
