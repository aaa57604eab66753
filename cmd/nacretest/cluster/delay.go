package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

// delays are how long after it was sent each change reached a live query.
type delays struct {
	mu  sync.Mutex // guards all
	all []time.Duration
}

// take takes a notification of a record that says when its change was sent, in nanoseconds.
func (d *delays) take(n client.Notification) {
	at, ok := n.Result.Object().Get("at")
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, time.Duration(time.Now().UnixNano()-at.Int()))
}

func (d *delays) sorted() []time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(slices.Values(d.all))
}

// changeEach is how often each server changes a record while the delays are taken.
const changeEach = 20 * time.Millisecond

// delaysOn tells how long it takes until a change by one server reaches a live query at another: from the request of
// the change on, so the commit is in it.
func (t *tester) delaysOn(ctx context.Context, f *harness.Fleet) error {
	d := &delays{}
	cl, err := f.Connect(ctx, 0, "ws", place, place, d.take)
	if err != nil {
		return err
	}
	defer cl.Close()
	if _, err := harness.Ask(ctx, cl, "DEFINE TABLE sent; LIVE SELECT * FROM sent"); err != nil {
		return err
	}
	each := max(10, t.changes/50)
	failed := make([]error, f.Size())
	var writing sync.WaitGroup
	for i := 1; i < f.Size(); i++ {
		writing.Go(func() { failed[i] = sendEach(ctx, f, i, each) })
	}
	writing.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	want := each * (f.Size() - 1)
	for end := time.Now().Add(time.Minute); len(d.sorted()) < want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d changes were told", len(d.sorted()), want)
		}
	}
	all := d.sorted()
	at := func(percent int) time.Duration { return all[(len(all)-1)*percent/100].Round(time.Millisecond) }
	fmt.Fprintf(t.out, "%d changes, one each %v by each server: told by another one after p50 %v, p99 %v, longest %v\n", len(all),
		changeEach, at(50), at(99), at(100))
	return nil
}

// sendEach changes records at one server, at a steady pace.
func sendEach(ctx context.Context, f *harness.Fleet, server, times int) error {
	cl, err := f.Connect(ctx, server, "ws", place, place, nil)
	if err != nil {
		return err
	}
	defer cl.Close()
	tick := time.NewTicker(changeEach)
	defer tick.Stop()
	for range times {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		text := fmt.Sprintf("CREATE sent SET at = %d RETURN NONE", time.Now().UnixNano())
		if _, err := harness.Ask(ctx, cl, text); err != nil {
			return err
		}
	}
	return nil
}
