package tikv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"time"

	"github.com/tikv/client-go/v2/oracle"
	client "github.com/tikv/client-go/v2/tikv"
)

// defaultGC is how long old versions are kept. Another program that collects in the same cluster keeps them for
// minutes as a rule: the safe point is then ahead of what is wanted here, and nothing is done.
const defaultGC = 24 * time.Hour

// collectorName is the service under which all who move the safe point say how far they are going to. The placement
// driver refuses to promise anything older to other services from then on.
const collectorName = "gc_worker"

// pace says when a collector works, and when a hold is renewed.
type pace struct {
	first  time.Duration // until the first turn, at most
	every  time.Duration // between two turns, and up to a quarter more
	settle time.Duration // between what clients are told and what the stores are
	renew  time.Duration // between two renewals of a hold
}

// defaultPace lets a short command end before the first turn, and each client see the safe point: one that could not
// ask for so long reads nothing.
func defaultPace() *pace {
	return &pace{first: 10 * time.Minute, every: 10 * time.Minute, renew: time.Minute,
		settle: client.GcSafePointCacheInterval + 20*time.Second}
}

// collector moves the safe point of the cluster to some time ago, now and then: its stores then clear away what is
// visible to no snapshot since. It owns one goroutine. Several processes may each have one: those that find the work
// done leave it.
type collector struct {
	store *Store
	pace  *pace
	end   context.CancelFunc
	done  chan struct{}

	failing bool   // the last turn has failed, which was logged
	held    uint64 // where a service holds the safe point, which was logged
}

// start starts the collector, where one is wanted.
func (c *collector) start(s *Store) {
	c.store, c.pace, c.done = s, s.opt.pace, make(chan struct{})
	ctx, end := context.WithCancel(s.ctx)
	c.end = end
	if s.opt.GC < 0 {
		close(c.done)
		return
	}
	go c.run(ctx)
}

// stop ends what the collector is doing, and waits for that. What it has not done another turn does, of any process.
func (c *collector) stop() {
	c.end()
	<-c.done
}

func (c *collector) run(ctx context.Context) {
	defer close(c.done)
	next := time.NewTimer(c.pace.first/10 + upTo(c.pace.first*9/10))
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		if err := c.turn(ctx); ctx.Err() == nil {
			c.report(err)
		}
		next.Reset(c.pace.every + upTo(c.pace.every/4))
	}
}

// upTo gives a random time below d.
func upTo(d time.Duration) time.Duration { return time.Duration(rand.Int64N(int64(d) + 1)) }

// report logs how a turn has ended: a failure that lasts is a warning once.
func (c *collector) report(err error) {
	log := c.store.opt.Log
	switch {
	case err != nil:
		level := slog.LevelWarn
		if c.failing {
			level = slog.LevelDebug
		}
		log.Log(context.Background(), level,
			"old versions were not collected in the cluster, which grows until a later turn does it", "err", err)
	case c.failing:
		log.Info("old versions are collected in the cluster again")
	}
	c.failing = err != nil
}

// turn moves the safe point once, where it is time for that. The order matters: what services need is asked, and
// what is to come promised, before clients are told; these have heard of it before the stores do; and locks are
// resolved in the whole cluster before, since the outcome of their transactions may be among what goes.
func (c *collector) turn(ctx context.Context) error {
	s := c.store
	target, err := c.target(ctx)
	if err != nil {
		return err
	}
	moved, told, err := s.safe.look(ctx)
	if err != nil {
		return err
	}
	if newest := oracle.GetTimeFromTS(max(moved, told)); newest.After(oracle.GetTimeFromTS(target).Add(-c.pace.every)) {
		return nil // somebody else has done it lately, or keeps less
	}
	least, err := c.promise(ctx, target)
	if err != nil {
		return err
	}
	c.reportHeld(target, least)
	if target = min(target, least); target <= moved {
		return nil
	}
	if err := s.safe.tell(ctx, target); err != nil {
		return err
	}
	select {
	case <-time.After(c.pace.settle):
	case <-ctx.Done():
		return ctx.Err()
	}
	if moved, err = s.client.GC(ctx, target); err != nil { // which resolves locks first
		return fmt.Errorf("resolve locks and move the safe point: %w", err)
	}
	if moved < target {
		return fmt.Errorf("the placement driver has left the safe point at %s", stamp(moved))
	}
	s.opt.Log.Debug("the cluster clears away old versions", "before", stamp(target))
	return nil
}

var errClock = errors.New("the clock of the cluster, or that of this machine, is before all versions that are kept")

// target is where the safe point should be. It goes by the clock of the placement driver and by that of this machine,
// the one that is behind: if one of them jumps ahead, nothing goes before its time.
func (c *collector) target(ctx context.Context) (uint64, error) {
	ts, err := c.store.now(ctx)
	if err != nil {
		return 0, err
	}
	now := min(oracle.ExtractPhysical(ts), time.Now().UnixMilli())
	at := now - c.store.opt.GC.Milliseconds()
	if at <= 0 {
		return 0, errClock
	}
	return oracle.ComposeTS(at, 0), nil
}

// promise says that the safe point goes to target. The answer is the oldest timestamp that any service needs, this
// one among them: the safe point must not go beyond it.
func (c *collector) promise(ctx context.Context, target uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.store.opt.Timeout)
	defer cancel()
	least, err := c.store.client.GetPDClient().UpdateServiceGCSafePoint(ctx, collectorName, math.MaxInt64, target)
	if err != nil {
		return 0, fmt.Errorf("ask what services need: %w", err)
	}
	return least, nil
}

// reportHeld logs that a service needs what would go, once for each place where it holds the safe point.
func (c *collector) reportHeld(target, least uint64) {
	if least >= target {
		c.held = 0
		return
	}
	if c.held != least {
		c.held = least
		c.store.opt.Log.Info("a backup, or another service, keeps old versions in the cluster", "since", stamp(least),
			"otherwise", stamp(target))
	}
}

// stamp is a timestamp as logs have it.
func stamp(ts uint64) string { return oracle.GetTimeFromTS(ts).UTC().Format(time.RFC3339) }
