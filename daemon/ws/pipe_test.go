package ws

import (
	"io"
	"net"
	"testing"
)

// endless is a connection on which bytes never end.
type endless struct {
	net.Conn
	reads, bytes int
}

func (e *endless) Read(b []byte) (int, error) {
	e.reads++
	e.bytes += len(b)
	return len(b), nil
}

// A client that is refused in the middle of a message costs a few reads, however small the pieces in which the rest is
// asked for, and no more bytes than a message may have.
func TestRefusedMessagesAreDropped(t *testing.T) {
	e := &endless{}
	p := &pipe{Conn: e}
	if n, err := p.Read(make([]byte, 10)); n != 10 || err != nil {
		t.Fatal(n, err)
	}
	p.drain(4 << 20)
	if n, err := p.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("%d bytes, %v", n, err)
	}
	if e.bytes != 10+4<<20 || e.reads > 1+4<<20/pipeBuffer {
		t.Errorf("%d bytes in %d reads", e.bytes, e.reads)
	}
}
