package sockets

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

// idleOptions say how many sockets are held open, and what that may cost.
type idleOptions struct {
	sockets int
	live    bool
	hold    time.Duration
	bound   int // KiB a socket; 0: none
}

func idleFlags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o idleOptions
	fs.IntVar(&o.sockets, "sockets", 5000, "how many; each takes a file here and one in the server")
	fs.BoolVar(&o.live, "live", false, "one live query on each")
	fs.DurationVar(&o.hold, "hold", 20*time.Second, "how long they are held before the memory is read")
	fs.IntVar(&o.bound, "bound", 40, "fail where a socket takes more KiB of the server's memory; 0: do not")
	return func(ctx context.Context, out io.Writer) error { return idle(ctx, out, o) }
}

// idle holds many sockets open that do nothing but answer pings, measures what they cost the server and how quickly it
// answers somebody else meanwhile, and stops it while they are open.
func idle(ctx context.Context, out io.Writer, o idleOptions) error {
	fmt.Fprintf(out, "idle: %d sockets for %v, live queries %v\n", o.sockets, o.hold, o.live)
	return withServer(ctx, "idle", "memory", func(s *harness.Server) error { return o.run(ctx, out, s) },
		"NACRE_CONNECTIONS_PER_ADDRESS=0")
}

func (o idleOptions) run(ctx context.Context, out io.Writer, s *harness.Server) error {
	active, err := harness.DialRaw(ctx, s.Addr, 4<<10)
	if err != nil {
		return err
	}
	defer active.Close()
	if err := active.Place("DEFINE TABLE ev"); err != nil {
		return err
	}
	before, err := harness.UsageOf(s.Cmd.Process.Pid)
	if err != nil {
		return err
	}
	began := time.Now()
	var wg sync.WaitGroup
	ends := make([]error, o.sockets)
	for i := range o.sockets {
		k, err := harness.DialRaw(ctx, s.Addr, 256)
		if err != nil {
			return fmt.Errorf("socket %d: %w", i, err)
		}
		defer k.Close()
		if err := k.Call("ping"); err != nil {
			return fmt.Errorf("socket %d: %w", i, err)
		}
		if o.live {
			if err := errors.Join(k.Place(""), k.Call("query", harness.LivePlain())); err != nil {
				return fmt.Errorf("socket %d: %w", i, err)
			}
		}
		wg.Go(func() { _, ends[i] = k.Receive() })
	}
	opened := time.Since(began)
	took, err := pings(active, o.hold)
	if err != nil {
		return err
	}
	after, err := harness.UsageOf(s.Cmd.Process.Pid)
	if err != nil {
		return err
	}
	each := float64(after.RSS-before.RSS) / float64(o.sockets) / 1024
	fmt.Fprintf(out, "opened in %.1fs; %.1f KiB each (%d MiB in all); pings of another client meanwhile: p50 %v, p99 %v\n",
		opened.Seconds(), each, after.RSS>>20, percentile(took, 50), percentile(took, 99))
	began = time.Now()
	if err := s.Stop(); err != nil {
		return err
	}
	wg.Wait()
	fmt.Fprintf(out, "stopped with all of them open in %v\n", time.Since(began).Round(time.Millisecond))
	for i, err := range ends {
		if !errors.Is(err, io.EOF) {
			return fmt.Errorf("socket %d ended with %v, not with a close frame", i, err)
		}
	}
	if o.bound > 0 && each > float64(o.bound) {
		return fmt.Errorf("a socket takes %.1f KiB, the bound is %d", each, o.bound)
	}
	return nil
}

// pings asks every ten milliseconds for so long, and gives how long each answer took.
func pings(k *harness.RawSocket, length time.Duration) ([]time.Duration, error) {
	var took []time.Duration
	for began := time.Now(); time.Since(began) < length; time.Sleep(10 * time.Millisecond) {
		sent := time.Now()
		if err := k.Call("ping"); err != nil {
			return nil, err
		}
		took = append(took, time.Since(sent))
	}
	slices.Sort(took)
	return took, nil
}
