// Package pgserver starts a PostgreSQL of the machine in a directory of its own, for tests and measurements beside it.
package pgserver

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nacredb/nacre/internal/loopback"
)

// Server is a PostgreSQL that runs. Its superuser is root, and asks for no password.
type Server struct {
	Host, Port string
	Cmd        *exec.Cmd
	dir        string

	mu   sync.Mutex // guards said
	said []byte
}

// Write keeps the last of what the server says.
func (s *Server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said = append(s.said, p...); len(s.said) > 64<<10 {
		s.said = s.said[len(s.said)-64<<10:]
	}
	return len(p), nil
}

// DSN names its database postgres.
func (s *Server) DSN() string {
	return "host=" + s.Host + " port=" + s.Port + " user=root dbname=postgres"
}

// Programs is the directory of the newest PostgreSQL that is installed.
func Programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("PostgreSQL is not installed: scripts/test installs it")
	}
	return found[len(found)-1], nil
}

// Start makes a cluster below parent ("": the temporary directory), and runs it on an address of the machine itself.
// settings are name=value. The caller stops it.
func Start(ctx context.Context, parent string, settings ...string) (*Server, error) {
	bin, err := Programs()
	if err != nil {
		return nil, err
	}
	addr, err := loopback.Free()
	if err != nil {
		return nil, err
	}
	s := &Server{}
	if s.Host, s.Port, err = net.SplitHostPort(addr); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp(parent, "pg"); err != nil { // short: a socket goes there
		return nil, err
	}
	if err := s.launch(ctx, bin, settings); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// launch makes the cluster and starts the server.
func (s *Server) launch(ctx context.Context, bin string, settings []string) error {
	as, err := attributes(s.dir)
	if err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "root", "-A", "trust",
		"--locale=C.UTF-8", "-E", "UTF8", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = s.dir, as
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	args := []string{"-D", data, "-k", s.dir, "-h", s.Host, "-p", s.Port}
	for _, set := range settings {
		args = append(args, "-c", set)
	}
	server := exec.Command(filepath.Join(bin, "postgres"), args...)
	server.Dir, server.SysProcAttr, server.Stdout, server.Stderr = s.dir, as, s, s
	if err := server.Start(); err != nil {
		return err
	}
	s.Cmd = server
	return s.await(ctx)
}

// await waits until the server answers.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		c, err := pgconn.Connect(ctx, s.DSN())
		if err == nil {
			return c.Close(ctx)
		}
		select {
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			return fmt.Errorf("PostgreSQL does not start: %w\n%s", err, s.said)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop ends the server at once and removes its cluster.
func (s *Server) Stop() {
	if s.Cmd != nil {
		_ = s.Cmd.Process.Signal(syscall.SIGQUIT)
		_ = s.Cmd.Wait() // it says that it was killed
	}
	_ = os.RemoveAll(s.dir)
}
