package h2

import (
	"golang.org/x/net/http2"
)

const protocolError = http2.ConnectionError(http2.ErrCodeProtocol)

// take handles a frame. A http2.StreamError ends its stream, every other error the connection.
func (c *conn) take(f http2.Frame) error {
	if !c.settled {
		if s, ok := f.(*http2.SettingsFrame); !ok || s.IsAck() {
			return protocolError
		}
		c.settled = true
		c.mu.Lock()
		if !c.draining { // else the deadline is that of the end
			_ = c.nc.SetReadDeadline(noDeadline)
		}
		c.mu.Unlock()
	}
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		return c.takeHead(f)
	case *http2.DataFrame:
		return c.takeData(f)
	case *http2.WindowUpdateFrame:
		return c.takeWindow(f)
	case *http2.RSTStreamFrame:
		return c.takeReset(f)
	case *http2.SettingsFrame:
		return c.takeSettings(f)
	case *http2.PingFrame:
		return c.takePing(f)
	case *http2.PushPromiseFrame: // only servers push
		return protocolError
	case *http2.GoAwayFrame:
		if f.ErrCode == http2.ErrCodeNo {
			c.drain()
			return nil
		}
		return errClosed
	}
	return nil // PRIORITY, and frames of extensions
}

func (c *conn) takePing(f *http2.PingFrame) error {
	if f.IsAck() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.WritePing(true, f.Data)
	if c.overfull() {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	return nil
}

func (c *conn) takeSettings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	if !c.calm.take(1 + f.NumSettings()) {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	if f.HasDuplicates() {
		return protocolError
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := f.ForeachSetting(c.set); err != nil {
		return err
	}
	_ = c.out.WriteSettingsAck()
	if c.overfull() {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	return nil
}

// set takes a setting of the client; c.mu is held.
func (c *conn) set(s http2.Setting) error {
	if err := s.Valid(); err != nil {
		return err
	}
	switch s.ID {
	case http2.SettingHeaderTableSize:
		c.enc.SetMaxDynamicTableSize(min(s.Val, tableSize))
	case http2.SettingInitialWindowSize:
		more := int64(s.Val) - c.initial
		c.initial = int64(s.Val)
		for _, st := range c.streams {
			if st.send += more; st.send > mostWindow {
				return http2.ConnectionError(http2.ErrCodeFlowControl)
			}
		}
		c.room()
	case http2.SettingMaxFrameSize:
		c.frame = int(min(s.Val, mostFrame))
	}
	return nil
}

const (
	mostWindow = 1<<31 - 1
	// mostFrame is the largest frame that is sent: others share the connection.
	mostFrame = 64 << 10
)

func (c *conn) takeWindow(f *http2.WindowUpdateFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.StreamID == 0 {
		if c.send += int64(f.Increment); c.send > mostWindow {
			return http2.ConnectionError(http2.ErrCodeFlowControl)
		}
		c.room()
		return nil
	}
	st := c.streams[f.StreamID]
	if st == nil {
		return c.known(f.StreamID)
	}
	if st.send += int64(f.Increment); st.send > mostWindow {
		return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeFlowControl}
	}
	if _, waits := c.waiting[st]; waits {
		wake(st.roomy)
	}
	return nil
}

// known makes sure that a stream which is not open has been: clients may speak of one until they know of its end, and
// of those that they began before they knew that we take no more; c.mu is held.
func (c *conn) known(id uint32) error {
	if id > c.last && !c.draining || id%2 == 0 {
		return protocolError
	}
	return nil
}

func (c *conn) takeReset(f *http2.RSTStreamFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.streams[f.StreamID]
	if st == nil {
		return c.known(f.StreamID)
	}
	if !c.calm.take(1) {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	delete(c.streams, f.StreamID)
	st.gone(http2.StreamError{StreamID: f.StreamID, Code: f.ErrCode, Cause: errReset})
	return nil
}

// takeData takes bytes of a body.
func (c *conn) takeData(f *http2.DataFrame) error {
	size, data := int64(f.Length), f.Data() // with what pads them
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recv -= size; c.recv < 0 {
		return http2.ConnectionError(http2.ErrCodeFlowControl)
	}
	st := c.streams[f.StreamID]
	if st == nil {
		c.read(size)
		return c.known(f.StreamID)
	}
	failed := func(code http2.ErrCode) error {
		c.read(size)
		return http2.StreamError{StreamID: f.StreamID, Code: code}
	}
	if st.ended {
		return failed(http2.ErrCodeStreamClosed)
	}
	if st.recv -= size; st.recv < 0 {
		return failed(http2.ErrCodeFlowControl)
	}
	st.came += int64(len(data))
	if st.length >= 0 && (st.came > st.length || f.StreamEnded() && st.came < st.length) {
		return failed(http2.ErrCodeProtocol)
	}
	if size == 0 && !f.StreamEnded() && !c.calm.take(1) {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	if st.deaf {
		c.read(size)
	} else {
		st.body = append(st.body, data...)
		c.read(size - int64(len(data)))
		st.read(size - int64(len(data)))
	}
	st.ended = f.StreamEnded()
	wake(st.readable)
	return nil
}

// read gives n bytes of our window back, when there are enough; c.mu is held.
func (c *conn) read(n int64) {
	if c.owed += n; c.owed >= int64(c.srv.limits.Window/2) {
		c.recv += c.owed
		_ = c.out.WriteWindowUpdate(0, uint32(c.owed))
		c.owed = 0
	}
}
