package grpc

import (
	"errors"
	"sync"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/protobuf"
)

// The numbers of SubscribeEndReason.
const (
	endKilled        = 1
	endSessionClosed = 2
	endShutdown      = 3
	endCursorTooOld  = 5
)

// protobufForm is the form of a notification that all subscribers of this package share, beside those of the formats of
// internal/wire; see live.Notification.Shared.
const protobufForm = 2

// feeds bring what live queries tell to their subscribers.
type feeds struct {
	most   int // notifications that wait for one subscriber
	engine *engine.Engine

	mu       sync.Mutex // guards the rest and every subscriber's queue; a leaf lock
	draining bool
	live     map[value.UUID]*feed
	opening  map[value.UUID][]*subscriber // by the session in which their live query is being made
}

// feed is a live query that a session of this door has made.
type feed struct {
	session     value.UUID // of the engine
	user        engine.Identity
	ns, db      string
	subscribers []*subscriber
}

// note is one notification: its action, and the fields record_id and value of the message.
type note struct {
	live        value.UUID
	action      uint64
	body        []byte
	commit, seq uint64
}

// subscriber is one Subscribe stream.
type subscriber struct {
	feeds *feeds
	wake  chan struct{} // one token: there is something to see

	queue  []note
	held   engine.Held // what the queue takes of memory
	bytes  int
	ended  uint64      // the reason; 0: it goes on
	failed *errs.Error // in its place
}

func newFeeds(most int, e *engine.Engine) *feeds {
	return &feeds{most: most, engine: e, live: map[value.UUID]*feed{}, opening: map[value.UUID][]*subscriber{}}
}

// action is the number of Action; 0: it is the end of the live query.
func action(name string) uint64 {
	switch name {
	case "CREATE":
		return 1
	case "UPDATE":
		return 2
	case "DELETE":
		return 3
	}
	return 0
}

// deliver takes the notifications of a session. It never waits.
func (f *feeds) deliver(n *engine.Notification) error {
	act := action(n.Action)
	if act == 0 {
		f.killed(n)
		return nil
	}
	f.mu.Lock()
	nobody := (f.live[n.Live] == nil || len(f.live[n.Live].subscribers) == 0) && len(f.opening[n.Session]) == 0
	f.mu.Unlock()
	if nobody {
		return nil
	}
	body, err := n.Shared(protobufForm, func() ([]byte, error) { return noteBody(n, act) })
	if err != nil { // it has no form: the live query ends, and its subscribers are told
		f.end(n.Live, 0, errs.As(err))
		return err
	}
	one := note{live: n.Live, action: act, body: body, commit: n.Commit, seq: uint64(n.Seq)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if feed := f.live[n.Live]; feed != nil {
		for _, s := range feed.subscribers {
			s.push(one)
		}
	}
	for _, s := range f.opening[n.Session] {
		s.push(one) // it may be of the live query that is being made; see opened
	}
	return nil
}

func noteBody(n *engine.Notification, act uint64) ([]byte, error) {
	b, at := protobuf.Open(nil, 3)
	b, err := protobuf.AppendRecord(b, n.Record.Record())
	if err != nil {
		return nil, err
	}
	b = protobuf.Seal(b, at)
	if act == action("DELETE") {
		return b, nil
	}
	return protobuf.AppendField(b, 4, n.Result)
}

// push queues a notification; f.mu is held. A subscriber that has too many waiting ends.
func (s *subscriber) push(n note) {
	if s.ended != 0 || s.failed != nil {
		return
	}
	full := len(s.queue) >= s.feeds.most
	if !full {
		held, err := s.feeds.engine.Take(s.bytes+len(n.body), false)
		if full = err != nil; !full {
			s.held.Release()
			s.held = held
		}
	}
	if full {
		s.drop()
		s.failed = errs.With(errs.KindQuery, "Cancelled", nil, "The subscription ended because its client does not keep up")
	} else {
		s.queue = append(s.queue, n)
		s.bytes += len(n.body)
	}
	s.signal()
}

// drop forgets what waits; f.mu is held.
func (s *subscriber) drop() {
	s.queue, s.bytes = nil, 0
	s.held.Release()
	s.held = engine.Held{}
}

func (s *subscriber) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take gives what waits, and why the subscription ends behind it.
func (s *subscriber) take() (queue []note, ended uint64, failed *errs.Error) {
	s.feeds.mu.Lock()
	defer s.feeds.mu.Unlock()
	queue = s.queue
	s.drop()
	return queue, s.ended, s.failed
}

// finish ends a subscription; f.mu is held.
func (s *subscriber) finish(reason uint64, failed *errs.Error) {
	if s.ended == 0 && s.failed == nil {
		s.ended, s.failed = reason, failed
		s.signal()
	}
}

// killed ends the subscribers of a live query that the engine has ended.
func (f *feeds) killed(n *engine.Notification) {
	if n.Result.Kind() == value.KindString {
		f.end(n.Live, 0, errs.With(errs.KindQuery, "Cancelled", nil, "The live query ended: %s", n.Result.Str()))
		return
	}
	f.end(n.Live, endKilled, nil)
}

// end ends a live query's subscribers and forgets it.
func (f *feeds) end(id value.UUID, reason uint64, failed *errs.Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	feed := f.live[id]
	if feed == nil {
		for _, waiting := range f.opening {
			for _, s := range waiting {
				s.queue = append(s.queue, note{live: id}) // see opened
			}
		}
		return
	}
	delete(f.live, id)
	for _, s := range feed.subscribers {
		s.finish(reason, failed)
	}
}

// endSession ends the subscribers of all live queries of a session.
func (f *feeds) endSession(session value.UUID, reason uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, feed := range f.live {
		if feed.session == session {
			delete(f.live, id)
			for _, s := range feed.subscribers {
				s.finish(reason, nil)
			}
		}
	}
}

// drain ends all subscriptions, and those to come.
func (f *feeds) drain() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.draining = true
	for _, feed := range f.live {
		for _, s := range feed.subscribers {
			s.finish(endShutdown, nil)
		}
	}
}

// made notes a live query of a session.
func (f *feeds) made(id value.UUID, s *engine.Session) {
	ns, db := s.Place()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.live[id] == nil {
		f.live[id] = &feed{session: s.ID(), user: s.Identity(), ns: ns, db: db}
	}
}

// errNoLive says that there is no such live query, or none that the caller may know of.
func errNoLive(id value.UUID) error {
	text := id.String()
	return errs.With(errs.KindNotFound, "LiveQuery", map[string]any{"id": text}, "Live query not found: %s", text)
}

// attach adds a subscriber to a live query of the user of by, in the same place.
func (f *feeds) attach(id value.UUID, by *engine.Session) (*subscriber, error) {
	user := by.Identity()
	ns, db := by.Place()
	f.mu.Lock()
	defer f.mu.Unlock()
	feed := f.live[id]
	if feed == nil || !feed.user.Same(user) || feed.ns != ns || feed.db != db ||
		user.Guest() && feed.session != by.ID() { // guests are not one user
		return nil, errNoLive(id)
	}
	s := f.subscriber()
	feed.subscribers = append(feed.subscribers, s)
	return s, nil
}

// subscriber makes one; f.mu is held.
func (f *feeds) subscriber() *subscriber {
	s := &subscriber{feeds: f, wake: make(chan struct{}, 1)}
	if f.draining {
		s.finish(endShutdown, nil)
	}
	return s
}

// open makes a subscriber for a live query that is about to be made in a session: it gets all that the session is
// told from now on.
func (f *feeds) open(session value.UUID) *subscriber {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.subscriber()
	f.opening[session] = append(f.opening[session], s)
	return s
}

// opened says which live query s is of, and throws away what it was told of others; ok is false where none was made.
func (f *feeds) opened(s *subscriber, session, id value.UUID, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	waiting := f.opening[session]
	for i := range waiting {
		if waiting[i] == s {
			waiting = append(waiting[:i:i], waiting[i+1:]...)
			break
		}
	}
	if f.opening[session] = waiting; len(waiting) == 0 {
		delete(f.opening, session)
	}
	if !ok {
		s.drop()
		return
	}
	kept := s.queue[:0]
	for _, n := range s.queue {
		switch {
		case n.live != id:
		case n.action == 0: // it has ended already
			s.finish(endKilled, nil)
		default:
			kept = append(kept, n)
		}
	}
	if s.queue = kept; len(kept) > 0 {
		s.signal()
	}
	if feed := f.live[id]; feed != nil {
		feed.subscribers = append(feed.subscribers, s)
	} else if s.ended == 0 && s.failed == nil {
		s.finish(endKilled, nil)
	}
}

// leave takes a subscriber out.
func (f *feeds) leave(id value.UUID, s *subscriber) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.drop()
	s.finish(endSessionClosed, nil) // nothing more is queued
	feed := f.live[id]
	if feed == nil {
		return
	}
	for i := range feed.subscribers {
		if feed.subscribers[i] == s {
			feed.subscribers = append(feed.subscribers[:i:i], feed.subscribers[i+1:]...)
			return
		}
	}
}

var errNoRegistration = errors.New("the LIVE statement has answered no id")
