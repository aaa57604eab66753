package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

// trouble is a kind of disturbance.
type trouble struct {
	name   string
	weight int // how often it is among the cards of a deck
	make   func(*round, context.Context) error
}

// troubles are all kinds.
var troubles = []trouble{
	{"kill", 8, (*round).kill},
	{"pair", 2, (*round).killPair},
	{"build", 4, (*round).killBuilder},
	{"store", 2, (*round).loseStore},
	{"outage", 1, (*round).outage},
	{"split", 2, (*round).split},
	{"roll", 1, (*round).roll},
}

// deal gives the next disturbance from a deck that is shuffled anew when it is empty. The first deck has one of each
// kind.
func (r *round) deal() (trouble, error) {
	for len(r.deck) == 0 {
		for _, t := range troubles {
			for n := 0; harness.Among(r.only, t.name) && n < t.weight; n++ {
				if r.deck = append(r.deck, t); !r.dealt {
					break
				}
			}
		}
		if len(r.deck) == 0 {
			return trouble{}, fmt.Errorf("-only %s: there is none of that name", r.only)
		}
		r.rnd.Shuffle(len(r.deck), func(i, j int) { r.deck[i], r.deck[j] = r.deck[j], r.deck[i] })
		r.dealt = true
	}
	t := r.deck[0]
	r.deck = r.deck[1:]
	return t, nil
}

// disturb makes one of them.
func (r *round) disturb(ctx context.Context) error {
	t, err := r.deal()
	if err != nil {
		return err
	}
	if err := r.pause(ctx, 1200*time.Millisecond); err != nil {
		return err
	}
	if r.verbose {
		fmt.Fprintf(r.out, "%v %s\n", time.Since(r.began).Round(time.Millisecond), t.name)
	}
	if err := t.make(r, ctx); err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	r.done[t.name]++
	return r.pause(ctx, 500*time.Millisecond)
}

// pause waits for a time below d.
func (r *round) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(time.Duration(r.rnd.Int64N(int64(d)))):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end kills the server of a place.
func (r *round) end(i int) error {
	r.done["killed"]++
	return r.f.At(i).Kill()
}

// kill ends one server and starts another one in its place: at once, after a while, or when it counts as gone.
func (r *round) kill(ctx context.Context) error {
	i := r.rnd.IntN(r.f.Size())
	if err := r.end(i); err != nil {
		return err
	}
	switch r.rnd.IntN(8) {
	case 0:
		select {
		case <-time.After(11 * time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case 1, 2, 3:
		if err := r.pause(ctx, 3*time.Second); err != nil {
			return err
		}
	}
	return r.f.Start(ctx, i)
}

// killPair ends two servers at once.
func (r *round) killPair(ctx context.Context) error {
	i := r.rnd.IntN(r.f.Size())
	j := (i + 1 + r.rnd.IntN(r.f.Size()-1)) % r.f.Size()
	if err := errors.Join(r.end(i), r.end(j)); err != nil {
		return err
	}
	return errors.Join(r.f.Start(ctx, i), r.f.Start(ctx, j))
}

// killBuilder ends a server that builds an index: another one must build it to its end, and it must be right.
func (r *round) killBuilder(ctx context.Context) error {
	i := r.rnd.IntN(r.f.Size())
	name := fmt.Sprintf("x%d", r.count.builds)
	cl, err := r.f.Connect(ctx, i, "ws", place, place, nil)
	if err != nil {
		return err
	}
	_, err = harness.Ask(ctx, cl, fmt.Sprintf("DEFINE INDEX %s ON bulk FIELDS x CONCURRENTLY", name))
	if err = errors.Join(err, cl.Close()); err != nil {
		return err
	}
	if err := r.pause(ctx, 300*time.Millisecond); err != nil {
		return err
	}
	if err := r.end(i); err != nil {
		return err
	}
	r.count.builds++
	status := fmt.Sprintf("RETURN (INFO FOR INDEX %s ON bulk).building.status", name)
	first, err := r.ask(ctx, status)
	if err != nil {
		return err
	}
	if first[0].Str() != "ready" {
		r.count.taken++
	}
	for end := time.Now().Add(2 * time.Minute); ; {
		now, err := r.ask(ctx, status)
		if err != nil {
			return err
		}
		if now[0].Str() == "ready" {
			break
		}
		if now[0].Str() == "error" || time.Now().After(end) {
			all, err := r.ask(ctx, fmt.Sprintf("INFO FOR INDEX %s ON bulk", name))
			return errors.Join(fmt.Errorf("index %s is not built by another server: %s", name, all[0].Text()), err)
		}
		if err := r.pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	if err := r.sameAsScan(ctx, name); err != nil {
		return err
	}
	if _, err := r.ask(ctx, "REMOVE INDEX "+name+" ON bulk"); err != nil {
		return err
	}
	return r.f.Start(ctx, i)
}

// sameAsScan holds an index of bulk to the table.
func (r *round) sameAsScan(ctx context.Context, name string) error {
	for range 4 {
		x := r.rnd.IntN(kinds)
		got, err := r.ask(ctx, fmt.Sprintf(`BEGIN; LET $i = SELECT VALUE id FROM bulk WITH INDEX %[1]s WHERE x = %[2]d;
LET $s = SELECT VALUE id FROM bulk WITH NOINDEX WHERE x = %[2]d; RETURN [array::sort($i) = array::sort($s), count($s)]; COMMIT`, name, x))
		if err != nil {
			return err
		}
		pair := got[len(got)-2].Elems()
		if !pair[0].Bool() || pair[1].Int() == 0 {
			return fmt.Errorf("index %s and a scan differ in x = %d (%s records)", name, x, pair[1].Text())
		}
	}
	return nil
}

// election is how long the stubs wait until what a lost store led is led by another one.
const election = time.Second

// loseStore switches one store off: after a while others lead what it led; later it comes back.
func (r *round) loseStore(ctx context.Context) error {
	n := strconv.Itoa(r.rnd.IntN(harness.Stores))
	if _, err := r.f.Cluster.Ask("/stop", "store", n); err != nil {
		return err
	}
	time.Sleep(election)
	_, err := r.f.Cluster.Ask("/leaders")
	err = errors.Join(err, r.pause(ctx, 3*time.Second))
	_, back := r.f.Cluster.Ask("/start", "store", n)
	return errors.Join(err, back)
}

// outage switches all stores off for less than the time-out of a request.
func (r *round) outage(ctx context.Context) error {
	for n := range harness.Stores {
		if _, err := r.f.Cluster.Ask("/stop", "store", strconv.Itoa(n)); err != nil {
			return err
		}
	}
	err := r.pause(ctx, 4*time.Second)
	for n := range harness.Stores {
		_, back := r.f.Cluster.Ask("/start", "store", strconv.Itoa(n))
		err = errors.Join(err, back)
	}
	return err
}

// split ends some regions at keys that are written now, and moves all leaders.
func (r *round) split(ctx context.Context) error {
	for range 3 {
		if r.splits++; r.splits < 60 {
			if _, err := r.f.Cluster.Ask("/split"); err != nil {
				return err
			}
		}
		if err := r.pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	_, err := r.f.Cluster.Ask("/leaders")
	return err
}

// roll restarts all servers in good order, one after the other.
func (r *round) roll(ctx context.Context) error {
	for i := range r.f.Size() {
		if err := r.f.At(i).Stop(); err != nil {
			return err
		}
		if err := r.f.Start(ctx, i); err != nil {
			return err
		}
	}
	return nil
}
