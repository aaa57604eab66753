package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

// options say how hard to hit.
type options struct {
	kills, servers, writers int
	per                     int // kills until a new cluster is made
	rows                    int
	changes                 int
	only                    string
	verbose                 bool
	identity                int // rounds
	lasts                   time.Duration
	harness.RunOptions
}

func flags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o options
	fs.IntVar(&o.kills, "kills", 200, "kill -9 so often")
	fs.DurationVar(&o.lasts, "for", 0, "end after so long, however many kills there were; 0: after the kills")
	fs.IntVar(&o.servers, "servers", 3, "servers that share the cluster")
	fs.IntVar(&o.writers, "writers", 6, "clients that write; each goes to another server when it loses one")
	fs.IntVar(&o.per, "fresh", 25, "kills until a new cluster is made: that of the stubs slows down with each version of a key")
	fs.IntVar(&o.rows, "rows", 6000, "records of the table whose index is built")
	fs.IntVar(&o.changes, "changes", 10_000, "changes by two servers that a live query of a third one must hear of; 0: leave that out")
	fs.IntVar(&o.identity, "identity", 6, "so often, hold two servers to it that identities and sessions are the same at both")
	fs.StringVar(&o.only, "only", "", "only some of kill, pair, build, store, outage, split, roll; with commas")
	fs.BoolVar(&o.verbose, "v", false, "say what is done when")
	o.Flags(fs, "")
	return func(ctx context.Context, out io.Writer) error { return run(ctx, out, o) }
}

// tester is a run of the suite.
type tester struct {
	options
	out   io.Writer
	rnd   *rand.Rand
	began time.Time
	done  map[string]int // disturbances
	deck  []trouble      // those to come
	dealt bool           // there was a deck before this one
	count counters
}

// counters are of the whole run.
type counters struct {
	acked, again, unsure, races, defined, told, ended, looks atomic.Int64
	longest                                                  atomic.Int64 // nanoseconds until a transaction was acknowledged
	taken, builds                                            int          // of those that built, which were taken over
}

func (c *counters) waited(d time.Duration) {
	for {
		old := c.longest.Load()
		if int64(d) <= old || c.longest.CompareAndSwap(old, int64(d)) {
			return
		}
	}
}

func run(ctx context.Context, out io.Writer, o options) error {
	if o.servers < 2 || o.writers < 1 || o.per < 1 {
		return errors.New("it takes two servers, and a writer")
	}
	t := &tester{options: o, out: out, rnd: rand.New(rand.NewPCG(o.Seed, 24)), began: time.Now(),
		done: map[string]int{}}
	fmt.Fprintf(out, "cluster: %d kills among %d servers under %d writers, seed %d\n", o.kills, o.servers, o.writers,
		o.Seed)
	if o.identity > 0 {
		if err := t.identities(ctx); err != nil {
			return fmt.Errorf("identities: %w", err)
		}
	}
	if o.changes > 0 {
		if err := t.manyChanges(ctx); err != nil {
			return fmt.Errorf("live query: %w", err)
		}
	}
	for n := 0; !t.over(); n++ {
		if err := t.round(ctx); err != nil {
			return fmt.Errorf("cluster %d: %w", n, err)
		}
	}
	t.summary()
	return nil
}

// over reports whether the run was long enough.
func (t *tester) over() bool {
	if t.lasts > 0 {
		return time.Since(t.began) > t.lasts
	}
	return t.done["killed"] >= t.kills
}

func (t *tester) summary() {
	c := &t.count
	fmt.Fprintf(t.out, "%d transactions acknowledged in %v: 0 lost, 0 half there; %d tried again, %d first not known\n",
		c.acked.Load(), time.Since(t.began).Round(time.Second), c.again.Load(), c.unsure.Load())
	fmt.Fprintf(t.out, "%d races for unique values, %d changes of a definition, %d looks at totals while it went on\n",
		c.races.Load(), c.defined.Load(), c.looks.Load())
	fmt.Fprintf(t.out, "%d changes told to live queries, %d live queries were ended by their server\n", c.told.Load(),
		c.ended.Load())
	fmt.Fprintf(t.out, "%d index builds, %d of them taken over from a server that was killed\n", c.builds, c.taken)
	longest := time.Duration(c.longest.Load()).Round(time.Millisecond)
	fmt.Fprintf(t.out, "longest wait of a client for its commit: %v\n", longest)
	for _, name := range slices.Sorted(maps.Keys(t.done)) {
		fmt.Fprintf(t.out, "%-24s %d\n", name, t.done[name])
	}
}

// round is the life of one cluster.
func (t *tester) round(ctx context.Context) error {
	f, err := harness.StartFleet(ctx, t.servers)
	if err != nil {
		return err
	}
	r := &round{tester: t, f: f, writers: make([]writer, t.writers)}
	if err = r.prepare(ctx); err == nil {
		err = r.live(ctx)
	}
	if err != nil {
		for i := range f.Size() {
			fmt.Fprintf(t.out, "server %d said:\n%s", i, f.At(i).Said())
		}
	}
	return errors.Join(err, f.Close())
}

// live is a round: trouble under load, and a look at everything, in turn.
func (r *round) live(ctx context.Context) error {
	until := r.done["killed"] + r.per
	for !r.over() && r.done["killed"] < until {
		if err := r.spell(ctx); err != nil {
			return err
		}
		if err := r.verify(ctx); err != nil {
			return fmt.Errorf("after %d kills: %w", r.done["killed"], err)
		}
		fmt.Fprintf(r.out, "%d kills, %d transactions, %v\n", r.done["killed"], r.count.acked.Load(),
			time.Since(r.began).Round(time.Second))
	}
	return nil
}

// perSpell is how many disturbances lie between two looks at everything.
const perSpell = 4

// spell makes trouble under load.
func (r *round) spell(ctx context.Context) error {
	working, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	client := func(name string, work func(context.Context, chan struct{}) error) {
		clients.Go(func() {
			if err := work(working, stop); err != nil {
				fail(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	for w := range r.writers {
		client(fmt.Sprintf("writer %d", w), func(ctx context.Context, stop chan struct{}) error {
			return r.write(ctx, w, stop)
		})
	}
	client("definer", r.define)
	client("reader", r.watchTotals)
	for i := range r.f.Size() {
		client(fmt.Sprintf("listener %d", i), func(ctx context.Context, stop chan struct{}) error {
			return r.listen(ctx, i, stop)
		})
	}
	for range perSpell {
		if working.Err() == nil {
			if err := r.disturb(working); err != nil {
				fail(err)
			}
		}
	}
	close(stop)
	clients.Wait()
	return context.Cause(working)
}
