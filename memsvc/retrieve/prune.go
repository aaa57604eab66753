package retrieve

import (
	"slices"
)

// Where words pick more than pruneAbove units, about the pruneTo best of them that the query may see go on.
const (
	pruneAbove = 20_000
	pruneTo    = 4_096
)

// prune leaves the best units of very many. It finds the score that about pruneTo of them reach by counting scores in
// steps.
func (se *search) prune() {
	s := se.s
	if len(s.touched) <= pruneAbove {
		return
	}
	most := float32(0)
	for _, d := range s.touched {
		most = max(most, s.score[d])
	}
	if most <= 0 {
		return
	}
	var steps [2048]int
	step := func(d int32) int { return int(max(0, s.score[d]) / most * float32(len(steps)-1)) }
	for _, d := range s.touched {
		steps[step(d)]++
	}
	// The steps from the highest one down until enough are allowed. Whether a unit is costs more than its step.
	kept, least := 0, len(steps)
	for kept < pruneTo && least > 0 {
		from := least
		for n := 0; least > 0 && n < pruneTo-kept; n += steps[least] {
			least--
		}
		for _, d := range s.touched {
			if at := step(d); at >= least && at < from && se.allowed(d) {
				s.list = append(s.list, d)
				kept++
			}
		}
	}
	for _, d := range s.list {
		s.mark[d] = false
	}
	for _, d := range s.touched {
		if s.mark[d] {
			s.score[d], s.mark[d], s.holds[d] = 0, false, 0
		}
	}
	for _, d := range s.list {
		s.mark[d] = true
	}
	s.touched = append(s.touched[:0], s.list...)
	slices.Sort(s.touched)
	s.list = s.list[:0]
}
