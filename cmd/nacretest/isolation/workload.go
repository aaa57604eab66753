package isolation

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/cmd/nacretest/anomaly"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

// loadOptions describe a run of many clients.
type loadOptions struct {
	level, store string
	clients      int
	txns         int // of all clients
	kills        int // spread over the run
	harness.RunOptions
	// during is called so often, spread over the run; nil = kill the target.
	during func(ctx context.Context) error
}

func (o *loadOptions) flags(fs *flag.FlagSet, txns int) {
	fs.StringVar(&o.level, "level", "kv", "kv, engine, text, wire or cluster")
	fs.StringVar(&o.store, "store", "bolt", "memory or bolt; a cluster has its own")
	fs.IntVar(&o.clients, "clients", 16, "clients at once")
	fs.IntVar(&o.txns, "txns", txns, "transactions of all clients together")
	fs.IntVar(&o.kills, "kills", 0, "kill -9 so often in the run (wire on bolt, and cluster)")
	o.RunOptions.Flags(fs, "")
}

func (o *loadOptions) check() error {
	if o.kills > 0 && o.during == nil && o.level != "cluster" && (o.level != "wire" || o.store != "bolt") {
		return errors.New("-kills needs -level wire and -store bolt, or -level cluster")
	}
	return nil
}

func (o *loadOptions) String() string {
	return fmt.Sprintf("level %s, store %s, %d clients, %d transactions, %d kills, seed %d", o.level, o.store, o.clients, o.txns, o.kills, o.Seed)
}

// load runs work in all clients until enough transactions were made, and kills the target now and
// then. work makes one transaction; errClosed gives it a new connection.
func load(ctx context.Context, t target, o loadOptions,
	work func(ctx context.Context, c conn, client, n int, rnd *rand.Rand) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var clients sync.WaitGroup
	for id := range o.clients {
		clients.Go(func() {
			if err := oneClient(ctx, t, o, &next, id, work); err != nil {
				cancel(fmt.Errorf("client %d: %w", id, err))
			}
		})
	}
	for k := range o.kills {
		for int(next.Load()) < o.txns*(k+1)/(o.kills+1) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if ctx.Err() == nil {
			if err := o.disturb(ctx, t); err != nil {
				cancel(err)
			}
		}
	}
	clients.Wait()
	return context.Cause(ctx)
}

func (o *loadOptions) disturb(ctx context.Context, t target) error {
	if o.during != nil {
		return o.during(ctx)
	}
	_, err := t.kill(ctx)
	return err
}

// oneClient is one client of load.
func oneClient(ctx context.Context, t target, o loadOptions, next *atomic.Int64, id int,
	work func(ctx context.Context, c conn, client, n int, rnd *rand.Rand) error) error {
	rnd := rand.New(rand.NewPCG(o.Seed, uint64(id)))
	var c conn
	for {
		n := int(next.Add(1)) - 1
		if n >= o.txns || ctx.Err() != nil {
			break
		}
		if c == nil {
			var err error
			if c, err = t.connect(ctx); err != nil {
				return err
			}
		}
		err := work(ctx, c, id, n, rnd)
		if errors.Is(err, errClosed) {
			_ = c.close() // it is gone already
			c = nil
			continue
		}
		if err != nil {
			return err
		}
	}
	if c != nil {
		return c.close()
	}
	return nil
}

// The lists of the append suite: new ones come into use during the run, so that none gets long.
const (
	listsAtOnce = 8
	perList     = 200 // transactions until the lists are replaced
)

func appendFlags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o loadOptions
	o.flags(fs, 200_000)
	strict := fs.Bool("strict", true, "hold the history to the clock too")
	return func(ctx context.Context, out io.Writer) error { return appendSuite(ctx, out, o, *strict) }
}

// appendSuite makes a history of list-append transactions and searches it for anomalies.
func appendSuite(ctx context.Context, out io.Writer, o loadOptions, strict bool) error {
	if err := o.check(); err != nil {
		return err
	}
	fmt.Fprintf(out, "append: %s\n", &o)
	dir, done, err := o.Scratch("append")
	if err != nil {
		return err
	}
	defer done()
	t, err := openTarget(ctx, o.level, o.store, dir)
	if err != nil {
		return err
	}
	began := time.Now()
	history, err := appendHistory(ctx, t, o)
	took := time.Since(began)
	if err := errors.Join(err, t.close()); err != nil {
		return err
	}
	var count [3]int
	for _, txn := range history {
		count[txn.Status]++
	}
	fmt.Fprintf(out, "%d committed, %d conflicts, %d unknown in %v\n", count[anomaly.Committed], count[anomaly.Aborted],
		count[anomaly.Unknown],
		took.Round(time.Millisecond))
	if count[anomaly.Committed] < len(history)/20 {
		return errors.New("too few were committed to prove anything")
	}
	found := anomaly.Check(history, anomaly.Options{RealTime: strict})
	for i, f := range found {
		if i == 20 {
			break
		}
		fmt.Fprintf(out, "%s: %s\n", f.Kind, f.Text)
	}
	if len(found) > 0 {
		return fmt.Errorf("%d anomalies", len(found))
	}
	fmt.Fprintf(out, "no anomaly up to G2, checked in %v\n", (time.Since(began) - took).Round(time.Millisecond))
	return nil
}

// appendHistory runs the transactions and, at the end, one that reads every list.
func appendHistory(ctx context.Context, t target, o loadOptions) ([]anomaly.Txn, error) {
	began := time.Now()
	var mu sync.Mutex // guards history
	var history []anomaly.Txn
	value := new(atomic.Int64)
	err := load(ctx, t, o, func(ctx context.Context, c conn, client, n int, rnd *rand.Rand) error {
		txn := anomaly.Txn{Client: client, Start: time.Since(began)}
		for range 1 + rnd.IntN(4) {
			op := anomaly.Op{Key: n/perList*listsAtOnce + rnd.IntN(listsAtOnce), Read: rnd.IntN(2) == 0}
			if !op.Read {
				op.Value = int(value.Add(1))
			}
			txn.Ops = append(txn.Ops, op)
		}
		var err error
		txn.Status, err = c.appends(ctx, txn.Ops)
		txn.End = time.Since(began)
		mu.Lock()
		history = append(history, txn)
		mu.Unlock()
		return err
	})
	if err != nil {
		return nil, err
	}
	c, err := t.connect(ctx)
	if err != nil {
		return nil, err
	}
	for group := range (o.txns-1)/perList + 1 {
		last := anomaly.Txn{Client: o.clients, Last: true, Start: time.Since(began)}
		for k := range listsAtOnce {
			last.Ops = append(last.Ops, anomaly.Op{Key: group*listsAtOnce + k, Read: true})
		}
		if last.Status, err = c.appends(ctx, last.Ops); err != nil {
			return nil, err
		}
		last.End = time.Since(began)
		history = append(history, last)
	}
	return history, c.close()
}
