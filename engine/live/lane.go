package live

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/engine/value"
)

// ErrSlow is the error of Match when it does not end within Memo.Limit.
var ErrSlow = errors.New("matching a change takes too long")

// Why the engine ends live queries: what their subscribers are told.
const (
	tooSlow  = "The live queries of the session take too much time"
	overflow = "Too many changes wait for the live query"
)

// lane is what the live queries of one session take of time, and where they are matched while that is much: in turns
// with the lanes of other sessions, and not before them. A lane is worked on by one goroutine at a time, so the order
// is kept.
type lane struct {
	session value.UUID
	// slow lanes get the changes of their session; of the others the hub's own goroutine takes care. A lane is slow
	// until it has done calm changes in less than HubLimits.Inline each.
	slow atomic.Bool

	mu      sync.Mutex // guards the rest; a leaf lock
	calm    int
	queue   []task
	bytes   int
	running bool // it is with the workers
	on      moment
	spent   time.Duration // on the change on
	left    time.Duration // of HubLimits.Budget as of asOf
	asOf    time.Time
	pardon  time.Time // when a change that took too long was last forgiven
}

// moment names a change.
type moment struct {
	batch uint64
	seq   int
}

// task is a change for subscriptions of one class, or the end of one.
type task struct {
	it    *item
	subs  []*Subscription
	class *classState
}

// classState says where the changes of a class are. lane belongs to the hub's goroutine.
type classState struct {
	lane    *lane
	pending atomic.Int64 // tasks of the class in lane; all later changes queue up behind them
}

// calmTurns is how many changes a lane must do in no time before it is trusted again; a new one must do one.
const calmTurns = 100

func newLane(session value.UUID, limits *HubLimits) *lane {
	l := &lane{session: session, calm: calmTurns - 1, left: limits.Budget, asOf: time.Now()}
	l.slow.Store(true)
	return l
}

// charge adds what a change took; over says that it is more than the session may take.
func (l *lane) charge(on moment, d time.Duration, limits *HubLimits) (total time.Duration, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.on != on {
		l.on, l.spent = on, 0
	}
	l.spent += d
	if l.spent > limits.Inline {
		now := time.Now()
		refill := now.Sub(l.asOf).Seconds() / limits.Window.Seconds() * float64(limits.Budget)
		l.left, l.asOf = min(limits.Budget, l.left+time.Duration(refill))-d, now
	}
	return l.spent, l.spent > limits.Change || l.left < 0
}

// forgive lets a session take too long for a change once in a while, and begins to count anew: on a busy machine the
// time passes without the session.
func (l *lane) forgive(limits *HubLimits) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.left < 0 || now.Sub(l.pardon) < limits.Window {
		return false
	}
	l.pardon, l.spent = now, 0
	return true
}

// remaining is the time that the session may still take for a change.
func (l *lane) remaining(on moment, limits *HubLimits) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.on != on {
		return limits.Change
	}
	return limits.Change - l.spent
}

// trip makes the lane take the changes of its session until it has been calm for a while.
func (l *lane) trip() {
	l.mu.Lock()
	l.calm = 0
	l.mu.Unlock()
	l.slow.Store(true)
}

// done counts a task that took d.
func (l *lane) done(d time.Duration, limits *HubLimits) {
	if d > limits.Inline {
		l.trip()
		return
	}
	l.mu.Lock()
	l.calm++
	calm := l.calm >= calmTurns
	l.mu.Unlock()
	if calm {
		l.slow.Store(false)
	}
}

// postpone hands a task to a lane. Where too much waits there, all that the lane's subscriptions still wait for is
// dropped, and they end in their turn.
func (h *Hub) postpone(l *lane, t task) {
	t.class.lane = l
	t.class.pending.Add(1)
	l.mu.Lock()
	l.queue = append(l.queue, t)
	l.bytes += t.it.change.Bytes
	var gone []*Subscription
	if len(l.queue) > h.limits.Changes || l.bytes > h.limits.Bytes {
		gone = l.giveUp()
	}
	start := !l.running
	l.running = true
	l.mu.Unlock()
	if start {
		h.workers.add(h, l)
	}
	h.mu.Lock()
	for _, s := range gone {
		if h.byID[s.ID] == s {
			delete(h.byID, s.ID)
		}
	}
	h.mu.Unlock()
}

// giveUp puts the ends of the subscriptions that wait in l in the place of what they wait for; l.mu is held.
func (l *lane) giveUp() (gone []*Subscription) {
	var ends []task
	seen := map[*Subscription]bool{}
	for _, t := range l.queue {
		if t.it.end != nil {
			ends = append(ends, t)
			continue
		}
		for _, s := range t.subs {
			if !seen[s] && s.heeds(t.it) {
				seen[s] = true
				gone = append(gone, s)
				t.class.pending.Add(1)
				ends = append(ends, task{it: &item{end: s, why: overflow}, class: t.class})
			}
		}
		t.class.pending.Add(-1)
	}
	l.queue, l.bytes = ends, 0
	return gone
}

// turn does one task of a lane; more says that there are others.
func (h *Hub) turn(l *lane) (more bool) {
	l.mu.Lock()
	if len(l.queue) == 0 { // given up
		l.running = false
		l.mu.Unlock()
		return false
	}
	t := l.queue[0]
	l.queue[0] = task{}
	l.queue = l.queue[1:]
	l.bytes -= t.it.change.Bytes
	l.mu.Unlock()
	if t.it.end != nil {
		h.finish(t.it)
	} else {
		h.slowly(l, &t)
	}
	t.class.pending.Add(-1)
	l.mu.Lock()
	defer l.mu.Unlock()
	more = len(l.queue) > 0 && h.ctx.Err() == nil
	l.running = more
	return more
}

// slowly matches a change with the time that each session has left for it.
func (h *Hub) slowly(l *lane, t *task) {
	var memo Memo
	var total time.Duration
	for _, s := range t.subs {
		if h.ctx.Err() != nil {
			return
		}
		if s.over() || !s.heeds(t.it) {
			continue
		}
		out, over, err := h.within(s, t.it, &memo, &total)
		if over && s.lane.forgive(&h.limits) {
			if over = false; err == ErrSlow {
				out, over, err = h.within(s, t.it, &memo, &total)
			}
		}
		h.outcome(s, &t.it.change, out, err)
		if over && h.ctx.Err() == nil {
			h.exhaust(s.lane)
		}
	}
	l.done(total, &h.limits)
}

// within matches a change in the time that the session of s has left for it; over says that it took more, or too much
// of late.
func (h *Hub) within(s *Subscription, it *item, memo *Memo, total *time.Duration) (out *Outcome, over bool, err error) {
	on := it.moment()
	memo.Limit = max(s.lane.remaining(on, &h.limits), 1)
	out, err = s.Match(h.ctx, &it.change, memo)
	over = err == ErrSlow
	if d := memo.Spent; d > 0 {
		memo.Spent = 0
		*total += d
		_, much := s.lane.charge(on, d, &h.limits)
		over = over || much
	}
	return out, over, err
}

// exhaust ends the live queries of a session that takes too much time.
func (h *Hub) exhaust(l *lane) {
	h.mu.Lock()
	gone := append([]*Subscription(nil), h.bySession[l.session]...)
	for _, s := range gone {
		h.remove(s)
	}
	h.mu.Unlock()
	for _, s := range gone {
		s.tell(s.killed(value.UUID{}, tooSlow), true)
	}
}

// workers are the goroutines that work on lanes: at most most, none while there is nothing to do.
type workers struct {
	most int
	all  sync.WaitGroup

	mu      sync.Mutex // guards the rest; a leaf lock
	ready   []*lane    // first come, first served; a lane that has more to do goes to the end
	running int
}

func (w *workers) add(h *Hub, l *lane) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ready = append(w.ready, l)
	if w.running < w.most {
		w.running++
		w.all.Go(func() { w.work(h) })
	}
}

// next is the lane whose turn it is; nil: there is none, and the worker ends. again is put at the end first.
func (w *workers) next(again *lane) *lane {
	w.mu.Lock()
	defer w.mu.Unlock()
	if again != nil {
		w.ready = append(w.ready, again)
	}
	if len(w.ready) == 0 {
		w.running--
		w.ready = nil
		return nil
	}
	l := w.ready[0]
	w.ready[0] = nil
	w.ready = w.ready[1:]
	return l
}

func (w *workers) work(h *Hub) {
	for l := w.next(nil); l != nil; {
		again := l
		if !h.turn(l) {
			again = nil
		}
		l = w.next(again)
	}
}
