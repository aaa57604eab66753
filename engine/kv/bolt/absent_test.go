package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
)

// TestFilteredLookUps: with a filter of the keys of data.db, made again and again while others write and checkpoint,
// look-ups give what a map gives, and some of them are answered by it.
func TestFilteredLookUps(t *testing.T) {
	denied := 0
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			denied += checkAgainstBbolt(t, rand.New(rand.NewPCG(seed, 11)), Options{absenceFrom: 1})
		})
	}
	if denied < 1000 {
		t.Errorf("filters answered %d look-ups", denied)
	}
}

// lookUp looks for what was just written, and for keys that were never there, and gives how many of all a filter has
// answered.
func lookUp(t *testing.T, rnd *rand.Rand, st *Store, truth map[string]string, writes []kv.Write) (denied int) {
	t.Helper()
	sn, err := st.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Release()
	keys := make([]string, 0, len(writes)+100)
	for _, w := range writes {
		keys = append(keys, string(w.Key))
	}
	for k := range truth { // in random order
		if keys = append(keys, k); rnd.IntN(50) == 0 {
			break
		}
	}
	for range 100 {
		keys = append(keys, fmt.Sprintf("%c%06d-", 'a'+rnd.IntN(3), rnd.IntN(20_000)))
	}
	filter := sn.(*snapshot).epoch.State.base.keys
	for _, k := range keys {
		v, ok, err := sn.Get([]byte(k))
		if want, there := truth[k]; err != nil || ok != there || string(v) != want {
			t.Fatalf("%.40q: %d bytes, %v, want %d bytes, %v (%v)", k, len(v), ok, len(want), there, err)
		}
		if filter != nil && !filter.MayHave([]byte(k)) {
			denied++
		}
	}
	return denied
}

// TestDamagedKeysAreNotFiltered: a key that is damaged before a filter is made stands for another one, so there is none
// then, and a look-up for it goes on to say that data.db is damaged.
func TestDamagedKeysAreNotFiltered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	opt := Options{Path: path, Sync: kv.SyncNever, absenceFrom: 1}
	st := mustOpen(t, opt)
	key := func(i int) []byte { return fmt.Appendf(nil, "key %05d of many", i) }
	var b kv.Batch
	for i := range 5000 {
		b.Writes = append(b.Writes, kv.Write{Key: key(i), Value: []byte("value")})
	}
	if _, err := st.Commit(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(path, dataFile)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lost := key(2500)
	for i := 2501; bytes.Count(raw, lost) != 1; i++ { // a branch has it too
		lost = key(i)
	}
	other := bytes.Replace(lost, []byte("many"), []byte("manz"), 1)
	if err := os.WriteFile(file, bytes.Replace(raw, lost, other, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	st = mustOpen(t, opt)
	st.absent.vain.Store(1 << 20)
	st.learnAbsent(1)
	st.background.Wait()
	if st.absent.filter.Load() != nil || !st.absent.busy.Load() {
		t.Error("a filter was made of damaged keys, or would be tried again")
	}
	sn, err := st.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := sn.Get(lost); !errors.Is(err, kv.ErrCorrupt) {
		t.Errorf("a look-up for a damaged key gave %v", err)
	}
	sn.Release()
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t *testing.T, opt Options) *Store {
	t.Helper()
	st, err := Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	return st
}
