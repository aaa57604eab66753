package wal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
)

// fullFS is the machine's file system with a limit to the size of each file, and no new files.
type fullFS struct {
	OS
	limit *int64 // 0 = none
}

type fullFile struct {
	File
	limit *int64
}

func (f fullFS) Open(name string) (File, error) {
	if _, err := os.Stat(name); err != nil && *f.limit > 0 {
		return nil, syscall.ENOSPC
	}
	file, err := f.OS.Open(name)
	return fullFile{file, f.limit}, err
}

func (f fullFile) WriteAt(p []byte, off int64) (int, error) {
	if room := *f.limit - off; *f.limit > 0 && int64(len(p)) > room {
		n, err := f.File.WriteAt(p[:max(0, room)], off)
		if err == nil {
			err = syscall.ENOSPC
		}
		return n, err
	}
	return f.File.WriteAt(p, off)
}

func textFrame(t *testing.T, v kv.Version, text string) *Frame {
	t.Helper()
	f, err := Encode(&kv.Batch{Writes: []kv.Write{{Key: []byte("k"), Value: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	f.Version = v
	return f
}

// versions reopens the log and gives the first letter of each frame after applied.
func versions(t *testing.T, opt Options, applied kv.Version) (*Log, string) {
	t.Helper()
	var got []string
	l, _, err := Open(opt, applied, func(f *Frame) error {
		got = append(got, fmt.Sprintf("%d%c", f.Version, f.Sealed[0][0]))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, strings.Join(got, " ")
}

// TestRefusedGroupLeavesNothing: of a group that did not fit, the first frame did, in space that
// was allocated before. It was refused, so it must not come back; nor may the second one, when
// another frame of the first's size and version is put before it.
func TestRefusedGroupLeavesNothing(t *testing.T) {
	limit := int64(0)
	opt := Options{Dir: t.TempDir(), FS: fullFS{limit: &limit}, SegmentSize: 16 << 10}
	l, _ := versions(t, opt, 0)
	limit = 16 << 10
	if err := l.Append([]*Frame{textFrame(t, 1, "a"+strings.Repeat("x", 6000))}); err != nil {
		t.Fatal(err)
	}
	b, c := "b"+strings.Repeat("x", 2000), "c"+strings.Repeat("x", 2000)
	if err := l.Append([]*Frame{textFrame(t, 2, b), textFrame(t, 3, c), textFrame(t, 4, b+c)}); !IsNoSpace(err) {
		t.Fatalf("got %v, want a full disk", err)
	}
	if err := l.closeFiles(); err != nil {
		t.Fatal(err)
	}
	limit = 0
	l, got := versions(t, opt, 0)
	if got != "1a" {
		t.Errorf("got %s, want 1a", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLostMiddleSegment: the frames after a lost one are in a segment of their own. They were
// never synced, so they are dropped; the versions are given again, and only those count, even
// when the ones before them are applied.
func TestLostMiddleSegment(t *testing.T) {
	opt := Options{Dir: t.TempDir(), SegmentSize: 8 << 10}
	l, _ := versions(t, opt, 0)
	long := strings.Repeat("x", 3000)
	for v, letter := range []string{"a", "b", "c", "d"} {
		if err := l.Append([]*Frame{textFrame(t, kv.Version(v+1), letter+long)}); err != nil {
			t.Fatal(err)
		}
		l.preparers.Wait()
	}
	if n := len(l.sealed); n != 3 {
		t.Fatalf("got %d sealed segments, want one for each frame", n)
	}
	if err := l.closeFiles(); err != nil {
		t.Fatal(err)
	}
	damage(t, opt.Dir, "b"+long)
	l, got := versions(t, opt, 0)
	if got != "1a" {
		t.Errorf("got %s, want 1a", got)
	}
	for v, letter := range []string{"B", "C"} {
		if err := l.Append([]*Frame{textFrame(t, kv.Version(v+2), letter+long)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, got = versions(t, opt, 2)
	if got != "3C" {
		t.Errorf("got %s, want 3C", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// damage changes a byte of text in the log files.
func damage(t *testing.T, dir, text string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "wal-*.log"))
	if err != nil {
		t.Fatal(err)
	}
	found := slices.ContainsFunc(names, func(name string) bool {
		p, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		i := strings.Index(string(p), text)
		if i >= 0 {
			p[i+10]++
			err = os.WriteFile(name, p, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return i >= 0
	})
	if !found {
		t.Fatal("the text is in no file")
	}
}
