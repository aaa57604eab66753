package main

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
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/value"
)

// rawSocket is a WebSocket client that costs as little as it can: the figures are the server's. It speaks CBOR and takes one
// message per frame. It belongs to one goroutine.
type rawSocket struct {
	conn net.Conn
	br   *bufio.Reader
	in   []byte // the last message
	out  []byte
}

// dialRaw opens a socket; its reads go through a buffer of so many bytes.
func dialRaw(ctx context.Context, addr string, buffer int) (*rawSocket, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	const request = "GET /rpc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: cbor\r\n\r\n"
	s := &rawSocket{conn: conn, br: bufio.NewReaderSize(conn, buffer)}
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
	frameBinary = 0x82
	frameClose  = 0x88
	framePing   = 0x89
	framePong   = 0x8a
)

// send writes one frame, masked with zeros.
func (s *rawSocket) send(kind byte, payload []byte) error {
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
	_, err := s.conn.Write(s.out)
	return err
}

// receive gives the next message, good until the next call, and answers pings on the way. io.EOF: the server closes.
func (s *rawSocket) receive() ([]byte, error) {
	for {
		kind, err := s.frame()
		switch {
		case err != nil:
			return nil, err
		case kind == framePing:
			if err := s.send(framePong, s.in); err != nil {
				return nil, err
			}
		case kind == frameClose:
			return nil, io.EOF
		case kind == frameBinary:
			return s.in, nil
		}
	}
}

// frame reads one frame.
func (s *rawSocket) frame() (kind byte, err error) {
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

// call sends a request and waits for its answer, which is the next message.
func (s *rawSocket) call(method string, params ...value.Value) error {
	if err := s.ask(rawRequest(method, params...)); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// ask sends a request and waits for its answer, whose error it gives.
func (s *rawSocket) ask(request []byte) error {
	if err := s.send(frameBinary, request); err != nil {
		return err
	}
	b, err := s.receive()
	if err != nil {
		return err
	}
	return refused(b)
}

// rawRequest is a request in CBOR.
func rawRequest(method string, params ...value.Value) []byte {
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

// refused is the error in an answer, or nil.
func refused(answer []byte) error {
	if !bytes.Contains(answer, []byte("\x65error")) && !bytes.Contains(answer, []byte("\x63ERR")) {
		return nil
	}
	v, err := value.DecodeCBORValue(answer, value.Limits{})
	if err != nil {
		return err
	}
	return fmt.Errorf("the server answers %.300s", v.Text())
}

// place selects test/test and runs a text of statements.
func (s *rawSocket) place(setup string) error {
	if err := s.call("use", value.Str("test"), value.Str("test")); err != nil || setup == "" {
		return err
	}
	return s.call("query", value.Str(setup))
}

func (s *rawSocket) close() error { return s.conn.Close() }

// usage is what a process has used.
type usage struct {
	cpu time.Duration // user and system
	rss int64         // bytes
}

// clockTick is the unit of times in /proc: 100 a second on every Linux there is.
const clockTick = 10 * time.Millisecond

// usageOf reads /proc; it works on Linux alone.
func usageOf(pid int) (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 22 {
		return usage{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	number := func(i int) int64 {
		n, e := strconv.ParseInt(fields[i], 10, 64)
		err = errors.Join(err, e)
		return n
	}
	u := usage{cpu: time.Duration(number(11)+number(12)) * clockTick, rss: number(21) * int64(os.Getpagesize())}
	return u, err
}

// since is the CPU time that the server has used since before.
func (s *server) since(before usage) (time.Duration, error) {
	now, err := usageOf(s.cmd.Process.Pid)
	return now.cpu - before.cpu, err
}

// livePlain is a live query of everything in ev.
func livePlain() value.Value { return value.Str("LIVE SELECT * FROM ev") }
