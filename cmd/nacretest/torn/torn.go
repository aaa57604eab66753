package torn

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// tornOptions say how many images to make, and of what.
type tornOptions struct {
	images   int
	controls int // syncs that are left out, one after the other
	each     int // images of each of those
	strace   bool
	harness.RunOptions
}

func flags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o tornOptions
	fs.IntVar(&o.images, "images", 10_000, "images to make and open")
	fs.IntVar(&o.controls, "controls", 100, "syncs to leave out, one at a time: the images must show them")
	fs.IntVar(&o.each, "each", 50, "most images for one of those")
	fs.BoolVar(&o.strace, "strace", true, "record a process with strace, data.db included; without it only the log, in this process")
	o.Flags(fs, harness.SharedMemory)
	return func(ctx context.Context, out io.Writer) error { return torn(ctx, out, o) }
}

// torn runs the suite.
func torn(ctx context.Context, out io.Writer, o tornOptions) error {
	dir, done, err := o.Scratch("torn")
	if err != nil {
		return err
	}
	defer done()
	t := &tearer{tornOptions: o, work: dir}
	if err := t.record(ctx); err != nil {
		return err
	}
	for w := range committers {
		t.states = append(t.states, states(w, recordedPerRun*recordedRuns))
	}
	syncs, acks := 0, 0
	for _, e := range t.events {
		if e.kind == evSync {
			syncs++
		}
		if strings.HasPrefix(e.mark, "ack ") {
			acks++
		}
	}
	fmt.Fprintf(out, "torn: %d events, %d syncs, %d acknowledged batches, seed %d, by strace %v\n", len(t.events), syncs, acks, o.Seed, o.strace)
	began := time.Now()
	made, bad, err := t.images(ctx, -1, o.images, window{0, len(t.events)})
	if err == nil { // the very first start is short, and deserves more than its share
		var first int
		var more []error
		first, more, err = t.images(ctx, -1, o.images/20, window{0, t.readyAt() + 1})
		made, bad = made+first, append(bad, more...)
	}
	fmt.Fprintf(out, "%d images in %v: %d failures\n", made, time.Since(began).Round(time.Second), len(bad))
	if err != nil {
		return err
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d of %d images: %w", len(bad), made, bad[0])
	}
	return t.control(ctx, out)
}

// window is a part of the events: from one on, up to before another.
type window struct{ from, to int }

// control leaves out one sync after the other, of those that an acknowledgement rests on: a store
// that lacks it loses data, and the images must show that, or they prove nothing. Few of data.db need
// not show: where the pages that were lost had the same contents before, or all that they lack is in
// the log, too.
func (t *tearer) control(ctx context.Context, out io.Writer) error {
	promised := t.promised()
	if len(promised) < t.controls {
		return fmt.Errorf("only %d syncs carry an acknowledgement", len(promised))
	}
	rnd := rand.New(rand.NewPCG(t.Seed, 99))
	rnd.Shuffle(len(promised), func(i, j int) { promised[i], promised[j] = promised[j], promised[i] })
	var log, data struct{ tried, missed int }
	for _, p := range promised[:t.controls] {
		_, bad, err := t.images(ctx, p.sync, t.each, p.window)
		if err != nil {
			return err
		}
		of := &log
		if p.file == harness.DataFile {
			of = &data
		}
		if of.tried++; len(bad) == 0 {
			of.missed++
		}
	}
	fmt.Fprintf(out, "control: of syncs left out, one at a time, %d of %d of the log are noticed, %d of %d of data.db\n",
		log.tried-log.missed, log.tried, data.tried-data.missed, data.tried)
	if log.missed > 0 || data.missed > max(1, data.tried/10) || data.tried > 0 && data.missed == data.tried {
		return errors.New("the images do not notice that a sync is missing")
	}
	return nil
}

// promise is a sync, by its number and its file, and when its absence must show.
type promise struct {
	sync   int
	file   string
	window window
}

// promised finds the syncs that something rests on: of the log, an acknowledgement that follows
// before the next sync of the same file; of data.db, the meta page that makes written pages count.
func (t *tearer) promised() []promise {
	var out []promise
	number := -1
	for i, e := range t.events {
		if e.kind != evSync {
			continue
		}
		number++
		frames := t.synced(i)
		if i < t.readyAt() || frames == nil {
			continue
		}
		rests := func(next event) bool { return holds(frames, next.mark) }
		if e.file == harness.DataFile {
			rests = func(next event) bool {
				return next.kind == evWrite && next.file == harness.DataFile && next.at < 2*harness.PageSize
			}
		}
		if w, ok := t.until(i, rests); ok {
			out = append(out, promise{number, e.file, w})
		}
	}
	return out
}

// until is the time from the first event after a sync that rests on it to the next sync of the
// same file.
func (t *tearer) until(sync int, rests func(event) bool) (window, bool) {
	first := 0
	for i := sync + 1; i < len(t.events); i++ {
		switch e := t.events[i]; {
		case e.kind == evSync && e.file == t.events[sync].file:
			return window{first, i}, first > 0
		case first == 0 && rests(e):
			first = i
		}
	}
	return window{}, false
}

// synced returns the purpose of the sync at event i: the data of the write right before it, of the same file. A write
// of whole blocks begins with what was there before: that is no part of it.
func (t *tearer) synced(i int) []byte {
	if own := t.events[i].since; own > 0 {
		return t.events[own].data[t.known(own):]
	}
	for j := i - 1; j >= 0; j-- {
		if e := t.events[j]; e.file == t.events[i].file {
			return e.data
		}
	}
	return nil
}

// known is how many bytes the write at event i has in common with the one before it, from its begin on.
func (t *tearer) known(i int) (n int) {
	w := t.events[i]
	for j := i - 1; j >= 0; j-- {
		e := t.events[j]
		if e.kind != evWrite || e.file != w.file {
			continue
		}
		skip := w.at - e.at
		if skip < 0 || skip > int64(len(e.data)) {
			return 0
		}
		for before := e.data[skip:]; n < min(len(before), len(w.data)) && before[n] == w.data[n]; {
			n++
		}
		return n
	}
	return 0
}

// holds reports whether a group of the log has the batch that a mark acknowledges. In an entry the
// lengths of key and value come first.
func holds(frames []byte, mark string) bool {
	var w, n int
	if !scan(mark, "ack %d %d", &w, &n) {
		return false
	}
	value := strconv.Itoa(n)
	return bytes.Contains(frames, fmt.Appendf([]byte{3, byte(len(value) + 1)}, "%d/n%s", w, value))
}

// tearer makes images of a recorded run and holds them to what was acknowledged.
type tearer struct {
	tornOptions
	work   string
	base   map[string][]byte // files that the events do not tell of
	events []event
	states [][]string // by committer and number of batches: what its keys are
}

// record makes the run.
func (t *tearer) record(ctx context.Context) error {
	store := filepath.Join(t.work, "recorded")
	if t.strace {
		return t.recordProcess(ctx, store)
	}
	// Without checkpoints data.db stays as it is once the store is open.
	r := &recorder{FS: wal.OS{}}
	if err := os.Mkdir(store, 0o700); err != nil {
		return err
	}
	opt := recordedOptions(store, r)
	opt.CheckpointKeys = 1 << 30
	st, err := bolt.Open(opt)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(store, "data.db"))
	if err != nil {
		return err
	}
	t.base = map[string][]byte{"data.db": data}
	r.mark("ready")
	var all sync.WaitGroup
	errs := make([]error, committers)
	for w := range committers {
		all.Go(func() {
			for n := 1; n <= recordedPerRun && errs[w] == nil; n++ {
				r.mark(fmt.Sprintf("try %d %d", w, n))
				if _, errs[w] = st.Commit(ctx, &kv.Batch{Writes: batch(w, n)}); errs[w] == nil {
					r.mark(fmt.Sprintf("ack %d %d", w, n))
				}
			}
		})
	}
	all.Wait()
	r.mu.Lock()
	t.events = r.events[:len(r.events):len(r.events)] // without the checkpoint of the end
	r.mu.Unlock()
	return errors.Join(append(errs, st.Close())...)
}

// recordProcess runs a process under strace.
func (t *tearer) recordProcess(ctx context.Context, store string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	trace := filepath.Join(t.work, "trace")
	cmd := exec.CommandContext(ctx, "strace", append(straceArgs(trace), self)...)
	cmd.Env = append(os.Environ(), AsChild+"="+store)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("record with strace: %w: %.500s", err, text)
	}
	f, err := os.Open(trace)
	if err != nil {
		return err
	}
	defer f.Close()
	if t.events, err = parseTrace(f, store); err != nil {
		return err
	}
	if len(t.events) == 0 {
		return errors.New("strace has seen nothing")
	}
	return os.Remove(trace)
}

// progress of a run at one moment: by committer the last batch tried and acknowledged.
type progressed struct{ tried, acked [committers]int }

func (p *progressed) mark(text string) {
	var w, n int
	switch {
	case scan(text, "try %d %d", &w, &n):
		p.tried[w] = n
	case scan(text, "ack %d %d", &w, &n):
		p.acked[w] = n
	}
}

func scan(text, format string, into ...any) bool {
	n, err := fmt.Sscanf(text, format, into...)
	return err == nil && n == len(into)
}

// image is one to be looked at.
type image struct {
	dir string
	at  progressed
}

// images cuts the power n times, spread over a window, with one sync left out (-1 = none), and
// opens what is left.
func (t *tearer) images(ctx context.Context, drop, n int, in window) (made int, bad []error, err error) {
	todo := make(chan image, 2*runtime.NumCPU())
	var mu sync.Mutex // guards bad
	var workers sync.WaitGroup
	for range runtime.NumCPU() {
		workers.Go(func() {
			for im := range todo {
				if err := errors.Join(t.look(im), os.RemoveAll(im.dir)); err != nil {
					mu.Lock()
					bad = append(bad, err)
					mu.Unlock()
				}
			}
		})
	}
	made, err = t.cuts(ctx, drop, n, in, todo)
	close(todo)
	workers.Wait()
	return made, bad, err
}

// cuts makes the images.
func (t *tearer) cuts(ctx context.Context, drop, n int, in window, todo chan<- image) (made int, err error) {
	rnd := rand.New(rand.NewPCG(t.Seed, uint64(drop+2)))
	d := newDisk(drop)
	var now progressed
	for i, e := range t.events[:in.to] {
		if e.kind == evMark {
			now.mark(e.mark)
		}
		d.apply(i, e)
		// As many images here as keep pace with the whole.
		for want := n * (i - in.from + 1) / (in.to - in.from); made < want; made++ {
			if err := ctx.Err(); err != nil {
				return made, err
			}
			im := image{dir: filepath.Join(t.work, fmt.Sprintf("image-%d-%d", drop, made)), at: now}
			if err := os.Mkdir(im.dir, 0o700); err != nil {
				return made, err
			}
			for name, p := range t.base {
				if err := os.WriteFile(filepath.Join(im.dir, name), p, 0o600); err != nil {
					return made, err
				}
			}
			if err := d.cut(im.dir, rnd); err != nil {
				return made, err
			}
			todo <- im
		}
	}
	return made, nil
}

func (t *tearer) readyAt() int {
	for i, e := range t.events {
		if e.mark == "ready" {
			return i
		}
	}
	return 0
}

// look opens an image twice: for the pages, and as a store that must have what was acknowledged
// and takes a new commit.
func (t *tearer) look(im image) error {
	if err := lookAtPages(im.dir); err != nil {
		return fmt.Errorf("pages: %w", err)
	}
	st, err := bolt.Open(recordedOptions(im.dir, nil))
	if err != nil {
		return err
	}
	err = t.compare(st, im.at)
	if err == nil {
		_, err = st.Commit(context.Background(),
			&kv.Batch{Writes: []kv.Write{{Key: []byte("9/after"), Value: []byte("x")}}})
	}
	return errors.Join(err, st.Close())
}

// lookAtPages is the part of nacre check that knows no language.
func lookAtPages(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, harness.DataFile)); errors.Is(err, os.ErrNotExist) {
		return nil // the power went before the store was made
	}
	in, err := bolt.Inspect(dir)
	if err != nil {
		return err
	}
	var found []error
	_, err = in.CheckPages(context.Background(), func(err error) { found = append(found, err) })
	return errors.Join(append(found, err, in.Close())...)
}

// compare holds a store to what was acknowledged.
func (t *tearer) compare(st kv.Store, at progressed) error {
	snap, err := st.Begin(context.Background())
	if err != nil {
		return err
	}
	defer snap.Release()
	for w := range committers {
		m := map[string]string{}
		c := snap.Scan(kv.Prefix(fmt.Appendf(nil, "%d/", w)), kv.ScanOptions{})
		for c.Next() {
			m[string(c.Key())] = string(c.Value())
		}
		if err := c.Err(); err != nil {
			return err
		}
		c.Close()
		n := 0
		if text := m[fmt.Sprintf("%d/n", w)]; text != "" && !scan(text, "%d", &n) {
			return fmt.Errorf("committer %d: its number is %q", w, text)
		}
		if n < at.acked[w] || n > at.tried[w] {
			return fmt.Errorf("committer %d: the last batch there is %d, acknowledged were %d, tried %d", w, n, at.acked[w], at.tried[w])
		}
		if got := joinSorted(m); got != t.states[w][n] {
			return fmt.Errorf("committer %d: after batch %d its keys are not what they should be:\n%s", w, n, strings.ReplaceAll(got, "\n", " "))
		}
	}
	return nil
}
