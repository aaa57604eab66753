package isolation

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/cmd/nacretest/anomaly"
	"github.com/nacredb/nacre/engine/dump/physical"
)

// The bank.
const (
	accounts = 10
	opening  = 100
)

func bankFlags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o loadOptions
	o.flags(fs, 100_000)
	backups := fs.Int("backups", 0, "take so many backups in the run, and hold each to the total")
	return func(ctx context.Context, out io.Writer) error { return bank(ctx, out, o, *backups) }
}

// opener makes the accounts; both kinds of connections are one.
type opener interface {
	open(ctx context.Context) error
}

// ledger is the record of a run of the bank.
type ledger struct {
	wrong     atomic.Int64 // reads with a wrong total
	reads     atomic.Int64
	conflicts atomic.Int64

	mu    sync.Mutex // guards below
	ids   map[string]anomaly.Status
	first string // the first wrong read
}

// bank moves money between accounts and reads the total meanwhile; no read may see another total
// than the first one, and each transfer that was acknowledged is there at the end.
func bank(ctx context.Context, out io.Writer, o loadOptions, backups int) error {
	if err := o.check(); err != nil {
		return err
	}
	fmt.Fprintf(out, "bank: %s\n", &o)
	dir, done, err := o.Scratch("bank")
	if err != nil {
		return err
	}
	defer done()
	t, err := openTarget(ctx, o.level, o.store, dir)
	if err != nil {
		return err
	}
	var saved [][]byte
	if backups > 0 {
		if o.kills > 0 {
			return errors.New("-kills and -backups exclude each other")
		}
		o.kills = backups
		o.during = func(ctx context.Context) error {
			var b bytes.Buffer
			err := t.backup(ctx, &b)
			saved = append(saved, b.Bytes())
			return err
		}
	}
	began := time.Now()
	l := &ledger{ids: map[string]anomaly.Status{}}
	err = l.run(ctx, t, o)
	for i, p := range saved {
		if err == nil {
			err = l.restore(ctx, t, p, filepath.Join(dir, fmt.Sprint("restored", i)))
		}
	}
	if err := errors.Join(err, t.close()); err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Fprintf(out, "%d transfers, %d conflicts, %d reads of the total in %v: %d wrong\n", len(l.ids), l.conflicts.Load(), l.reads.Load(),
		took.Round(time.Millisecond), l.wrong.Load())
	if backups > 0 {
		fmt.Fprintf(out, "%d backups taken meanwhile were restored and add up\n", len(saved))
	}
	if l.wrong.Load() > 0 {
		return fmt.Errorf("a total was wrong: %s", l.first)
	}
	return nil
}

func (l *ledger) run(ctx context.Context, t target, o loadOptions) error {
	c, err := t.connect(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(c.(opener).open(ctx), c.close()); err != nil {
		return err
	}
	if err := load(ctx, t, o, l.work); err != nil {
		return err
	}
	if c, err = t.connect(ctx); err != nil {
		return err
	}
	if err := l.look(ctx, c, false); err != nil {
		return err
	}
	have, _, err := c.balances(ctx, false)
	if err != nil {
		return err
	}
	if slices.Equal(have, slices.Repeat([]int64{opening}, accounts)) {
		return errors.New("no money has moved: this run proves nothing")
	}
	there, err := c.transfers(ctx)
	if err != nil {
		return err
	}
	for id, status := range l.ids {
		switch {
		case status == anomaly.Committed && !there[id]:
			return fmt.Errorf("transfer %s was acknowledged and is lost", id)
		case status == anomaly.Aborted && there[id]:
			return fmt.Errorf("transfer %s was refused and is there", id)
		}
	}
	return c.close()
}

// restore makes a store of a backup and looks at its total.
func (l *ledger) restore(ctx context.Context, t target, p []byte, path string) error {
	if _, err := physical.RestoreStream(ctx, bytes.NewReader(p), path, physical.RestoreOptions{}); err != nil {
		return err
	}
	restored, err := t.reopen(ctx, path)
	if err != nil {
		return err
	}
	c, err := restored.connect(ctx)
	if err != nil {
		return errors.Join(err, restored.close())
	}
	return errors.Join(l.look(ctx, c, false), c.close(), restored.close())
}

// work is one transaction: three of four are transfers.
func (l *ledger) work(ctx context.Context, c conn, client, n int, rnd *rand.Rand) error {
	if rnd.IntN(4) == 0 {
		return l.look(ctx, c, rnd.IntN(2) == 0)
	}
	from := rnd.IntN(accounts)
	to := (from + 1 + rnd.IntN(accounts-1)) % accounts
	id := fmt.Sprintf("%d-%d", client, n)
	status, err := c.transfer(ctx, id, from, to, 1+rnd.Int64N(20))
	if status == anomaly.Aborted {
		l.conflicts.Add(1)
	}
	l.mu.Lock()
	l.ids[id] = status
	l.mu.Unlock()
	return err
}

// look reads the total.
func (l *ledger) look(ctx context.Context, c conn, split bool) error {
	have, status, err := c.balances(ctx, split)
	if err != nil || status != anomaly.Committed {
		return err
	}
	l.reads.Add(1)
	total, low := int64(0), int64(0)
	for _, n := range have {
		total += n
		low = min(low, n)
	}
	if total == accounts*opening && len(have) == accounts && low >= 0 {
		return nil
	}
	l.wrong.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == "" {
		l.first = fmt.Sprintf("%v, in two steps: %v", have, split)
	}
	return nil
}
