package wal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestRefusedBlocks: where the system refuses to write past its cache, blocks are written and synced, from then on
// without asking again. A file of the kernel that takes numbers only refuses as such a file system does.
func TestRefusedBlocks(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	past, err := os.OpenFile("/proc/self/oom_score_adj", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := &osFile{File: file, past: past}
	if !f.Blocks() {
		t.Fatal("it does not try")
	}
	p := bytes.Repeat([]byte{'x'}, blockSize)
	if err := f.WriteBlocks(p, 0); err != nil {
		t.Fatal(err)
	}
	if f.Blocks() {
		t.Error("it tries again")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, p) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
