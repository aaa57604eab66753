package ws

import (
	"slices"
	"time"
)

// A request that comes alone runs in the goroutine that has read it. To wake a worker for it, and to go back to the
// poller meanwhile, costs more than a short statement does. While it runs, the connection is not read: a message
// that cancels the request, and the end of the client, would not be heard. So a pulse of the Server looks after the
// requests that run that way. When one has run since the beat before, a worker begins to read the connection, and
// the request goes on as one in a worker does.
//
// The number conn.turn says who reads. It only grows. It is odd while the reader runs a request, and even while it
// reads. The reader makes it odd. Two may make it even again: the reader, when the request has ended, and a beat.
// The first of them decides. If it was the beat, a worker reads from then on, and the goroutine that had read ends
// after its request. What belongs to the reader passes over with that number: the old reader does not touch it
// after it has made the number odd, and the new one begins after the number was made even.
const (
	aloneEvery = 2 * time.Millisecond // between two beats
	aloneStill = 10                   // beats without a request after which they do not look at a connection any more
	// requests in a short time that begin it: rare ones go to workers, which costs less than the beats would
	aloneAfter = 16
	// Connections over that number keep their stacks small: those of workers grow instead, which they share.
	aloneConnections = 1024
)

// lone reports whether the request that was read last came alone: no other request of its connection runs, and
// nothing came in behind it. n is the length of the message.
func (c *conn) lone(n int) bool {
	reads := c.pipe.reads.Load()
	once := reads == c.reads+1
	c.reads = reads
	return once && c.pipe.last.Load() == int64(n+headLength(n)) && len(c.slots) == 0
}

// headLength is the length of the head of a frame that a client sends: two bytes, the mask, and more for a longer
// length.
func headLength(n int) int {
	switch {
	case n < 126:
		return 6
	case n < 1<<16:
		return 8
	}
	return 14
}

// serveAlone runs a job, which is counted in running, in the reader, where that may be. It reports whether it has run
// it, and whether the caller is still the reader.
func (c *conn) serveAlone(j *job) (served, reads bool) {
	if c.srv.open.Load() > aloneConnections {
		return false, true
	}
	turn := c.turn.Load() + 1
	c.turn.Store(turn)
	if !c.listed.Load() {
		c.srv.enlist(c)
	}
	if served = c.srv.pulse.Beating(); served {
		c.serve(j)
	}
	return served, c.turn.CompareAndSwap(turn, turn+1)
}

// enlist has the beats look at c.
func (s *Server) enlist(c *conn) {
	s.aloneMu.Lock()
	defer s.aloneMu.Unlock()
	if !c.listed.Load() {
		c.listed.Store(true)
		s.alone = append(s.alone, c)
	}
}

// beat looks at the connections whose readers run requests, and reports whether there are any.
func (s *Server) beat() bool {
	s.aloneMu.Lock()
	defer s.aloneMu.Unlock()
	s.alone = slices.DeleteFunc(s.alone, (*conn).beat)
	return len(s.alone) > 0
}

// beat gives the reading of c to a worker where the reader has run the same request since the last beat. It reports
// whether the beats need not look at c any more.
func (c *conn) beat() bool {
	turn := c.turn.Load()
	switch {
	case turn != c.seen:
		c.seen, c.still = turn, 0
		return false
	case turn%2 == 1:
		if c.turn.CompareAndSwap(turn, turn+1) {
			c.srv.workers.run(job{conn: c, read: true}) // they are not closed before this connection has ended
		}
		return false
	}
	if c.still++; c.still < aloneStill {
		return false
	}
	// The reader makes turn odd before it looks whether c is in the list. One of the two sees the other.
	c.listed.Store(false)
	if c.turn.Load() == turn {
		return true
	}
	c.listed.Store(true)
	return false
}
