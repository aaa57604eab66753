package bolt

import "time"

// How choice goes about it. An epoch is the time of some groups.
const (
	settling    = 8    // groups of an epoch that is not measured, after a change
	measured    = 96   // of one that is
	firstRest   = 4    // epochs from a trial that changed something to the next one
	longestRest = 64   // twice as many after each that did not, up to these
	worth       = 1.05 // groups begin to wait where that gets so many times as many commits done
	stillWorth  = 1.02 // and go on with it, likewise

	lonePrice = 8  // groups of several that make up for one of a caller that is alone
	mostLone  = 64 // groups that are not made up for, from which on nothing is tried

	gap      = 20 * time.Millisecond // without a group: an epoch begins anew
	gapSyncs = 8                     // or so many syncs, if that is longer
)

// choice finds out whether more commits get done where groups wait for their cohort. What that costs and brings depends
// on the clients, their number, the processors and the disk; so now and then it is done the other way for a short time,
// between two times of this way, and the rates are compared. Groups do not wait unless that is clearly better, nor
// where callers are often alone.
type choice struct {
	waits bool // groups wait
	usual bool // they do so but for trials

	step  step
	rest  int // epochs to the next trial
	pause int // what rest began with
	lone  int // see lonePrice

	groups, commits int       // of the epoch so far
	since, last     time.Time // when the epoch began, and when its last group was synced; zero: with the next one
	before, other   float64   // rates of the trial, in commits per second
}

// step is where in a trial an epoch is.
type step uint8

const (
	asUsual   step = iota // before a trial
	leaving               // it begins to be done the other way
	trying                // it is done the other way
	returning             // it begins to be done as usual
	comparing             // after a trial
)

// alone notes a group of one, while which no other came.
func (c *choice) alone() {
	if c.lone = min(c.lone+lonePrice, 2*mostLone); c.lone >= mostLone {
		c.usual, c.rest, c.pause = false, 0, firstRest
		c.restart(time.Time{})
	}
}

// restart drops a trial, and begins an epoch.
func (c *choice) restart(now time.Time) {
	c.step, c.waits = asUsual, c.usual
	c.begin(now)
}

func (c *choice) begin(now time.Time) { c.groups, c.commits, c.since, c.last = 0, 0, now, now }

// synced notes a group of so many commits, or of one while others came. sync is how long syncs take.
func (c *choice) synced(commits int, now time.Time, sync time.Duration) {
	c.lone = max(c.lone-1, 0)
	if now.Sub(c.last) > max(gap, gapSyncs*sync) {
		c.restart(now)
		return
	}
	c.groups, c.commits, c.last = c.groups+1, c.commits+commits, now
	switch {
	case c.groups >= settling && (c.step == leaving || c.step == returning):
		c.step++
		c.begin(now)
	case c.groups >= measured:
		rate := float64(c.commits) / max(now.Sub(c.since).Seconds(), 1e-9)
		c.begin(now)
		c.ended(rate)
	}
}

// ended goes on after an epoch with that rate.
func (c *choice) ended(rate float64) {
	switch c.step {
	case asUsual:
		if c.rest--; c.rest < 0 {
			c.before, c.step, c.waits = rate, leaving, !c.usual
		}
	case trying:
		c.other, c.step, c.waits = rate, returning, c.usual
	case comparing:
		c.step = asUsual
		if c.pause = min(max(2*c.pause, firstRest), longestRest); c.better(max(c.before, rate)) {
			c.usual = !c.usual
			c.waits, c.pause = c.usual, firstRest
		}
		c.rest = c.pause
	}
}

// better reports whether the other way is to become the usual one, which has that rate.
func (c *choice) better(usual float64) bool {
	if c.usual {
		return usual < c.other*stillWorth
	}
	return c.other >= usual*worth
}
