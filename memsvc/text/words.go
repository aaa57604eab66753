// Package text reads natural language without a model: words and stems, dates, names, sentences, chunks, phrases,
// personal data. Everything in it is deterministic and works on what it is given alone.
package text

import (
	"hash/fnv"
	"math/bits"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"golang.org/x/text/unicode/norm"
)

// Word is one word of a text.
type Word struct {
	Text       string // as written
	Lower      string // folded
	Start, End int    // bytes
}

// maxWord bounds a word; what is longer is cut into pieces of this size.
const maxWord = 64

// Words cuts a text into words: runs of letters, digits and inner apostrophes.
func Words(s string) []Word {
	out := make([]Word, 0, len(s)/5)
	start := -1
	for i, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || (start >= 0 && inner(s, i, r)) {
			if start < 0 {
				start = i
			}
			if i-start < maxWord {
				continue
			}
		}
		if start >= 0 {
			out = append(out, word(s, start, i))
			start = -1
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				start = i
			}
		}
	}
	if start >= 0 {
		out = append(out, word(s, start, len(s)))
	}
	return out
}

// inner reports an apostrophe between letters, or a point or comma between digits.
func inner(s string, i int, r rune) bool {
	if r != '\'' && r != '’' && r != '.' && r != ',' {
		return false
	}
	next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	if r == '.' || r == ',' {
		return unicode.IsDigit(next) && unicode.IsDigit(before)
	}
	return unicode.IsLetter(next) && unicode.IsLetter(before)
}

func word(s string, start, end int) Word {
	t := s[start:end]
	return Word{Text: t, Lower: Fold(t), Start: start, End: end}
}

// Fold makes the form that is compared: lower case, no accents, no possessive ending.
func Fold(s string) string {
	ascii := true
	for i := 0; i < len(s); i++ {
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	s = strings.ToLower(s)
	if !ascii {
		s = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Mn, r) {
				return -1
			}
			if r == '’' {
				return '\''
			}
			return r
		}, norm.NFKD.String(s))
	}
	return strings.TrimSuffix(s, "'s")
}

var stems sync.Map // folded word → stem
var stemCount int32

// Stem is the stem of a folded word.
func Stem(w string) string {
	if len(w) < 3 || w[0] >= '0' && w[0] <= '9' {
		return w
	}
	if s, ok := stems.Load(w); ok {
		return s.(string)
	}
	env := snowballstem.NewEnv(w)
	english.Stem(env)
	s := env.Current()
	if irregular, ok := irregulars()[w]; ok {
		s = irregular
	}
	if len(w) <= 16 && stemsRoom() {
		stems.Store(strings.Clone(w), s)
	}
	return s
}

var stemMu sync.Mutex // guards stemCount

// stemsRoom bounds the cache: words come from outside.
func stemsRoom() bool {
	stemMu.Lock()
	defer stemMu.Unlock()
	stemCount++
	return stemCount < 50000
}

// irregulars are forms that the stemmer does not bring together.
var irregulars = sync.OnceValue(func() map[string]string {
	return forms(`go went gone going goes|buy bought buys buying|eat ate eaten eats eating|see saw seen sees seeing|
take took taken takes taking|give gave given gives giving|make made makes making|get got gotten gets getting|write wrote written writes writing|
run ran runs running|begin began begun begins beginning|swim swam swum swims swimming|drive drove driven drives driving|
fly flew flown flies flying|teach taught teaches teaching|think thought thinks thinking|bring brought brings bringing|
catch caught catches catching|feel felt feels feeling|find found finds finding|meet met meets meeting|win won wins winning|
lose lost loses losing|sell sold sells selling|tell told tells telling|speak spoke spoken speaks speaking|break broke broken breaks breaking|
choose chose chosen chooses choosing|grow grew grown grows growing|know knew known knows knowing|throw threw thrown throws throwing|
draw drew drawn draws drawing|sing sang sung sings singing|ride rode ridden rides riding|fall fell fallen falls falling|
leave left leaves leaving|keep kept keeps keeping|sleep slept sleeps sleeping|spend spent spends spending|send sent sends sending|
build built builds building|hold held holds holding|stand stood stands standing|wear wore worn wears wearing|
become became becomes becoming|come came comes coming|pay paid pays paying|say said says saying|child children|
person people|man men|woman women|mouse mice|foot feet|tooth teeth|wife wives|life lives|knife knives|
married marry marries marriage|bake baked baking bakery|paint painted painting paintings paints|hear heard hears hearing|
forget forgot forgotten|hike hiked hiking hikes|camp camped camping camps|dance danced dancing dances dancer|fight fought|
adopt adopted adopting adoption|move moved moving moves|sting stung|bite bit bitten|wake woke woken|weav wove woven|
steal stole stolen|hide hid hidden|shake shook shaken|dig dug|shoot shot|light lit|lend lent|hang hung|stick stuck|bend bent|bleed bled|
blow blew blown|burn burnt|deal dealt|dream dreamt|feed fed|forgiv forgave forgiven|freez froze frozen|kneel knelt|mean meant|seek sought|
shine shone|shrink shrank shrunk|sink sank sunk|slide slid|spill spilt|spin spun|strike struck|swear swore sworn|sweep swept|tear tore torn|
understand understood|drink drank drunk|ring rang rung|sit sat|beat beaten|show shown|rise risen|wolf wolves|shelf shelves|thief thieves|
loaf loaves|goos geese|half halves|study studied studying studies|hurt hurts hurting|lead led leads leading`)
})

func forms(s string) map[string]string {
	m := map[string]string{}
	for _, group := range strings.Split(s, "|") {
		words := strings.Fields(group)
		for _, w := range words {
			m[w] = words[0]
		}
	}
	return m
}

// stop are words that say nothing of what a text is about.
var stop = sync.OnceValue(func() map[string]bool {
	return set(`a about above after again all also am an and any are aren't as at be because been before being below between both
but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from further had hadn't has hasn't
have haven't having he he'd he'll her here hers herself him himself his how i i'd i'll i'm i've if in into is isn't it it's its itself
just let's me more most my myself no nor not of off on once only or other ought our ours ourselves out over own same she she'd she'll should
shouldn't so some such than that the their theirs them themselves then there these they they'd they'll they're they've this those through to
too under until up very was wasn't we we'd we'll we're we've were weren't what what's when when's where where's which while who who's whom why
will with won't would wouldn't yes you you'd you'll you're you've your yours yourself yourselves yeah oh hey hi wow really thanks thank
ok okay well like get got much many lot lots might may must shall us one that's there's`)
})

func set(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// Stop reports whether a folded word says nothing of what a text is about.
func Stop(w string) bool { return stop()[w] }

// Terms are the stems of the words that say something.
func Terms(s string) []string {
	words, stop := Words(s), stop()
	out := make([]string, 0, len(words))
	for _, w := range words {
		if !stop[w.Lower] {
			out = append(out, Stem(w.Lower))
		}
	}
	return out
}

// Tokens is about how many tokens a model makes of s.
func Tokens(s string) int { return (utf8.RuneCountInString(s) + 3) / 4 }

// SimHash is a fingerprint: texts of nearly the same words differ in few bits.
func SimHash(terms []string) uint64 {
	var sum [64]int
	for i := range terms {
		h := fnv.New64a()
		_, _ = h.Write([]byte(terms[i])) // never fails
		if i > 0 {
			_, _ = h.Write([]byte(terms[i-1]))
		}
		v := h.Sum64()
		for b := range sum {
			if v>>b&1 == 1 {
				sum[b]++
			} else {
				sum[b]--
			}
		}
	}
	var out uint64
	for b, n := range sum {
		if n > 0 {
			out |= 1 << b
		}
	}
	return out
}

// Distance is the number of bits in which two fingerprints differ.
func Distance(a, b uint64) int { return bits.OnesCount64(a ^ b) }

// Normal is the form of a name that is compared: folded, inner space as _, no punctuation around.
func Normal(name string) string {
	name = strings.TrimFunc(norm.NFKC.String(strings.ToLower(name)), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r)
	})
	return strings.Join(strings.Fields(name), "_")
}

// Clip cuts s to at most n bytes, at the end of a rune.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
