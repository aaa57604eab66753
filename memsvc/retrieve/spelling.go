package retrieve

import (
	"github.com/nacredb/nacre/memsvc/text"
)

const (
	leastLetters = 4   // shorter words are not corrected
	twoWrong     = 8   // from that many letters on two may be wrong
	corrected    = 0.8 // weight of a word that was corrected
	maxCorrected = 16  // unknown words of a question: each is compared with the whole vocabulary
	partOf       = 0.7 // how near a part of a compound is to the whole
)

// spelled is the stem that the index holds and that an unknown stem most likely means: one letter (of long words
// two) is wrong, missing, too many, or in the place of its neighbour. Of several the most frequent one counts. ""
// is none. Words that the language knows are right as they are.
func (x *Index) spelled(stem string) string {
	if len(stem) < leastLetters || x.terms[stem] != nil || text.Place(stem) >= 0 || !letters(stem) {
		return ""
	}
	least, out, docs := 1, "", 0
	if len(stem) >= twoWrong {
		least = 2
	}
	for num, s := range x.stems {
		if d := len(s) - len(stem); s[0] != stem[0] || d > least || d < -least {
			continue
		}
		n := len(x.terms[s].docs)
		switch d := edits(stem, s, least); {
		case d > least:
		case d < least || out == "" || n > docs:
			least, out, docs = d, x.stems[num], n
		}
	}
	return out
}

func letters(s string) bool {
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return true
}

// edits is how many letters have to be changed, put in, taken out or swapped to make b of a (the restricted distance of
// Damerau and Levenshtein), or more than most.
func edits(a, b string, most int) int {
	const size = 64
	if len(a) >= size || len(b) >= size {
		return most + 1
	}
	var rows [3][size]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		was, before, now := &rows[(i+2)%3], &rows[(i+1)%3], &rows[i%3]
		now[0] = i
		low := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(was[j]+1, now[j-1]+1, was[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
			low = min(low, now[j])
		}
		if low > most {
			return low
		}
	}
	return rows[len(a)%3][len(b)]
}

// joined are the stems of two neighbouring words written as one that the index holds: boat yard, boatyard.
func (x *Index) joined(words []text.Word) []string {
	var out []string
	for i := 1; i < len(words); i++ {
		if text.Stop(words[i-1].Lower) || text.Stop(words[i].Lower) {
			continue
		}
		if stem := text.Stem(words[i-1].Lower + words[i].Lower); x.terms[stem] != nil {
			out = append(out, stem)
		}
	}
	return out
}

// halves are the words of the index that a word which it does not hold is made of.
func (x *Index) halves(stem string) (a, b *post) {
	const least = 3
	for i := least; i <= len(stem)-least; i++ {
		a, b := x.terms[text.Stem(stem[:i])], x.terms[stem[i:]]
		if a != nil && b != nil {
			return a, b
		}
	}
	return nil, nil
}
