package doors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

// The first door is the one that the others are compared with.
var schemes = []string{"ws", "grpc"}

const setup = `CREATE one:1 SET name = 'a name of some length', n = 42;
	FOR $i IN 0..%d { CREATE type::record('t', $i) SET name = 'a name of some length', n = $i, tags = ['a', 'b'],
		at = d'2024-01-01T00:00:00Z', price = 1.5, owner = person:tobie,
		address = { street: 'a street', city: 'a city', zip: 12345 } }`

// turn is the result of one turn of a door.
type turn struct {
	done           int
	took           time.Duration
	server, client time.Duration // CPU
}

func (t *turn) add(more turn) {
	t.done += more.done
	t.took += more.took
	t.server += more.server
	t.client += more.client
}

func (o *options) measure(ctx context.Context, out io.Writer, s *harness.Server) error {
	list, done, err := connect(ctx, s, "ws", 1)
	if err != nil {
		return err
	}
	_, err = harness.Ask(ctx, list[0], fmt.Sprintf(setup, o.rows))
	done()
	if err != nil {
		return err
	}
	for _, text := range []string{"RETURN 1", "SELECT * FROM ONLY one:1"} {
		for _, n := range o.clients {
			if err := o.compare(ctx, out, s, text, n, 1); err != nil {
				return err
			}
		}
	}
	return o.compare(ctx, out, s, "SELECT * FROM t", 1, o.rows)
}

// compare runs a text at each door in turns; per is what is counted of one run.
func (o *options) compare(ctx context.Context, out io.Writer, s *harness.Server, text string, clients, per int) error {
	sums := make([]turn, len(schemes))
	for range o.rounds {
		for i, scheme := range schemes {
			t, err := o.turn(ctx, s, scheme, text, clients)
			if err != nil {
				return fmt.Errorf("%s over %s: %w", text, scheme, err)
			}
			sums[i].add(t)
		}
	}
	first := sums[0]
	for i, scheme := range schemes {
		t := sums[i]
		n := float64(t.done * per)
		us := func(d time.Duration) float64 { return d.Seconds() * 1e6 / n }
		fmt.Fprintf(out, "%-24s %3d clients %-5s %9.0f/s  CPU each: server %8.2f µs, clients %8.2f µs", text, clients, scheme,
			n/t.took.Seconds(), us(t.server), us(t.client))
		if i > 0 {
			m := float64(first.done * per)
			ratio := func(a, b time.Duration) float64 { return a.Seconds() / n / (b.Seconds() / m) }
			fmt.Fprintf(out, "  rate %.2f×, CPU of server %.2f×, of both %.2f×", n/t.took.Seconds()/(m/first.took.Seconds()),
				ratio(t.server, first.server), ratio(t.server+t.client, first.server+first.client))
		}
		fmt.Fprintln(out)
	}
	return nil
}

// turn runs a text at one door for a while.
func (o *options) turn(ctx context.Context, s *harness.Server, scheme, text string, clients int) (t turn, err error) {
	list, done, err := connect(ctx, s, scheme, clients)
	if err != nil {
		return t, err
	}
	defer done()
	ask := func(c *client.Client) error {
		results, err := c.Query(ctx, text, nil)
		if err == nil {
			err = harness.FirstError(results)
		}
		return err
	}
	for _, c := range list {
		if err := ask(c); err != nil {
			return t, err
		}
	}
	server, err := harness.UsageOf(s.Cmd.Process.Pid)
	if err != nil {
		return t, err
	}
	mine, err := harness.UsageOf(os.Getpid())
	if err != nil {
		return t, err
	}
	var wg sync.WaitGroup
	counts, failed := make([]int, clients), make([]error, clients)
	began := time.Now()
	end := began.Add(o.length)
	for i, c := range list {
		wg.Go(func() {
			for failed[i] == nil && (counts[i] == 0 || time.Now().Before(end)) {
				failed[i] = ask(c)
				counts[i]++
			}
		})
	}
	wg.Wait()
	t.took = time.Since(began)
	for _, n := range counts {
		t.done += n
	}
	serverNow, e1 := harness.UsageOf(s.Cmd.Process.Pid)
	mineNow, e2 := harness.UsageOf(os.Getpid())
	t.server, t.client = serverNow.CPU-server.CPU, mineNow.CPU-mine.CPU
	return t, errors.Join(append(failed, e1, e2)...)
}
