package bolt

import (
	"math/rand/v2"
	"testing"
	"time"
)

// pace is a number of clients whose groups come at one of two rates: when groups wait, and when they do not.
type pace struct {
	c     choice
	now   time.Time
	rnd   *rand.Rand
	waits int // groups that waited
}

const groupOf = 8 // commits in each group of a pace

// run brings groups, at so many commits per second, more or less.
func (l *pace) run(groups int, eager, waiting float64) {
	for range groups {
		rate := eager
		if l.c.waits {
			rate = waiting
			l.waits++
		}
		rate *= 1 + (l.rnd.Float64()-0.5)/2
		l.now = l.now.Add(time.Duration(groupOf / rate * float64(time.Second)))
		l.c.synced(groupOf, l.now, time.Millisecond)
	}
}

func newPace(seed uint64) *pace {
	return &pace{rnd: rand.New(rand.NewPCG(seed, 3)), now: time.Unix(1e9, 0)}
}

// TestChoice: groups wait where that pays, hardly ever where it does not, and the choice follows a change.
func TestChoice(t *testing.T) {
	const groups = 50_000
	for seed := range uint64(20) {
		l := newPace(seed)
		for i, phase := range []struct {
			eager, waiting float64
			usual          bool
		}{
			{20_000, 23_000, true}, {20_000, 15_000, false}, {10_000, 20_000, true},
			{5000, 4600, false}, {5000, 6000, true},
		} {
			l.waits = 0
			l.run(groups, phase.eager, phase.waiting)
			if l.c.usual != phase.usual {
				t.Errorf("seed %d, phase %d: groups wait: %v", seed, i, l.c.usual)
			}
			most := groups / 6 // the choice of the phase before lasts for a while
			if l.waits < groups-2*most && phase.usual || l.waits > most && !phase.usual {
				t.Errorf("seed %d, phase %d: %d of %d groups waited", seed, i, l.waits, groups)
			}
		}
	}
}

// TestChoiceOfTheLone: groups do not wait where callers are often alone, and nothing is tried.
func TestChoiceOfTheLone(t *testing.T) {
	l := newPace(1)
	l.run(5000, 20_000, 30_000)
	if l.c.alone(); !l.c.usual {
		t.Error("one group of one is enough to end it")
	}
	for range mostLone {
		l.c.alone()
		l.run(1, 20_000, 30_000)
	}
	if l.waits = 0; l.c.usual || l.c.waits {
		t.Error("groups still wait")
	}
	for range 1000 {
		l.run(lonePrice-1, 20_000, 30_000)
		l.c.alone()
	}
	if l.waits > 0 {
		t.Errorf("%d groups waited", l.waits)
	}
	if l.run(5000, 20_000, 30_000); !l.c.usual {
		t.Error("groups do not wait for those that are back")
	}
}

// TestChoiceLeavesOutPauses: an epoch is not that slow in which there was nothing to do.
func TestChoiceLeavesOutPauses(t *testing.T) {
	l := newPace(1)
	for range 2000 {
		l.run(measured/2, 20_000, 10_000)
		l.now = l.now.Add(time.Second)
	}
	if l.waits > 0 || l.c.usual {
		t.Errorf("%d groups waited", l.waits)
	}
}
