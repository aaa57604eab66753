package retrieve

import (
	"math"
)

// groups adds the score of the session or document that a unit is in, without its own part.
func (se *search) groups() {
	if se.t.Group == 0 {
		return
	}
	type sum struct{ best, second, third float32 }
	all := map[int32]*sum{}
	last, a := int32(-1), (*sum)(nil) // units of a group stand together
	for _, d := range se.s.touched {
		if g := se.x.units[d].group; g != last {
			if last, a = g, all[g]; a == nil {
				a = &sum{}
				all[g] = a
			}
		}
		switch v := se.s.score[d]; {
		case v > a.best:
			a.best, a.second, a.third = v, a.best, a.second
		case v > a.second:
			a.second, a.third = v, a.second
		case v > a.third:
			a.third = v
		}
	}
	for _, d := range se.s.touched {
		a := all[se.x.units[d].group]
		se.s.score[d] += se.t.Group * (a.best + a.second + a.third) / 3
	}
}

// briefWords is how many words that say something a turn has that is not brief.
const briefWords = 5

// factors raises or lowers units by what the question asks for.
func (se *search) factors() {
	t, q := se.t, &se.asked
	newest, oldest := se.ages()
	now := se.q.Now.Unix()
	for _, d := range se.s.touched {
		u, f := &se.x.units[d], float32(1)
		if len(q.moments) > 0 && (touches(q.moments, u.at) || meets(q.moments, u.moments)) {
			f += t.Time
		}
		if q.when && u.dated {
			f += t.Dated
		}
		if q.count && u.numbered {
			f += t.Numbered
		}
		if q.who && len(u.names) > 0 {
			f += t.Named
		}
		if u.kind == kindTurn {
			f *= t.manner(u)
		}
		if u.role == roleAssistant && u.kind == kindTurn && u.speaker < 0 {
			f *= t.Assistant
		}
		if q.latest && newest > u.at && u.at != 0 {
			f -= t.Latest * float32(math.Log1p(float64(newest-u.at)/86400))
		}
		if newest > oldest && u.at != 0 {
			f += t.Recent * float32(u.at-oldest) / float32(newest-oldest)
		}
		if u.at > now {
			f *= t.Later
		}
		if u.stale != 0 && u.stale <= now {
			f *= t.Stale
		}
		if u.kind == kindAttribute && has(q.speakers, u.speaker) {
			f *= t.Fact
			if q.asksFor(u.key) {
				f *= t.Direct
				se.legs[TierDirect]++
			}
		}
		se.s.score[d] *= f
	}
}

// manner is the factor for how a turn speaks: one that tells nothing of who says it seldom answers.
func (t *Tuning) manner(u *unit) float32 {
	f := float32(1)
	switch {
	case u.asks && u.tells:
		f *= t.AsksBack
	case u.asks:
		f *= t.Question
	}
	switch {
	case u.tells:
	case u.replies:
		f *= t.Reply
	default:
		f *= t.Impersonal
	}
	if u.words < briefWords {
		f *= 1 - (1-t.Brief)*(1-u.words/briefWords)
	}
	return f
}

// asksFor reports whether a question names every word of a key, or one of similar meaning.
func (q *question) asksFor(key []string) bool {
	for _, stem := range key {
		if !q.means[stem] {
			return false
		}
	}
	return len(key) > 0
}

// ages are the times of the newest and the oldest unit that were found and that were said by the time of the query.
func (se *search) ages() (newest, oldest int64) {
	now := se.q.Now.Unix()
	for _, d := range se.s.touched {
		at := se.x.units[d].at
		if at == 0 || at > now {
			continue
		}
		newest = max(newest, at)
		if oldest == 0 || at < oldest {
			oldest = at
		}
	}
	return newest, oldest
}

func touches(ms []interval, at int64) bool {
	for _, m := range ms {
		if at >= m.from && at < m.to {
			return true
		}
	}
	return false
}

func meets(a, b []interval) bool {
	for _, m := range a {
		for _, n := range b {
			if m.from < n.to && n.from < m.to {
				return true
			}
		}
	}
	return false
}
