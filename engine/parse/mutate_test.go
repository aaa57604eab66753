package parse

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/nacredb/nacre/internal/vectors"
)

var mutationToken = regexp.MustCompile(`\w+|'[^']*'|"[^"]*"|` + "`[^`]*`" + `|\$\w+|->|<-|::|\.\.|\s+|\S`)

// mutate changes a text by a few tokens: some go, some come twice, some come from other texts.
func mutate(r *rand.Rand, text string, pool []string) string {
	tokens := mutationToken.FindAllString(text, -1)
	for range 1 + r.IntN(3) {
		if len(tokens) == 0 {
			break
		}
		i := r.IntN(len(tokens))
		switch r.IntN(5) {
		case 0:
			tokens = append(tokens[:i:i], tokens[i+1:]...)
		case 1:
			tokens = append(tokens[:i:i], append([]string{pool[r.IntN(len(pool))], " "}, tokens[i:]...)...)
		case 2:
			tokens[i] = pool[r.IntN(len(pool))]
		case 3:
			tokens = append(tokens[:i:i], append([]string{tokens[i]}, tokens[i:]...)...)
		case 4:
			j := r.IntN(len(tokens))
			tokens[i], tokens[j] = tokens[j], tokens[i]
		}
	}
	return strings.Join(tokens, "")
}

// TestMutatedTexts feeds the parser nearly correct texts: nothing may panic, and a text that parses has
// to print as a fixed point.
func TestMutatedTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var texts, pool []string
	for _, v := range vectors.All(t) {
		if len(v.SQL) < 300 {
			texts = append(texts, v.SQL)
			if len(pool) < 50_000 {
				pool = append(pool, mutationToken.FindAllString(v.SQL, -1)...)
			}
		}
	}
	for range 30_000 {
		checkFixedPoint(t, "mutated", mutate(r, texts[r.IntN(len(texts))], pool))
	}
}
