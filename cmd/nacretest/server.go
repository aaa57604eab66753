package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/internal/loopback"
)

// server is a nacre process and the store that it serves.
type server struct {
	cmd   *exec.Cmd
	addr  string
	ready time.Duration // from the start of the process to the first answer

	mu     sync.Mutex // guards stderr
	stderr bytes.Buffer
	exited chan struct{} // closed when the process is gone; err is set then
	err    error
}

// Write keeps what the process says.
func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.Write(p)
}

// said is what the process has said so far.
func (s *server) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.String()
}

// launch starts a server without waiting for it. Everybody is root there, unless the environment names a root user.
func launch(dsn string, environ ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	addr, err := loopback.Free()
	if err != nil {
		return nil, err
	}
	s := &server{addr: addr, exited: make(chan struct{})}
	args := []string{"start", "--no-banner", "--bind", addr}
	if !slices.Contains(environ, asRoot[0]) {
		args = append(args, "--unauthenticated", "--allow-all")
	}
	s.cmd = exec.Command(self, append(args, dsn)...)
	s.cmd.Env = append(append(os.Environ(), asNacre+"=1"), environ...)
	s.cmd.Stderr = s
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the process; kill and stop wait for it
		s.err = s.cmd.Wait()
		close(s.exited)
	}()
	return s, nil
}

// start launches a server and waits until it is ready. errGone: the process ended before that.
func start(ctx context.Context, dsn string, environ ...string) (*server, error) {
	began := time.Now()
	s, err := launch(dsn, environ...)
	if err != nil {
		return nil, err
	}
	probe, err := client.Probe(client.Options{Endpoint: "http://" + s.addr})
	if err != nil {
		return nil, errors.Join(err, s.kill())
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if probe.Ready(ctx) == nil {
			s.ready = time.Since(began)
			return s, nil
		}
		select {
		case <-s.exited:
			return s, errGone
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("not ready in time; it said:\n%s", s.said()), s.kill())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// asRoot is the environment of a server that knows who is who, with a root user.
var asRoot = []string{"NACRE_USER=root", "NACRE_PASS=root"}

var errGone = errors.New("the server ended before it was ready")

// connect opens a connection to a place of the server.
func (s *server) connect(ctx context.Context, ns, db string) (*client.Client, error) {
	return client.Open(ctx, client.Options{Endpoint: "ws://" + s.addr, Namespace: ns, Database: db})
}

// kill ends the process as kill -9 does, and waits for that.
func (s *server) kill() error {
	err := s.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-s.exited
	return err
}

// stop asks the process to end and tells whether it did so in good order.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.exited:
		if s.err != nil {
			return fmt.Errorf("it ended with %w; it said:\n%s", s.err, s.said())
		}
		return nil
	case <-time.After(time.Minute):
		return errors.Join(fmt.Errorf("it did not end in a minute; it said:\n%s", s.said()), s.kill())
	}
}

// gone reports whether the process has ended. With soon it waits for that a while: the connections of a process break
// before its parent hears of its end.
func (s *server) gone(ctx context.Context, soon bool) bool {
	patience := time.Duration(0)
	if soon {
		patience = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-s.exited:
		return true
	case <-ctx.Done():
	}
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// failpoint is the place at which the process killed itself, or "".
func (s *server) failpoint() string {
	_, rest, ok := strings.Cut(s.said(), "failpoint ")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "\n")
	return name
}
