package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
)

// Stores is how many stores the cluster of a fleet has.
const Stores = 3

// Fleet is several server processes over one cluster of testdata/kvstub, which is a process too.
type Fleet struct {
	Cluster *stub.Cluster
	environ []string

	mu      sync.Mutex // guards servers; a leaf lock
	servers []*Server  // each the last one at its place, which may be gone
}

// StartFleet starts a cluster, and n servers over one prefix of it at once.
func StartFleet(ctx context.Context, n int, environ ...string) (*Fleet, error) {
	c, err := stub.Run("-stores", strconv.Itoa(Stores))
	if err != nil {
		return nil, err
	}
	f := &Fleet{Cluster: c, environ: environ, servers: make([]*Server, n)}
	var starting sync.WaitGroup
	failed := make([]error, n)
	for i := range n {
		starting.Go(func() { failed[i] = f.Start(ctx, i) })
	}
	starting.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Start starts the server of a place, and waits until it is ready.
func (f *Fleet) Start(ctx context.Context, i int) error {
	s, err := Start(ctx, "tikv://"+f.Cluster.PD+"/fleet", f.environ...)
	if err != nil {
		if s != nil {
			err = fmt.Errorf("server %d: %w: %s", i, err, s.Said())
		}
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.servers[i] = s
	return nil
}

// Size is how many places there are.
func (f *Fleet) Size() int { return len(f.servers) }

// At is the last server of a place; nil where none has started.
func (f *Fleet) At(i int) *Server {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.servers[i]
}

// Connect opens a connection to a server, by ws, http or grpc.
func (f *Fleet) Connect(ctx context.Context, i int, by, ns, db string,
	notify func(client.Notification)) (*client.Client, error) {
	return client.Open(ctx, client.Options{Endpoint: by + "://" + f.At(i).Addr, Namespace: ns, Database: db,
		Notify: notify})
}

// Close stops all servers that are there, in good order, and the cluster.
func (f *Fleet) Close() error {
	var stopping sync.WaitGroup
	failed := make([]error, len(f.servers))
	for i, s := range f.servers {
		if s != nil && !s.Gone(context.Background(), false) {
			stopping.Go(func() { failed[i] = s.Stop() })
		}
	}
	stopping.Wait()
	f.Cluster.Stop()
	return errors.Join(failed...)
}

// Outcome is what a client knows of a request.
type Outcome uint8

// The outcomes.
const (
	Done    Outcome = iota
	NotDone         // it has not happened, and may be tried again
	Unsure          // it may have happened
)

// The texts of refusals over a cluster that a client can try again after, as it is told.
const undetermined = "The outcome of the commit is not known: look at the data before trying again"

var again = []string{"The store does not answer and nothing was written: try again",
	"Other servers took this one for gone: try again", leaving}

// leaving is what a server says that is about to end.
const leaving = "The server is gracefully shutting down"

// endsWith reports whether a text ends with one of some others: some doors put words before an error.
func endsWith(text string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(text, end) })
}

// OutcomeOf sorts the error of a request to a fleet. An error that a client must not meet is given back.
func OutcomeOf(err error) (Outcome, error) {
	if err == nil {
		return Done, nil
	}
	e, answered := errors.AsType[*errs.Error](err)
	switch {
	case IsConflict(err), errors.Is(err, client.ErrNotReady), answered && endsWith(e.Msg, again):
		return NotDone, nil
	case answered && strings.HasSuffix(e.Msg, undetermined), errors.Is(err, client.ErrUnreachable):
		return Unsure, nil
	}
	return Unsure, err
}

// Roamer is a client that goes to another server where one is lost, or stops.
type Roamer struct {
	Fleet    *Fleet
	By       string // ws, http, grpc
	NS, DB   string
	Patience time.Duration // how long it looks for a server

	at int
	cl *client.Client
}

// Query runs a text at some server. Errors are those that a client must not meet.
func (r *Roamer) Query(ctx context.Context, text string) ([]client.Result, Outcome, error) {
	for end := time.Now().Add(r.Patience); r.cl == nil; {
		r.at++
		cl, err := r.Fleet.Connect(ctx, r.at%r.Fleet.Size(), r.By, r.NS, r.DB, nil)
		if err == nil {
			r.cl = cl
			break
		}
		if _, err := OutcomeOf(err); err != nil {
			return nil, Unsure, fmt.Errorf("connect: %w", err)
		}
		if time.Now().After(end) {
			return nil, NotDone, fmt.Errorf("no server for %v, the last one says %w", r.Patience, err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, NotDone, ctx.Err()
		}
	}
	answers, err := r.cl.Query(ctx, text, nil)
	lost := err != nil
	if err == nil {
		err = FirstError(answers)
		lost = err != nil && strings.HasSuffix(err.Error(), leaving)
	}
	outcome, err := OutcomeOf(err)
	if lost && err == nil {
		r.Leave()
	}
	return answers, outcome, err
}

// Leave makes the next query go to another server.
func (r *Roamer) Leave() {
	if r.cl != nil {
		_ = r.cl.Close() // mostly it is gone already
		r.cl = nil
	}
}

// Begin chooses the server that it tries first.
func (r *Roamer) Begin(at int) { r.at = at }
