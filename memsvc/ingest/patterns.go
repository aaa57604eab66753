package ingest

import (
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/memsvc/text"
)

// Fact is one thing that a text says: an attribute of an entity, or with Target a relation to another one.
type Fact struct {
	Type, Name string // of the entity
	Key, Value string // Key is the label of a relation
	Target     *Thing
	Category   string
	Confidence float64
	From       time.Time // when it began to hold; zero: when it was said
	Start, End int       // where the text says it
	Single     *bool     // one value at a time; nil: by the key
	Negated    bool      // it holds no longer
}

// Thing names an entity.
type Thing struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// Facts are the statements found in a text.
type Facts struct {
	Facts        []Fact
	Instructions []Rule
	Doubts       []Doubt
}

// Rule is an instruction to agents.
type Rule struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description"`
}

// Doubt is something that could not be settled.
type Doubt struct {
	About  string `json:"about"`
	Reason string `json:"reason"`
}

// pattern reads one kind of plain sentence. In key, target and value, $1 and $2 are the groups of the expression.
type pattern struct {
	re              *regexp.Regexp
	who             string // "" is the speaker, else a group
	key, value      string
	target          string // type of the entity that value names, for relations
	category        string
	negated, single bool
}

const (
	thing  = `([^.,;!?\n]{1,80}?)(?: now| these days| anymore| any more)?`
	end    = `(?:[.,;!?\n]| (?:and|but|because|since|so|when|where|with|for my) |$)`
	proper = `([A-Z][\p{L}'’-]+(?: [A-Z][\p{L}'’-]+){0,3})`
)

func re(s string) *regexp.Regexp { return regexp.MustCompile(s) }

// patterns are compiled when the first text is read: no other command has to wait for them.
var patterns = sync.OnceValue(func() []pattern {
	return []pattern{
		{re: re(`(?i:\bmy (?:full )?name is|\bmy name's) ` + proper), key: "name", value: "$1", category: "identity",
			single: true},
		{re: re(`(?i:\b(?:please )?call me) ` + proper), key: "preferred_name", value: "$1", category: "identity",
			single: true},
		{re: re(`\b[Ii](?: (?:no longer|don't|do not)) live in ` + proper), key: "lives_in", value: "$1", category: "identity",
			negated: true},
		{re: re(`\b[Ii](?:'m| am)? (?:now |currently |still )?(?:live|living|reside|based|settled) in ` + proper), key: "lives_in", value: "$1", category: "identity",
			single: true},
		{re: re(`\b[Ii](?:'ve| have| just| recently| finally)* (?:moved|relocated|am moving|'m moving)(?: from [A-Z]\w+)? to ` + proper), key: "lives_in", value: "$1", category: "identity",
			single: true},
		{re: re(`\b[Ii](?:'m| am) (?:originally )?from ` + proper), key: "from", value: "$1", category: "identity",
			single: true},
		{re: re(`\b[Ii] (?:no longer|don't) work (?:at|for) ` + proper), key: "works_at", value: "$1", category: "identity",
			negated: true},
		{re: re(`\b[Ii] (?:now |currently |still )?work (?:at|for) ` + proper), key: "works_at", value: "$1", category: "identity",
			single: true},
		{re: re(`\b[Ii](?: just| have|'ve)? (?:started|joined|began)(?: working)?(?: at)? ` + proper + `(?: as|$|[.,!])`), key: "works_at", value: "$1",
			category: "identity", single: true},
		{re: re(`\b[Ii](?: now| currently)? (?:work|am working|'m working|got a job|was hired) as an? ` + thing + end), key: "occupation", value: "$1",
			category: "identity", single: true},
		{re: re(`\b[Ii](?:'m| am) an? ((?:\w+ )?(?:teacher|nurse|doctor|engineer|developer|designer|lawyer|chef|writer|artist|student|manager|programmer|scientist|farmer|pilot|driver|baker|musician|journalist|carpenter|plumber|electrician|accountant|architect|dentist|therapist|photographer))\b`), key: "occupation", value: "$1", category: "identity",
			single: true},
		{re: re(`\b[Ii](?:'m| am) (\d{1,3})(?: years old)?[.,!\n]`), key: "age", value: "$1", category: "identity", single: true},
		{re: re(`\b[Ii](?:'m| am) allergic to ` + thing + end), key: "allergic_to", value: "$1", category: "identity"},
		{re: re(`(?i)\bmy birthday is (?:on )?` + thing + end), key: "birthday", value: "$1", category: "identity",
			single: true},
		{re: re(`(?i)\bmy favou?rite (\w+(?: \w+)?) (?:is|are) (?:now )?` + `([^.,;!?\n]{1,80}?)` + end), key: "favourite_$1",
			value: "$2", category: "knowledge", single: true},
		{re: re(`\b[Ii] (?:no longer|don't|do not|stopped) (?:like|love|enjoy|liking) ` + thing + end), key: "likes", value: "$1",
			category: "knowledge", negated: true},
		{re: re(`\b[Ii] (?:really |absolutely |just )?(?:like|love|enjoy|adore) ` + thing + end),
			key: "likes", value: "$1", category: "knowledge"},
		{re: re(`\b[Ii] (?:really |absolutely )?(?:hate|dislike|can't stand|cannot stand) ` + thing + end), key: "dislikes", value: "$1",
			category: "knowledge"},
		{re: re(`\b[Ii] (?:prefer) ` + thing + end), key: "prefers", value: "$1", category: "knowledge", single: true},
		{re: re(`(?i:\b[I] have an? (?:new )?(?:dog|cat|puppy|kitten|rabbit|parrot|hamster|horse|pet) (?:named|called)) ` + proper), key: "has_pet", value: "$1", target: "other",
			category: "identity"},
		{re: re(`(?i:\bmy (wife|husband|partner|girlfriend|boyfriend|sister|brother|mother|father|mom|dad|son|daughter|boss|manager|friend|best friend|cousin|aunt|uncle|fiancée?|roommate|colleague)(?:'s name)? is(?: named| called)?) ` + proper + end), key: "$1", value: "$2", target: "person",
			category: "identity"},
		{re: re(`(?i:\bmy ((?:phone|email|home|work|mobile|car|new|current|shoe|t-shirt)(?: \w+)?) is) ` + thing + end), key: "$1", value: "$2", category: "knowledge",
			single: true},
		{re: re(`\b` + proper + ` (?:now )?(?:lives|is living|resides) in ` + proper), who: "$1", key: "lives_in",
			value: "$2", category: "identity", single: true},
		{re: re(`\b` + proper + ` (?:has |just |recently )?(?:moved|relocated) to ` + proper), who: "$1", key: "lives_in",
			value: "$2", category: "identity", single: true},
		{re: re(`\b` + proper + ` (?:now )?works (?:at|for) ` + proper), who: "$1", key: "works_at", value: "$2",
			category: "identity", single: true},
		{re: re(`\b` + proper + ` is the (\w+(?: \w+)?) of ` + proper), who: "$1", key: "$2_of", value: "$3",
			target: "organisation", category: "knowledge"},
		{re: re(`\b` + proper + `'s (\w+(?: \w+)?) is ` + `([^.,;!?\n]{1,80}?)` + end), who: "$1", key: "$2",
			value: "$3", category: "knowledge", single: true},
	}
})

var ruleHead = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:please )?(always|never|from now on,?|remember to|don't ever|do not ever)\b\s+\S`)
})

// maxFacts bounds what is read out of one text.
const maxFacts = 100

// ReadPlain reads plain sentences without a model. speaker says I; said is when.
func ReadPlain(s, speaker string, said time.Time) Facts {
	var out Facts
	if speaker == "" {
		speaker = "user"
	}
	for _, p := range text.Sentences(text.Clip(s, 64<<10)) {
		sentence := s[p.Start:p.End]
		if head := text.Speaker(sentence); head != "" {
			sentence = strings.TrimPrefix(strings.TrimSpace(sentence), head+": ")
		}
		if ruleHead().MatchString(sentence) && len(out.Instructions) < maxFacts {
			out.Instructions = append(out.Instructions,
				Rule{Label: text.Clip(strings.ToLower(strings.Join(strings.Fields(sentence), "_")), 60),
					Description: sentence})
			continue
		}
		if strings.HasSuffix(sentence, "?") {
			continue
		}
		readSentence(&out, sentence, speaker, said, p)
	}
	return out
}

func readSentence(out *Facts, sentence, speaker string, said time.Time, at text.Piece) {
	var from time.Time
	if ms := text.Dates(sentence, said); len(ms) > 0 {
		from = ms[0].From
	}
	taken := map[string]bool{}
	for _, p := range patterns() {
		m := p.re.FindStringSubmatchIndex(sentence)
		if m == nil || len(out.Facts) >= maxFacts {
			continue
		}
		get := func(tmpl string) string {
			return strings.TrimSpace(string(p.re.ExpandString(nil,
				strings.NewReplacer("$1", "${1}", "$2", "${2}", "$3", "${3}").Replace(tmpl), sentence, m)))
		}
		f := Fact{Type: "person", Name: speaker, Key: text.Normal(get(p.key)),
			Value: strings.Trim(get(p.value), " '\""), Category: p.category, Confidence: 0.8,
			From: from, Start: at.Start, End: at.End, Negated: p.negated}
		if p.who != "" {
			f.Name = get(p.who)
		}
		if f.Name == "I" || f.Value == "" || f.Key == "" || taken[f.Name+"\x00"+f.Key] {
			continue
		}
		taken[f.Name+"\x00"+f.Key] = true
		single := p.single
		f.Single = &single
		if p.target != "" {
			f.Target = &Thing{p.target, f.Value}
		}
		out.Facts = append(out.Facts, f)
	}
}
