package harness

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

// Server is a nacre process and the store that it serves.
type Server struct {
	Cmd   *exec.Cmd
	Addr  string
	Ready time.Duration // from the start of the process to the first answer

	mu     sync.Mutex // guards stderr
	stderr bytes.Buffer
	Exited chan struct{} // closed when the process is gone; err is set then
	err    error
}

// Write keeps what the process says.
func (s *Server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.Write(p)
}

// Said returns the output of the process so far.
func (s *Server) Said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.String()
}

// launch starts a program, nacre or nacretest, as a server without waiting for it; "" is this program. Everybody is
// root there, unless the environment names a root user.
func launch(program, dsn string, environ ...string) (*Server, error) {
	addr, err := loopback.Free()
	if err == nil && program == "" {
		program, err = os.Executable()
	}
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: addr, Exited: make(chan struct{})}
	args := []string{"start", "--no-banner", "--bind", addr}
	if !slices.Contains(environ, AsRoot[0]) {
		args = append(args, "--unauthenticated", "--allow-all")
	}
	s.Cmd = exec.Command(program, append(args, dsn)...)
	s.Cmd.Env = append(append(os.Environ(), asNacre+"=1"), environ...)
	s.Cmd.Stderr = s
	if err := s.Cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the process; kill and stop wait for it
		s.err = s.Cmd.Wait()
		close(s.Exited)
	}()
	return s, nil
}

// Start launches a server and waits until it is ready. ErrGone: the process ended before that.
func Start(ctx context.Context, dsn string, environ ...string) (*Server, error) {
	return StartProgram(ctx, "", dsn, environ...)
}

// StartProgram is Start for another build of nacre or nacretest, to compare it with this one; "" is this one.
func StartProgram(ctx context.Context, program, dsn string, environ ...string) (*Server, error) {
	began := time.Now()
	s, err := launch(program, dsn, environ...)
	if err != nil {
		return nil, err
	}
	return s.ready(ctx, began)
}

// ready waits until a server that was launched at began answers.
func (s *Server) ready(ctx context.Context, began time.Time) (*Server, error) {
	probe, err := client.Probe(client.Options{Endpoint: "http://" + s.Addr})
	if err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if probe.Ready(ctx) == nil {
			s.Ready = time.Since(began)
			return s, nil
		}
		select {
		case <-s.Exited:
			return s, ErrGone
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("not ready in time; it said:\n%s", s.Said()), s.Kill())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// AsRoot is the environment of a server that knows who is who, with a root user.
var AsRoot = []string{"NACRE_USER=root", "NACRE_PASS=root"}

var ErrGone = errors.New("the server ended before it was ready")

// Connect opens a connection to a place of the server.
func (s *Server) Connect(ctx context.Context, ns, db string) (*client.Client, error) {
	return client.Open(ctx, client.Options{Endpoint: "ws://" + s.Addr, Namespace: ns, Database: db})
}

// Kill ends the process as kill -9 does, and waits for that.
func (s *Server) Kill() error {
	err := s.Cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-s.Exited
	return err
}

// Stop asks the process to end and tells whether it did so in good order.
func (s *Server) Stop() error {
	if err := s.Cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.Exited:
		if s.err != nil {
			return fmt.Errorf("it ended with %w; it said:\n%s", s.err, s.Said())
		}
		return nil
	case <-time.After(time.Minute):
		return errors.Join(fmt.Errorf("it did not end in a minute; it said:\n%s", s.Said()), s.Kill())
	}
}

// Gone reports whether the process has ended. With soon it waits for that a while: the connections of a process break
// before its parent hears of its end.
func (s *Server) Gone(ctx context.Context, soon bool) bool {
	patience := time.Duration(0)
	if soon {
		patience = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-s.Exited:
		return true
	case <-ctx.Done():
	}
	select {
	case <-s.Exited:
		return true
	default:
		return false
	}
}

// Failpoint is the place at which the process killed itself, or "".
func (s *Server) Failpoint() string {
	_, rest, ok := strings.Cut(s.Said(), "failpoint ")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "\n")
	return name
}
