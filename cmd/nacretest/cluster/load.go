package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// round is what is known of one cluster.
type round struct {
	*tester
	f       *harness.Fleet
	writers []writer
	splits  int
	defined atomic.Int64 // the last definition of stamp.v that was acknowledged
	begun   int64        // the last one that was sent; only define uses it
	racesMu sync.Mutex   // guards winners
	winners map[int]int  // by race: the writer who was told that it won
}

// writer is one client that writes: only its goroutine uses it, and verify between two spells.
type writer struct {
	acked  int  // the last transaction that it was told of
	unsure bool // the next one may be there
}

// place is the namespace and the database of the run.
const place = "cluster"

const (
	accounts = 8
	opening  = 100
	kinds    = 40 // of records in bulk
)

const schema = `
DEFINE TABLE part SCHEMALESS;
DEFINE INDEX byTag ON part FIELDS tag;
DEFINE TABLE uniq SCHEMALESS;
DEFINE INDEX byMail ON uniq FIELDS mail UNIQUE;
DEFINE TABLE race SCHEMALESS;
DEFINE INDEX first ON race FIELDS mail UNIQUE;
DEFINE TABLE follows TYPE RELATION;
DEFINE TABLE counter SCHEMALESS;
DEFINE TABLE shared SCHEMALESS;
DEFINE TABLE account SCHEMALESS;
DEFINE TABLE bulk SCHEMALESS;
DEFINE TABLE stamp SCHEMALESS;
DEFINE FIELD v ON stamp VALUE 0;
`

// prepare makes the tables.
func (r *round) prepare(ctx context.Context) error {
	r.winners = map[int]int{}
	var b strings.Builder
	b.WriteString(schema)
	for i := range accounts {
		fmt.Fprintf(&b, "CREATE account:%d SET n = %d RETURN NONE;", i, opening)
	}
	if _, err := r.ask(ctx, b.String()); err != nil {
		return err
	}
	const batch = 500
	for i := 0; i < r.rows; i += batch {
		if _, err := r.ask(ctx, fmt.Sprintf("INSERT INTO bulk (array::range(%d, %d).map(|$n| { id: $n, x: $n %% %d })) RETURN NONE", i,
			min(i+batch, r.rows), kinds)); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) roamer(by string, at int) *harness.Roamer {
	rm := &harness.Roamer{Fleet: r.f, By: by, NS: place, DB: place, Patience: time.Minute}
	rm.Begin(at)
	return rm
}

// ask runs a text that may be run again until some server has answered.
func (r *round) ask(ctx context.Context, text string) ([]value.Value, error) {
	rm := r.roamer("ws", 0)
	defer rm.Leave()
	answers, err := untilDone(ctx, rm, text)
	out := make([]value.Value, len(answers))
	for i, a := range answers {
		out[i] = a.Value
	}
	return out, err
}

// untilDone runs a text until its outcome is known and good.
func untilDone(ctx context.Context, rm *harness.Roamer, text string) ([]client.Result, error) {
	for {
		answers, outcome, err := rm.Query(ctx, text)
		if err != nil {
			return answers, fmt.Errorf("%w in %.300s", err, text)
		}
		if outcome == harness.Done {
			return answers, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// transaction is number n of writer w, which can be sent again when its outcome is not known: all of it happens once,
// or nothing.
func (r *round) transaction(w, n int) string {
	id := fmt.Sprintf("[%d, %d", w, n)
	return fmt.Sprintf(`BEGIN;
IF (counter:%[2]d.n ?? 0) != %[4]d { THROW 'it is at ' + <string>(counter:%[2]d.n ?? 0) };
UPSERT counter:%[2]d SET n = %[3]d;
CREATE part:%[1]s, 0] SET tag = 't%[2]d-%[6]d';
CREATE part:%[1]s, 1] SET tag = 't%[2]d-%[6]d';
RELATE part:%[1]s, 0]->follows:%[1]s]->part:%[1]s, 1];
CREATE uniq:%[1]s] SET mail = 'w%[2]d-%[3]d@example.org';
UPSERT shared:%[5]d SET n = (n ?? 0) + 1;
UPDATE account:%[7]d SET n -= 3;
UPDATE account:%[8]d SET n += 3;
UPDATE bulk:%[9]d SET x = %[10]d;
COMMIT;`, id, w, n, n-1, n%3, n/perTag, (n+w)%accounts, (n*5+w*3+1)%accounts, (n*7919+w*104729)%max(r.rows, 1), n%kinds)
}

// perTag is how many transactions of a writer have the same tag.
const perTag = 50

// write is one writer.
func (r *round) write(ctx context.Context, w int, stop chan struct{}) error {
	rm := r.roamer([]string{"ws", "http", "grpc"}[w%3], w)
	defer rm.Leave()
	me := &r.writers[w]
	for began := time.Now(); ; {
		did, err := r.step(ctx, rm, w)
		if err != nil {
			return err
		}
		if did {
			r.count.waited(time.Since(began))
			if err := r.aside(ctx, rm, w); err != nil {
				return err
			}
			began = time.Now()
			if me.acked%40 == 0 {
				rm.Leave()
			}
		}
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return nil
		default:
		}
	}
}

// step sends the next transaction of a writer once. did says that it is there.
func (r *round) step(ctx context.Context, rm *harness.Roamer, w int) (did bool, err error) {
	me := &r.writers[w]
	n := me.acked + 1
	answers, outcome, err := rm.Query(ctx, r.transaction(w, n))
	if at, thrown := thrownAt(answers); thrown {
		if at != n || !me.unsure {
			return false, fmt.Errorf("transaction %d: the store has %d, not known: %v", n, at, me.unsure)
		}
		outcome, err = harness.Done, nil
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("transaction %d: %w", n, err)
	case outcome == harness.Unsure:
		me.unsure = true
		r.count.unsure.Add(1)
		return false, nil
	case outcome == harness.NotDone:
		r.count.again.Add(1)
		return false, nil
	}
	me.acked, me.unsure = n, false
	r.count.acked.Add(1)
	return true, nil
}

// thrownAt is what the first statement of a transaction throws: at which number the writer is.
func thrownAt(answers []client.Result) (at int, thrown bool) {
	for _, a := range answers {
		if a.Err == nil {
			continue
		}
		if _, text, ok := strings.Cut(a.Err.Msg, "it is at "); ok {
			at, err := strconv.Atoi(text)
			return at, err == nil
		}
	}
	return 0, false
}

// aside is what a writer does between its transactions: races for a unique value, and a record by the newest
// definition.
func (r *round) aside(ctx context.Context, rm *harness.Roamer, w int) error {
	n := r.writers[w].acked
	if n%3 == 0 {
		if err := r.race(ctx, rm, w, n); err != nil {
			return err
		}
	}
	least := r.defined.Load()
	answers, err := untilDone(ctx, rm, fmt.Sprintf("RETURN (UPSERT ONLY stamp:[%d, %d]).v", w, n%4))
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if v := answers[0].Value.Int(); v < least {
		return fmt.Errorf("a record is written with definition %d, and %d was acknowledged before", v, least)
	}
	return nil
}

// race runs for a value that the others run for too.
func (r *round) race(ctx context.Context, rm *harness.Roamer, w, n int) error {
	_, outcome, err := rm.Query(ctx, fmt.Sprintf("CREATE race SET mail = 'm%d', by = %d RETURN NONE", n, w))
	if e, ok := errors.AsType[*errs.Error](err); ok && strings.Contains(e.Msg, "already contains") {
		r.count.races.Add(1)
		return nil
	}
	if err != nil || outcome != harness.Done {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	r.count.races.Add(1)
	r.racesMu.Lock()
	defer r.racesMu.Unlock()
	if first, won := r.winners[n]; won {
		return fmt.Errorf("race %d is won by writers %d and %d", n, first, w)
	}
	r.winners[n] = w
	return nil
}

// define changes a definition again and again, at any server.
func (r *round) define(ctx context.Context, stop chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return nil
		case <-time.After(400 * time.Millisecond):
		}
		r.begun++
		rm := r.roamer("ws", int(r.begun))
		_, err := untilDone(ctx, rm, fmt.Sprintf("DEFINE FIELD OVERWRITE v ON stamp VALUE %d", r.begun))
		rm.Leave()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		r.defined.Store(r.begun)
		r.count.defined.Add(1)
	}
}

// watchTotals looks at the total of all accounts while it goes on.
func (r *round) watchTotals(ctx context.Context, stop chan struct{}) error {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return nil
		case <-time.After(100 * time.Millisecond):
		}
		rm := r.roamer("ws", i)
		answers, err := untilDone(ctx, rm, "RETURN math::sum(SELECT VALUE n FROM account)")
		rm.Leave()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		r.count.looks.Add(1)
		if got := answers[0].Value.Int(); got != accounts*opening {
			return fmt.Errorf("a total of %d", got)
		}
	}
}
