package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

// heard is what one live query was told: the last number of each record, which must count up by one.
type heard struct {
	mu    sync.Mutex // guards all
	last  map[string]int64
	told  int
	wrong string // what was told that must not be
	ended string // why the server ended it
}

// take takes one notification. A record that was not told of before may begin at any number.
func (h *heard) take(n client.Notification) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n.Action == "KILLED" {
		h.ended = n.Result.Text()
		return
	}
	if h.ended != "" && h.wrong == "" {
		h.wrong = "a change after the end: " + n.Record.Text()
	}
	h.told++
	v, _ := n.Result.Object().Get("n")
	id := n.Record.Text()
	if last, ok := h.last[id]; ok && v.Int() != last+1 && h.wrong == "" {
		h.wrong = fmt.Sprintf("%s is told to be %d after %d", id, v.Int(), last)
	}
	h.last[id] = v.Int()
}

// state is what is known of it now.
func (h *heard) state() (told int, wrong, ended string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.told, h.wrong, h.ended
}

// listen keeps a live query on the counters of all writers at one server, as long as that is there. What it is told
// counts up, and at the end it was told all that was committed.
func (r *round) listen(ctx context.Context, i int, stop chan struct{}) error {
	for {
		over, err := r.listenOnce(ctx, i, stop)
		if ctx.Err() != nil {
			return nil
		}
		if over || err != nil {
			return err
		}
	}
}

// listenOnce is one live query. over says that stop ended it; without an error the connection was lost, or the server
// has ended it with a reason.
func (r *round) listenOnce(ctx context.Context, i int, stop chan struct{}) (over bool, err error) {
	h := &heard{last: map[string]int64{}}
	cl, err := r.f.Connect(ctx, i, "ws", place, place, h.take)
	if err != nil {
		return r.wait(ctx, stop, err)
	}
	defer cl.Close()
	answers, err := cl.Query(ctx, "LIVE SELECT * FROM counter", nil)
	if err == nil {
		err = harness.FirstError(answers)
	}
	if err != nil {
		return r.wait(ctx, stop, err)
	}
	defer func() {
		told, _, _ := h.state()
		r.count.told.Add(int64(told))
	}()
	for {
		stopped := false
		select {
		case <-stop:
			stopped = true
		case <-ctx.Done():
			return true, nil
		case <-time.After(50 * time.Millisecond):
		}
		_, wrong, ended := h.state()
		switch {
		case wrong != "":
			return false, errors.New(wrong)
		case ended != "":
			r.count.ended.Add(1)
			fmt.Fprintf(r.out, "a live query of server %d is ended: %s\n", i, ended)
			return r.wait(ctx, stop, nil)
		case cl.Lost() != nil:
			return r.wait(ctx, stop, cl.Lost())
		case stopped:
			return true, r.heardAll(ctx, cl, h)
		}
	}
}

// wait waits a moment before the next attempt; an error that a client must not meet is given back.
func (r *round) wait(ctx context.Context, stop chan struct{}, err error) (over bool, _ error) {
	if _, err := harness.OutcomeOf(err); err != nil {
		return false, err
	}
	select {
	case <-stop:
		return true, nil
	case <-ctx.Done():
		return true, nil
	case <-time.After(50 * time.Millisecond):
		return false, nil
	}
}

// heardAll waits until a live query was told of all that is there, in the records that it was told of.
func (r *round) heardAll(ctx context.Context, cl *client.Client, h *heard) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		answers, err := cl.Query(ctx, "SELECT id, n FROM counter", nil)
		if err == nil {
			err = harness.FirstError(answers)
		}
		if _, bad := harness.OutcomeOf(err); err != nil {
			return bad
		}
		behind := ""
		h.mu.Lock()
		for _, row := range answers[0].Value.Elems() {
			id, _ := row.Object().Get("id")
			n, _ := row.Object().Get("n")
			if last, ok := h.last[id.Text()]; ok && last != n.Int() {
				behind = fmt.Sprintf("%s is %d, and was told to be %d", id.Text(), n.Int(), last)
			}
		}
		ended, wrong := h.ended, h.wrong
		h.mu.Unlock()
		switch {
		case wrong != "":
			return errors.New(wrong)
		case behind == "" || ended != "":
			return nil
		case time.Now().After(end):
			return errors.New("a live query does not hear: " + behind)
		}
	}
}

// manyChanges holds a live query of one server to many changes by the others: each once, in order, and soon.
func (t *tester) manyChanges(ctx context.Context) error {
	f, err := harness.StartFleet(ctx, t.servers)
	if err != nil {
		return err
	}
	if err = t.changesOn(ctx, f); err == nil {
		err = t.delaysOn(ctx, f)
	}
	return errors.Join(err, f.Close())
}

// chunk is how many records one transaction of changesOn changes.
const chunk = 50

func (t *tester) changesOn(ctx context.Context, f *harness.Fleet) error {
	began := time.Now()
	h := &heard{last: map[string]int64{}}
	cl, err := f.Connect(ctx, 0, "ws", place, place, h.take)
	if err != nil {
		return err
	}
	defer cl.Close()
	const records = 200
	if _, err := harness.Ask(ctx, cl, fmt.Sprintf("FOR $i IN 0..%d { CREATE acc SET id = $i, n = 0 }", records)); err != nil {
		return err
	}
	for i := range records {
		h.last[fmt.Sprintf("acc:%d", i)] = 0
	}
	if _, err := harness.Ask(ctx, cl, "LIVE SELECT * FROM acc"); err != nil {
		return err
	}
	writers := f.Size() - 1
	each := max(1, t.changes/chunk/writers)
	failed := make([]error, writers)
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			rm := &harness.Roamer{Fleet: f, By: "ws", NS: place, DB: place, Patience: time.Minute}
			rm.Begin(w) // the first server that it tries is the one behind
			defer rm.Leave()
			for n := range each {
				from := (n + 2*w) % (records / chunk) * chunk
				text := fmt.Sprintf("UPDATE acc:%d..%d SET n += 1 RETURN NONE", from, from+chunk)
				if _, failed[w] = untilDone(ctx, rm, text); failed[w] != nil {
					return
				}
			}
		})
	}
	writing.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	want := writers * each * chunk
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		told, wrong, ended := h.state()
		switch {
		case wrong != "" || ended != "":
			return fmt.Errorf("%d of %d changes were told, then: %s%s", told, want, wrong, ended)
		case told > want, told < want && time.Now().After(end):
			return fmt.Errorf("%d changes were told, %d made", told, want)
		case told == want:
			fmt.Fprintf(t.out, "%d changes by %d servers are told by another one, each once and in order, in %v\n", told, writers,
				time.Since(began).Round(time.Millisecond))
			return nil
		}
	}
}
