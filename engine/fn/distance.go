package fn

import (
	"math"
	"slices"
	"unicode"

	"github.com/nacredb/nacre/engine/value"
)

func distanceFuncs() []entry {
	return methodsOn(kindSet(value.KindString), []entry{
		{sig: "string::distance::damerau_levenshtein(a: string, b: string) -> int", impl: distance(damerauLevenshtein, maxCompareCells),
			doc: "Edits and transpositions that turn one text into the other."},
		{sig: "string::distance::hamming(a: string, b: string) -> int", impl: stringHamming,
			doc: "Positions at which texts of equal length differ."},
		{sig: "string::distance::levenshtein(a: string, b: string) -> int", impl: distance(levenshtein, maxCompareSteps),
			doc: "Insertions, deletions and replacements that turn one text into the other."},
		{sig: "string::distance::normalized_damerau_levenshtein(a: string, b: string) -> float", impl: normalized(damerauLevenshtein, maxCompareCells),
			doc: "1 less the Damerau-Levenshtein distance as a share of the longer text."},
		{sig: "string::distance::normalized_levenshtein(a: string, b: string) -> float", impl: normalized(levenshtein, maxCompareSteps),
			doc: "1 less the Levenshtein distance as a share of the longer text."},
		{sig: "string::distance::osa(a: string, b: string) -> int", impl: distance(osa, maxCompareSteps), on: noMethod,
			doc: "Edits and transpositions, where no part is edited twice."},
		{sig: "string::similarity::fuzzy(text: string, pattern: string) -> int", impl: stringFuzzy,
			doc: "A score of how well a typed pattern fits a text, 0 if it does not."},
		{sig: "string::similarity::smithwaterman(text: string, pattern: string) -> int", impl: stringFuzzy,
			doc: "The same as string::similarity::fuzzy."},
		{sig: "string::similarity::jaro(a: string, b: string) -> float", impl: similarity(jaro), doc: "The Jaro similarity, 0 to 1."},
		{sig: "string::similarity::jaro_winkler(a: string, b: string) -> float", impl: similarity(jaroWinkler),
			doc: "The Jaro-Winkler similarity, 0 to 1."},
		{sig: "string::similarity::sorensen_dice(a: string, b: string) -> float", impl: stringSorensenDice,
			doc: "The share of common pairs of characters, 0 to 1."},
	})
}

// The bounds of the product of the lengths of two texts: of steps that a comparison takes, and of cells where it keeps
// a table.
const (
	maxCompareSteps = 1 << 27
	maxCompareCells = 1 << 24
)

// textPair is the characters of two texts, in the memory of s.
func (c Call) textPair(s *scratch, args []value.Value, most int) (a, b []rune, err error) {
	a, b = runes(&s.a, args[0].Str()), runes(&s.b, args[1].Str())
	if len(a) > 0 && len(b) > most/len(a) {
		return nil, nil, c.incorrect("The strings are too long to compare.")
	}
	return a, b, nil
}

// metric counts the edits between two texts, working in s. It fails only when the statement ends.
type metric func(c Call, s *scratch, a, b []rune) (int, error)

// turn is called for each row of a comparison, and looks now and then whether the statement goes on.
func (c Call) turn(row int) error {
	if row&63 != 63 {
		return nil
	}
	return c.Host.Context().Err()
}

// compared is a function of two texts of at most a number of steps together.
func compared(most int, f func(c Call, s *scratch, a, b []rune) (value.Value, error)) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		s := c.scratch()
		defer c.done(s)
		a, b, err := c.textPair(s, args, most)
		if err != nil {
			return value.None, err
		}
		return f(c, s, a, b)
	}
}

func distance(f metric, most int) Impl {
	return compared(most, func(c Call, s *scratch, a, b []rune) (value.Value, error) {
		n, err := f(c, s, a, b)
		return value.Int(int64(n)), err
	})
}

func normalized(f metric, most int) Impl {
	return compared(most, func(c Call, s *scratch, a, b []rune) (value.Value, error) {
		longer := max(len(a), len(b))
		if longer == 0 {
			return value.Float(1), nil
		}
		n, err := f(c, s, a, b)
		return value.Float(1 - float64(n)/float64(longer)), err
	})
}

func similarity(f func(c Call, s *scratch, a, b []rune) (float64, error)) Impl {
	return compared(maxCompareSteps, func(c Call, s *scratch, a, b []rune) (value.Value, error) {
		x, err := f(c, s, a, b)
		return value.Float(x), err
	})
}

func stringHamming(c Call, args []value.Value) (value.Value, error) {
	s := c.scratch()
	defer c.done(s)
	a, b := runes(&s.a, args[0].Str()), runes(&s.b, args[1].Str())
	if len(a) != len(b) {
		return value.None, c.incorrect("Strings must be of equal length.")
	}
	n := int64(0)
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return value.Int(n), nil
}

func levenshtein(c Call, s *scratch, a, b []rune) (int, error) {
	row := room(&s.ints, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		if err := c.turn(i); err != nil {
			return 0, err
		}
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			cost := diagonal
			if x != y {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)], nil
}

func osa(c Call, s *scratch, a, b []rune) (int, error) {
	n := len(b) + 1
	rows := room(&s.ints, 3*n)
	before, last, row := rows[:n], rows[n:2*n], rows[2*n:]
	for j := range last {
		last[j] = j
	}
	for i, x := range a {
		if err := c.turn(i); err != nil {
			return 0, err
		}
		row[0] = i + 1
		for j, y := range b {
			cost := last[j]
			if x != y {
				cost++
			}
			cost = min(cost, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && x == b[j-1] && a[i-1] == y && x != y {
				cost = min(cost, before[j-1]+1)
			}
			row[j+1] = cost
		}
		before, last, row = last, row, before
	}
	return last[len(b)], nil
}

// damerauLevenshtein keeps the whole table; lastRow remembers for each character of b in which row it was last seen in
// a.
func damerauLevenshtein(c Call, s *scratch, a, b []rune) (int, error) {
	width := len(b) + 2
	table := room(&s.cells, (len(a)+2)*width)
	far := int32(len(a) + len(b))
	table[0] = far
	for i := 0; i <= len(a); i++ {
		table[(i+1)*width], table[(i+1)*width+1] = far, int32(i)
	}
	for j := 0; j <= len(b); j++ {
		table[j+1], table[width+j+1] = far, int32(j)
	}
	lastRow := room(&s.ints, len(b))
	clear(lastRow)
	for i := 1; i <= len(a); i++ {
		if err := c.turn(i); err != nil {
			return 0, err
		}
		lastCol := 0
		for j := 1; j <= len(b); j++ {
			k, l := lastRow[j-1], lastCol
			cost := int32(1)
			if a[i-1] == b[j-1] {
				cost, lastCol = 0, j
			}
			table[(i+1)*width+j+1] = min(
				table[i*width+j]+cost,
				table[(i+1)*width+j]+1,
				table[i*width+j+1]+1,
				table[k*width+l]+int32(i-k-1)+1+int32(j-l-1),
			)
		}
		for j, r := range b {
			if r == a[i-1] {
				lastRow[j] = i
			}
		}
	}
	return int(table[(len(a)+1)*width+len(b)+1]), nil
}

func jaro(c Call, s *scratch, a, b []rune) (float64, error) {
	switch {
	case len(a) == 0 && len(b) == 0:
		return 1, nil
	case len(a) == 0 || len(b) == 0:
		return 0, nil
	}
	reach := max(0, max(len(a), len(b))/2-1)
	used := room(&s.cells, len(a)+len(b)) // 1: matched
	clear(used)
	usedA, usedB := used[:len(a)], used[len(a):]
	matches := 0
	for i, x := range a {
		if err := c.turn(i); err != nil {
			return 0, err
		}
		for j := max(0, i-reach); j < min(len(b), i+reach+1); j++ {
			if usedB[j] == 0 && b[j] == x {
				usedA[i], usedB[j] = 1, 1
				matches++
				break
			}
		}
	}
	if matches == 0 {
		return 0, nil
	}
	swaps, j := 0, 0
	for i, x := range a {
		if usedA[i] == 0 {
			continue
		}
		for usedB[j] == 0 {
			j++
		}
		if x != b[j] {
			swaps++
		}
		j++
	}
	m := float64(matches)
	return (m/float64(len(a)) + m/float64(len(b)) + (m-float64(swaps/2))/m) / 3, nil
}

func jaroWinkler(c Call, s *scratch, a, b []rune) (float64, error) {
	sim, err := jaro(c, s, a, b)
	if err != nil || sim <= 0.7 {
		return sim, err
	}
	prefix := 0
	for prefix < min(len(a), len(b), 4) && a[prefix] == b[prefix] {
		prefix++
	}
	return math.Min(1, sim+0.1*float64(prefix)*(1-sim)), nil
}

func stringSorensenDice(c Call, args []value.Value) (value.Value, error) {
	s := c.scratch()
	defer c.done(s)
	a, b := withoutSpace(runes(&s.a, args[0].Str())), withoutSpace(runes(&s.b, args[1].Str()))
	if slices.Equal(a, b) {
		return value.Float(1), nil
	}
	if len(a) < 2 || len(b) < 2 {
		return value.Float(0), nil
	}
	pairs := room(&s.pairs, len(a)+len(b)-2)
	return value.Float(2 * float64(common(neighbours(pairs[:len(a)-1], a),
		neighbours(pairs[len(a)-1:], b))) / float64(len(pairs))), nil
}

// withoutSpace takes the blanks out of rs, in place.
func withoutSpace(rs []rune) []rune { return slices.DeleteFunc(rs, unicode.IsSpace) }

// neighbours puts the pairs of characters that follow each other into out, in ascending order.
func neighbours(out []uint64, rs []rune) []uint64 {
	for i := range out {
		out[i] = uint64(rs[i])<<32 | uint64(rs[i+1])
	}
	slices.Sort(out)
	return out
}

// common counts what two sorted lists have in common, each item once.
func common(a, b []uint64) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			a, b, n = a[1:], b[1:], n+1
		}
	}
	return n
}
