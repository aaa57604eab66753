package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of a log socket.
const (
	socketQueue = 4096             // lines that wait for the peer
	socketBytes = 4 << 20          // and their size together
	socketWrite = 5 * time.Second  // that the peer may take for a line, or for a connection
	socketPause = time.Second      // before the second attempt to connect; the pauses double
	socketRest  = 30 * time.Second // at most
	socketFlush = 2 * time.Second  // that Close waits for the lines that are left
)

// LogSocket sends log lines to a peer, which may come and go: a line is kept until the peer is there, and dropped when
// too many wait. Write never waits for the peer. It is safe for concurrent use.
type LogSocket struct {
	network, address string
	others           *slog.Logger // where the state of the connection is told; nil for nowhere
	pause            time.Duration

	mu    sync.Mutex // guards what follows
	lines [][]byte
	bytes int
	lost  int // lines that were dropped since the peer last took one
	ended bool
	conn  net.Conn // nil while there is none

	wake   chan struct{} // there is a line, or Close was called
	ending chan struct{} // closed by Close
	giveUp func()        // ends what run waits for
	done   chan struct{} // closed when the last line is sent or given up
}

// OpenLogSocket starts to connect to address, HOST:PORT or unix:PATH. The error is that of an address that cannot be
// one; a peer that is not there is none: others, the rest of the log, are told of it.
func OpenLogSocket(address string, others *slog.Logger) (*LogSocket, error) {
	return openLogSocket(address, others, socketPause)
}

func openLogSocket(address string, others *slog.Logger, pause time.Duration) (*LogSocket, error) {
	l := &LogSocket{network: "tcp", address: address, others: others, pause: pause,
		wake: make(chan struct{}, 1), ending: make(chan struct{}), done: make(chan struct{})}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		l.network, l.address = "unix", path
		if path == "" {
			return nil, fmt.Errorf("the log socket %q names no path", address)
		}
	} else if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
		return nil, fmt.Errorf("the log socket %q is neither HOST:PORT nor unix:PATH", address)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.giveUp = cancel
	go l.run(ctx)
	return l, nil
}

// Write implements io.Writer: it takes one line. Errors: os.ErrClosed.
func (l *LogSocket) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return 0, os.ErrClosed
	}
	if len(l.lines) >= socketQueue || l.bytes+len(line) > socketBytes {
		l.lost++
		return len(line), nil
	}
	l.lines = append(l.lines, slices.Clone(line))
	l.bytes += len(line)
	l.signal()
	return len(line), nil
}

func (l *LogSocket) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Close sends what is left, for two seconds at most and to a peer that is there, and ends the connection. Later lines
// are refused.
func (l *LogSocket) Close() error {
	l.mu.Lock()
	first := !l.ended
	l.ended = true
	l.mu.Unlock()
	if first {
		close(l.ending)
		l.signal()
		late := time.AfterFunc(socketFlush, func() {
			l.giveUp()
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.conn != nil {
				l.conn.Close()
			}
		})
		defer late.Stop()
	}
	<-l.done
	l.giveUp()
	return nil
}

// run owns the connection. It ends after Close.
func (l *LogSocket) run(ctx context.Context) {
	defer close(l.done)
	defer l.disconnect()
	if !l.connect(ctx) {
		return
	}
	for {
		line, lost, ended := l.next()
		switch {
		case line == nil && ended:
			return
		case line == nil:
			<-l.wake
			continue
		}
		for !l.send(line) {
			l.disconnect()
			if !l.connect(ctx) {
				return
			}
		}
		if lost > 0 {
			l.tell("the log socket takes lines again", "lost", lost)
		}
	}
}

// next takes out a line, nil where there is none, and how many were dropped since the last one.
func (l *LogSocket) next() (line []byte, lost int, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		l.lines = nil
		return nil, 0, l.ended
	}
	line, lost = l.lines[0], l.lost
	l.lines, l.bytes, l.lost = l.lines[1:], l.bytes-len(line), 0
	return line, lost, l.ended
}

// send reports whether there is a peer whose system took the line. What it took in part is sent whole by the next
// connection.
func (l *LogSocket) send(line []byte) bool {
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	if conn == nil {
		return false
	}
	err := conn.SetWriteDeadline(time.Now().Add(socketWrite))
	if err == nil {
		_, err = conn.Write(line)
	}
	if err != nil {
		l.tell("the log socket broke", "err", err)
	}
	return err == nil
}

// connect tries until there is a connection. It gives up when Close was called: no peer is there then. The first
// failure is told of.
func (l *LogSocket) connect(ctx context.Context) bool {
	dialer := net.Dialer{Timeout: socketWrite}
	for pause, told := l.pause, false; ; pause, told = min(2*pause, socketRest), true {
		conn, err := dialer.DialContext(ctx, l.network, l.address)
		if err == nil {
			l.mu.Lock()
			l.conn = conn
			l.mu.Unlock()
			return ctx.Err() == nil
		}
		if !told && ctx.Err() == nil {
			l.tell("no program listens at the log socket", "err", err)
		}
		select {
		case <-time.After(pause):
		case <-l.ending:
			return false
		}
	}
}

func (l *LogSocket) disconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.conn.Close()
		l.conn = nil
	}
}

func (l *LogSocket) tell(what string, args ...any) {
	if l.others != nil {
		l.others.Warn(what, append([]any{"component", "log", "address", l.address}, args...)...)
	}
}
