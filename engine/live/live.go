// Package live keeps live queries and brings them what commits have changed.
//
// A Hub promises: a subscription hears of every change that was published after it was added and that concerns it,
// once, in the order of publication, until it ends; publishing never waits; a subscription whose change can not be
// matched or delivered ends, and its subscriber is told where that is possible: nothing is left out in silence. What a
// change means to a subscription is decided by the Match that came with it, after the commit.
//
// The hub's own goroutine matches the changes for all sessions that take little time for it. A session that takes more
// has a lane of its own, which a bounded number of workers serve in turns, and a budget of time; where that is spent
// its live queries end. So a session holds up its own live queries only. A new session begins in its lane. All changes
// of a class of subscriptions queue up behind those of it that wait in a lane: the order is kept.
//
// The hub knows nothing of the language, of permissions or of connections. The order of its locks: Hub.mu is never held
// while a Subscription.mu is taken, nor the other way round. lane.mu and workers.mu are leaf locks.
package live

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/engine/value"
)

// Table says where a table is: ids of its namespace, database and itself.
type Table struct{ NS, DB, TB uint32 }

// holds reports whether t is of or, where parts of of are 0, inside of it.
func (of Table) holds(t Table) bool {
	return t.NS == of.NS && (of.DB == 0 || t.DB == of.DB) && (of.TB == 0 || t.TB == of.TB)
}

// Change is one record that a commit changed; Before or After is NONE. Its values hold no borrowed memory.
type Change struct {
	Table         Table
	Name          string // of the table
	ID            value.Value
	Before, After value.Value
	Seq           int    // its place among the changes of its commit
	Commit        uint64 // the version of the store that it is of; set by Publish
	Bytes         int    // about what it keeps in memory
}

// Action is CREATE, UPDATE or DELETE.
func (c *Change) Action() string {
	switch {
	case c.Before.IsNone():
		return "CREATE"
	case c.After.IsNone():
		return "DELETE"
	}
	return "UPDATE"
}

// Notification is one message to a subscriber.
type Notification struct {
	Live    value.UUID
	Session value.UUID
	Action  string      // CREATE, UPDATE, DELETE or KILLED
	Record  value.Value // the record's id; NONE with KILLED
	Result  value.Value // with KILLED: why the engine ended it, or NONE
	By      value.UUID  // with KILLED: the session that ended it; zero where the engine did
	Commit  uint64      // of a change: the version of the store that it is of
	Seq     int         // and its place among the changes of its commit

	shared *Outcome
}

// Forms is how many forms of a notification are shared.
const Forms = 3

// Shared gives form i (below Forms) of the part of n that subscribers with the same rights share. encode makes it on
// the first call. Only Deliver may call Shared, while it runs, and the result is read-only.
func (n *Notification) Shared(i int, encode func() ([]byte, error)) ([]byte, error) {
	if n.shared == nil {
		return encode()
	}
	if n.shared.forms[i] == nil {
		b, err := encode()
		if err != nil {
			return nil, err
		}
		n.shared.forms[i] = b
	}
	return n.shared.forms[i], nil
}

// Kept is where those who are told the same keep what they make of it later; nil where n is told to one alone.
func (n *Notification) Kept() *Kept {
	if n.shared == nil {
		return nil
	}
	return &n.shared.kept
}

// Kept are bytes by what they are. Any goroutine may use it; the bytes are read-only.
type Kept struct {
	mu sync.Mutex // guards all; a leaf lock
	of map[any][]byte
}

// Get gives what was put under a key; false: nothing was, or k is nil.
func (k *Kept) Get(key any) ([]byte, bool) {
	if k == nil {
		return nil, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	b, ok := k.of[key]
	return b, ok
}

// mostKept bounds the keys: clients choose them.
const mostKept = 16

// Put keeps bytes under a key, unless there are too many.
func (k *Kept) Put(key any, b []byte) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = map[any][]byte{}
	}
	if len(k.of) < mostKept {
		k.of[key] = b
	}
}

// Outcome is the meaning of a change for subscribers with the same view.
type Outcome struct {
	Result value.Value
	forms  [Forms][]byte // see Notification.Shared
	kept   Kept
}

// Memo is kept for one change and the subscriptions of one class: what Match leaves in it for one, it finds for the
// next.
type Memo struct {
	Kept any
	// Limit is how long Match may take, and Spent what it took: 0 where it found the answer in Kept.
	Limit, Spent time.Duration
}

// Subscription is one live query. Its fields must not be changed once it was added.
type Subscription struct {
	ID      value.UUID
	Session value.UUID
	Table   Table
	Text    string // the statement, as INFO shows it
	// NS and DB name the place of Table, and Began is when the subscription was made: operators see them.
	NS, DB string
	Began  time.Time
	// Class is equal for subscriptions that share a Memo; "" is a class of its own.
	Class string
	// From is the place among the changes of its own commit at which the subscription begins, where it was added by
	// AddWith.
	From int
	// Quiet subscriptions end at once, and without a word, when their own session kills them.
	Quiet bool
	// Match says what a change means to the subscription, nil for nothing. An error ends the subscription, but for
	// ErrSlow.
	Match func(ctx context.Context, c *Change, memo *Memo) (*Outcome, error)
	// Deliver takes a notification without waiting, and must not call the hub. An error ends the subscription.
	Deliver func(*Notification) error
	// Ended is called once, under the hub's lock, when the hub forgets the subscription; it may be nil.
	Ended func()
	gone  bool // Ended was called; guarded by Hub.mu

	lane   *lane       // of its session
	class  *classState // of its class
	since  uint64      // the last batch that was published before it was added
	commit uint64      // that it was added with, see AddWith

	mu    sync.Mutex  // held while Deliver runs, and to change ended
	ended atomic.Bool // nothing more is delivered
}

// over reports whether s has ended.
func (s *Subscription) over() bool { return s.ended.Load() }

// heeds reports whether a change came after the subscription was made.
func (s *Subscription) heeds(it *item) bool {
	return it.batch > s.since && (s.commit == 0 || it.commit != s.commit || it.change.Seq >= s.From)
}

// tell delivers n unless s has ended; last ends it. It reports whether the subscriber took it.
func (s *Subscription) tell(n *Notification, last bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended.Load() {
		return true
	}
	err := s.Deliver(n)
	s.ended.Store(last || err != nil)
	return err == nil
}

// finish ends s without a word. When it returns, Deliver does not run and will not.
func (s *Subscription) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended.Store(true)
}

// killed is the last notification of s; why may be "".
func (s *Subscription) killed(by value.UUID, why string) *Notification {
	n := &Notification{Live: s.ID, Session: s.Session, Action: "KILLED", By: by}
	if why != "" {
		n.Result = value.Str(why)
	}
	return n
}
