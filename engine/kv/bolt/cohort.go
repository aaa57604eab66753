package bolt

import "time"

// How long a group waits for its cohort, and how often.
const (
	firstWait = 2 // times a sync: until half of the cohort is there
	longWait  = 4 // times a sync: until all of it is
	latest    = 5 // half times as long as half of the cohort took to come back: until all of it is
	mostSkips = 8 // misses in a row from which on there are no more groups between two waits: 1 << mostSkips
)

// cohort is the callers that commit at about the same time: those that one sync has answered, and those that came
// while it ran. Where they are soon back, the next group waits for all of them. One sync then does for all; a caller
// that just misses a sync would wait for two, and a processor that serves callers one by one between syncs spends more
// on each of them than one that serves all in turn. (commit_delay of PostgreSQL has the same aim, with a fixed time.)
//
// Whether that pays is tried, see choice. Where it does, a group waits no longer than some syncs take, or than the slow
// half of the cohort may need by what the fast half did. Where not all have come by then, as many groups as there were
// such misses lately, doubled for each, do not wait. A caller that is alone never does.
//
// The mutex of the committer guards it.
type cohort struct {
	choice choice
	want   int           // callers that the open group waits for; less than 2: it does not
	sync   time.Duration // how long a sync takes, by the last ones
	landed time.Time     // when the callers of the group before were told
	first  time.Time     // when the first of the open group came after that; zero: the group does not wait
	half   bool          // half of them have come
	due    time.Time     // until when it waits
	late   func()        // called at due, unless the wait has ended
	timer  *time.Timer   // of late; nil before the first wait
	misses int           // waits in vain, less those that were not
	skips  int           // groups that do not wait, from now on
}

// waits reports whether the open group waits.
func (c *cohort) waits() bool { return !c.first.IsZero() }

// told notes that a sync, which took so long, did for so many callers, while others came.
func (c *cohort) told(did, others int, took time.Duration) {
	if c.sync == 0 {
		c.sync = took
	}
	c.sync += (took - c.sync) / 8
	c.leave()
	if did+others < 2 {
		c.choice.alone()
		return
	}
	now := time.Now()
	c.choice.synced(did, now, c.sync)
	switch {
	case !c.choice.waits:
	case c.skips > 0:
		c.skips--
	default:
		c.want, c.landed = did+others, now
	}
}

// leave ends a wait without a verdict: the group goes now, with those who are in it.
func (c *cohort) leave() { c.want, c.first, c.half = 0, time.Time{}, false }

// holds reports whether the open group, which has n callers, is to wait for more.
func (c *cohort) holds(n int) bool {
	if c.want < 2 {
		return false
	}
	if n >= c.want {
		c.misses = max(c.misses-1, 0)
		c.leave()
		return false
	}
	began, half := !c.waits(), !c.half && 2*n >= c.want
	if !began && !half {
		return true
	}
	now := time.Now()
	if began {
		c.first = now
		c.due = now.Add(firstWait * c.sync)
	}
	if half {
		c.half = true
		wait := max(now.Sub(c.landed)*latest/2, c.sync) // half of them may have come before c.landed
		c.due = c.landed.Add(wait)
		if end := c.first.Add(longWait * c.sync); end.Before(c.due) {
			c.due = end
		}
	}
	if wait := c.due.Sub(now); c.timer == nil {
		c.timer = time.AfterFunc(wait, c.late)
	} else {
		c.timer.Reset(wait)
	}
	return true
}

// missed reports whether the open group has waited in vain, and ends the wait then. It is false for the timer of a wait
// that has come to its end meanwhile.
func (c *cohort) missed() bool {
	if !c.waits() || time.Now().Before(c.due) {
		return false
	}
	c.leave()
	c.misses = min(c.misses+1, mostSkips)
	c.skips = 1<<c.misses - 1
	return true
}
