package sockets

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/value"
)

// fanoutOptions say how a change is told to many.
type fanoutOptions struct {
	store       string
	subscribers int
	rate        int // changes a second
	length      time.Duration
	bound       time.Duration // of p99; 0: none
}

func fanoutFlags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o fanoutOptions
	fs.StringVar(&o.store, "store", "memory", "memory, or bolt")
	fs.IntVar(&o.subscribers, "subscribers", 100, "WebSockets with one live query each")
	fs.IntVar(&o.rate, "rate", 500, "changes a second")
	fs.DurationVar(&o.length, "for", 10*time.Second, "how long")
	fs.DurationVar(&o.bound, "p99", 0, "fail where the 99th percentile is above this")
	return func(ctx context.Context, out io.Writer) error { return fanout(ctx, out, o) }
}

// fanout writes changes at a steady rate and measures how long each takes to every subscriber, from before its request
// is sent. Every subscriber must hear of all of them, in their order.
func fanout(ctx context.Context, out io.Writer, o fanoutOptions) error {
	fmt.Fprintf(out, "fanout: %d changes/s to %d subscribers for %v, %s\n", o.rate, o.subscribers, o.length, o.store)
	return withServer(ctx, "fanout", o.store, func(s *harness.Server) error { return o.run(ctx, out, s) })
}

// withServer runs f on a server with an empty store, and stops it in good order.
func withServer(ctx context.Context, name, store string, f func(*harness.Server) error, environ ...string) error {
	dir, done, err := (&harness.RunOptions{}).Scratch(name)
	if err != nil {
		return err
	}
	defer done()
	dsn := store
	if store == "bolt" {
		dsn = "bolt://" + filepath.Join(dir, "store")
	}
	s, err := harness.Start(ctx, dsn, environ...)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Stop())
}

func (o fanoutOptions) run(ctx context.Context, out io.Writer, s *harness.Server) error {
	writer, err := harness.DialRaw(ctx, s.Addr, 4<<10)
	if err != nil {
		return err
	}
	defer writer.Close()
	if err := writer.Place("DEFINE TABLE ev"); err != nil {
		return err
	}
	changes := int(o.length.Seconds() * float64(o.rate))
	began := time.Now()
	var wg sync.WaitGroup
	took := make([][]time.Duration, o.subscribers)
	failed := make([]error, o.subscribers)
	for i := range o.subscribers {
		k, err := harness.DialRaw(ctx, s.Addr, 16<<10)
		if err != nil {
			return err
		}
		defer k.Close()
		if err := errors.Join(k.Place(""), k.Call("live", value.TableOf("ev"))); err != nil {
			return err
		}
		wg.Go(func() { took[i], failed[i] = hear(k, changes, began) })
	}
	before, err := harness.UsageOf(s.Cmd.Process.Pid)
	if err != nil {
		return err
	}
	start := time.Now()
	late, err := o.write(writer, changes, began)
	if err != nil {
		return err
	}
	wg.Wait()
	spent, err := s.Since(before)
	if err := errors.Join(append(failed, err)...); err != nil {
		return err
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	p99 := percentile(all, 99)
	fmt.Fprintf(out, "%d deliveries in %.1fs (%.0f/s): p50 %v, p99 %v, longest %v; %d changes sent late\n", len(all), time.Since(start).Seconds(),
		float64(len(all))/time.Since(start).Seconds(), percentile(all, 50), p99,
		all[len(all)-1].Round(time.Microsecond), late)
	fmt.Fprintf(out, "server CPU: %.2f µs a delivery, %.0f µs a change\n", micros(spent)/float64(len(all)),
		micros(spent)/float64(changes))
	if o.bound > 0 && p99 > o.bound {
		return fmt.Errorf("p99 is %v, the bound is %v", p99, o.bound)
	}
	return nil
}

// write makes changes at the rate, and counts those that were later than one period.
func (o fanoutOptions) write(k *harness.RawSocket, changes int, began time.Time) (late int, err error) {
	period := time.Second / time.Duration(o.rate)
	start := time.Now()
	request := harness.RawRequest("query", value.Str("CREATE ev SET at = $at, name = 'a name', n = 5 RETURN NONE"),
		value.ObjectOf(value.NewObject(value.Field{Name: "at", Value: value.Int(1 << 62)})))
	at := bytes.Index(request, stampKey) + len(stampKey)
	for i := range changes {
		due := start.Add(time.Duration(i) * period)
		time.Sleep(time.Until(due))
		if time.Since(due) > period {
			late++
		}
		binary.BigEndian.PutUint64(request[at:], uint64(time.Since(began))|1<<62)
		if err := k.Ask(request); err != nil {
			return late, err
		}
	}
	return late, nil
}

// stampKey is the field "at" and the head of an integer of eight bytes, which are the time of writing with bit 62 set.
var stampKey = []byte("\x62at\x1b")

// hear reads so many notifications, and gives how long each took.
func hear(k *harness.RawSocket, changes int, began time.Time) ([]time.Duration, error) {
	took := make([]time.Duration, 0, changes)
	last := time.Duration(0)
	for range changes {
		b, err := k.Receive()
		if err != nil {
			return nil, err
		}
		now := time.Since(began)
		i := bytes.Index(b, stampKey)
		if i < 0 || len(b) < i+len(stampKey)+8 {
			return nil, fmt.Errorf("a notification without a time: %q", b)
		}
		sent := time.Duration(binary.BigEndian.Uint64(b[i+len(stampKey):]) &^ (1 << 62))
		if sent <= last {
			return nil, fmt.Errorf("a notification came out of order: written at %v, the one before at %v", sent, last)
		}
		last = sent
		took = append(took, now-sent)
	}
	return took, nil
}

// percentile p of sorted durations.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*p/100)].Round(time.Microsecond)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
