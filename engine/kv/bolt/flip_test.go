package bolt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/fault"
	"github.com/nacredb/nacre/engine/kv/kvtest"
)

// flips is how many bits TestFlippedBits flips, one after the other.
const flips = 2000

// TestFlippedBits flips single bits of the heads, elements and keys of a file's pages, and of its meta and free list
// pages. Each time the store gives the right rows or an error that says that it is damaged: never a wrong row, none too
// few, no panic and no endless walk.
func TestFlippedBits(t *testing.T) {
	path, file, whole, rows := soundStore(t)
	kinds := flipPlaces(whole)
	rnd := rand.New(rand.NewPCG(5, 17))
	found := map[string][2]int{} // refused, harmless
	for n := range flips {
		kind := []string{"branch", "child", "leaf", "rest"}[n%4]
		places := kinds[kind]
		at, bit := places[rnd.IntN(len(places))], byte(1)<<rnd.IntN(8)
		overwrite(t, file, []byte{whole[at] ^ bit}, at)
		outcome := make(chan error, 1)
		go func() { outcome <- readAll(path, rows, rnd.Uint64()) }()
		var err error
		select {
		case err = <-outcome:
		case <-time.After(time.Minute):
			t.Fatalf("bit %#x of byte %d of page %d (%s): no end", bit, at%4096, at/4096, kind)
		}
		sum := found[kind]
		switch {
		case err == nil:
			sum[1]++
		case errors.Is(err, kv.ErrCorrupt), errors.Is(err, kv.ErrFormat):
			sum[0]++
		default:
			t.Errorf("bit %#x of byte %d of page %d (%s): %v", bit, at%4096, at/4096, kind, err)
		}
		found[kind] = sum
		overwrite(t, file, whole[at:at+1], at)
	}
	for kind, sum := range found {
		t.Logf("%s: %d refused, %d harmless", kind, sum[0], sum[1])
		if sum[0] == 0 {
			t.Errorf("no flip in %s pages was ever noticed", kind)
		}
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, whole) {
		t.Errorf("reading has changed the file (%v)", err)
	}
}

// TestSkipsMeetDamagedEdges: a damaged key that is still in its place among the others may change on which side of the
// edge of a range it is. How many rows are skipped would be wrong then.
func TestSkipsMeetDamagedEdges(t *testing.T) {
	path, file, whole, rows := soundStore(t)
	leaves := flipPlaces(whole)["leaf"]
	moved := map[bool]int{} // keys that went into the range, or into the one before it
	for n := 1; n < len(rows)-60 && moved[true]+moved[false] < 400; n += 3 {
		key := rows[n].key
		at, last := placeOf(whole, leaves, key), len(key)-1
		if at < 0 || key[last] != 'x' {
			continue
		}
		up := n%2 == 0 // 'x' becomes 'y', or 'w': the order of the keys stays
		flipped := bytes.Clone(key)
		flipped[last] = map[bool]byte{true: 'y', false: 'w'}[up]
		overwrite(t, file, flipped[last:], at+last)
		err := func() error {
			st := open(t, bolt.Options{Path: path, FS: fault.NewDisk()})
			defer closeStore(t, st)
			sn := kvtest.Begin(t, st)
			defer sn.Release()
			// The row is the first one after the range, or the last one before it.
			r := kv.Range{Start: rows[max(0, n-50)].key, End: key}
			want := n - max(0, n-50)
			if up {
				r = kv.Range{Start: append(slices.Clip(key), 0), End: rows[n+50].key}
				want = 49
			}
			c := sn.Scan(r, kv.ScanOptions{})
			defer c.Close()
			if got := kv.Skip(c, 1000); got != want && c.Err() == nil {
				t.Errorf("row %d, up: %v: %d rows are skipped, want %d", n, up, got, want)
			}
			return c.Err()
		}()
		if err != nil && !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("row %d: %v", n, err)
		}
		if err != nil {
			moved[up]++
		}
		overwrite(t, file, key[last:], at+last)
	}
	if moved[true] == 0 || moved[false] == 0 {
		t.Errorf("noticed %v", moved)
	}
}

// placeOf finds a key in the leaves of a file; -1: it is in none.
func placeOf(whole []byte, leaves []int, key []byte) int {
	for from := 0; ; from++ {
		next := bytes.Index(whole[from:], key)
		if next < 0 {
			return -1
		}
		if from += next; slices.Contains(leaves, from) {
			return from
		}
	}
}

// TestDamagedKeysCanBeRemoved: who reads keys is told of a damaged one; who removes them gets it like the others.
func TestDamagedKeysCanBeRemoved(t *testing.T) {
	path, file, whole, rows := soundStore(t)
	key := rows[len(rows)/2].key
	at := placeOf(whole, flipPlaces(whole)["leaf"], key)
	overwrite(t, file, []byte{'y'}, at+len(key)-1)
	st := open(t, bolt.Options{Path: path})
	scan := func(opt kv.ScanOptions) (found []kv.Write, err error) {
		sn := kvtest.Begin(t, st)
		defer sn.Release()
		c := sn.Scan(kv.Range{}, opt)
		defer c.Close()
		for c.Next() {
			found = append(found, kv.Write{Key: bytes.Clone(c.Key())})
		}
		return found, c.Err()
	}
	if found, err := scan(kv.ScanOptions{KeysOnly: true}); !errors.Is(err, kv.ErrCorrupt) || len(found) != len(rows)/2 {
		t.Errorf("keys: %d of %d before the damaged one, %v", len(found), len(rows)/2, err)
	}
	found, err := scan(kv.ScanOptions{KeysOnly: true, Damaged: true})
	if err != nil || len(found) != len(rows) {
		t.Errorf("keys to remove: %d of %d, %v", len(found), len(rows), err)
	}
	if _, err := st.Commit(ctx, &kv.Batch{Writes: found}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, st) // and a checkpoint
	st = open(t, bolt.Options{Path: path})
	defer closeStore(t, st)
	if left, err := scan(kv.ScanOptions{}); err != nil || len(left) > 0 {
		t.Errorf("%d rows are left, %v", len(left), err)
	}
}

// row is a key and its value.
type row struct{ key, value []byte }

// soundStore makes a store of many keys, and gives what its file has.
func soundStore(t *testing.T) (path, file string, whole []byte, rows []row) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.db")
	manyKeys(t, path)
	rows, file = allRows(t, path), filepath.Join(path, "data.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return path, file, whole, rows
}

// allRows are the rows of a sound store.
func allRows(t *testing.T, path string) (rows []row) {
	t.Helper()
	st := open(t, bolt.Options{Path: path})
	defer closeStore(t, st)
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	c := sn.Scan(kv.Range{}, kv.ScanOptions{})
	for c.Next() {
		rows = append(rows, row{bytes.Clone(c.Key()), bytes.Clone(c.Value())})
	}
	if c.Err() != nil || len(rows) < 2000 {
		t.Fatal(len(rows), c.Err())
	}
	return rows
}

// flipPlaces gives the bytes of a file that are neither values nor unused, by the kind of their page.
func flipPlaces(p []byte) map[string][]int {
	le := binary.LittleEndian
	places := map[string][]int{}
	for _, id := range usedPages(p) {
		pg, kind, head := p[id*4096:], "leaf", 16
		if le.Uint16(pg[8:]) == 1 {
			kind = "branch"
		}
		for i := range head {
			places[kind] = append(places[kind], id*4096+i)
		}
		for i := range int(le.Uint16(pg[10:])) {
			e := 16 + 16*i
			at, n := e+int(le.Uint32(pg[e:])), int(le.Uint32(pg[e+4:])) // of a branch
			if kind == "leaf" {
				at, n = e+int(le.Uint32(pg[e+4:])), int(le.Uint32(pg[e+8:]))
			}
			for i := range 16 {
				places[kind] = append(places[kind], id*4096+e+i)
			}
			if kind == "branch" { // what leads to another page of the file
				places["child"] = append(places["child"], id*4096+e+8, id*4096+e+9)
			}
			for i := range n {
				places[kind] = append(places[kind], id*4096+at+i)
			}
		}
	}
	meta := 0
	if le.Uint64(p[4096+64:]) > le.Uint64(p[64:]) {
		meta = 4096
	}
	free := int(le.Uint64(p[meta+48:])) * 4096
	for i := range 80 {
		places["rest"] = append(places["rest"], i, 4096+i)
	}
	for i := range 16 + 8*min(int(le.Uint16(p[free+10:])), 500) {
		places["rest"] = append(places["rest"], free+i)
	}
	return places
}

// readAll opens the store and reads it in all ways. Errors: those of the store, and what differs from rows.
func readAll(path string, rows []row, seed uint64) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	st, err := bolt.Open(bolt.Options{Path: path, FS: fault.NewDisk()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	sn, err := st.Begin(ctx)
	if err != nil {
		return err
	}
	defer sn.Release()
	// Each way is tried, also after errors of the others: only wrong rows end the test.
	var refused error
	note := func(err error) error {
		if errors.Is(err, kv.ErrCorrupt) || errors.Is(err, kv.ErrFormat) {
			refused, err = err, nil
		}
		return err
	}
	rnd := rand.New(rand.NewPCG(seed, 0))
	scans := []scanned{{0, len(rows), false, 1, 0}, {0, len(rows), true, 1, 0}, {0, len(rows), false, 64, 0},
		{0, len(rows), false, 0, 0}, {0, len(rows), true, 0, 0}}
	for range 30 {
		from := rnd.IntN(len(rows))
		batch := []int{0, 1, 9}[rnd.IntN(3)]
		scans = append(scans, scanned{from, min(len(rows), from+rnd.IntN(40)), rnd.IntN(2) == 0, batch, 0})
	}
	for range 5 {
		from := rnd.IntN(len(rows))
		scans = append(scans, scanned{from, min(len(rows), from+rnd.IntN(400)), false, 9, 1 + rnd.IntN(400)})
	}
	for _, s := range scans {
		if err := note(s.compare(sn, rows)); err != nil {
			return err
		}
	}
	for i := range rows {
		v, ok, err := sn.Get(rows[i].key)
		if err == nil && (!ok || !bytes.Equal(v, rows[i].value)) {
			err = fmt.Errorf("get of row %d: %v, %d bytes", i, ok, len(v))
		}
		if err := note(err); err != nil {
			return err
		}
		if _, ok, err = sn.Get(append(slices.Clip(rows[i].key), 0)); ok {
			err = fmt.Errorf("get of a key behind row %d finds one", i)
		}
		if err := note(err); err != nil {
			return err
		}
	}
	return refused
}

// scanned is a scan over rows [from, to).
type scanned struct {
	from, to int
	reverse  bool
	batch    int // rows that are read together; 0: keys alone
	skip     int // of the first rows
}

func (s scanned) compare(sn kv.Snapshot, rows []row) error {
	r := kv.Range{Start: rows[s.from].key}
	if s.to < len(rows) {
		r.End = rows[s.to].key
	}
	want := slices.Clone(rows[s.from:s.to])
	if s.reverse {
		slices.Reverse(want)
	}
	c := sn.Scan(r, kv.ScanOptions{Reverse: s.reverse, KeysOnly: s.batch == 0})
	defer c.Close()
	n, pairs := 0, make([]kv.Pair, max(s.batch, 1))
	if s.skip > 0 {
		if n = kv.Skip(c, s.skip); n != min(s.skip, len(want)) && c.Err() == nil {
			return fmt.Errorf("%+v: %d rows are skipped", s, n)
		}
	}
	next := func() int {
		if s.batch > 1 {
			return kv.Fill(c, pairs)
		}
		if !c.Next() {
			return 0
		}
		pairs[0] = kv.Pair{Key: c.Key(), Value: c.Value()}
		return 1
	}
	for got := len(pairs); got == len(pairs); {
		got = next()
		for _, p := range pairs[:got] {
			if n == len(want) || !s.gives(p, want[n]) {
				return fmt.Errorf("%+v: row %d is a wrong one: %.40q", s, n, p.Key)
			}
			n++
		}
	}
	if c.Err() == nil && n < len(want) {
		return fmt.Errorf("%+v: %d rows, want %d", s, n, len(want))
	}
	return c.Err()
}

// gives reports whether p is what the scan may give for a row. The key of a value that reaches into other pages is not
// known to be sound where the value is not read.
func (s scanned) gives(p kv.Pair, want row) bool {
	if s.batch == 0 {
		return bytes.Equal(p.Key, want.key) || len(want.value) > 4096
	}
	return bytes.Equal(p.Key, want.key) && bytes.Equal(p.Value, want.value)
}

// TestCheckpointMeetsDamage: a page that bbolt finds damaged when a checkpoint writes there makes the store read-only,
// and does not end the process. The log keeps what was committed.
func TestCheckpointMeetsDamage(t *testing.T) {
	_, _, whole, rows := soundStore(t)
	used, met := usedPages(whole), 0
	for i := 0; i < len(used); i += len(used)/6 + 1 {
		spoilt := bytes.Clone(whole)
		spoilt[used[i]*4096+8] ^= 0x20 // its kind
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, "data.db"), spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		st, err := bolt.Open(bolt.Options{Path: path, CheckpointKeys: 100})
		if errors.Is(err, kv.ErrCorrupt) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(rows) && err == nil; n += 50 {
			b := &kv.Batch{}
			for _, r := range rows[n:min(n+50, len(rows))] {
				b.Writes = append(b.Writes, kv.Write{Key: r.key, Value: []byte("new")})
			}
			_, err = st.Commit(ctx, b)
		}
		if err != nil && !errors.Is(err, kv.ErrReadOnly) {
			t.Errorf("page %d: commit: %v", used[i], err)
		}
		if err := st.Close(); !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("page %d: close: got %v, want ErrCorrupt", used[i], err)
		}
		met++
	}
	if met == 0 {
		t.Error("no checkpoint came to a damaged page")
	}
}
