package bolt_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/kvtest"
)

// inspect opens what is at path for looking at and closes it with the test.
func inspect(t *testing.T, path string) *bolt.Inspection {
	t.Helper()
	in, err := bolt.Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	})
	return in
}

// troubles are the findings of CheckPages.
func troubles(t *testing.T, in *bolt.Inspection) []error {
	t.Helper()
	var found []error
	if _, err := in.CheckPages(ctx, func(err error) { found = append(found, err) }); err != nil {
		t.Fatal(err)
	}
	return found
}

// manyKeys fills a store so that its tree has several levels, some values overflow, and pages are
// free.
func manyKeys(t *testing.T, path string) {
	t.Helper()
	st := open(t, bolt.Options{Path: path, Sync: kv.SyncNever, CheckpointKeys: 700})
	rnd := rand.New(rand.NewPCG(3, 3))
	for i := range 150 {
		var kvs []string
		for j := range 20 {
			kvs = append(kvs, fmt.Sprintf("k%06d-%s", rnd.IntN(2000)*20+j, strings.Repeat("x", 40)),
				strings.Repeat("v", rnd.IntN(200)))
		}
		if i%20 == 0 {
			kvs = append(kvs, fmt.Sprintf("long%d", i), strings.Repeat("w", 20000))
		}
		ws := kvtest.Writes(kvs...)
		slices.SortFunc(ws, func(a, b kv.Write) int { return bytes.Compare(a.Key, b.Key) })
		if _, err := st.Commit(context.Background(), &kv.Batch{Writes: ws}); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, st)
}

func TestInspectionSeesWhatTheStoreSees(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	manyKeys(t, path)
	st := open(t, bolt.Options{Path: path})
	want := kvtest.All(t, st)
	if _, err := bolt.Inspect(path); !errors.Is(err, kv.ErrLocked) {
		t.Errorf("while it is open: got %v, want ErrLocked", err)
	}
	closeStore(t, st)
	in := inspect(t, path)
	if found := troubles(t, in); len(found) > 0 {
		t.Errorf("a sound store: %v", found)
	}
	if got := kvtest.All(t, in); got != want {
		t.Error("it reads otherwise than the store")
	}
	sn := kvtest.Begin(t, in)
	defer sn.Release()
	for i, pair := range strings.Fields(want) {
		k, v, _ := strings.Cut(pair, "=")
		if i%17 != 0 {
			continue
		}
		got, ok, err := sn.Get([]byte(k))
		if err != nil || !ok || string(got) != v {
			t.Fatalf("get %s: %q %v %v, want %q", k, got, ok, err, v)
		}
		if _, ok, err := sn.Get([]byte(k + "!")); ok || err != nil {
			t.Fatalf("get of an absent key: %v %v", ok, err)
		}
	}
	for _, r := range []kv.Range{{Start: []byte("k05")}, {Start: []byte("k03"), End: []byte("k04")},
		{Start: []byte("z")}, {End: []byte("k01")}} {
		n := 0
		for _, pair := range strings.Fields(want) {
			k, _, _ := strings.Cut(pair, "=")
			if r.Contains([]byte(k)) {
				n++
			}
		}
		c := sn.Scan(r, kv.ScanOptions{})
		got := 0
		for c.Next() {
			got++
		}
		if got != n || c.Err() != nil {
			t.Errorf("range %q: got %d keys, want %d, %v", r.Start, got, n, c.Err())
		}
	}
}

// TestInspectionReadsTheLog and leaves it as it was.
// setFormat writes the number of the format into a store that is closed.
func setFormat(t *testing.T, path string, format uint32) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(path, "data.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("nacre")).Put([]byte("format"), binary.BigEndian.AppendUint32(nil, format))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// inspected gives the format and the content of a store that is closed.
func inspected(t *testing.T, path string) (format uint32, content string) {
	t.Helper()
	in, err := bolt.Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	format, content = in.Format, kvtest.All(t, in)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	return format, content
}

// A store of an older format is read, and is of this one from then on: programs that know only the older one refuse it.
// Formats that this program does not know are refused and stay as they are.
func TestFormats(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	manyKeys(t, path)
	format, want := inspected(t, path)
	if format != bolt.FormatVersion {
		t.Errorf("a new store has format %d", format)
	}
	setFormat(t, path, 1)
	before := hashFiles(t, path)
	if format, content := inspected(t, path); format != 1 || content != want || hashFiles(t, path) != before {
		t.Errorf("a store of format 1 is looked at as one of format %d, or was changed", format)
	}
	st := open(t, bolt.Options{Path: path})
	if got := kvtest.All(t, st); got != want {
		t.Error("a store of format 1 is not read as it was")
	}
	closeStore(t, st)
	if format, content := inspected(t, path); format != bolt.FormatVersion || content != want {
		t.Errorf("after it was opened it has format %d", format)
	}
	for _, format := range []uint32{0, bolt.FormatVersion + 1, 1 << 31} {
		setFormat(t, path, format)
		before := hashFiles(t, path)
		if st, err := bolt.Open(bolt.Options{Path: path}); !errors.Is(err, kv.ErrNewer) {
			t.Errorf("open format %d: %v, %v", format, st, err)
		}
		if _, err := bolt.Inspect(path); !errors.Is(err, kv.ErrNewer) {
			t.Errorf("inspect format %d: %v", format, err)
		}
		if hashFiles(t, path) != before {
			t.Errorf("refusing format %d has changed the files", format)
		}
	}
}

func TestInspectionReadsTheLog(t *testing.T) {
	from, path := filepath.Join(t.TempDir(), "x.db"), filepath.Join(t.TempDir(), "copy")
	st := open(t, bolt.Options{Path: from})
	kvtest.Put(t, st, "a", "1", "b", "2")
	kvtest.Put(t, st, "a", "3", "c", "4")
	if err := os.CopyFS(path, os.DirFS(from)); err != nil { // as after kill -9
		t.Fatal(err)
	}
	closeStore(t, st)
	before := hashFiles(t, path)
	in := inspect(t, path)
	if got := kvtest.All(t, in); got != "a=3 b=2 c=4" || in.Version != 2 || in.Applied != 0 {
		t.Errorf("got %q at version %d, %d applied", got, in.Version, in.Applied)
	}
	if found := troubles(t, in); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	if hashFiles(t, path) != before {
		t.Error("files have changed")
	}
}

func hashFiles(t *testing.T, dir string) string {
	t.Helper()
	var out bytes.Buffer
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		p, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s %x;", e.Name(), sha256.Sum256(p))
	}
	return out.String()
}

// TestDamagedPagesAreFound spoils pages that are in use, in every kind of place: each is found, the
// rest can still be read, and nothing makes the reader fail.
func TestDamagedPagesAreFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	manyKeys(t, path)
	file := filepath.Join(path, "data.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	used := usedPages(whole)
	rnd := rand.New(rand.NewPCG(9, 1))
	for round := range 120 {
		id := used[rnd.IntN(len(used))]
		sound := whole[id*4096 : (id+1)*4096]
		pg := bytes.Clone(sound)
		what := ""
		switch round % 5 {
		case 0:
			what = "zeroed"
			clear(pg)
		case 1:
			what = "kind"
			pg[8] = 0x20
		case 2:
			what = "page number"
			pg[rnd.IntN(2)]++
		case 3:
			what = "content of another page"
			other := used[rnd.IntN(len(used))]
			if other == id {
				continue
			}
			copy(pg, whole[other*4096:(other+1)*4096])
		case 4:
			what = "first element"
			binary.LittleEndian.PutUint32(pg[20:], 0xfffffff0)
			binary.LittleEndian.PutUint32(pg[16:], 0xfffffff0)
		}
		overwrite(t, file, pg, id*4096)
		in, err := bolt.Inspect(path)
		if err != nil {
			if !errors.Is(err, kv.ErrCorrupt) {
				t.Errorf("%s of page %d: got %v", what, id, err)
			}
			overwrite(t, file, sound, id*4096)
			continue
		}
		if found := troubles(t, in); len(found) == 0 {
			t.Errorf("round %d: %s of page %d is not found", round, what, id)
		}
		in.Tolerant = true
		kvtest.All(t, in)
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		overwrite(t, file, sound, id*4096)
	}
}

func overwrite(t *testing.T, file string, p []byte, at int) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(p, int64(at))
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// usedPages are the pages of a file that hold a tree, by the newest meta page.
func usedPages(p []byte) []int {
	le := binary.LittleEndian
	meta := p
	if le.Uint64(p[4096+64:]) > le.Uint64(p[64:]) {
		meta = p[4096:]
	}
	var out []int
	var visit func(pg []byte)
	page := func(id uint64) {
		out = append(out, int(id))
		visit(p[id*4096:])
	}
	visit = func(pg []byte) {
		for i := range int(le.Uint16(pg[10:])) {
			e := pg[16+16*i:]
			switch {
			case le.Uint16(pg[8:]) == 1:
				page(le.Uint64(e[8:]))
			case le.Uint32(e) == 1:
				value := e[le.Uint32(e[4:])+le.Uint32(e[8:]):]
				if root := le.Uint64(value); root != 0 {
					page(root)
				}
			}
		}
	}
	page(le.Uint64(meta[32:]))
	return out
}

// numbered fills a store at path with n keys in an order that every page repeats, and gives the bytes of data.db.
func numbered(t *testing.T, path string, n int) []byte {
	t.Helper()
	st := open(t, bolt.Options{Path: path})
	var kvs []string
	for i := range n {
		kvs = append(kvs, fmt.Sprintf("key-%06d", i), fmt.Sprintf("value-%06d", i))
	}
	kvtest.Put(t, st, kvs...)
	closeStore(t, st)
	data, err := os.ReadFile(filepath.Join(path, "data.db"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDamagedKeysHideNoOthers: a key in a leaf or branch that has become greater, or less, costs what it belonged to
// and nothing behind it.
func TestDamagedKeysHideNoOthers(t *testing.T) {
	const n = 2000
	path := filepath.Join(t.TempDir(), "x.db")
	data := numbered(t, path, n)
	for _, i := range []int{0, 1, 700, 701, 1400, n - 1} {
		for _, first := range []byte{0x00, 0xff, 'k' + 1, 'k' - 1} {
			spoilt := bytes.Clone(data)
			hits := 0
			for at := 0; ; hits++ {
				next := bytes.Index(spoilt[at:], fmt.Appendf(nil, "key-%06d", i))
				if next < 0 {
					break
				}
				at += next
				spoilt[at] = first
			}
			if hits == 0 {
				t.Fatalf("key %d is not in the file", i)
			}
			if err := os.WriteFile(filepath.Join(path, "data.db"), spoilt, 0o600); err != nil {
				t.Fatal(err)
			}
			in := inspect(t, path)
			in.Tolerant = true
			sn := kvtest.Begin(t, in)
			c := sn.Scan(kv.Range{}, kv.ScanOptions{})
			kept := 0
			for c.Next() {
				kept++
			}
			if lost := in.TakeLosses(); kept != n-1 || c.Err() != nil || lost.Keys != 1 || lost.Pages != 0 {
				t.Errorf("key %d begins with %#x: %d of %d others are read, losses %+v, %v", i, first, kept, n-1, lost, c.Err())
			}
			for j := range n {
				key := fmt.Appendf(nil, "key-%06d", j)
				if v, ok, err := sn.Get(key); j != i &&
					(string(v) != fmt.Sprintf("value-%06d", j) || !ok || err != nil) {
					t.Fatalf("key %d begins with %#x: %s gives %q, %v, %v", i, first, key, v, ok, err)
				}
			}
			sn.Release()
			if found := troubles(t, in); len(found) == 0 {
				t.Errorf("key %d begins with %#x: nothing is found", i, first)
			}
		}
	}
}

// TestDamagedKeyDoesNotEndAScan: a key that has left the range that is scanned is an error, not the end of the answer.
func TestDamagedKeyDoesNotEndAScan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	data := numbered(t, path, 2000)
	at := bytes.LastIndex(data, []byte("key-001001value"))
	if at < 0 {
		t.Fatal("the key is not in the file")
	}
	for _, tc := range []struct {
		first   byte
		reverse bool
	}{{'z', false}, {'a', true}} {
		spoilt := bytes.Clone(data)
		spoilt[at] = tc.first
		if err := os.WriteFile(filepath.Join(path, "data.db"), spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		st := open(t, bolt.Options{Path: path})
		sn := kvtest.Begin(t, st)
		c := sn.Scan(kv.Range{Start: []byte("key-000900"), End: []byte("key-001100")},
			kv.ScanOptions{Reverse: tc.reverse})
		n := 0
		for c.Next() {
			n++
		}
		if !errors.Is(c.Err(), kv.ErrCorrupt) {
			t.Errorf("reverse %v: %d keys and %v, want ErrCorrupt", tc.reverse, n, c.Err())
		}
		sn.Release()
		closeStore(t, st)
	}
}
