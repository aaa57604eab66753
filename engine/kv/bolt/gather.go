package bolt

import (
	"runtime"
	"time"
)

// How gathering goes about it.
const (
	probe  = 16               // groups of one after which it looks whether there are others
	usual  = time.Millisecond // patience of a store
	rarely = 100
)

// gathering is how the caller that leads a group lets those go first that are about to commit, for they join the group:
// a sync costs as much as some commits. It does so where the last group was of several. Where each was of one it tries
// now and then: on a single processor none can join while a group is synced, so that others do not show by
// themselves. A caller that is alone does not pay for it each time, as it wakes a processor that has nothing to do.
// Only the caller that leads uses it.
type gathering struct {
	patience time.Duration // a wait that takes longer is not repeated for rarely times as long
	several  bool          // the last group was of several
	ones     int           // groups of one since others went first
	after    time.Time     // others do not go first before that
}

// wait lets others go first, where that may be of use. Where the processors are taken by those who compute for long, it
// is not done again for a while.
func (g *gathering) wait() {
	if !g.several && g.ones < probe {
		return
	}
	g.ones = 0
	began := time.Now()
	if began.Before(g.after) {
		return
	}
	runtime.Gosched()
	if took := time.Since(began); took > g.patience {
		g.after = began.Add(took * rarely)
	}
}

// led notes how many were in the group.
func (g *gathering) led(n int) {
	if g.several = n > 1; !g.several {
		g.ones++
	}
}
