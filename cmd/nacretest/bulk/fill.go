package bulk

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
)

// fillOptions say how much to write, and what may be needed for it.
type fillOptions struct {
	rows, size     int
	batch, writers int
	profile        string
	maxRSS         int64   // MiB; 0 = any
	minRatio       float64 // speed of the last tenth against the first half; 0 = any
	harness.RunOptions
}

func fillFlags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o fillOptions
	fs.IntVar(&o.rows, "rows", 2_000_000, "rows to write, with keys in random order")
	fs.IntVar(&o.size, "size", 200, "bytes of a value")
	fs.IntVar(&o.batch, "batch", 1000, "rows of a transaction")
	fs.IntVar(&o.writers, "writers", 1, "goroutines that write")
	o.Flags(fs, "")
	fs.StringVar(&o.profile, "cpuprofile", "", "file for a CPU profile")
	fs.Int64Var(&o.maxRSS, "max-rss", 1024, "most resident MiB; 0 = any")
	fs.Float64Var(&o.minRatio, "min-ratio", 0.5, "least speed of the last tenth, as a part of that of the first half; 0 = any")
	return func(ctx context.Context, out io.Writer) error { return fill(ctx, out, o) }
}

// fill fills a store with rows in random key order, and tells how fast that goes on and what memory it takes.
func fill(ctx context.Context, out io.Writer, o fillOptions) error {
	dir, done, err := o.Scratch("fill")
	if err != nil {
		return err
	}
	defer done()
	stop, err := startProfile(o.profile)
	if err != nil {
		return err
	}
	defer stop()
	st, err := bolt.Open(bolt.Options{Path: filepath.Join(dir, "x.db")})
	if err != nil {
		return err
	}
	tenths, err := fillRows(ctx, out, st, o)
	if err = errors.Join(err, st.Close()); err != nil {
		return err
	}
	m, err := harness.ReadMemory()
	if err != nil {
		return err
	}
	half, halfCPU := 0.0, 0.0
	for _, t := range tenths[:5] {
		half += t.wall.Seconds() / 5
		halfCPU += t.cpu / 5
	}
	ratio := half / tenths[9].wall.Seconds()
	fmt.Fprintf(out, "closed: %v\nspeed of the last tenth against the first half: %.2f (by CPU time %.2f)\n", m, ratio, halfCPU/tenths[9].cpu)
	switch mib := m.Most >> 20; {
	case o.maxRSS > 0 && mib > o.maxRSS:
		return fmt.Errorf("%d MiB resident, more than %d", mib, o.maxRSS)
	case o.minRatio > 0 && ratio < o.minRatio:
		return fmt.Errorf("the last tenth has %.2f of the speed of the first half", ratio)
	}
	return nil
}

// part is the cost of a part of the rows.
type part struct {
	wall time.Duration
	cpu  float64 // seconds
}

// fillRows writes the rows and gives what each tenth took.
func fillRows(ctx context.Context, out io.Writer, st kv.Store, o fillOptions) ([]part, error) {
	tenths := make([]part, 10)
	next := 0
	for i := range tenths {
		began, before := time.Now(), harness.ReadEffort()
		end := o.rows * (i + 1) / 10
		if err := fillPart(ctx, st, o, next, end); err != nil {
			return nil, err
		}
		after := harness.ReadEffort()
		tenths[i] = part{wall: time.Since(began), cpu: after.CPU - before.CPU}
		m, err := harness.ReadMemory()
		if err != nil {
			return nil, err
		}
		s := st.Stats()
		fmt.Fprintf(out, "%3d%%: %7.0f rows/s, %.1f µs CPU a row, %v, %d page faults, file %d MiB, %d checkpoints\n", 10*(i+1),
			float64(end-next)/tenths[i].wall.Seconds(), 1e6*tenths[i].cpu/float64(end-next), m,
			after.Faults-before.Faults, s.FileBytes>>20, s.Checkpoint)
		next = end
	}
	return tenths, nil
}

// fillPart writes the rows from to end, in transactions of o.batch.
func fillPart(ctx context.Context, st kv.Store, o fillOptions, from, end int) error {
	var next atomic.Int64
	next.Store(int64(from))
	var wg sync.WaitGroup
	failed := make(chan error, o.writers)
	for range o.writers {
		wg.Go(func() {
			for {
				at := int(next.Add(int64(o.batch))) - o.batch
				if at >= end {
					return
				}
				if _, err := st.Commit(ctx,
					&kv.Batch{Writes: fillBatch(at, min(at+o.batch, end), o.size, o.Seed)}); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed
}

// fillBatch makes rows from..end, sorted by key.
func fillBatch(from, end, size int, seed uint64) []kv.Write {
	ws := make([]kv.Write, 0, end-from)
	for i := from; i < end; i++ {
		ws = append(ws, fillRow(i, size, seed))
	}
	slices.SortFunc(ws, func(a, b kv.Write) int { return slices.Compare(a.Key, b.Key) })
	return ws
}

// startProfile begins a CPU profile into file, if that is not "".
func startProfile(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { pprof.StopCPUProfile(); f.Close() }, nil
}
