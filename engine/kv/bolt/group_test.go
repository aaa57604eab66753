package bolt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/fault"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// waits is the number of requests that wait to be admitted.
func (c *committer) waits() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// stalled opens a store whose next sync of the log waits until release is called, and then ends with err.
func stalled(t *testing.T, err error) (st *Store, inSync chan struct{}, release func()) {
	t.Helper()
	var opt Options
	d := fault.NewDisk()
	opt.Path, opt.FS = filepath.Join(t.TempDir(), "x.db"), d
	st, openErr := Open(opt)
	if openErr != nil {
		t.Fatal(openErr)
	}
	inSync, gate := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d.SetPlan(func(op fault.Op, _ int64) (out fault.Outcome) {
		if op == fault.Sync {
			once.Do(func() {
				close(inSync)
				<-gate
				out.Err = err
			})
		}
		return out
	})
	return st, inSync, sync.OnceFunc(func() { close(gate) })
}

func put(st *Store, key string) error {
	_, err := st.Commit(context.Background(), &kv.Batch{Writes: []kv.Write{{Key: []byte(key), Value: []byte("v")}}})
	return err
}

// entered is a request whose caller waits in the background.
type entered struct {
	*request
	done chan struct{}
}

// enter is the first half of what Commit does with a batch of one key.
func enter(t *testing.T, st *Store, key string) (r *entered, lead bool) {
	t.Helper()
	frame, err := wal.Encode(&kv.Batch{Writes: []kv.Write{{Key: []byte(key), Value: []byte("v")}}})
	if err != nil {
		t.Fatal(err)
	}
	r = &entered{newRequest(), make(chan struct{})}
	r.frame = frame
	if lead, err = st.commits.enter(r.request); err != nil {
		t.Fatal(err)
	}
	return r, lead
}

// await is the other half, in the background.
func (r *entered) await(st *Store, lead bool) {
	go func() {
		_ = st.commits.await(context.Background(), r.request, lead) // the test looks at r.err
		close(r.done)
	}()
}

// enqueue is what Commit does with a batch of one key, with the wait in the background.
func enqueue(t *testing.T, st *Store, key string) *entered {
	t.Helper()
	r, lead := enter(t, st, key)
	r.await(st, lead)
	return r
}

// awaitTaken waits until the committer has seen requests.
func awaitTaken(rs []*entered) {
	for _, r := range rs {
		for r.state.Load() != taken {
			runtime.Gosched()
		}
	}
}

// opened opens a store, and closes it with the test.
func opened(t *testing.T, opt Options) *Store {
	t.Helper()
	st, err := Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// inMemory opens a store on a disk of its own.
func inMemory(t *testing.T) *Store {
	t.Helper()
	return opened(t, Options{Path: filepath.Join(t.TempDir(), "x.db"), FS: fault.NewDisk()})
}

// TestALeaderTakesAllThatJoinedMeanwhile: those who come after a caller was told to lead, and before it does, are in
// its group.
func TestALeaderTakesAllThatJoinedMeanwhile(t *testing.T) {
	st := inMemory(t)
	before := st.Stats()
	var rs [5]*entered
	var leads [len(rs)]bool
	for i := range rs {
		rs[i], leads[i] = enter(t, st, fmt.Sprint("k", i))
	}
	for i, r := range rs {
		if leads[i] != (i == 0) {
			t.Errorf("request %d: leads: %v", i, leads[i])
		}
		r.await(st, leads[i])
	}
	for i, r := range rs {
		if <-r.done; r.err != nil {
			t.Errorf("request %d: %v", i, r.err)
		}
	}
	after := st.Stats()
	if g, s := after.Groups-before.Groups, after.Syncs-before.Syncs; g != 1 || s != 1 {
		t.Errorf("%d groups and %d syncs, want 1 of each", g, s)
	}
}

// TestLongWaitsForOthersAreRare: where all processors compute, a caller that leads does not stand back each time.
func TestLongWaitsForOthersAreRare(t *testing.T) {
	g := gathering{patience: usual, several: true, after: time.Now().Add(time.Hour)}
	var enough atomic.Bool
	defer enough.Store(true)
	for range runtime.GOMAXPROCS(0) * 4 {
		go func() {
			for !enough.Load() { // computes
			}
		}()
	}
	until := g.after
	g.wait()
	if g.after != until {
		t.Error("waited before it should")
	}
	g.after = time.Time{}
	began := time.Now()
	for g.after.IsZero() { // a wait may be short by chance
		g.wait()
	}
	if !g.after.After(began.Add(rarely * usual)) {
		t.Errorf("waits again %v after it began", g.after.Sub(began))
	}
}

// TestOneProcessorGroupsCommits: where none can join a group while it is synced, commits still share syncs.
func TestOneProcessorGroupsCommits(t *testing.T) {
	st := inMemory(t)
	st.commits.gather.patience = time.Hour // other programs make waits long
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const writers, each = 8, 100
	before := st.Stats().Syncs
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				if err := put(st, fmt.Sprint("w", w, "k", i)); err != nil {
					t.Error(err)
				}
				runtime.Gosched() // as a client takes time for its next one
			}
		})
	}
	all.Wait()
	if syncs := st.Stats().Syncs - before; syncs > writers*each/2 {
		t.Errorf("%d commits of %d writers took %d syncs", writers*each, writers, syncs)
	}
}

// TestLoneWriterWaitsForNobody: it looks for others now and then only.
func TestLoneWriterWaitsForNobody(t *testing.T) {
	g := gathering{patience: usual}
	waits := 0
	for range 10 * probe {
		before := g.ones
		g.wait()
		if g.ones < before {
			waits++
		}
		g.led(1)
	}
	if waits < 8 || waits > 10 {
		t.Errorf("it let others go first %d times in %d groups of one", waits, 10*probe)
	}
}

// TestWaitingCommitsShareOneSync: all that came while one group was synced go together.
func TestWaitingCommitsShareOneSync(t *testing.T) {
	st, inSync, release := stalled(t, nil)
	defer release()
	const others = 20
	errc := make(chan error, others+1)
	go func() { errc <- put(st, "first") }()
	<-inSync
	before := st.Stats()
	waiting := make([]*entered, others)
	for i := range waiting {
		waiting[i] = enqueue(t, st, fmt.Sprint("other", i))
	}
	awaitTaken(waiting) // the committer goes on while the disk is at work
	sn, err := st.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"first", "other0"} {
		if _, ok, _ := sn.Get([]byte(key)); ok {
			t.Errorf("%s was visible before it was durable", key)
		}
	}
	sn.Release()
	release()
	for _, r := range waiting {
		<-r.done
		errc <- r.err
	}
	for range others + 1 {
		if err := <-errc; err != nil {
			t.Error(err)
		}
	}
	after := st.Stats()
	if syncs := after.Syncs - before.Syncs; syncs != 2 || after.Commits != others+1 {
		t.Errorf("got %d syncs for %d commits, want 2", syncs, after.Commits)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// TestCallersSyncTheirOwnGroup: a caller whose group is durable is told so while one of the next group syncs that.
func TestCallersSyncTheirOwnGroup(t *testing.T) {
	d := fault.NewDisk()
	st, err := Open(Options{Path: filepath.Join(t.TempDir(), "x.db"), FS: d})
	if err != nil {
		t.Fatal(err)
	}
	syncs, gates := make(chan int, 9), []chan struct{}{make(chan struct{}), make(chan struct{})}
	var n atomic.Int32
	d.SetPlan(func(op fault.Op, _ int64) (out fault.Outcome) {
		if i := int(n.Load()); op == fault.Sync && i < len(gates) {
			n.Add(1)
			syncs <- i
			<-gates[i]
		}
		return out
	})
	first := make(chan error, 1)
	go func() { first <- put(st, "first") }()
	<-syncs
	second := enqueue(t, st, "second")
	close(gates[0])
	if err := <-first; err != nil {
		t.Error(err)
	}
	<-syncs // the second is at work
	select {
	case <-second.done:
		t.Error("the second was told before it was durable")
	default:
	}
	close(gates[1])
	<-second.done
	if err := errors.Join(second.err, st.Close()); err != nil {
		t.Error(err)
	}
}

// TestFailedSyncTakesWhatCameAfterAlong: what was admitted on top of a group whose sync failed is refused with it,
// becomes visible to no reader, and reads go on.
func TestFailedSyncTakesWhatCameAfterAlong(t *testing.T) {
	broken := errors.New("broken")
	st, inSync, release := stalled(t, broken)
	first := make(chan error, 1)
	go func() { first <- put(st, "first") }()
	<-inSync
	later := []*entered{enqueue(t, st, "a"), enqueue(t, st, "b")}
	awaitTaken(later)
	release()
	if err := <-first; !errors.Is(err, kv.ErrUndetermined) || !errors.Is(err, broken) {
		t.Errorf("the first: got %v", err)
	}
	for _, r := range later {
		<-r.done
		if !errors.Is(r.err, kv.ErrReadOnly) || r.frame.Version != 0 {
			t.Errorf("later: got %v, version %d", r.err, r.frame.Version)
		}
	}
	if err := put(st, "last"); !errors.Is(err, kv.ErrReadOnly) {
		t.Errorf("the last: got %v", err)
	}
	sn, err := st.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"first", "a", "b", "last"} {
		if _, ok, err := sn.Get([]byte(key)); ok || err != nil {
			t.Errorf("%s: %v %v", key, ok, err)
		}
	}
	if sn.Version() != 0 || st.Stats().Commits != 0 {
		t.Errorf("got version %d, %d commits", sn.Version(), st.Stats().Commits)
	}
	sn.Release()
	if err := st.Close(); !errors.Is(err, broken) {
		t.Errorf("close: got %v", err)
	}
}

// TestTurnSeesAllThatWasTaken: who gets the commit turn while the disk is at work finds everything that was admitted.
func TestTurnSeesAllThatWasTaken(t *testing.T) {
	st, inSync, release := stalled(t, nil)
	first := make(chan error, 1)
	go func() { first <- put(st, "first") }()
	<-inSync
	second := enqueue(t, st, "second")
	awaitTaken([]*entered{second})
	turns := make(chan *kv.Turn, 1)
	go func() {
		turn, err := st.Exclusive(context.Background())
		if err != nil {
			t.Error(err)
		}
		turns <- turn
	}()
	release()
	turn := <-turns
	sn, err := st.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"first", "second"} {
		if _, ok, _ := sn.Get([]byte(key)); !ok {
			t.Errorf("%s is missing", key)
		}
	}
	b := &kv.Batch{Snapshot: sn.Version(), Turn: turn, Writes: []kv.Write{{Key: []byte("mine"), Value: []byte("v")}},
		Reads: kv.ReadSet{Keys: [][]byte{[]byte("first"), []byte("second")}}}
	if _, err := st.Commit(context.Background(), b); err != nil {
		t.Error(err)
	}
	sn.Release()
	turn.Release()
	if err := errors.Join(<-first, st.Close()); err != nil {
		t.Error(err)
	}
}

// TestReadersOfWhatIsBeingSynced: a batch that has read what a group on its way to the disk writes is refused, be that
// group being synced or waiting for it.
func TestReadersOfWhatIsBeingSynced(t *testing.T) {
	st, inSync, release := stalled(t, nil)
	defer release()
	first := make(chan error, 1)
	go func() { first <- put(st, "first") }()
	<-inSync
	second := enqueue(t, st, "second")
	awaitTaken([]*entered{second})
	for key, want := range map[string]error{"first": kv.ErrConflict, "second": kv.ErrConflict} {
		_, err := st.Commit(context.Background(), &kv.Batch{Reads: kv.ReadSet{Keys: [][]byte{[]byte(key)}}})
		if !errors.Is(err, want) {
			t.Errorf("who has read %s: got %v", key, err)
		}
	}
	release()
	<-second.done
	if err := errors.Join(<-first, second.err, st.Close()); err != nil {
		t.Error(err)
	}
}

// waitedFor is a context that tells when somebody waits for its end.
type waitedFor struct {
	context.Context
	once  *sync.Once
	asked chan struct{}
}

func (c waitedFor) Done() <-chan struct{} {
	c.once.Do(func() { close(c.asked) })
	return c.Context.Done()
}

// TestAbandonedCommitIsNotApplied: who gives up while waiting is told so truthfully.
func TestAbandonedCommitIsNotApplied(t *testing.T) {
	st, err := Open(Options{Path: filepath.Join(t.TempDir(), "x.db")})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := st.Exclusive(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	waits := waitedFor{Context: ctx, once: new(sync.Once), asked: make(chan struct{})}
	gone := make(chan error, 1)
	go func() {
		_, err := st.Commit(waits, &kv.Batch{Writes: []kv.Write{{Key: []byte("gone"), Value: []byte("v")}}})
		gone <- err
	}()
	<-waits.asked
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	turn.Release()
	if err := put(st, "last"); err != nil {
		t.Error(err)
	}
	sn, err := st.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := sn.Get([]byte("gone")); ok {
		t.Error("an abandoned commit was applied")
	}
	sn.Release()
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// TestCommitsWaitForALaggingCheckpoint: with two overlays full, no commit is taken before the
// checkpoint is through.
func TestCommitsWaitForALaggingCheckpoint(t *testing.T) {
	st, err := Open(Options{Path: filepath.Join(t.TempDir(), "x.db"), CheckpointKeys: 10, Sync: kv.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	st.pager.writing.Lock() // keeps every checkpoint waiting
	const taken = 10 + 20   // the limit, and twice the limit
	for i := range taken {
		if err := put(st, fmt.Sprintf("k%02d", i)); err != nil {
			t.Fatal(err)
		}
	}
	waiting := make(chan error, 1)
	go func() { waiting <- put(st, "waits") }()
	for st.commits.waits() == 0 {
		runtime.Gosched()
	}
	select {
	case err := <-waiting:
		t.Errorf("a commit was taken: %v", err)
	default:
	}
	if got := st.Stats().Commits; got != taken {
		t.Errorf("got %d commits, want %d", got, taken)
	}
	st.pager.writing.Unlock()
	if err := <-waiting; err != nil {
		t.Error(err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}
