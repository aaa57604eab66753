package life

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

var errWhy = errors.New("why")

// ends are the ways in which a context may end, with what it says then.
var ends = []struct {
	name       string
	make       func(parent context.Context) (ctx context.Context, end func())
	err, cause error
}{
	{"stopped", func(p context.Context) (context.Context, func()) {
		c := With(p)
		return c, func() { c.Stop(errWhy) }
	}, context.Canceled, errWhy},
	{"stopped without a cause", func(p context.Context) (context.Context, func()) {
		c := With(p)
		return c, func() { c.Stop(nil) }
	}, context.Canceled, context.Canceled},
	{"late", func(p context.Context) (context.Context, func()) {
		return Until(p, time.Now().Add(-time.Second), errWhy), func() {}
	}, context.DeadlineExceeded, errWhy},
	{"parent stopped", func(p context.Context) (context.Context, func()) {
		p, cancel := context.WithCancelCause(p)
		return With(p), func() { cancel(errWhy) }
	}, context.Canceled, errWhy},
	{"grandparent stopped", func(p context.Context) (context.Context, func()) {
		g := With(p)
		return With(Until(g, time.Now().Add(time.Hour), nil)), func() { g.Stop(errWhy) }
	}, context.Canceled, errWhy},
	{"parent late", func(p context.Context) (context.Context, func()) {
		return With(Until(p, time.Now().Add(-time.Second), errWhy)), func() {}
	}, context.DeadlineExceeded, errWhy},
	{"stopped in time", func(p context.Context) (context.Context, func()) {
		c := Until(p, time.Now().Add(time.Hour), nil)
		return c, func() { c.Stop(errWhy); c.Stop(errors.New("too late")) }
	}, context.Canceled, errWhy},
}

func TestEnds(t *testing.T) {
	for _, tc := range ends {
		for _, when := range []string{"never", "before", "after", "below"} {
			t.Run(tc.name+", waited for "+when, func(t *testing.T) {
				ctx, end := tc.make(context.Background())
				var below context.Context
				switch when {
				case "before":
					ctx.Done()
				case "below":
					var cancel context.CancelFunc
					below, cancel = context.WithCancel(ctx)
					defer cancel()
				}
				end()
				if got := ctx.Err(); got != tc.err {
					t.Errorf("Err: %v, want %v", got, tc.err)
				}
				if when == "after" {
					<-ctx.Done()
				}
				if when == "below" {
					<-below.Done()
					if got := context.Cause(below); got != tc.cause {
						t.Errorf("cause below: %v, want %v", got, tc.cause)
					}
				}
				if got := context.Cause(ctx); got != tc.cause {
					t.Errorf("cause: %v, want %v", got, tc.cause)
				}
			})
		}
	}
}

func TestOpenContextHasNoError(t *testing.T) {
	c := Until(context.Background(), time.Now().Add(time.Hour), errWhy)
	if err := c.Err(); err != nil {
		t.Error(err)
	}
	if at, ok := With(c).Deadline(); !ok || !at.Equal(c.until) {
		t.Errorf("deadline %v %v, want %v", at, ok, c.until)
	}
	if context.Cause(c) != nil || c.Err() != nil {
		t.Errorf("cause %v, error %v", context.Cause(c), c.Err())
	}
	select {
	case <-c.Done():
		t.Error("it is done")
	default:
	}
}

func TestDeadlineEndsWhatWaits(t *testing.T) {
	c := Until(context.Background(), time.Now().Add(time.Millisecond), errWhy)
	<-c.Done()
	if c.Err() != context.DeadlineExceeded || context.Cause(c) != errWhy {
		t.Errorf("%v because of %v", c.Err(), context.Cause(c))
	}
	c.Stop(nil)
	if c.Err() != context.DeadlineExceeded {
		t.Errorf("%v after Stop", c.Err())
	}
}

func TestValuesOfTheParent(t *testing.T) {
	type key struct{}
	c := With(context.WithValue(context.Background(), key{}, "value"))
	if got := c.Value(key{}); got != "value" {
		t.Errorf("got %v", got)
	}
}

// TestStopBesideWaiters lets goroutines stop, ask and wait at once: all must see the one end.
func TestStopBesideWaiters(t *testing.T) {
	for range 200 {
		parent := With(context.Background())
		c := Until(parent, time.Now().Add(time.Hour), nil)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { <-c.Done() })
			wg.Go(func() { _ = c.Err(); _ = context.Cause(c) })
		}
		wg.Go(func() { parent.Stop(errWhy) })
		wg.Go(func() { c.Stop(errWhy) })
		wg.Wait()
		if c.Err() != context.Canceled || context.Cause(c) != errWhy {
			t.Fatalf("%v because of %v", c.Err(), context.Cause(c))
		}
	}
}

func BenchmarkContext(b *testing.B) {
	top, end := context.WithCancel(context.Background())
	defer end()
	b.Run("lazy", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c := Until(top, time.Now().Add(time.Hour), errWhy)
			_ = c.Err()
			c.Stop(nil)
		}
	})
	b.Run("standard", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c, stop := context.WithDeadlineCause(top, time.Now().Add(time.Hour), errWhy)
			_ = c.Err()
			stop()
		}
	})
}
