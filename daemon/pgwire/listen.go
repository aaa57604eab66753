package pgwire

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// channels are those that connections listen to, by database. They live in memory.
type channels struct {
	mu    sync.Mutex // guards by; held while a note is queued, never while one is sent
	by    map[channel]map[*conn]struct{}
	heard map[*conn]int // how many channels a connection listens to
}

// channel is a name in a database.
type channel struct{ ns, db, name string }

// note is a NOTIFY that waits for its commit.
type note struct {
	to      channel
	payload string
}

// Limits of PostgreSQL.
const (
	longestChannel = 63
	longestPayload = 7999
	mostNotes      = 10_000 // of one transaction
)

func newChannels() *channels {
	return &channels{by: map[channel]map[*conn]struct{}{}, heard: map[*conn]int{}}
}

func (n *channels) add(c *conn, ch channel, most int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, there := n.by[ch][c]; there {
		return nil
	}
	if n.heard[c] >= most {
		return sqlstate.New(sqlstate.TooMuch, "this connection listens to too many channels")
	}
	if n.by[ch] == nil {
		n.by[ch] = map[*conn]struct{}{}
	}
	n.by[ch][c] = struct{}{}
	n.heard[c]++
	return nil
}

func (n *channels) drop(c *conn, ch channel) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dropLocked(c, ch)
}

func (n *channels) dropLocked(c *conn, ch channel) {
	if _, there := n.by[ch][c]; !there {
		return
	}
	delete(n.by[ch], c)
	if len(n.by[ch]) == 0 {
		delete(n.by, ch)
	}
	if n.heard[c]--; n.heard[c] == 0 {
		delete(n.heard, c)
	}
}

func (n *channels) dropAll(c *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.heard[c] == 0 {
		return
	}
	for ch := range n.by {
		n.dropLocked(c, ch)
	}
}

// of are the names of the channels that a connection listens to.
func (n *channels) of(c *conn) (names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.heard[c] == 0 {
		return nil
	}
	for ch, who := range n.by {
		if _, there := who[c]; there {
			names = append(names, ch.name)
		}
	}
	return names
}

// publish hands the notes of a transaction to those who listen.
func (n *channels) publish(from *conn, notes []note) {
	for _, x := range notes {
		n.mu.Lock()
		who := make([]*conn, 0, len(n.by[x.to]))
		for c := range n.by[x.to] {
			who = append(who, c)
		}
		n.mu.Unlock()
		for _, c := range who {
			c.tell(from.pid, x.to.name, x.payload)
		}
	}
}

// listening are the live queries of a connection that have a channel of their own.
type listening struct {
	mu    sync.Mutex            // guards names; a leaf lock
	names map[value.UUID]string // channels by live query; "" for those of LIVE SELECT
}

// tell queues a notification. It does not wait: a client that takes none is closed when too many wait.
func (c *conn) tell(pid uint32, name, payload string) bool {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if c.closed {
		return false
	}
	m := pgproto3.NotificationResponse{PID: pid, Channel: wireText(name), Payload: wireText(payload)}
	next, err := m.Encode(c.pending)
	if err != nil {
		return true
	}
	c.pending = next
	if int64(len(c.pending)) > c.srv.Limits.Queue {
		c.slow, c.closed = true, true
		c.srv.Log.Info("connection closed: the client does not take its notifications", "client", c.client)
		go c.raw.Close()
		return false
	}
	if c.idle {
		go c.deliverNow()
	}
	return true
}

// deliverNow sends notifications to a client that is idle.
func (c *conn) deliverNow() {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if !c.idle || c.closed || len(c.pending) == 0 {
		return
	}
	c.out = append(c.out, c.pending...)
	c.pending = nil
	if c.writeOut() != nil {
		go c.raw.Close()
	}
}

// deliver adds what waits to the answer, outside of a transaction block.
func (c *conn) deliver() {
	if c.tx.block {
		return
	}
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.out = append(c.out, c.pending...)
	c.pending = nil
}

// listen makes the connection take the notifications of its live queries.
func (c *conn) listen() {
	c.session.NotifyQuietly(func(n *engine.Notification) error {
		c.listening.mu.Lock()
		name := c.listening.names[n.Live]
		if n.Action == "KILLED" {
			delete(c.listening.names, n.Live)
		}
		c.listening.mu.Unlock()
		if name == "" {
			name = n.Live.String()
		}
		payload := value.AppendJSON(nil, value.ObjectOf(value.NewObject(
			value.Field{Name: "action", Value: value.Str(n.Action)},
			value.Field{Name: "id", Value: value.UUIDOf(n.Live)},
			value.Field{Name: "record", Value: n.Record},
			value.Field{Name: "result", Value: n.Result},
		)))
		if !c.tell(0, name, string(payload)) {
			return errBye
		}
		return nil
	})
}

// channelName reads the name of a channel.
func channelName(w *words) (string, error) {
	name, err := w.name()
	if err != nil {
		return "", err
	}
	if len(name) > longestChannel {
		return "", sqlstate.New(sqlstate.InvalidParameter, "channel name too long")
	}
	return name, nil
}

// livePrefix begins the names of channels that tell of the changes of a table.
const livePrefix = "live:"

func readListen(_ *conn, w *words) (work, error) {
	w.take()
	name, err := channelName(w)
	if err != nil {
		return nil, err
	}
	if err := w.nothing(); err != nil {
		return nil, err
	}
	if len(name) > len(livePrefix) && name[:len(livePrefix)] == livePrefix {
		return &control{do: func(ctx context.Context, c *conn) (string, error) {
			return "LISTEN", c.listenTable(ctx, name)
		}}, nil
	}
	return &control{do: func(_ context.Context, c *conn) (string, error) {
		ch := c.channel(name)
		return "LISTEN", c.atCommit(func() error { return c.srv.notices.add(c, ch, c.srv.Limits.Notifications) })
	}}, nil
}

func (c *conn) channel(name string) channel {
	ns, db := c.session.Place()
	return channel{ns, db, name}
}

// atCommit does something when the transaction commits, at once where there is none.
func (c *conn) atCommit(f func() error) error {
	if !c.tx.block {
		return f()
	}
	c.tx.listens = append(c.tx.listens, func() { _ = f() }) // too many channels: the statement after tells
	return nil
}

// listenTable begins a live query whose notifications come under the name of the channel.
func (c *conn) listenTable(ctx context.Context, name string) error {
	if c.tx.block {
		return sqlstate.New(sqlstate.ActiveTransaction, "LISTEN to a table cannot run inside a transaction block")
	}
	c.listening.mu.Lock()
	n := len(c.listening.names)
	there := false
	for _, other := range c.listening.names {
		there = there || other == name
	}
	c.listening.mu.Unlock()
	switch {
	case there:
		return nil
	case n >= c.srv.Limits.Notifications:
		return sqlstate.New(sqlstate.TooMuch, "this connection listens to too many channels")
	}
	res, err := c.srv.RPC.Execute(ctx, c.session, nil, "LIVE SELECT * FROM type::table($_table)",
		value.NewObject(value.Field{Name: "_table", Value: value.Str(name[len(livePrefix):])}))
	if err != nil {
		return err
	}
	if res[0].Err != nil {
		return res[0].Err
	}
	c.listening.mu.Lock()
	defer c.listening.mu.Unlock()
	if c.listening.names == nil {
		c.listening.names = map[value.UUID]string{}
	}
	c.listening.names[res[0].Value.UUID()] = name
	return nil
}

func readUnlisten(_ *conn, w *words) (work, error) {
	w.take()
	if w.eat("*") {
		return &control{do: func(ctx context.Context, c *conn) (string, error) {
			if err := c.unlistenTables(ctx, ""); err != nil {
				return "", err
			}
			return "UNLISTEN", c.atCommit(func() error { c.srv.notices.dropAll(c); return nil })
		}}, w.nothing()
	}
	name, err := channelName(w)
	if err != nil {
		return nil, err
	}
	return &control{do: func(ctx context.Context, c *conn) (string, error) {
		if err := c.unlistenTables(ctx, name); err != nil {
			return "", err
		}
		ch := c.channel(name)
		return "UNLISTEN", c.atCommit(func() error { c.srv.notices.drop(c, ch); return nil })
	}}, w.nothing()
}

// unlistenTables ends the live queries of a channel, or of all channels where name is "".
func (c *conn) unlistenTables(ctx context.Context, name string) error {
	c.listening.mu.Lock()
	var ids []value.UUID
	for id, of := range c.listening.names {
		if name == "" || of == name {
			ids = append(ids, id)
			delete(c.listening.names, id)
		}
	}
	c.listening.mu.Unlock()
	for _, id := range ids {
		res, err := c.srv.RPC.Execute(ctx, c.session, nil, "KILL $_live", value.NewObject(value.Field{Name: "_live",
			Value: value.UUIDOf(id)}))
		if err != nil {
			return err
		}
		if res[0].Err != nil {
			return res[0].Err
		}
	}
	return nil
}

func readNotify(_ *conn, w *words) (work, error) {
	w.take()
	name, err := channelName(w)
	if err != nil {
		return nil, err
	}
	payload := ""
	if w.eat(",") {
		t := w.take()
		if t.Kind != sql.String {
			w.pos--
			return nil, w.bad()
		}
		payload = t.Text
	}
	return &control{do: func(_ context.Context, c *conn) (string, error) {
		return "NOTIFY", c.notify(name,
			payload)
	}}, w.nothing()
}

// notify sends a note when the transaction commits. The same note of one transaction is sent once.
func (c *conn) notify(name, payload string) error {
	switch {
	case name == "" || len(name) > longestChannel:
		return sqlstate.New(sqlstate.InvalidParameter, "channel name cannot be empty or longer than %d bytes",
			longestChannel)
	case len(payload) > longestPayload:
		return sqlstate.New(sqlstate.InvalidParameter, "payload string too long")
	}
	n := note{c.channel(name), payload}
	if !c.tx.block {
		c.srv.notices.publish(c, []note{n})
		return nil
	}
	for _, other := range c.tx.notes {
		if other == n {
			return nil
		}
	}
	if len(c.tx.notes) >= mostNotes {
		return sqlstate.New(sqlstate.TooMuch, "too many notifications in this transaction")
	}
	c.tx.notes = append(c.tx.notes, n)
	return nil
}

// idleSince is when the statement that ran last began.
func (c *conn) idleSince() (text string, since time.Time, active bool) {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	return c.text, c.since, c.running != nil
}
