package tikv_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/tikv"
)

func isSteady(key []byte) bool { return key[0] == 'd' }

// at is a version, and the value of the steady key that belongs to it.
type at struct {
	version kv.Version
	value   string
}

// valueOf reads a key.
func valueOf(st kv.Store, key string) (string, error) {
	sn, err := st.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer sn.Release()
	v, _, err := sn.Get([]byte(key))
	return string(v), err
}

// TestSteadyUnderChanges: while one process changes a steady key again and again, each commit of two, and each
// snapshot, has gone by the value that the key had at its very timestamp.
func TestSteadyUnderChanges(t *testing.T) {
	_, process := cluster(t)
	stores := []*tikv.Store{process(tikv.Options{Steady: isSteady}), process(tikv.Options{Steady: isSteady})}
	for _, st := range stores {
		st.AnnounceFor(80) // so that what is seen holds between some of the changes
	}
	changes := []at{{kvtest.Put(t, stores[0], "d", "0"), "0"}}
	var over atomic.Bool
	var mu sync.Mutex // guards commits and reads
	var commits, reads []at
	var wg sync.WaitGroup
	for i := range 6 {
		st := stores[i%2]
		wg.Go(func() {
			for n, last := 0, "0"; !over.Load(); n++ {
				sn, err := st.Presume(ctx, []kv.Pair{{Key: []byte("d"), Value: []byte(last)}})
				if err != nil {
					t.Error(err)
					return
				}
				went, _, err := sn.Get([]byte("d"))
				if err == nil && n%2 == 0 {
					var v kv.Version
					key := fmt.Appendf(nil, "x%d-%d", i, n)
					v, err = st.Commit(ctx, batch(sn, keys("d"), string(key), "v"))
					if err == nil {
						mu.Lock()
						commits = append(commits, at{v, string(went)})
						mu.Unlock()
					}
				} else if err == nil {
					if _, _, err = sn.Get([]byte("y")); err == nil {
						mu.Lock()
						reads = append(reads, at{sn.Version(), string(went)})
						mu.Unlock()
					}
				}
				sn.Release()
				if errors.Is(err, kv.ErrConflict) {
					last, err = valueOf(st, "d")
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := 1; n <= 60; n++ {
		sn := kvtest.Begin(t, stores[n%2])
		if _, _, err := sn.Get([]byte("d")); err != nil {
			t.Fatal(err)
		}
		v, err := stores[n%2].Commit(ctx, batch(sn, keys("d"), "d", strconv.Itoa(n)))
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, at{v, strconv.Itoa(n)})
		sn.Release()
		time.Sleep(time.Duration(n%8) * 15 * time.Millisecond)
	}
	over.Store(true)
	wg.Wait()
	shows := func(v kv.Version) string {
		by := func(a at, v kv.Version) int { return cmp.Compare(a.version, v) }
		i, same := slices.BinarySearchFunc(changes, v, by)
		if !same {
			i--
		}
		return changes[i].value
	}
	for what, all := range map[string][]at{"commit": commits, "snapshot": reads} {
		if len(all) < 60 {
			t.Errorf("%d of %s", len(all), what)
		}
		for _, a := range all {
			if want := shows(a.version); a.value != want {
				t.Errorf("%s at %d went by %s, and it is %s", what, a.version, a.value, want)
			}
		}
	}
}

// TestSteady: what a snapshot has shown of a steady key is not asked for again by those that begin soon after, nor
// validated; who writes it has a commit timestamp that comes so much later.
func TestSteady(t *testing.T) {
	st := open(t, tikv.Options{Steady: isSteady})
	defer st.Close()
	sn := kvtest.Begin(t, st)
	before := st.Time(sn.Version())
	sn.Release()
	if v := kvtest.Put(t, st, "d", "1"); st.Time(v).Sub(before) < 20*time.Millisecond {
		t.Errorf("a change of a steady key commits %v after its snapshot", st.Time(v).Sub(before))
	}
	kvtest.Put(t, st, "y", "1")
	time.Sleep(time.Second) // while a change is announced nothing is sure
	pairs := []kv.Pair{{Key: []byte("d"), Value: []byte("1")}}
	trips, soon := st.Trips(), 0
	for n := 0; soon < 20 && n < 2000; n++ {
		seen, err := st.Presume(ctx, pairs)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []string{"d", "y"} { // with y comes s, if that is not known
			if _, _, err := seen.Get([]byte(k)); err != nil {
				t.Fatal(err)
			}
		}
		next, err := st.Presume(ctx, pairs)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := next.Get([]byte("d")); err != nil {
			t.Fatal(err)
		}
		validations := trips.Validations.Load()
		v, err := st.Commit(ctx, batch(next, keys("d"), "x", strconv.Itoa(n)))
		if err != nil {
			t.Fatal(err)
		}
		more := trips.Validations.Load() - validations
		if st.Time(v).Sub(st.Time(seen.Version())) < 20*time.Millisecond && more == 0 {
			soon++
		}
		seen.Release()
		next.Release()
	}
	if soon < 20 {
		t.Errorf("%d commits went by what was seen less than 20 ms before", soon)
	}
	time.Sleep(40 * time.Millisecond)
	validations := trips.Validations.Load()
	late, err := st.Presume(ctx, pairs)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Release()
	if _, _, err := late.Get([]byte("d")); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Commit(ctx, batch(late, keys("d"), "x", "late")); err != nil {
		t.Fatal(err)
	}
	if trips.Validations.Load() == validations {
		t.Error("a commit 40 ms later has validated nothing")
	}
}

// TestSteadyTooLate: a change that readers push beyond the time that was announced for it is announced anew.
func TestSteadyTooLate(t *testing.T) {
	c, process := cluster(t)
	a, b := process(tikv.Options{Steady: isSteady}), process(tikv.Options{Steady: isSteady})
	a.AnnounceFor(100)
	kvtest.Put(t, a, "d", "0")
	before := a.Trips().Commits.Load()
	c.Order(t, "/hold")
	type outcome struct {
		v   kv.Version
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := a.Commit(ctx, &kv.Batch{Writes: kvtest.Writes("d", "1")})
		done <- outcome{v, err}
	}()
	waitFor(t, func() bool { return a.Trips().Commits.Load() > before })
	_, until := a.Announced()
	time.Sleep(time.Until(a.Time(until)) + 20*time.Millisecond)
	if got := kvtest.All(t, b); got != "d=0" {
		t.Errorf("meanwhile: %s", got)
	}
	c.Order(t, "/go")
	o := <-done
	from, until := a.Announced()
	if o.err != nil || o.v < from || o.v >= until {
		t.Errorf("commit at %d, announced from %d until %d: %v", o.v, from, until, o.err)
	}
	if got := kvtest.All(t, b); got != "d=1" {
		t.Errorf("afterwards: %s", got)
	}
}

// TestSteadyTogether: changes of many processes at once go by one announcement.
func TestSteadyTogether(t *testing.T) {
	_, process := cluster(t)
	var stores []*tikv.Store
	for range 12 {
		st := process(tikv.Options{Steady: isSteady})
		st.AnnounceFor(60_000)
		stores = append(stores, st)
	}
	var wg sync.WaitGroup
	for i, st := range stores {
		wg.Go(func() {
			if _, err := st.Commit(ctx, &kv.Batch{Writes: kvtest.Writes(fmt.Sprintf("d%d", i), "1")}); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	_, want := stores[0].Announced()
	for i, st := range stores {
		if _, until := st.Announced(); until != want || until == 0 {
			t.Errorf("process %d goes by an announcement until %d, and the first until %d", i, until, want)
		}
	}
}
