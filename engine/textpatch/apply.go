package textpatch

import (
	"math"
	"slices"
)

const (
	matchThreshold  = 0.5 // worst score of a match: errors per pattern length, plus distance
	matchDistance   = 1000
	deleteThreshold = 0.5 // how much of a long removal may differ
)

// Apply applies a patch to text. A hunk that finds no place is skipped. The error is ErrInput, for
// what is no patch, or that of poll, which is asked from time to time; nil is never asked.
func Apply(text, patch string, poll func() error) (out string, err error) {
	j := &job{poll: poll}
	defer j.ended(&err)
	return j.patch(text, patch)
}

func (j *job) patch(text, patch string) (string, error) {
	hunks, err := parse(patch)
	hunks = slices.DeleteFunc(hunks, func(h hunk) bool { return len(h.script) == 0 })
	if err != nil || len(hunks) == 0 {
		return text, err
	}
	padding := make([]rune, margin)
	for i := range padding {
		padding[i] = rune(i + 1)
	}
	hunks = j.splitLong(j.padHunks(hunks, padding))
	t := j.join(padding, []rune(text), padding)
	delta := 0 // how far hunks stand from where they expect to
	for _, h := range hunks {
		expected := h.fromB + delta
		pattern := j.before(h.script)
		start, end := -1, -1
		if len(pattern) > maxBits {
			start = j.find(t, pattern[:maxBits], expected)
			if start >= 0 {
				end = j.find(t, pattern[len(pattern)-maxBits:], expected+len(pattern)-maxBits)
				if end < 0 || start >= end {
					start = -1
				}
			}
		} else {
			start = j.find(t, pattern, expected)
		}
		if start < 0 {
			delta -= h.lenB - h.lenA
			continue
		}
		delta = start - expected
		stop := start + len(pattern)
		if end >= 0 {
			stop = end + maxBits
		}
		t = j.applyAt(h, t, start, min(stop, len(t)), pattern)
	}
	return string(t[margin : len(t)-margin]), nil
}

// applyAt applies h to t, whose stretch start–stop is (about) its pattern.
func (j *job) applyAt(h hunk, t []rune, start, stop int, pattern []rune) []rune {
	found := t[start:stop]
	if slices.Equal(found, pattern) {
		return j.join(t[:start], j.after(h.script), t[start+len(pattern):])
	}
	j.steps = 0
	script := j.diff(pattern, found, false)
	if len(pattern) > maxBits && float64(distance(script))/float64(len(pattern)) > deleteThreshold {
		return t
	}
	script = j.alignEdits(script)
	at := 0
	t = j.join(t)
	for _, e := range h.script {
		if e.op != keep {
			to := start + j.translate(script, at)
			if e.op == insert {
				t = j.join(t[:to], e.text, t[to:])
			} else {
				end := start + j.translate(script, at+len(e.text))
				t = j.join(t[:to], t[end:])
			}
		}
		if e.op != remove {
			at += len(e.text)
		}
	}
	return t
}

// distance is how many characters a script changes.
func distance(script []edit) int {
	total, ins, del := 0, 0, 0
	for _, e := range script {
		switch e.op {
		case insert:
			ins += len(e.text)
		case remove:
			del += len(e.text)
		default:
			total += max(ins, del)
			ins, del = 0, 0
		}
	}
	return total + max(ins, del)
}

// translate says where the offset at of a script's first text is in its second.
func (j *job) translate(script []edit, at int) int {
	a, b, lastA, lastB := 0, 0, 0, 0
	for i, e := range script {
		if e.op != insert {
			a += len(e.text)
		}
		if e.op != remove {
			b += len(e.text)
		}
		if a > at {
			if script[i].op == remove {
				return lastB
			}
			break
		}
		lastA, lastB = a, b
	}
	return lastB + at - lastA
}

// padHunks makes room for the padding around the text, and gives the first and last hunk a full margin
// of it as context.
func (j *job) padHunks(hunks []hunk, padding []rune) []hunk {
	n := len(padding)
	for i := range hunks {
		hunks[i].fromA += n
		hunks[i].fromB += n
	}
	first := &hunks[0]
	if len(first.script) == 0 || first.script[0].op != keep {
		first.script = append([]edit{{keep, padding}}, first.script...)
		first.grow(-n, n)
	} else if have := len(first.script[0].text); have < n {
		first.script[0].text = j.join(padding[have:], first.script[0].text)
		first.grow(have-n, n-have)
	}
	last := &hunks[len(hunks)-1]
	end := len(last.script) - 1
	if last.script[end].op != keep {
		last.script = append(last.script, edit{keep, padding})
		last.grow(0, n)
	} else if have := len(last.script[end].text); have < n {
		last.script[end].text = j.join(last.script[end].text, padding[:n-have])
		last.grow(0, n-have)
	}
	return hunks
}

// grow moves the start and lengthens both sides.
func (h *hunk) grow(shift, by int) {
	h.fromA += shift
	h.fromB += shift
	h.lenA += by
	h.lenB += by
}

// splitLong breaks hunks whose pattern is longer than the search can take.
func (j *job) splitLong(hunks []hunk) []hunk {
	var out []hunk
	for _, big := range hunks {
		if big.lenA <= maxBits {
			out = append(out, big)
			continue
		}
		out = append(out, j.split(big)...)
	}
	return out
}

func (j *job) split(h hunk) []hunk {
	var out []hunk
	fromA, fromB := h.fromA, h.fromB
	var context []rune
	rest := append([]edit(nil), h.script...)
	for len(rest) > 0 {
		var p hunk
		empty := true
		p.fromA, p.fromB = fromA-len(context), fromB-len(context)
		if len(context) > 0 {
			p.lenA, p.lenB = len(context), len(context)
			p.script = append(p.script, edit{keep, context})
		}
		for len(rest) > 0 && p.lenA < maxBits-margin {
			e := rest[0]
			switch {
			case e.op == insert:
				p.lenB += len(e.text)
				fromB += len(e.text)
				p.script = append(p.script, e)
				rest = rest[1:]
				empty = false
			case e.op == remove && len(p.script) == 1 && p.script[0].op == keep && len(e.text) > 2*maxBits:
				p.lenA += len(e.text)
				fromA += len(e.text)
				empty = false
				p.script = append(p.script, e)
				rest = rest[1:]
			default:
				text := e.text[:min(len(e.text), maxBits-p.lenA-margin)]
				p.lenA += len(text)
				fromA += len(text)
				if e.op == keep {
					p.lenB += len(text)
					fromB += len(text)
				} else {
					empty = false
				}
				p.script = append(p.script, edit{e.op, text})
				if len(text) == len(e.text) {
					rest = rest[1:]
				} else {
					rest[0].text = e.text[len(text):]
				}
			}
		}
		context = j.after(p.script)
		context = context[max(0, len(context)-margin):]
		if tail := head(rest); len(tail) > 0 {
			p.lenA += len(tail)
			p.lenB += len(tail)
			if end := len(p.script) - 1; end >= 0 && p.script[end].op == keep {
				p.script[end].text = j.join(p.script[end].text, tail)
			} else {
				p.script = append(p.script, edit{keep, tail})
			}
		}
		if !empty {
			out = append(out, p)
		}
	}
	return out
}

// head is the first characters of what rest stands for before its edits, a margin of them.
func head(rest []edit) []rune {
	var out []rune
	for _, e := range rest {
		if e.op == insert {
			continue
		}
		if out = append(out, e.text[:min(len(e.text), margin-len(out))]...); len(out) == margin {
			break
		}
	}
	return out
}

// find is where pattern stands in text, at best near the place expected; -1 if nowhere near enough.
func (j *job) find(text, pattern []rune, expected int) int {
	at := max(0, min(expected, len(text)))
	switch {
	case slices.Equal(text, pattern):
		return 0
	case len(text) == 0:
		return -1
	case at+len(pattern) <= len(text) && slices.Equal(text[at:at+len(pattern)], pattern):
		return at
	}
	return j.bitap(text, pattern, at)
}

// bitap is the fuzzy search of Wu and Manber: one machine word of states per number of errors.
func (j *job) bitap(text, pattern []rune, at int) int {
	if len(pattern) == 0 || len(pattern) > maxBits {
		return -1
	}
	alphabet := map[rune]uint64{}
	for i, r := range pattern {
		alphabet[r] |= 1 << (len(pattern) - i - 1)
	}
	score := func(errors, x int) float64 {
		return float64(errors)/float64(len(pattern)) + math.Abs(float64(at-x))/matchDistance
	}
	threshold := matchThreshold
	if best := j.index(text, pattern, at); best >= 0 {
		threshold = min(score(0, best), threshold)
		if best = j.lastIndex(text, pattern, at+len(pattern)); best >= 0 {
			threshold = min(score(0, best), threshold)
		}
	}
	match := uint64(1) << (len(pattern) - 1)
	best := -1
	reach := len(pattern) + len(text)
	var last states
	for d := range pattern {
		lo, mid := 0, reach // how far from at this many errors may stand
		for lo < mid {
			if score(d, at+mid) <= threshold {
				lo = mid
			} else {
				reach = mid
			}
			mid = (reach-lo)/2 + lo
		}
		reach = mid
		start := max(1, at-mid+1)
		finish := min(at+mid, len(text)) + len(pattern)
		j.did(finish - start + 2)
		now := makeStates(start-1, finish+2)
		now.at[finish+1-now.from] = 1<<d - 1
		for i := finish; i >= start; i-- {
			var char uint64
			if i-1 < len(text) {
				char = alphabet[text[i-1]]
			}
			state := (now.get(i+1)<<1 | 1) & char
			if d > 0 {
				state |= (last.get(i+1)|last.get(i))<<1 | 1 | last.get(i+1)
			}
			now.at[i-now.from] = state
			if state&match == 0 {
				continue
			}
			if s := score(d, i-1); s <= threshold {
				threshold, best = s, i-1
				if best <= at {
					break
				}
				start = max(1, 2*at-best)
			}
		}
		if score(d+1, at) > threshold {
			break
		}
		last = now
	}
	return best
}

// states are the words of one number of errors, for the offsets from on; all others are 0.
type states struct {
	from int
	at   []uint64
}

// makeStates has room for one offset below from: the search may go down that far.
func makeStates(from, to int) states {
	from = max(0, from-1)
	return states{from, make([]uint64, to-from)}
}

func (s states) get(i int) uint64 {
	if i -= s.from; i >= 0 && i < len(s.at) {
		return s.at[i]
	}
	return 0
}
