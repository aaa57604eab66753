package client

import (
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/protobuf"
)

// follow brings what the live queries among results have to tell to Options.Notify.
func (c *calls) follow(results []Result) {
	if c.notify == nil {
		return
	}
	for _, r := range results {
		if r.Type == "live" && r.Err == nil && r.Value.Kind() == value.KindUUID {
			id := r.Value.UUID()
			c.follows.Go(func() { c.subscribe(id) })
		}
	}
}

// subscribe follows one live query until it ends. Its end is told as over a WebSocket, unless the client has closed.
func (c *calls) subscribe(id value.UUID) {
	next, err := c.stream(c.ctx, "Subscribe", protobuf.AppendUUID(c.context(nil, nil), 2, id))
	for err == nil {
		var b []byte
		if b, err = next(); err != nil {
			break
		}
		var n Notification
		var told, ended bool
		if n, told, ended, err = noteIn(b); err != nil || ended {
			break
		}
		if told {
			c.tell(n)
		}
	}
	if c.ctx.Err() == nil {
		c.tell(Notification{Live: value.UUIDOf(id), Action: "KILLED"})
	}
}

// tell runs notify for one notification at a time.
func (c *calls) tell(n Notification) {
	c.told.Lock()
	defer c.told.Unlock()
	c.notify(n)
}

var actions = map[uint64]string{1: "CREATE", 2: "UPDATE", 3: "DELETE"}

// noteIn reads a frame of Subscribe; told says that it is a notification, ended that it is the last frame.
func noteIn(b []byte) (n Notification, told, ended bool, err error) {
	var note []byte
	for s := protobuf.Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return n, false, true, err
		}
		if !more {
			break
		}
		switch s.Num {
		case 2:
			note = s.B
		case 3, 4:
			return n, false, true, nil
		}
	}
	if note == nil {
		return n, false, false, nil
	}
	for s := protobuf.Fields(note); ; {
		more, err := s.Next()
		if err != nil || !more {
			return n, true, false, err
		}
		switch {
		case s.Num == 2 && s.B == nil:
			n.Action = actions[s.N]
		case s.B == nil:
		case s.Num == 1:
			var id value.UUID
			id, err = protobuf.DecodeUUID(s.B)
			n.Live = value.UUIDOf(id)
		case s.Num == 3:
			n.Record, err = protobuf.DecodeRecord(s.B, value.DecodeLimits{Own: true})
		case s.Num == 4:
			n.Result, err = protobuf.DecodeValue(s.B, value.DecodeLimits{Own: true})
		}
		if err != nil {
			return n, false, true, err
		}
	}
}
