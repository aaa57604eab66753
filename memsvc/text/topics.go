package text

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// topicFile is an own list of words of everyday talk: each line names a topic and lists words by which it shows.
//
//go:embed topics.txt
var topicFile string

// topic is stems that belong together; the first heads of them name it.
type topic struct {
	stems []string
	heads int
}

// topics is the list, and the topics of each stem.
type topics struct {
	all []topic
	of  map[string][]int32
}

var loadTopics = sync.OnceValue(func() *topics {
	ts := &topics{of: map[string][]int32{}}
	for line := range strings.Lines(topicFile) {
		heads, shows, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		tp := topic{}
		for i, part := range []string{heads, shows} {
			for _, w := range strings.Fields(strings.ToLower(part)) {
				stem := Stem(w)
				if k := len(ts.of[stem]); k == 0 || ts.of[stem][k-1] != int32(len(ts.all)) {
					ts.of[stem] = append(ts.of[stem], int32(len(ts.all)))
					tp.stems = append(tp.stems, stem)
				}
			}
			if i == 0 {
				tp.heads = len(tp.stems)
			}
		}
		ts.all = append(ts.all, tp)
	}
	return ts
})

// How near words of one topic are. Two words by which it shows tell nothing of each other.
const (
	bothName = 1.0
	shows    = 1.0 // the question names the topic, the text has a word by which it shows
	isShown  = 0.3 // the other way round
)

// Topical calls f for the stems that belong to a topic of a stem, with how near they are (0 to 1). A stem of several
// topics may come several times.
func Topical(stem string, f func(stem string, near float32)) {
	ts := loadTopics()
	for _, i := range ts.of[stem] {
		tp := &ts.all[i]
		names := slices.Contains(tp.stems[:tp.heads], stem)
		for k, s := range tp.stems {
			switch head := k < tp.heads; {
			case s == stem:
			case head && names:
				f(s, bothName*Rarity(s))
			case names:
				f(s, shows*Rarity(s))
			case head:
				f(s, isShown*Rarity(s))
			}
		}
	}
}
