package bulk

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine"
)

// scaleOptions say how large the stores are that are compared, and what the large one may take.
type scaleOptions struct {
	rows, part int // of the large store; the small one has rows/part
	reads      int
	maxRatio   float64
	maxRSS     int64 // MiB
	maxReady   time.Duration
	harness.RunOptions
}

func scaleFlags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o scaleOptions
	fs.IntVar(&o.rows, "rows", 5_000_000, "records of 200 bytes in the large store, whose ids come in random order")
	fs.IntVar(&o.part, "part", 10, "the small store has one of so many of them")
	fs.IntVar(&o.reads, "reads", 100_000, "point reads in each store")
	fs.Float64Var(&o.maxRatio, "max-ratio", 1.5, "most CPU of a record in the large store, as a multiple of that in the small one; 0 = any")
	fs.Int64Var(&o.maxRSS, "max-rss", 800, "most resident MiB of the server; 0 = any")
	fs.DurationVar(&o.maxReady, "max-ready", 2*time.Second, "longest time from the start after a kill until the server is ready; 0 = any")
	o.Flags(fs, "")
	return func(ctx context.Context, out io.Writer) error {
		if o.part < 1 || o.rows < o.part || o.reads < 1 {
			return errors.New("-rows, -part and -reads: a store has at least one record, and is read at least once")
		}
		return scale(ctx, out, o)
	}
}

// sized is what a store of one size takes. CPU is the server's, in microseconds.
type sized struct {
	load, read, scan, check float64 // of one record
	ready                   time.Duration
	most                    int64 // bytes resident while it was loaded and read
}

// scale does the same to a small store and a large one, and compares what a record costs in each.
func scale(ctx context.Context, out io.Writer, o scaleOptions) error {
	small, err := o.measure(ctx, out, o.rows/o.part)
	if err != nil {
		return err
	}
	large, err := o.measure(ctx, out, o.rows)
	if err != nil {
		return err
	}
	return o.judge(out, small, large)
}

// judge tells the ratios, and errors with those that are too large.
func (o *scaleOptions) judge(out io.Writer, small, large sized) error {
	var found []error
	for _, r := range []struct {
		name         string
		small, large float64
	}{{"load", small.load, large.load}, {"point read", small.read, large.read}, {"scan", small.scan, large.scan},
		{"check", small.check, large.check}} {
		ratio := r.large / r.small
		fmt.Fprintf(out, "%-10s %8.2f µs a record, then %8.2f: %.2f\n", r.name, r.small, r.large, ratio)
		if o.maxRatio > 0 && ratio > o.maxRatio {
			found = append(found, fmt.Errorf("%s: %.2f times as much a record, more than %.2f", r.name, ratio, o.maxRatio))
		}
	}
	if mib := large.most >> 20; o.maxRSS > 0 && mib > o.maxRSS {
		found = append(found, fmt.Errorf("%d MiB resident, more than %d", mib, o.maxRSS))
	}
	if o.maxReady > 0 && large.ready > o.maxReady {
		found = append(found, fmt.Errorf("ready %v after the kill, later than %v", large.ready, o.maxReady))
	}
	return errors.Join(found...)
}

// measure loads a store of so many records, reads it, kills its server, starts it again, and checks it.
func (o *scaleOptions) measure(ctx context.Context, out io.Writer, rows int) (z sized, err error) {
	dir, done, err := o.Scratch(fmt.Sprintf("scale%d", rows))
	if err != nil {
		return z, err
	}
	defer done()
	path := filepath.Join(dir, "nacre")
	s, err := harness.Start(ctx, "bolt://"+path)
	if err != nil {
		return z, err
	}
	err = o.work(ctx, s, rows, &z)
	m, memErr := harness.MemoryOf(s.Cmd.Process.Pid)
	if err = errors.Join(err, memErr, s.Kill()); err != nil {
		return z, err
	}
	z.most = m.Most
	if s, err = harness.Start(ctx, "bolt://"+path); err != nil {
		return z, err
	}
	z.ready = s.Ready
	if err = s.Stop(); err != nil {
		return z, err
	}
	size, err := sizeOf(path)
	if err != nil {
		return z, err
	}
	before := harness.ReadEffort()
	report, err := engine.Check(ctx, path, nil)
	if err != nil {
		return z, err
	}
	z.check = 1e6 * (harness.ReadEffort().CPU - before.CPU) / float64(rows)
	fmt.Fprintf(out, "%d records: %v; ready %v after a kill; data.db %d MiB, log %d MiB\n", rows, m,
		z.ready.Round(time.Millisecond), size.data>>20, size.log>>20)
	if !report.Clean() {
		return z, fmt.Errorf("the store of %d records is not sound after the kill: %d findings", rows, report.Found)
	}
	return z, nil
}

// work loads the records, counts them by a scan and reads some by id.
func (o *scaleOptions) work(ctx context.Context, s *harness.Server, rows int, z *sized) error {
	c, err := s.Connect(ctx, "test", "test")
	if err != nil {
		return err
	}
	defer c.Close()
	cpu := func(per int, f func() error) (float64, error) {
		before, err := harness.UsageOf(s.Cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		if err := f(); err != nil {
			return 0, err
		}
		spent, err := s.Since(before)
		return float64(spent.Nanoseconds()) / 1e3 / float64(per), err
	}
	load := func() error { return errors.Join(o.load(ctx, c, rows), settle(ctx, s)) }
	if z.load, err = cpu(rows, load); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	if z.scan, err = cpu(rows, func() error { return countAll(ctx, c, rows) }); err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	if z.read, err = cpu(o.reads, func() error { return o.read(ctx, c, rows) }); err != nil {
		return fmt.Errorf("point read: %w", err)
	}
	return nil
}

// load inserts the records by thousands, as texts.
func (o *scaleOptions) load(ctx context.Context, c *client.Client, rows int) error {
	const batch = 1000
	pad := strings.Repeat("x", 130)
	var b strings.Builder
	for at := 0; at < rows; at += batch {
		b.Reset()
		b.WriteString("INSERT INTO row [")
		for i := at; i < min(at+batch, rows); i++ {
			fmt.Fprintf(&b, "{ id: %d, n: %d, kind: '%c', pad: '%s' },", scatteredID(i), i, 'a'+rune(i%7), pad)
		}
		b.WriteString("] RETURN NONE")
		if _, err := harness.Ask(ctx, c, b.String()); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until the server does nothing any more: checkpoints go on after the last commit, and belong to the load.
func settle(ctx context.Context, s *harness.Server) error {
	for quiet := 0; quiet < 4; {
		before, err := harness.UsageOf(s.Cmd.Process.Pid)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}
		spent, err := s.Since(before)
		if err != nil {
			return err
		}
		if quiet++; spent > 20*time.Millisecond {
			quiet = 0
		}
	}
	return nil
}

// scatteredID is the id of record i: the ids of a store come in random order.
func scatteredID(i int) int64 { return int64(scattered(i) >> 2) }

// countAll counts the records by a condition that each of them meets.
func countAll(ctx context.Context, c *client.Client, rows int) error {
	got, err := harness.Ask(ctx, c, "SELECT VALUE count FROM (SELECT count() FROM row WHERE n >= 0 GROUP ALL)")
	if err != nil {
		return err
	}
	if text := got[0].Text(); text != fmt.Sprintf("[%d]", rows) {
		return fmt.Errorf("a scan counts %s of %d records", text, rows)
	}
	return nil
}

// read reads records by id, one after the other.
func (o *scaleOptions) read(ctx context.Context, c *client.Client, rows int) error {
	rnd := rand.New(rand.NewPCG(o.Seed, 17))
	for range o.reads {
		i := rnd.IntN(rows)
		got, err := harness.Ask(ctx, c, fmt.Sprintf("SELECT VALUE n FROM ONLY row:%d", scatteredID(i)))
		if err != nil {
			return err
		}
		if text := got[0].Text(); text != fmt.Sprint(i) {
			return fmt.Errorf("record %d says %s", i, text)
		}
	}
	return nil
}
