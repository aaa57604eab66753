package retrieve

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/text"
)

// term is one word that is looked for, and how much it counts.
type term struct {
	stem   string
	weight float32
	asks   bool // it says how the question asks
	kin    []kin
}

// kin is a word of similar meaning that the index holds.
type kin struct {
	post *post
	near float32
}

// question is an analysed query.
type question struct {
	terms    []term  // of the query itself
	speakers []int32 // names in the query that are speakers
	names    []int32 // other names that texts hold
	moments  []interval
	when     bool // it asks for a time
	count    bool // it asks for a number
	who      bool // it asks for a person, place or name
	latest   bool // it asks for the present state
	mean     []int8
	means    map[string]bool // stems of its words and of those of similar meaning
}

// asking are words that say how a question asks, not what for.
var asking = map[string]bool{"kind": true, "type": true, "sort": true, "mani": true, "often": true, "long": true,
	"happen": true, "tell": true,
	"know": true, "mention": true, "would": true, "likely": true, "remember": true, "anyth": true, "someth": true,
	"current": true, "use": true, "name": true}

// read takes a query apart. now is when it is asked.
func (x *Index) read(query string, now time.Time, t *Tuning) question {
	var q question
	moments := text.Dates(query, now)
	for _, m := range moments {
		q.moments = append(q.moments, interval{m.From.Unix(), m.To.Unix()})
	}
	low := " " + strings.ToLower(query) + " "
	q.when = strings.Contains(low, " when ") || strings.Contains(low, "what date") ||
		strings.Contains(low, "what time") ||
		strings.Contains(low, "which year") || strings.Contains(low, "what year") ||
		strings.Contains(low, "which month") ||
		strings.Contains(low, "how long ago")
	q.count = strings.Contains(low, "how many") || strings.Contains(low, "how much") ||
		strings.Contains(low, "how old") || strings.Contains(low, "how often")
	q.who = strings.HasPrefix(low, " who") || strings.HasPrefix(low, " where") ||
		strings.HasPrefix(low, " which") || strings.Contains(low, " name")
	q.latest = strings.Contains(low, " now ") || strings.Contains(low, "current") ||
		strings.Contains(low, "latest") || strings.Contains(low, "still ")
	seen := map[string]bool{}
	var stems []string
	unknown := 0
	words := text.Words(query)
	for _, w := range words {
		if text.Stop(w.Lower) || inMoment(moments, w.Start) {
			continue
		}
		stem := text.Stem(w.Lower)
		if seen[stem] {
			continue
		}
		seen[stem] = true
		if id, ok := x.speaker(w.Lower); ok {
			q.speakers = append(q.speakers, id)
			continue
		}
		w := term{stem: stem, weight: 1 - t.Plain*(1-text.Rarity(stem)), asks: asking[stem]}
		if w.asks {
			w.weight = t.Asking
		}
		if x.terms[stem] == nil {
			unknown++
		}
		if unknown <= maxCorrected {
			if right := x.spelled(stem); right != "" && !seen[right] {
				stem, seen[right] = right, true
				w.stem, w.weight = right, corrected*(1-t.Plain*(1-text.Rarity(right)))
			}
		}
		q.terms = append(q.terms, w)
		stems = append(stems, stem)
	}
	for _, stem := range x.joined(words) {
		if !seen[stem] {
			seen[stem] = true
			q.terms, stems = append(q.terms, term{stem: stem, weight: 1}), append(stems, stem)
		}
	}
	q.names = x.named(query, q.speakers)
	q.mean = text.Mean(stems, text.Rarity)
	x.similar(q.terms, seen, t)
	q.means = map[string]bool{}
	for _, w := range q.terms {
		q.means[w.stem] = true
		for _, k := range w.kin {
			q.means[x.stems[k.post.num]] = true
		}
	}
	return q
}

func inMoment(ms []text.Moment, at int) bool {
	for _, m := range ms {
		if at >= m.Start && at < m.End {
			return true
		}
	}
	return false
}

// speaker is the speaker whose name a folded word is, also with the s of a possessive that lacks its apostrophe.
func (x *Index) speaker(word string) (int32, bool) {
	id, ok := x.names.find(word)
	if name, cut := strings.CutSuffix(word, "s"); cut && (!ok || !x.isSpeaker(id)) {
		id, ok = x.names.find(name)
	}
	return id, ok && x.isSpeaker(id)
}

// isSpeaker reports whether somebody of that name speaks in the index.
func (x *Index) isSpeaker(name int32) bool { return x.speakers[name] > 0 }

// named are the names of the query that texts hold and that are no speakers.
func (x *Index) named(query string, speakers []int32) []int32 {
	var out []int32
	for _, n := range text.Names(query) {
		id, ok := x.names.find(text.Fold(n))
		if ok && !has(speakers, id) && !x.isSpeaker(id) {
			out = append(out, id)
		}
	}
	return out
}

func has(list []int32, v int32) bool {
	for _, e := range list {
		if e == v {
			return true
		}
	}
	return false
}

// similar finds words of similar meaning that the index holds for each term of the query that says something: by the
// company that words keep, by what they mean, and by topics of talk.
func (x *Index) similar(terms []term, own map[string]bool, t *Tuning) {
	for i := range terms {
		q := &terms[i]
		if q.asks {
			continue
		}
		near := map[*post]float32{}
		add := func(p *post, v float32) {
			if p != nil && !own[x.stems[p.num]] && v > near[p] {
				near[p] = v
			}
		}
		for k, n := range text.Neighbours(q.stem, 24, t.NearLeast) {
			if k == t.NearMost {
				break
			}
			add(x.terms[n.Stem], n.Sim*n.Sim)
		}
		if x.terms[q.stem] == nil {
			a, b := x.halves(q.stem)
			add(a, partOf)
			add(b, partOf)
		}
		if t.Meaning > 0 {
			text.Related(q.stem, func(stem []byte, v float32) { add(x.terms[string(stem)], t.Meaning*v) })
		}
		if t.Topic > 0 {
			text.Topical(q.stem, func(stem string, v float32) { add(x.terms[stem], t.Topic*v) })
		}
		q.kin = make([]kin, 0, len(near))
		for p, v := range near {
			q.kin = append(q.kin, kin{p, v})
		}
		slices.SortFunc(q.kin, func(a, b kin) int {
			return cmp.Or(cmp.Compare(b.near, a.near), cmp.Compare(a.post.num, b.post.num))
		})
		q.kin = q.kin[:min(len(q.kin), t.KinMost)]
	}
}

// seeds are the entities that a question names and that one of the candidates is a fact of.
func (x *Index) seeds(q Query, candidates []Candidate) []string {
	named := map[string]bool{}
	for _, w := range text.Words(q.Text) {
		named[w.Lower] = true
	}
	seen, out := map[string]bool{}, []string{}
	for _, c := range candidates {
		group := x.groups.text[x.units[c.doc].group]
		entity, ok := strings.CutPrefix(group, "entity/")
		if !ok || seen[entity] {
			continue
		}
		seen[entity] = true
		_, name, _ := strings.Cut(entity, "/")
		for _, part := range strings.Split(name, "_") {
			if named[part] {
				out = append(out, "entity:"+entity)
				break
			}
		}
	}
	slices.Sort(out)
	return out[:min(len(out), maxSeeds)]
}

// maxSeeds is how many entities of a question are told.
const maxSeeds = 16
