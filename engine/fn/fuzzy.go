package fn

import (
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/value"
)

// Points of a fuzzy match. Each matched character earns scoreMatch and what its place is worth; characters of the
// text between two matched ones cost.
const (
	scoreMatch       = 16
	bonusHead        = 16 // at the start of the text
	bonusBreak       = 8  // after a space, slash, bar or opening bracket
	bonusSoftBreak   = 7  // after another mark
	bonusCamel       = 6  // upper case after what is neither
	bonusConsecutive = 4  // right behind the last match
	penaltyCase      = 2  // upper against lower case
	gapStart         = 3
	gapEach          = 1
	// noMatch is a score that nothing makes up for.
	noMatch = -1 << 30
)

// stringFuzzy scores how well a pattern, typed in order but not in one piece, fits a text: the best of all ways to
// match.
func stringFuzzy(c Call, args []value.Value) (value.Value, error) {
	s := c.scratch()
	defer c.done(s)
	text, pattern, err := c.textPair(s, args, maxCompareSteps)
	if err != nil {
		return value.None, err
	}
	score, err := fuzzyScore(c, s, text, pattern)
	return value.Int(int64(score)), err
}

func fuzzyScore(c Call, s *scratch, text, pattern []rune) (int, error) {
	if len(pattern) == 0 || len(pattern) > len(text) {
		return 0, nil
	}
	// last[j] is the best score of the pattern so far with its last character matched at text[j].
	rows := room(&s.ints, 2*len(text))
	last, row := rows[:len(text)], rows[len(text):]
	for i, p := range pattern {
		if err := c.turn(i); err != nil {
			return 0, err
		}
		best := noMatch // of last[k] for k < j-1, less the cost of the gap from k to j
		for j, r := range text {
			row[j] = noMatch
			if j >= 2 && i > 0 {
				best = max(best-gapEach, last[j-2]-gapStart-gapEach)
			}
			if foldRune(r) != foldRune(p) {
				continue
			}
			bonus := placeBonus(text, j)
			score := scoreMatch
			if r != p {
				score -= penaltyCase
			}
			switch {
			case i == 0:
				row[j] = score + bonus
			default:
				row[j] = best + score + bonus
				if j > 0 {
					row[j] = max(row[j], last[j-1]+score+max(bonus, bonusConsecutive))
				}
			}
		}
		last, row = row, last
	}
	best := noMatch
	for _, score := range last {
		best = max(best, score)
	}
	// The reference takes one point off every match.
	return max(0, best-1), nil
}

// foldRune is r in lower case; only ASCII has two cases here.
func foldRune(r rune) rune {
	if isUpper(r) {
		return r | 0x20
	}
	return r
}

func isUpper(r rune) bool { return r >= 'A' && r <= 'Z' }

func placeBonus(text []rune, j int) int {
	if j == 0 {
		return bonusHead
	}
	before := text[j-1]
	switch {
	case before >= utf8.RuneSelf || isAlnum(byte(before)) || before < ' ' || before == 0x7f:
		if isUpper(text[j]) && !isUpper(before) {
			return bonusCamel
		}
		return 0
	case strings.ContainsRune(` /\|([{`, before):
		return bonusBreak
	}
	return bonusSoftBreak
}
