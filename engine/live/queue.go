package live

import "github.com/nacredb/nacre/engine/value"

// Added counts the subscriptions that were ever added: what Watched said holds as long as it stays the same.
func (h *Hub) Added() uint64 { return h.added.Load() }

// Waiting is how many changes and ends wait for their turn; those in lanes do not count.
func (h *Hub) Waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.queue)
}

// Publish hands over what a commit has changed; the order of calls is the order of delivery. It never waits. Where more
// than the hub's limits wait, the live queries of the tables concerned end instead, in their turn: their subscribers
// hear of it and read anew.
//
// added is what Added gave before the caller asked Watched which changes are wanted. False says that subscriptions came
// since: nothing was published, and the caller has to ask again.
func (h *Hub) Publish(added, commit uint64, changes []Change) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.added.Load() != added {
		return false
	}
	if h.closed {
		return true
	}
	h.batch++
	bytes := 0
	for i := range changes {
		bytes += changes[i].Bytes
	}
	if len(h.queue)+len(changes) > h.limits.Changes || h.bytes+bytes > h.limits.Bytes {
		h.overflow(changes)
	} else {
		for i := range changes {
			changes[i].Commit = commit
			h.queue = append(h.queue, item{change: changes[i], batch: h.batch, commit: commit})
		}
		h.bytes += bytes
	}
	h.wake.Signal()
	return true
}

// overflow forgets all changes that wait, and ends the subscriptions of their tables behind what is in work; h.mu is
// held.
func (h *Hub) overflow(changes []Change) {
	concerned := map[Table]bool{}
	for i := range changes {
		concerned[changes[i].Table] = true
	}
	ends := make([]item, 0, len(h.byID))
	for i := range h.queue {
		if h.queue[i].end != nil {
			ends = append(ends, h.queue[i])
		} else {
			concerned[h.queue[i].change.Table] = true
		}
	}
	h.queue, h.bytes = ends, 0
	for _, s := range h.byID {
		if concerned[s.Table] {
			h.endLater(s, value.UUID{}, overflow)
		}
	}
}

// run takes changes from the queue until Close.
func (h *Hub) run() {
	defer close(h.done)
	var spare []item
	for {
		h.mu.Lock()
		for len(h.queue) == 0 && !h.closed {
			h.wake.Wait()
		}
		if h.closed {
			h.mu.Unlock()
			return
		}
		items := h.queue
		h.queue, h.bytes = spare, 0
		h.mu.Unlock()
		for i := range items {
			if h.ctx.Err() != nil {
				return
			}
			h.work(&items[i])
		}
		clear(items)
		if spare = items[:0]; cap(spare) > keptItems {
			spare = nil
		}
	}
}

// keptItems is the largest queue whose memory is used again.
const keptItems = 1024

func (h *Hub) work(it *item) {
	if s := it.end; s != nil {
		if s.class.pending.Load() > 0 {
			end := *it
			h.postpone(s.class.lane, task{it: &end, class: s.class})
			return
		}
		h.finish(it)
		return
	}
	h.mu.Lock()
	classes := h.byTable[it.change.Table]
	h.mu.Unlock()
	var kept *item // it, for tasks that outlive the queue
	for i := range classes {
		c := &classes[i]
		on, subs := h.laneOf(c), c.subs
		if on == nil {
			at := h.quickly(subs, it)
			if at < 0 {
				continue
			}
			on, subs = subs[at].lane, subs[at:]
			on.trip()
		}
		if kept == nil {
			again := *it
			kept = &again
		}
		h.postpone(on, task{it: kept, subs: subs, class: c.state})
	}
}

// laneOf is the lane that the next change of a class goes to; nil: it is matched at once.
func (h *Hub) laneOf(c *class) *lane {
	if c.state.pending.Load() > 0 {
		return c.state.lane
	}
	if l := c.subs[0].lane; l.slow.Load() {
		return l
	}
	return nil
}

// quickly matches a change among those of all sessions. It gives the place of the first subscription that takes too
// long for that, which is told nothing yet, or -1.
func (h *Hub) quickly(subs []*Subscription, it *item) int {
	memo := Memo{Limit: h.limits.Inline}
	for i, s := range subs {
		if !s.heeds(it) || s.over() {
			continue
		}
		out, err := s.Match(h.ctx, &it.change, &memo)
		if memo.Spent > 0 {
			total, _ := s.lane.charge(it.moment(), memo.Spent, &h.limits)
			memo.Spent = 0
			if total > h.limits.Inline {
				s.lane.trip()
			}
		}
		if err == ErrSlow && h.ctx.Err() == nil {
			return i
		}
		h.outcome(s, &it.change, out, err)
	}
	return -1
}

// finish ends a subscription in its turn.
func (h *Hub) finish(it *item) {
	h.drop(it.end)
	it.end.tell(it.end.killed(it.by, it.why), true) // it is gone either way
}

// outcome tells a subscription what Match has answered.
func (h *Hub) outcome(s *Subscription, c *Change, out *Outcome, err error) {
	switch {
	case h.ctx.Err() != nil, err == ErrSlow:
	case err != nil:
		h.drop(s)
		s.tell(s.killed(value.UUID{}, ""), true)
	case out != nil:
		n := &Notification{Live: s.ID, Session: s.Session, Action: c.Action(), Record: c.ID, Result: out.Result,
			Commit: c.Commit, Seq: c.Seq, shared: out}
		h.told.Add(1)
		if !s.tell(n, false) {
			h.drop(s)
		}
	}
}

func (h *Hub) drop(s *Subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(s)
}
