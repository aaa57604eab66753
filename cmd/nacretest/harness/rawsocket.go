package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/nacredb/nacre/engine/value"
)

// RawSocket is a WebSocket client that costs as little as it can: the figures are the server's. It speaks CBOR and
// takes one message per frame. It belongs to one goroutine.
type RawSocket struct {
	Conn net.Conn
	br   *bufio.Reader
	in   []byte // the last message
	out  []byte
}

// DialRaw opens a socket; its reads go through a buffer of so many bytes.
func DialRaw(ctx context.Context, addr string, buffer int) (*RawSocket, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	request := "GET /rpc HTTP/1.1\r\nHost: " + addr + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: cbor\r\n\r\n"
	s := &RawSocket{Conn: conn, br: bufio.NewReaderSize(conn, buffer)}
	if _, err = io.WriteString(conn, request); err == nil {
		var resp *http.Response
		if resp, err = http.ReadResponse(s.br, nil); err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
			err = fmt.Errorf("upgrade: %s", resp.Status)
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return s, nil
}

const (
	FrameBinary = 0x82
	frameClose  = 0x88
	framePing   = 0x89
	framePong   = 0x8a
)

// Send writes one frame, masked with zeros.
func (s *RawSocket) Send(kind byte, payload []byte) error {
	b := append(s.out[:0], kind)
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	s.out = append(append(b, 0, 0, 0, 0), payload...)
	_, err := s.Conn.Write(s.out)
	return err
}

// Receive gives the next message, good until the next call, and answers pings on the way. io.EOF: the server closes.
func (s *RawSocket) Receive() ([]byte, error) {
	for {
		kind, err := s.frame()
		switch {
		case err != nil:
			return nil, err
		case kind == framePing:
			if err := s.Send(framePong, s.in); err != nil {
				return nil, err
			}
		case kind == frameClose:
			return nil, io.EOF
		case kind == FrameBinary:
			return s.in, nil
		}
	}
}

// frame reads one frame.
func (s *RawSocket) frame() (kind byte, err error) {
	head, err := s.br.Peek(2)
	if err != nil {
		return 0, err
	}
	kind, n, skip := head[0], int(head[1]&0x7f), 2
	switch n {
	case 126:
		if head, err = s.br.Peek(4); err == nil {
			n, skip = int(binary.BigEndian.Uint16(head[2:])), 4
		}
	case 127:
		if head, err = s.br.Peek(10); err == nil {
			n, skip = int(binary.BigEndian.Uint64(head[2:])), 10
		}
	}
	if err != nil {
		return 0, err
	}
	if _, err := s.br.Discard(skip); err != nil {
		return 0, err
	}
	if cap(s.in) < n {
		s.in = make([]byte, n)
	}
	s.in = s.in[:n]
	_, err = io.ReadFull(s.br, s.in)
	return kind, err
}

// Call sends a request and waits for its answer, which is the next message.
func (s *RawSocket) Call(method string, params ...value.Value) error {
	if err := s.Ask(RawRequest(method, params...)); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// Ask sends a request and waits for its answer, whose error it gives.
func (s *RawSocket) Ask(request []byte) error {
	if err := s.Send(FrameBinary, request); err != nil {
		return err
	}
	b, err := s.Receive()
	if err != nil {
		return err
	}
	return Refused(b)
}

// RawRequest is a request in CBOR.
func RawRequest(method string, params ...value.Value) []byte {
	b, err := value.AppendCBOR(nil, value.ObjectOf(value.NewObject(
		value.Field{Name: "id", Value: value.Int(1)},
		value.Field{Name: "method", Value: value.Str(method)},
		value.Field{Name: "params", Value: value.ArrayOf(params)},
	)))
	if err != nil {
		panic(err) // parameters of ours always have a form
	}
	return b
}

// Refused is the error in an answer, or nil.
func Refused(answer []byte) error {
	if !bytes.Contains(answer, []byte("\x65error")) && !bytes.Contains(answer, []byte("\x63ERR")) {
		return nil
	}
	v, err := value.DecodeCBORValue(answer, value.DecodeLimits{})
	if err != nil {
		return err
	}
	return fmt.Errorf("the server answers %.300s", v.Text())
}

// Place selects test/test and runs a text of statements.
func (s *RawSocket) Place(setup string) error {
	if err := s.Call("use", value.Str("test"), value.Str("test")); err != nil || setup == "" {
		return err
	}
	return s.Call("query", value.Str(setup))
}

func (s *RawSocket) Close() error { return s.Conn.Close() }

// LivePlain is a live query of everything in ev.
func LivePlain() value.Value { return value.Str("LIVE SELECT * FROM ev") }
