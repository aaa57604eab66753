// Package textpatch makes and applies textual patches: the "change" operation of the language's
// JSON patches. A patch is a list of hunks in the well-known unified form over characters
// ("@@ -1,5 +1,6 @@\n tobi\n-e\n+as\n", percent-encoded), made from a minimal edit script that is
// cleaned up for readers, and applied fuzzily: a hunk whose place has moved or changed a little
// still finds it.
//
// Work is bounded: two long texts without much in common give one deletion and one insertion.
package textpatch

import (
	"slices"
	"strings"
)

// op is the operation of an edit.
type op int8

const (
	remove op = iota - 1
	keep
	insert
)

// edit is a run of characters kept, removed or inserted.
type edit struct {
	op   op
	text []rune
}

// workLimit bounds the steps of one search for a middle: beyond it the rest counts as replaced.
const workLimit = 4_000_000

// diff is the script that turns a into b. With byLine, long texts are compared line by line first.
func (j *job) diff(a, b []rune, byLine bool) []edit {
	if slices.Equal(a, b) {
		if len(a) == 0 {
			return nil
		}
		return []edit{{keep, a}}
	}
	n := j.commonPrefix(a, b)
	prefix := a[:n]
	a, b = a[n:], b[n:]
	n = j.commonSuffix(a, b)
	suffix := a[len(a)-n:]
	a, b = a[:len(a)-n], b[:len(b)-n]

	var out []edit
	if len(prefix) > 0 {
		out = append(out, edit{keep, prefix})
	}
	out = append(out, j.middle(a, b, byLine)...)
	if len(suffix) > 0 {
		out = append(out, edit{keep, suffix})
	}
	return j.merge(out)
}

// middle is diff for texts that share neither start nor end.
func (j *job) middle(a, b []rune, byLine bool) []edit {
	switch {
	case len(a) == 0:
		return []edit{{insert, b}}
	case len(b) == 0:
		return []edit{{remove, a}}
	}
	long, short, o := a, b, remove
	if len(a) <= len(b) {
		long, short, o = b, a, insert
	}
	if i := j.index(long, short, 0); i >= 0 {
		return []edit{{o, long[:i]}, {keep, short}, {o, long[i+len(short):]}}
	}
	if len(short) == 1 {
		return []edit{{remove, a}, {insert, b}}
	}
	if h, ok := j.halfMatch(a, b); ok {
		out := j.diff(h.aHead, h.bHead, byLine)
		out = append(out, edit{keep, h.common})
		return append(out, j.diff(h.aTail, h.bTail, byLine)...)
	}
	if byLine && len(a) > 100 && len(b) > 100 {
		return j.lines(a, b)
	}
	return j.bisect(a, b)
}

// half is a split of two texts around a part that both have.
type half struct{ aHead, aTail, bHead, bTail, common []rune }

// halfMatch looks for a common part of at least half the longer text: a cheap split, if not always a
// minimal one.
func (j *job) halfMatch(a, b []rune) (half, bool) {
	long, short := a, b
	if len(a) <= len(b) {
		long, short = b, a
	}
	if len(long) < 4 || len(short)*2 < len(long) {
		return half{}, false
	}
	h1, ok1 := j.halfMatchAt(long, short, (len(long)+3)/4)
	h2, ok2 := j.halfMatchAt(long, short, (len(long)+1)/2)
	h := h1
	switch {
	case !ok1 && !ok2:
		return half{}, false
	case !ok1, ok2 && len(h1.common) <= len(h2.common):
		h = h2
	}
	if len(a) <= len(b) {
		h.aHead, h.aTail, h.bHead, h.bTail = h.bHead, h.bTail, h.aHead, h.aTail
	}
	return h, true
}

// halfMatchAt seeds the search with a quarter of long at i; its a is long, its b short.
func (j *job) halfMatchAt(long, short []rune, i int) (best half, ok bool) {
	seed := long[i : i+len(long)/4]
	for at := j.index(short, seed, 0); at >= 0; at = j.index(short, seed, at+1) {
		p := j.commonPrefix(long[i:], short[at:])
		s := j.commonSuffix(long[:i], short[:at])
		if len(best.common) < s+p {
			best = half{long[:i-s], long[i+p:], short[:at-s], short[at+p:], short[at-s : at+p]}
		}
	}
	return best, len(best.common)*2 >= len(long)
}

// lines compares by lines, then the replaced stretches by characters.
func (j *job) lines(a, b []rune) []edit {
	table := lineTable{ids: map[string]rune{}}
	script := j.diff(table.encode(a), table.encode(b), false)
	for i := range script {
		script[i].text = table.decode(script[i].text)
	}
	script = j.cleanupSemantic(script)

	var out []edit
	var gone, come []rune
	flush := func() {
		if len(gone) > 0 && len(come) > 0 {
			out = append(out, j.diff(gone, come, false)...)
		} else {
			out = appendRun(appendRun(out, remove, gone), insert, come)
		}
		gone, come = nil, nil
	}
	for _, e := range script {
		switch e.op {
		case remove:
			gone = append(gone, e.text...)
		case insert:
			come = append(come, e.text...)
		default:
			flush()
			out = append(out, e)
		}
	}
	flush()
	return out
}

// lineTable numbers distinct lines.
type lineTable struct {
	ids   map[string]rune
	lines [][]rune
}

func (t *lineTable) encode(text []rune) []rune {
	var out []rune
	for len(text) > 0 {
		end := slices.Index(text, '\n') + 1
		if end == 0 {
			end = len(text)
		}
		line := string(text[:end])
		id, ok := t.ids[line]
		if !ok {
			id = rune(len(t.lines))
			t.ids[line] = id
			t.lines = append(t.lines, text[:end])
		}
		out = append(out, id)
		text = text[end:]
	}
	return out
}

func (t *lineTable) decode(ids []rune) []rune {
	var out []rune
	for _, id := range ids {
		out = append(out, t.lines[id]...)
	}
	return out
}

// bisect finds the middle of a shortest script by walking from both ends (Myers 1986), and recurses.
func (j *job) bisect(a, b []rune) []edit {
	maxD := (len(a) + len(b) + 1) / 2
	size := 2*maxD + 2
	j.did(size)
	fwd, rev := make([]int, size), make([]int, size)
	for i := range fwd {
		fwd[i], rev[i] = -1, -1
	}
	fwd[maxD+1], rev[maxD+1] = 0, 0
	delta := len(a) - len(b)
	front := delta%2 != 0 // an odd path meets on the way forward
	var k1start, k1end, k2start, k2end int
	for n := range maxD {
		j.did(2 * (n + 1))
		if j.steps += n + 1; j.steps > workLimit {
			break
		}
		for k := -n + k1start; k <= n-k1end; k += 2 {
			at := maxD + k
			x := fwd[max(at-1, 0)] + 1
			if k == -n || k != n && fwd[at-1] < fwd[at+1] {
				x = fwd[at+1]
			}
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			fwd[at] = x
			switch {
			case x > len(a):
				k1end += 2
			case y > len(b):
				k1start += 2
			case front:
				if o := maxD + delta - k; o >= 0 && o < size && rev[o] != -1 && x >= len(a)-rev[o] {
					return j.divide(a, b, x, y)
				}
			}
		}
		for k := -n + k2start; k <= n-k2end; k += 2 {
			at := maxD + k
			x := rev[max(at-1, 0)] + 1
			if k == -n || k != n && rev[at-1] < rev[at+1] {
				x = rev[at+1]
			}
			y := x - k
			for x < len(a) && y < len(b) && a[len(a)-x-1] == b[len(b)-y-1] {
				x, y = x+1, y+1
			}
			rev[at] = x
			switch {
			case x > len(a):
				k2end += 2
			case y > len(b):
				k2start += 2
			case !front:
				if o := maxD + delta - k; o >= 0 && o < size && fwd[o] != -1 {
					if fx := fwd[o]; fx >= len(a)-x {
						return j.divide(a, b, fx, fx-(o-maxD))
					}
				}
			}
		}
	}
	return []edit{{remove, a}, {insert, b}}
}

func (j *job) divide(a, b []rune, x, y int) []edit {
	return append(j.diff(a[:x], b[:y], false), j.diff(a[x:], b[y:], false)...)
}

// before and after are the two sides of a script.
func (j *job) before(script []edit) []rune { return j.side(script, insert) }
func (j *job) after(script []edit) []rune  { return j.side(script, remove) }

func (j *job) side(script []edit, without op) []rune {
	var out []rune
	for _, e := range script {
		if e.op != without {
			out = append(out, e.text...)
		}
	}
	return out
}

func appendRun(script []edit, o op, text []rune) []edit {
	if len(text) == 0 {
		return script
	}
	return append(script, edit{o, text})
}

// Diff is the patch that turns a into b; empty if they are the same. The error is that of poll, which is asked from
// time to time; nil is never asked.
func Diff(a, b string, poll func() error) (patch string, err error) {
	j := &job{poll: poll}
	defer j.ended(&err)
	script := j.diff([]rune(a), []rune(b), true)
	if len(script) > 2 {
		script = j.cleanupEfficiency(j.cleanupSemantic(script))
	}
	var out strings.Builder
	for _, h := range j.hunksOf([]rune(a), script) {
		h.write(&out)
	}
	return out.String(), nil
}
