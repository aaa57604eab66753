package doors

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

func stopFlags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	times := fs.Int("times", 200, "how often each statement is stopped, in each way")
	return func(ctx context.Context, out io.Writer) error {
		if *times < 1 {
			return fmt.Errorf("-times: %d is no number of times", *times)
		}
		return withServer(ctx, func(s *harness.Server) error { return stops(ctx, out, s, *times) })
	}
}

// endless are statements that end only when they are stopped: one that waits, one that works, one that reads, one that
// writes.
var endless = []string{
	"SLEEP 1h",
	"FOR $i IN 0..1000000000000 { LET $x = $i * 2 }",
	"FOR $i IN 0..1000000000000 { SELECT count() FROM t WHERE n > 5 GROUP ALL }",
	"FOR $i IN 0..1000000000000 { UPDATE t SET n += 1 RETURN NONE }",
}

func stops(ctx context.Context, out io.Writer, s *harness.Server, times int) error {
	watchers, done, err := connect(ctx, s, "ws", 1)
	if err != nil {
		return err
	}
	defer done()
	watcher := watchers[0]
	if _, err := harness.Ask(ctx, watcher, "FOR $i IN 0..1000 { CREATE t SET n = $i }"); err != nil {
		return err
	}
	callers, done, err := connect(ctx, s, "grpc", 1)
	if err != nil {
		return err
	}
	defer done()
	for _, text := range endless {
		for _, deadline := range []bool{false, true} {
			var each []time.Duration
			for range times {
				d, err := stop(ctx, callers[0], watcher, text, deadline)
				if err != nil {
					return fmt.Errorf("%s: %w", text, err)
				}
				each = append(each, d)
			}
			slices.Sort(each)
			way := map[bool]string{true: "deadline", false: "cancel"}[deadline]
			at := func(i int) time.Duration { return each[i].Round(10 * time.Microsecond) }
			fmt.Fprintf(out, "%-75s %-8s p50 %-9v p99 %-9v most %v\n", text, way, at(len(each)/2), at(len(each)*99/100),
				at(len(each)-1))
		}
	}
	return nil
}

// lead is how far ahead the deadline of a call is.
const lead = 100 * time.Millisecond

// stop runs a text until it is seen to run, stops it, and tells how long it was seen after that. What it takes to see
// it is part of the time.
func stop(ctx context.Context, caller, watcher *client.Client, text string, deadline bool) (time.Duration, error) {
	began := time.Now()
	call, cancel := context.WithCancel(ctx)
	if deadline {
		call, cancel = context.WithDeadline(ctx, began.Add(lead))
	}
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		results, err := caller.Query(call, text, nil)
		if err == nil {
			err = harness.FirstError(results) // the server was first to see the deadline
		}
		ended <- err
	}()
	for runs := false; !runs; {
		var err error
		if runs, err = seen(ctx, watcher); err != nil {
			return 0, err
		}
		if deadline && time.Since(began) > lead/2 { // it may have come and gone unseen
			break
		}
	}
	from := time.Now()
	if deadline {
		from = began.Add(lead)
		time.Sleep(time.Until(from))
	} else {
		cancel()
	}
	for {
		runs, err := seen(ctx, watcher)
		if err != nil {
			return 0, err
		}
		if !runs {
			break
		}
		if time.Since(from) > time.Minute {
			return 0, errors.New("the statement goes on a minute after it was stopped")
		}
	}
	took := time.Since(from)
	if err := <-ended; err == nil {
		return 0, errors.New("the stopped call ended well")
	}
	return took, nil
}

// seen reports whether the server says that a statement runs.
func seen(ctx context.Context, watcher *client.Client) (bool, error) {
	v, err := watcher.Call(ctx, "processes")
	if err != nil {
		return false, err
	}
	statements, _ := v.Object().Get("statements")
	return statements.Len() > 0, nil
}
