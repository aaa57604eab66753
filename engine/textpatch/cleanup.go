package textpatch

import (
	"slices"
	"unicode"
)

// merge brings a script to normal form: runs of one kind joined, a removal before its insertion, what
// both start or end with moved into the neighbours, no empty edits.
func (j *job) merge(script []edit) []edit {
	for {
		script = j.joinRuns(script)
		var moved bool
		if script, moved = j.slideEdits(script); !moved {
			return script
		}
	}
}

func (j *job) joinRuns(script []edit) []edit {
	var out []edit
	var gone, come []rune
	flush := func(next []rune) []rune {
		if len(gone) > 0 && len(come) > 0 {
			if n := j.commonPrefix(come, gone); n > 0 {
				if len(out) > 0 && out[len(out)-1].op == keep {
					last := &out[len(out)-1]
					last.text = j.join(last.text, come[:n])
				} else {
					out = append(out, edit{keep, come[:n]})
				}
				come, gone = come[n:], gone[n:]
			}
			if n := j.commonSuffix(come, gone); n > 0 {
				next = j.join(come[len(come)-n:], next)
				come, gone = come[:len(come)-n], gone[:len(gone)-n]
			}
		}
		out = appendRun(appendRun(out, remove, gone), insert, come)
		gone, come = nil, nil
		return next
	}
	for _, e := range script {
		switch e.op {
		case remove:
			gone = j.join(gone, e.text)
		case insert:
			come = j.join(come, e.text)
		default:
			if len(e.text) == 0 {
				continue // its neighbours are one run
			}
			text := flush(e.text)
			if len(out) > 0 && out[len(out)-1].op == keep {
				last := &out[len(out)-1]
				last.text = j.join(last.text, text)
			} else {
				out = append(out, edit{keep, text})
			}
		}
	}
	if rest := flush(nil); len(rest) > 0 {
		out = appendRun(out, keep, rest)
	}
	return out
}

// slideEdits removes a kept run between two when the edit between them can be slid over it:
// A<ins>BA</ins>C becomes <ins>AB</ins>AC.
func (j *job) slideEdits(script []edit) ([]edit, bool) {
	moved := false
	for i := 1; i < len(script)-1; i++ {
		j.did(1)
		prev, cur, next := script[i-1], script[i], script[i+1]
		if prev.op != keep || next.op != keep {
			continue
		}
		switch {
		case hasSuffix(cur.text, prev.text):
			if len(prev.text) > 0 {
				script[i].text = j.join(prev.text, cur.text[:len(cur.text)-len(prev.text)])
				script[i+1].text = j.join(prev.text, next.text)
			}
			j.did(len(script))
			script = slices.Delete(script, i-1, i)
			moved = true
		case hasPrefix(cur.text, next.text):
			script[i-1].text = j.join(prev.text, next.text)
			script[i].text = j.join(cur.text[len(next.text):], next.text)
			j.did(len(script))
			script = slices.Delete(script, i+1, i+2)
			moved = true
		}
	}
	return script, moved
}

func hasSuffix(s, suffix []rune) bool {
	return len(s) >= len(suffix) && slices.Equal(s[len(s)-len(suffix):], suffix)
}

func hasPrefix(s, prefix []rune) bool {
	return len(s) >= len(prefix) && slices.Equal(s[:len(prefix)], prefix)
}

// cleanupSemantic drops kept runs that are smaller than the changes on both sides, lines edits up with
// words, and takes overlaps out of neighbouring removals and insertions.
func (j *job) cleanupSemantic(script []edit) []edit {
	changed := false
	var kept []int // indexes of kept runs still in question
	var last []rune
	var ins1, del1, ins2, del2 int // characters changed before and after last
	for i := 0; i < len(script); i++ {
		j.did(1)
		e := script[i]
		if e.op == keep {
			kept = append(kept, i)
			ins1, del1, ins2, del2 = ins2, del2, 0, 0
			last = e.text
			continue
		}
		if e.op == insert {
			ins2 += len(e.text)
		} else {
			del2 += len(e.text)
		}
		if last == nil || len(last) > max(ins1, del1) || len(last) > max(ins2, del2) {
			continue
		}
		at := kept[len(kept)-1]
		j.did(len(script))
		script = slices.Insert(script, at, edit{remove, last})
		script[at+1].op = insert
		kept = kept[:len(kept)-1]
		i = -1
		if len(kept) > 0 {
			kept = kept[:len(kept)-1]
			if len(kept) > 0 {
				i = kept[len(kept)-1]
			}
		}
		ins1, del1, ins2, del2 = 0, 0, 0, 0
		last, changed = nil, true
	}
	if changed {
		script = j.merge(script)
	}
	return j.splitOverlaps(j.alignEdits(script))
}

// splitOverlaps: <del>abcxxx</del><ins>xxxdef</ins> becomes <del>abc</del>xxx<ins>def</ins>, where the
// overlap is at least half of one of the two.
func (j *job) splitOverlaps(script []edit) []edit {
	for i := 1; i < len(script); i++ {
		if script[i-1].op != remove || script[i].op != insert {
			continue
		}
		gone, come := script[i-1].text, script[i].text
		n1, n2 := j.commonOverlap(gone, come), j.commonOverlap(come, gone)
		switch {
		case n1 >= n2 && (2*n1 >= len(gone) || 2*n1 >= len(come)):
			if n1 == 0 {
				break
			}
			j.did(len(script))
			script = slices.Insert(script, i, edit{keep, come[:n1]})
			script[i-1].text = gone[:len(gone)-n1]
			script[i+1].text = come[n1:]
			i++
		case n1 < n2 && (2*n2 >= len(gone) || 2*n2 >= len(come)):
			j.did(len(script))
			script = slices.Insert(script, i, edit{keep, gone[:n2]})
			script[i-1] = edit{insert, come[:len(come)-n2]}
			script[i+1] = edit{remove, gone[n2:]}
			i++
		}
		i++
	}
	return script
}

// alignEdits slides edits between two kept runs to the boundary of a word or line.
func (j *job) alignEdits(script []edit) []edit {
	for i := 1; i < len(script)-1; i++ {
		if script[i-1].op != keep || script[i+1].op != keep {
			continue
		}
		head, mid, tail := j.join(script[i-1].text), j.join(script[i].text), j.join(script[i+1].text)
		if n := j.commonSuffix(head, mid); n > 0 {
			shared := j.join(mid[len(mid)-n:])
			head = head[:len(head)-n]
			mid = j.join(shared, mid[:len(mid)-n])
			tail = j.join(shared, tail)
		}
		bestHead, bestMid, bestTail := head, mid, tail
		best := boundaryScore(head, mid) + boundaryScore(mid, tail)
		for len(mid) > 0 && len(tail) > 0 && mid[0] == tail[0] {
			head = j.join(head, mid[:1])
			mid = j.join(mid[1:], tail[:1])
			tail = tail[1:]
			if score := boundaryScore(head, mid) + boundaryScore(mid, tail); score >= best {
				best, bestHead, bestMid, bestTail = score, head, mid, tail
			}
		}
		if slices.Equal(script[i-1].text, bestHead) {
			continue
		}
		script[i].text = bestMid
		if len(bestHead) > 0 {
			script[i-1].text = bestHead
		} else {
			j.did(len(script))
			script = slices.Delete(script, i-1, i)
			i--
		}
		if len(bestTail) > 0 {
			script[i+1].text = bestTail
		} else {
			j.did(len(script))
			script = slices.Delete(script, i+1, i+2)
			i--
		}
	}
	return script
}

// boundaryScore rates the seam between a and b: 6 at an end of the text, 5 at a blank line, down to 0
// within a word.
func boundaryScore(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return 6
	}
	x, y := a[len(a)-1], b[0]
	nonWord1, nonWord2 := !isWord(x), !isWord(y)
	space1, space2 := nonWord1 && unicode.IsSpace(x), nonWord2 && unicode.IsSpace(y)
	line1, line2 := space1 && (x == '\n' || x == '\r'), space2 && (y == '\n' || y == '\r')
	switch {
	case line1 && endsBlankLine(a), line2 && startsBlankLine(b):
		return 5
	case line1, line2:
		return 4
	case nonWord1 && !space1 && space2:
		return 3
	case space1, space2:
		return 2
	case nonWord1, nonWord2:
		return 1
	}
	return 0
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func endsBlankLine(s []rune) bool {
	return hasSuffix(s, []rune("\n\n")) || hasSuffix(s, []rune("\n\r\n"))
}

func startsBlankLine(s []rune) bool {
	for _, p := range []string{"\n\n", "\r\n\n", "\n\r\n", "\r\n\r\n"} {
		if hasPrefix(s, []rune(p)) {
			return true
		}
	}
	return false
}

// editCost is how many kept characters one more edit is worth.
const editCost = 4

// cleanupEfficiency drops short kept runs between edits where one larger edit is cheaper.
func (j *job) cleanupEfficiency(script []edit) []edit {
	changed := false
	var kept []int
	var last []rune
	var preIns, preDel, postIns, postDel bool
	for i := 0; i < len(script); i++ {
		j.did(1)
		e := script[i]
		if e.op == keep {
			if len(e.text) < editCost && (postIns || postDel) {
				kept = append(kept, i)
				preIns, preDel = postIns, postDel
				last = e.text
			} else {
				kept, last = nil, nil
			}
			postIns, postDel = false, false
			continue
		}
		if e.op == remove {
			postDel = true
		} else {
			postIns = true
		}
		sides := 0
		for _, b := range [4]bool{preIns, preDel, postIns, postDel} {
			if b {
				sides++
			}
		}
		if last == nil || sides < 4 && (len(last) >= editCost/2 || sides < 3) {
			continue
		}
		at := kept[len(kept)-1]
		j.did(len(script))
		script = slices.Insert(script, at, edit{remove, last})
		script[at+1].op = insert
		kept = kept[:len(kept)-1]
		last, changed = nil, true
		if preIns && preDel {
			postIns, postDel = true, true
			kept = nil
			i++ // the inserted edit shifted the rest by one
			continue
		}
		i = -1
		if len(kept) > 0 {
			kept = kept[:len(kept)-1]
			if len(kept) > 0 {
				i = kept[len(kept)-1]
			}
		}
		postIns, postDel = false, false
	}
	if changed {
		return j.merge(script)
	}
	return script
}
