package daemon_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/config"
)

// breakLog makes all further writes to the log of the store in dir fail: its files are now open for reading only.
func breakLog(t *testing.T, dir string) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	broken := 0
	for _, e := range fds {
		link := filepath.Join("/proc/self/fd", e.Name())
		name, err := os.Readlink(link)
		if err != nil || filepath.Dir(name) != dir || !strings.HasPrefix(filepath.Base(name), "wal-") {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(syscall.Dup3(int(f.Fd()), number(t, e.Name()), syscall.O_CLOEXEC), f.Close()); err != nil {
			t.Fatal(err)
		}
		broken++
	}
	if broken == 0 {
		t.Fatal("the log has no open files")
	}
}

func number(t *testing.T, s string) (n int) {
	t.Helper()
	for _, c := range s {
		n = 10*n + int(c-'0')
	}
	return n
}

// A store that a failed write has made read-only serves reads, and neither health nor readiness: not even until the heartbeat
// is stale.
func TestReadOnlyStoreIsNotReady(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a.db")
	s := start(t, func(c *config.Config) { c.Path, c.HeartbeatInterval = "bolt://"+dir, time.Hour })
	if r := s.do("POST", "/sql", "CREATE a:1 SET x = 1", at()...); strings.Contains(r.body, "ERR") {
		t.Fatal(r.body)
	}
	if r := s.do("GET", "/ready", ""); r.StatusCode != 200 {
		t.Fatalf("before: %d", r.StatusCode)
	}
	breakLog(t, dir)
	if r := s.do("POST", "/sql", "CREATE a:2", at()...); !strings.Contains(r.body, "The outcome of the commit is not known") {
		t.Errorf("the write that fails: %s", r.body)
	}
	r := s.do("GET", "/ready", "")
	if p := problemOf(t, r); r.StatusCode != 503 || p.Details != "Service unavailable" {
		t.Errorf("/ready: %d %+v", r.StatusCode, p)
	}
	if r := s.do("GET", "/health", ""); r.StatusCode != 500 {
		t.Errorf("/health: %d", r.StatusCode)
	}
	if r := s.do("POST", "/sql", "CREATE a:3", at()...); !strings.Contains(r.body, "The store is read-only since a write failed") {
		t.Errorf("the next write: %s", r.body)
	}
	if r := s.do("POST", "/sql", "SELECT VALUE x FROM a", at()...); timeless(r.body) != `[`+ok(`[1]`)+`]` {
		t.Errorf("reads: %d %s", r.StatusCode, r.body)
	}
	s.broken = syscall.EBADF
}

// stop ends a server before the end of its test.
func (s *server) stop() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	s.http.CloseIdleConnections()
	if err := s.Close(ctx); err != nil {
		s.t.Error(err)
	}
}

// smallDisk mounts a file system of so many bytes for the time of the test, where that is allowed.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillUp writes zeros to a new file until the disk has no room.
func fillUp(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A server starts on a disk without room for a single byte more: it reads, refuses writes with words, can be saved, and is
// ready as soon as there is space.
func TestStartOnAFullDisk(t *testing.T) {
	for _, tc := range []struct {
		name    string
		ready   int                            // what /ready answers while the disk is full
		prepare func(t *testing.T, dir string) // between a clean stop and the end of the room
	}{
		{"with its log", 200, func(*testing.T, string) {}},
		{"without a log, as after a restore", 503, func(t *testing.T, dir string) {
			logs, err := filepath.Glob(filepath.Join(dir, "wal-*.log"))
			if err != nil || len(logs) == 0 {
				t.Fatal("no log", err)
			}
			for _, name := range logs {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			disk := smallDisk(t, "32m")
			dir := filepath.Join(disk, "a.db")
			path := func(c *config.Config) {
				c.Path, c.HeartbeatInterval, c.HeartbeatMaxAge = "bolt://"+dir, 20*time.Millisecond, time.Minute
			}
			first := start(t, path)
			if r := first.do("POST", "/sql", "CREATE a:1 SET x = 'kept'", at()...); strings.Contains(r.body, "ERR") {
				t.Fatal(r.body)
			}
			first.stop()
			tc.prepare(t, dir)
			fillUp(t, filepath.Join(disk, "fill"))

			s := start(t, path)
			if r := s.do("POST", "/sql", "SELECT VALUE x FROM a", at()...); timeless(r.body) != `[`+ok(`["kept"]`)+`]` {
				t.Errorf("reads: %d %s", r.StatusCode, r.body)
			}
			refused := s.do("POST", "/sql", "FOR $i IN 0..20 { CREATE b SET x = string::repeat('abcdefghij', 100000) RETURN NONE }", at()...)
			if !strings.Contains(refused.body, "The store has no space left and nothing was written") {
				t.Errorf("a write: %d %s", refused.StatusCode, refused.body)
			}
			for path, want := range map[string]int{"/health": 200, "/ready": tc.ready} {
				if r := s.do("GET", path, ""); r.StatusCode != want {
					t.Errorf("%s: got %d, want %d", path, r.StatusCode, want)
				}
			}
			if r := s.do("GET", "/backup", "", at()...); r.StatusCode != 200 || !strings.HasPrefix(r.body, "nacrebak") {
				t.Errorf("/backup: %d", r.StatusCode)
			}
			if err := os.Remove(filepath.Join(disk, "fill")); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the server is ready", func() bool { return s.do("GET", "/ready", "").StatusCode == 200 })
			if r := s.do("POST", "/sql", "CREATE a:2 SET x = 'new'; SELECT VALUE x FROM a", at()...); !strings.Contains(r.body, `["kept","new"]`) {
				t.Errorf("with room again: %d %s", r.StatusCode, r.body)
			}
			s.stop()
		})
	}
}
