package physical_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/mem"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

// fillStore puts n keys of several lengths and classes into st.
func fillStore(t testing.TB, st kv.Store, n int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	var ws []kv.Write
	for i := range n {
		k := fmt.Appendf([]byte{0x20, 0, 0, 0, 1}, "key-%08d", i)
		v := make([]byte, rnd.IntN(300))
		for j := range v {
			v[j] = byte(rnd.Uint32())
		}
		ws = append(ws, kv.Write{Key: k, Value: v})
		if len(ws) == 5000 || i == n-1 {
			if _, err := st.Commit(ctx, &kv.Batch{Writes: ws}); err != nil {
				t.Fatal(err)
			}
			ws = nil
		}
	}
}

func openBolt(t testing.TB, path string) *bolt.Store {
	t.Helper()
	st, err := bolt.Open(bolt.Options{Path: path, Sync: kv.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func closeStore(t testing.TB, st kv.Store) {
	t.Helper()
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

func backup(t testing.TB, st kv.Store, opt physical.BackupOptions) []byte {
	t.Helper()
	var buf bytes.Buffer
	if _, err := physical.Backup(ctx, st, &buf, opt); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func writeFile(t testing.TB, p []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "backup")
	if err := os.WriteFile(name, p, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestBackupRestores(t *testing.T) {
	for _, n := range []int{0, 1, 20000} {
		for _, compress := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d keys, compressed %v", n, compress), func(t *testing.T) {
				st := mem.New()
				defer closeStore(t, st)
				fillStore(t, st, n)
				p := backup(t, st, physical.BackupOptions{Compress: compress, Product: "test"})
				path := filepath.Join(t.TempDir(), "x.db")
				m, err := physical.Restore(ctx, writeFile(t, p), path, physical.RestoreOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if m.Keys != uint64(n) || m.Product != "test" || m.Store != "memory" ||
					m.Classes["record"].Keys != uint64(n) {
					t.Errorf("manifest %+v", m)
				}
				back := openBolt(t, path)
				defer closeStore(t, back)
				if got, want := kvtest.All(t, back), kvtest.All(t, st); got != want {
					t.Error("what was restored differs")
				}
				if got := back.Stats().Version; uint64(got) != m.Version {
					t.Errorf("got version %d, want %d", got, m.Version)
				}
				kvtest.Put(t, back, "a", "the restored store takes writes")
			})
		}
	}
}

func TestHotBackupIsOneMoment(t *testing.T) {
	st := openBolt(t, filepath.Join(t.TempDir(), "x.db"))
	defer closeStore(t, st)
	fillStore(t, st, 20000)
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { // each commit moves all of a pair at once
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			ws := kvtest.Writes("\x10first", fmt.Sprint(i), "\x31last", fmt.Sprint(i))
			if _, err := st.Commit(ctx, &kv.Batch{Writes: ws}); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 5 {
		pair := map[string]string{}
		path := filepath.Join(t.TempDir(), "copy")
		if _, err := physical.RestoreStream(ctx, bytes.NewReader(backup(t, st, physical.BackupOptions{})), path,
			physical.RestoreOptions{}); err != nil {
			t.Fatal(err)
		}
		back := openBolt(t, path)
		sn := kvtest.Begin(t, back)
		for _, k := range []string{"\x10first", "\x31last"} {
			v, _, err := sn.Get([]byte(k))
			if err != nil {
				t.Fatal(err)
			}
			pair[k] = string(v)
		}
		sn.Release()
		closeStore(t, back)
		if pair["\x10first"] != pair["\x31last"] {
			t.Errorf("the backup is of two moments: %v", pair)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestEachFlippedByteIsFound(t *testing.T) {
	st := mem.New()
	defer closeStore(t, st)
	fillStore(t, st, 40)
	for _, compress := range []bool{false, true} {
		whole := backup(t, st, physical.BackupOptions{Compress: compress})
		if _, err := physical.Verify(ctx, bytes.NewReader(whole), nil); err != nil {
			t.Fatal(err)
		}
		p := bytes.Clone(whole)
		for i := range p {
			p[i] ^= 1 << (i % 8)
			if _, err := physical.Verify(ctx, bytes.NewReader(p), nil); err == nil {
				t.Fatalf("compressed %v: a flipped bit in byte %d of %d passes", compress, i, len(p))
			}
			p[i] = whole[i]
		}
		for _, n := range []int{0, 10, 31, 32, 60, 64, len(p) / 2, len(p) - 1} {
			if _, err := physical.Verify(ctx, bytes.NewReader(p[:n]), nil); !errors.Is(err, physical.ErrBackup) {
				t.Errorf("cut at %d: got %v", n, err)
			}
		}
		if _, err := physical.Verify(ctx, bytes.NewReader(append(p, 0)), nil); !errors.Is(err, physical.ErrBackup) {
			t.Errorf("with a byte more: got %v", err)
		}
	}
}

func TestRestoreLeavesWhatIsThere(t *testing.T) {
	st := mem.New()
	defer closeStore(t, st)
	fillStore(t, st, 100)
	good := backup(t, st, physical.BackupOptions{})
	bad := bytes.Clone(good)
	bad[len(bad)/2] ^= 1
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	old := openBolt(t, path)
	kvtest.Put(t, old, "a", "old")

	check := func(name string, p []byte, replace bool, want error) {
		t.Helper()
		if _, err := physical.Restore(ctx, writeFile(t, p), path,
			physical.RestoreOptions{Replace: replace}); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
		if _, err := physical.RestoreStream(ctx, bytes.NewReader(p), path,
			physical.RestoreOptions{Replace: replace}); !errors.Is(err, want) {
			t.Errorf("%s, stream: got %v, want %v", name, err, want)
		}
	}
	check("not told to replace", good, false, os.ErrExist)
	check("in use", good, true, kv.ErrLocked)
	closeStore(t, old)
	check("damaged", bad, true, physical.ErrBackup)
	old = openBolt(t, path)
	if got := kvtest.All(t, old); got != "a=old" {
		t.Errorf("the old store has %q", got)
	}
	closeStore(t, old)
	check("good", good, true, nil)
	back := openBolt(t, path)
	if got := kvtest.All(t, back); got != kvtest.All(t, st) {
		t.Error("the new store differs from the backup")
	}
	closeStore(t, back)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("leftovers: %v %v", entries, err)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := physical.Restore(ctx, writeFile(t, good), foreign,
		physical.RestoreOptions{Replace: true}); !errors.Is(err, os.ErrExist) {
		t.Errorf("a directory of something else: got %v", err)
	}
}

func TestKilledRestoreIsNoStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	b, err := bolt.NewBuilder(path + ".new")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 120_000 { // more than one of its transactions
		if err := b.Put(fmt.Appendf(nil, "%08d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	// A second process comes while the first one runs, and after it was killed.
	st := mem.New()
	defer closeStore(t, st)
	file := writeFile(t, backup(t, st, physical.BackupOptions{}))
	if _, err := physical.Restore(ctx, file, path, physical.RestoreOptions{}); !errors.Is(err, kv.ErrLocked) {
		t.Errorf("while one runs: got %v", err)
	}
	copyDir(t, path+".new", path+".killed")
	if err := b.Abort(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".killed", path+".new"); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Open(bolt.Options{Path: path + ".new"}); !errors.Is(err, kv.ErrFormat) {
		t.Errorf("an unfinished store opens: %v", err)
	}
	if _, err := physical.Restore(ctx, file, path, physical.RestoreOptions{}); err != nil {
		t.Errorf("after it was killed: got %v", err)
	}
}

func copyDir(t testing.TB, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func TestForeignFilesAreRefused(t *testing.T) {
	for name, p := range map[string]string{"empty": "", "text": strings.Repeat("a text file\n", 100),
		"future": "nacrebak\x09\x00\x00\x00"} {
		if _, err := physical.Verify(ctx, strings.NewReader(p), nil); !errors.Is(err, physical.ErrBackup) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Backups of an older format are read; those of a newer one are refused.
func TestBackupFormats(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	st := openBolt(t, path)
	fillStore(t, st, 100)
	b := backup(t, st, physical.BackupOptions{})
	closeStore(t, st)
	for format, want := range map[uint32]error{0: kv.ErrNewer, 1: nil, 2: nil, 3: kv.ErrNewer} {
		binary.LittleEndian.PutUint32(b[8:], format)
		table := crc32.MakeTable(crc32.Castagnoli)
		binary.LittleEndian.PutUint32(b[12:], crc32.Update(crc32.Checksum(b[:12], table), table, b[16:32]))
		if _, err := physical.Verify(ctx, bytes.NewReader(b), nil); !errors.Is(err, want) {
			t.Errorf("format %d: got %v, want %v", format, err, want)
		}
	}
}

func FuzzVerify(f *testing.F) {
	st := mem.New()
	fillStore(f, st, 10)
	for _, compress := range []bool{false, true} {
		f.Add(backup(f, st, physical.BackupOptions{Compress: compress}))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		if m, err := physical.Verify(ctx, bytes.NewReader(p), nil); err == nil && m == nil {
			t.Error("neither a manifest nor an error")
		}
	})
}

func BenchmarkBackup(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.db")
	st := openBolt(b, path)
	fillStore(b, st, 300_000)
	closeStore(b, st)
	st = openBolt(b, path)
	defer closeStore(b, st)
	for _, compress := range []bool{false, true} {
		b.Run(fmt.Sprintf("zstd=%v", compress), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f, err := os.Create(filepath.Join(b.TempDir(), "backup"))
				if err != nil {
					b.Fatal(err)
				}
				m, err := physical.Backup(ctx, st, f, physical.BackupOptions{Compress: compress})
				if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(m.Bytes))
			}
		})
	}
}

func BenchmarkRestore(b *testing.B) {
	st := mem.New()
	defer closeStore(b, st)
	fillStore(b, st, 300_000)
	file := writeFile(b, backup(b, st, physical.BackupOptions{}))
	b.ReportAllocs()
	for b.Loop() {
		m, err := physical.Restore(ctx, file, filepath.Join(b.TempDir(), "x.db"), physical.RestoreOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(m.Bytes))
	}
}
