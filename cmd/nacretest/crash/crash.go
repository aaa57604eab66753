package crash

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/kv/failpoint"
)

// crashOptions say how hard to hit.
type crashOptions struct {
	cycles, writers int
	longest         time.Duration // of one run
	options         string        // of the store's address
	harness.RunOptions
}

func flags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o crashOptions
	fs.IntVar(&o.cycles, "cycles", 200, "kills")
	fs.IntVar(&o.writers, "writers", 8, "clients that write")
	fs.DurationVar(&o.longest, "longest", 3*time.Second, "longest time between two kills")
	fs.StringVar(&o.options, "options", "", "options of the store's address, as sync=never&versioned=true: a killed process loses nothing in any mode")
	o.Flags(fs, "")
	return func(ctx context.Context, out io.Writer) error { return crash(ctx, out, o) }
}

// crasher kills a server again and again, and knows what it must have afterwards.
type crasher struct {
	crashOptions
	out     io.Writer
	path    string
	rnd     *rand.Rand
	acked   []int // by writer: the last transaction that was acknowledged
	tried   []int // by writer: the last one that was sent
	texts   []sent
	kills   map[string]int
	readies []time.Duration
	lost    int
	torn    int
}

// sent is the number of the last text of statements of a writer that was acknowledged, and of the last that was sent;
// 0: none.
type sent struct{ acked, tried int }

// crash runs the suite.
func crash(ctx context.Context, out io.Writer, o crashOptions) error {
	dir, done, err := o.Scratch("crash")
	if err != nil {
		return err
	}
	defer done()
	c := &crasher{crashOptions: o, out: out, path: filepath.Join(dir, "store"), rnd: rand.New(rand.NewPCG(o.Seed, 7)),
		acked: make([]int, o.writers), tried: make([]int, o.writers), texts: make([]sent, o.writers),
		kills: map[string]int{}}
	fmt.Fprintf(out, "crash: %d kills under %d writers, seed %d, options %q, failpoints %v\n", o.cycles, o.writers,
		o.Seed, o.options, failpoint.Enabled)
	began := time.Now()
	if err := c.prepare(ctx); err != nil {
		return err
	}
	for i := range o.cycles {
		if err := c.cycle(ctx); err != nil {
			return fmt.Errorf("cycle %d: %w", i, err)
		}
		if (i+1)%20 == 0 {
			fmt.Fprintf(out, "%d kills in %v\n", i+1, time.Since(began).Round(time.Second))
		}
	}
	err = c.last(ctx)
	c.summary(time.Since(began))
	return err
}

func (c *crasher) summary(took time.Duration) {
	total := 0
	for _, n := range c.acked {
		total += n
	}
	slices.Sort(c.readies)
	at := func(q float64) time.Duration {
		return c.readies[int(q*float64(len(c.readies)-1))].Round(time.Millisecond)
	}
	fmt.Fprintf(c.out, "%d transactions acknowledged in %v; %d lost, %d half there\n", total, took.Round(time.Second), c.lost, c.torn)
	for _, name := range slices.Sorted(maps.Keys(c.kills)) {
		fmt.Fprintf(c.out, "killed at %-20s %d\n", name, c.kills[name])
	}
	fmt.Fprintf(c.out, "ready again: median %v, 99 of 100 %v, longest %v\n", at(0.5), at(0.99), at(1))
}

const crashSchema = `
DEFINE TABLE part SCHEMALESS;
DEFINE INDEX byTag ON part FIELDS tag;
DEFINE TABLE uniq SCHEMALESS;
DEFINE INDEX byMail ON uniq FIELDS mail UNIQUE;
DEFINE TABLE follows TYPE RELATION;
DEFINE TABLE counter SCHEMALESS;
DEFINE TABLE shared SCHEMALESS;
DEFINE TABLE tmp SCHEMALESS;
DEFINE TABLE step SCHEMALESS;
`

// prepare defines the tables.
func (c *crasher) prepare(ctx context.Context) error {
	s, err := harness.Start(ctx, c.dsn())
	if err != nil {
		return err
	}
	cl, err := s.Connect(ctx, "crash", "crash")
	if err != nil {
		return errors.Join(err, s.Kill())
	}
	_, err = harness.Ask(ctx, cl, crashSchema)
	return errors.Join(err, cl.Close(), s.Stop())
}

func (c *crasher) dsn() string { return "bolt://" + c.path + "?" + c.options }

// plan chooses how the next process dies: the environment for it, and after what time otherwise.
func (c *crasher) plan() (environ []string, after time.Duration) {
	after = 20*time.Millisecond + time.Duration(c.rnd.Int64N(int64(c.longest)))
	environ = []string{"NACRE_FAILPOINT_LIMITS=checkpoint-keys=3000,segment=262144,absence-from=1"}
	if !failpoint.Enabled || c.rnd.IntN(3) == 0 {
		return environ, after
	}
	places := failpoint.Places()
	name := places[c.rnd.IntN(len(places))]
	n := 1 + c.rnd.IntN(100)
	switch name {
	case failpoint.Checkpoint, failpoint.Meta, failpoint.Release, failpoint.Recycle:
		n = 1 + c.rnd.IntN(3)
	}
	return append(environ, fmt.Sprintf("NACRE_FAILPOINT=%s:%d", name, n)), c.longest
}

// cycle starts a server, holds it to what was acknowledged, writes until it is killed, and checks
// the files that it leaves.
func (c *crasher) cycle(ctx context.Context) error {
	environ, after := c.plan()
	s, err := harness.Start(ctx, c.dsn(), environ...)
	if errors.Is(err, harness.ErrGone) {
		return c.died(ctx, s, "while starting")
	}
	if err != nil {
		return err
	}
	c.readies = append(c.readies, s.Ready)
	first := slices.Clone(c.acked)
	ending := byClock
	if c.rnd.IntN(20) == 0 {
		ending = byStop
	}
	if err = c.verify(ctx, s, first); err == nil {
		err = c.load(ctx, s, after, ending)
	}
	if s.Gone(ctx, err != nil && harness.ConnectionLost(err) == nil) && s.Failpoint() != "" {
		return c.died(ctx, s, "") // errors are what that looks like from outside
	}
	switch {
	case err != nil:
		return errors.Join(err, s.Kill())
	case ending == byStop:
		c.kills["a stop in good order"]++
		return errors.Join(s.Stop(), c.checkFiles(ctx))
	default:
		return errors.Join(s.Kill(), c.died(ctx, s, ending))
	}
}

// How a run ends when the process does not kill itself.
const (
	byClock = "by the clock"
	byStop  = "by a stop"
)

// died notes where a process was killed, and checks its files.
func (c *crasher) died(ctx context.Context, s *harness.Server, where string) error {
	if at := s.Failpoint(); at != "" {
		where = "failpoint " + at
	} else if where != byClock {
		return fmt.Errorf("the server died by itself %s; it said:\n%s", where, s.Said())
	}
	c.kills[where]++
	return c.checkFiles(ctx)
}

// checkFiles is nacre check on what a kill has left.
func (c *crasher) checkFiles(ctx context.Context) error {
	rep, err := engine.Check(ctx, c.path, nil)
	if err != nil {
		return err
	}
	if !rep.Clean() {
		return fmt.Errorf("check after the kill: %d findings, the first: %s: %s", rep.Found, rep.Findings[0].Kind,
			rep.Findings[0].Text)
	}
	return nil
}

// load writes until the time is over or the server is gone, and ends the server in the midst of it.
func (c *crasher) load(ctx context.Context, s *harness.Server, after time.Duration, ending string) error {
	var writers sync.WaitGroup
	errs := make([]error, c.writers)
	stop := make(chan struct{})
	for w := range c.writers {
		writers.Go(func() { errs[w] = c.write(ctx, s, w, stop) })
	}
	var err error
	select {
	case <-time.After(after):
		close(stop)
		if ending == byStop {
			err = s.Stop()
		} else {
			err = s.Kill()
		}
	case <-s.Exited:
		close(stop)
	}
	writers.Wait()
	return errors.Join(append(errs, err)...)
}

// write is one writer: it sends its next transaction until that is acknowledged, and ends with the
// connection. What comes after stop is closed may be refused in any way.
func (c *crasher) write(ctx context.Context, s *harness.Server, w int, stop chan struct{}) error {
	cl, err := s.Connect(ctx, "crash", "crash")
	if err != nil {
		return harness.UnlessStopped(stop, err)
	}
	defer cl.Close()
	for {
		n := c.acked[w] + 1
		c.tried[w] = n
		err := query(ctx, cl, transaction(w, n))
		if err == nil && n%3 == 0 {
			c.acked[w], c.texts[w].tried = n, n
			if err = query(ctx, cl, text(w, n)); err == nil {
				c.texts[w].acked = n
			}
		}
		switch {
		case err == nil:
			c.acked[w] = n
		case harness.IsConflict(err): // it has not happened
			c.tried[w] = n - 1
		default:
			if err := harness.UnlessStopped(stop, err); err != nil {
				return fmt.Errorf("writer %d, transaction %d: %w", w, n, err)
			}
			return nil
		}
		select {
		case <-stop:
			return nil
		default:
		}
	}
}

func query(ctx context.Context, cl *client.Client, text string) error {
	answers, err := cl.Query(ctx, text, nil)
	if err != nil {
		return err
	}
	return harness.FirstError(answers)
}

// steps is how many statements a text has that are transactions of their own.
const steps = 12

// text is text n of writer w. After a crash the first of its statements are there, and none after one that is missing.
func text(w, n int) string {
	var b strings.Builder
	for i := range steps {
		fmt.Fprintf(&b, "CREATE step:[%d, %d, %d] RETURN NONE; ", w, n, i)
	}
	return b.String()
}

// verifyText looks at the last texts of a writer.
func (c *crasher) verifyText(ctx context.Context, cl *client.Client, w int) error {
	t := &c.texts[w]
	for _, n := range []int{t.acked, t.tried} {
		got, err := harness.Ask(ctx, cl, fmt.Sprintf("RETURN (SELECT VALUE record::id(id)[2] FROM step:[%[1]d, %[2]d]..=[%[1]d, %[2]d, %[3]d])",
			w, n, steps))
		if err != nil {
			return err
		}
		have := got[0].Elems()
		if n == t.acked && n > 0 && len(have) < steps {
			c.lost += steps - len(have)
			return fmt.Errorf("writer %d: text %d was acknowledged, %d of its statements are there", w, n, len(have))
		}
		for i, v := range have {
			if v.Int() != int64(i) {
				c.torn++
				return fmt.Errorf("writer %d: of text %d statement %d is there, %d is not", w, n, v.Int(), i)
			}
		}
	}
	return nil
}

// transaction is number n of writer w. All of it must be there, or nothing.
func transaction(w, n int) string {
	id := fmt.Sprintf("[%d, %d", w, n)
	return fmt.Sprintf(`BEGIN;
CREATE part:%[1]s, 0] SET tag = 't%[2]d-%[7]d', pad = '%[4]s';
CREATE part:%[1]s, 1] SET tag = 't%[2]d-%[7]d', pad = '%[4]s';
RELATE part:%[1]s, 0]->follows:%[1]s]->part:%[1]s, 1];
CREATE uniq:%[1]s] SET mail = 'w%[2]d-%[3]d@example.org';
CREATE tmp:%[1]s];
DELETE tmp:[%[2]d, %[5]d];
UPSERT counter:%[2]d SET n = (n ?? 0) + 1;
UPSERT shared:%[6]d SET n = (n ?? 0) + 1;
COMMIT;`, id, w, n, strings.Repeat("x", 20+n*37%200), n-1, n%3, n/perTag)
}

// perTag is how many transactions of a writer have the same tag.
const perTag = 50

// verify holds the server to what was acknowledged: for each writer the last transaction is the
// acknowledged one, or the one that was under way; everything else follows from that. It settles
// which of the two it is.
func (c *crasher) verify(ctx context.Context, s *harness.Server, first []int) error {
	cl, err := s.Connect(ctx, "crash", "crash")
	if err != nil {
		return err
	}
	defer cl.Close()
	sum := 0
	for w := range c.writers {
		if err := c.verifyWriter(ctx, cl, w, max(1, first[w]-50)); err != nil {
			return err
		}
		if err := c.verifyText(ctx, cl, w); err != nil {
			return err
		}
		sum += c.acked[w]
	}
	got, err := harness.Ask(ctx, cl, `RETURN math::sum(SELECT VALUE n FROM shared); RETURN count(SELECT VALUE id FROM tmp);
		RETURN (SELECT count() FROM part GROUP ALL)[0].count ?? 0; RETURN (SELECT count() FROM follows GROUP ALL)[0].count ?? 0;
		RETURN (SELECT count() FROM uniq GROUP ALL)[0].count ?? 0;`)
	if err != nil {
		return err
	}
	busy := 0
	for _, n := range c.acked {
		busy += min(1, n)
	}
	for i, want := range []int{sum, busy, 2 * sum, sum, sum} {
		if n := got[i].Int(); n != int64(want) {
			c.torn++
			return fmt.Errorf("total number %d is %d, the transactions make it %d", i, n, want)
		}
	}
	return nil
}

// verifyWriter looks at the transactions of one writer from a number on.
func (c *crasher) verifyWriter(ctx context.Context, cl *client.Client, w, from int) error {
	got, err := harness.Ask(ctx, cl, fmt.Sprintf("RETURN (SELECT VALUE n FROM ONLY counter:%d) ?? 0", w))
	if err != nil {
		return err
	}
	n := int(got[0].Int())
	if n < c.acked[w] {
		c.lost += c.acked[w] - n
		return fmt.Errorf("writer %d: transaction %d was acknowledged, the last one there is %d", w, c.acked[w], n)
	}
	if n > c.tried[w] {
		return fmt.Errorf("writer %d: transaction %d is there, %d was the last one sent", w, n, c.tried[w])
	}
	c.acked[w], c.tried[w] = n, n
	if n == 0 {
		return nil
	}
	got, err = harness.Ask(ctx, cl, fmt.Sprintf(`
RETURN count(SELECT VALUE id FROM part:[%[1]d, %[2]d]..=[%[1]d, %[3]d, 9]);
RETURN count(SELECT VALUE id FROM uniq:[%[1]d, %[2]d]..=[%[1]d, %[3]d]);
RETURN count(array::flatten(SELECT VALUE ->follows->part FROM part:[%[1]d, %[2]d]..=[%[1]d, %[3]d, 9]));
RETURN count(array::flatten(SELECT VALUE <-follows<-part FROM part:[%[1]d, %[2]d]..=[%[1]d, %[3]d, 9]));
RETURN count(SELECT VALUE id FROM uniq WHERE mail = 'w%[1]d-%[3]d@example.org');
RETURN count(SELECT VALUE id FROM uniq WHERE mail = 'w%[1]d-%[4]d@example.org');
RETURN count(SELECT VALUE id FROM part WHERE tag = 't%[1]d-%[5]d');
RETURN count(SELECT VALUE id FROM tmp:[%[1]d, %[3]d]);`, w, from, n, n+1, n/perTag))
	if err != nil {
		return err
	}
	span := n - from + 1
	for i, want := range []int{2 * span, span, span, span, 1, 0, 2 * min(n, n%perTag+1), 1} {
		if have := got[i].Int(); have != int64(want) {
			c.torn++
			return fmt.Errorf("writer %d, transactions %d to %d: look number %d finds %d, not %d", w, from, n, i, have, want)
		}
	}
	return nil
}

// last looks at everything once more, after a stop in good order.
func (c *crasher) last(ctx context.Context) error {
	s, err := harness.Start(ctx, c.dsn())
	if err != nil {
		return err
	}
	c.readies = append(c.readies, s.Ready)
	if err := c.verify(ctx, s, make([]int, c.writers)); err != nil {
		return errors.Join(err, s.Kill())
	}
	return errors.Join(s.Stop(), c.checkFiles(ctx))
}
