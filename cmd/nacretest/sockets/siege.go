package sockets

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/value"
)

// siegeOptions say which attacks are made, and what they may do.
type siegeOptions struct {
	rows     string
	memory   string
	resident int           // MiB at most
	back     int           // MiB in the end
	within   time.Duration // the end comes
	ping     time.Duration // of another client, 99 of 100
	hold     time.Duration
}

func siegeFlags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o siegeOptions
	fs.StringVar(&o.rows, "rows", "", "names of the attacks, with commas; all of them where it is empty")
	fs.StringVar(&o.memory, "memory", "512MiB", "GOMEMLIMIT of the server")
	fs.IntVar(&o.resident, "resident", 700, "fail where the server takes more MiB")
	fs.IntVar(&o.back, "back", 200, "fail where it still takes more MiB after the attack")
	fs.DurationVar(&o.within, "within", 10*time.Second, "the time that it has for that")
	fs.DurationVar(&o.ping, "ping", 250*time.Millisecond, "fail where one in a hundred pings of another client takes longer")
	fs.DurationVar(&o.hold, "hold", 3*time.Second, "how long an attack stays when it has done what it can")
	return func(ctx context.Context, out io.Writer) error { return siege(ctx, out, o) }
}

// siege makes each attack on a server of its own.
func siege(ctx context.Context, out io.Writer, o siegeOptions) error {
	fmt.Fprintf(out, "siege: GOMEMLIMIT=%s\n%-14s %7s %7s %8s %8s %8s %7s %8s  %s\n", o.memory, "attack", "MiB", "after",
		"back in", "ping p50", "p99", "CPU", "queued", "the server said")
	var failed []error
	for _, row := range siegeRows() {
		if o.rows != "" && !slices.Contains(strings.Split(o.rows, ","), row.name) {
			continue
		}
		if err := o.attack(ctx, out, row); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", row.name, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(failed...)
}

// besieged is a server under attack.
type besieged struct {
	*harness.Server
	dir   string // of its store
	token string // of a record user
	held  []io.Closer
	said  string // what the attacker was told in the end
}

// keep closes c when the attack is over.
func (b *besieged) keep(c io.Closer) { b.held = append(b.held, c) }

// refusal remembers what the server says to an attacker; it is no failure.
func (b *besieged) refusal(err error) {
	if err != nil && b.said == "" {
		b.said = err.Error()
	}
}

func (b *besieged) leave() {
	for _, c := range b.held {
		_ = c.Close() // the server may have done so
	}
	b.held = nil
}

// siegeSchema is the schema that record users find.
const siegeSchema = `DEFINE TABLE user PERMISSIONS FOR select WHERE id = $auth.id; CREATE user:1 SET pass = 'p'; DEFINE TABLE t PERMISSIONS FULL;
	DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass)`

// signedIn opens a socket with the identity of a root user or, where token is not empty, of its own.
func (b *besieged) signedIn(ctx context.Context, token string) (*harness.RawSocket, error) {
	k, err := harness.DialRaw(ctx, b.Addr, 4<<10)
	if err != nil {
		return nil, err
	}
	if token != "" {
		err = k.Call("authenticate", value.Str(token))
	} else {
		err = k.Call("signin", value.ObjectOf(value.NewObject(
			value.Field{Name: "user", Value: value.Str("root")}, value.Field{Name: "pass", Value: value.Str("root")})))
	}
	if err == nil && token == "" {
		err = k.Place("")
	}
	if err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

func (o siegeOptions) attack(ctx context.Context, out io.Writer, row siegeRow) error {
	dir, err := os.MkdirTemp("", "siege")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	dsn := "memory"
	if row.durable {
		dsn = "bolt://" + filepath.Join(dir, "store")
	}
	s, err := harness.Start(ctx, dsn,
		append(append([]string{"GOMEMLIMIT=" + o.memory}, harness.AsRoot...), row.environ...)...)
	if err != nil {
		return err
	}
	b := &besieged{Server: s, dir: dir}
	defer b.leave()
	return errors.Join(o.measure(ctx, out, b, row), s.Stop())
}

// prepare makes the schema and signs the attacker in.
func (b *besieged) prepare(ctx context.Context) error {
	k, err := b.signedIn(ctx, "")
	if err != nil {
		return err
	}
	defer k.Close()
	if err := k.Call("query", value.Str(siegeSchema)); err != nil {
		return err
	}
	b.token, err = b.recordToken(ctx)
	return err
}

// measure makes one attack and prints its line. Where other processes have the cores a ping takes longer than the
// server is to blame for: queued is how long the threads of the server were ready to run and did not.
func (o siegeOptions) measure(ctx context.Context, out io.Writer, b *besieged, row siegeRow) error {
	if err := b.prepare(ctx); err != nil {
		return err
	}
	bystander, err := standBy(ctx, b.Addr)
	if err != nil {
		return err
	}
	watched, before := watchSiege(b.Cmd.Process.Pid), b.usage()
	attack, cancel := context.WithTimeout(ctx, row.length())
	failed := row.attack(attack, b)
	cancel()
	wait(ctx, o.hold)
	b.leave()
	back := o.fallBack(ctx, b)
	after := b.usage()
	seen, err := watched.end()
	var late error
	seen.pings, late = bystander.end()
	if err = errors.Join(failed, err, late); err != nil {
		return err
	}
	ping := func(p int) time.Duration { return percentile(seen.pings, p).Round(time.Millisecond) }
	fmt.Fprintf(out, "%-14s %7d %7d %8v %8v %8v %7v %8v  %.80s\n", row.name, seen.most>>20, seen.last>>20,
		back.Round(100*time.Millisecond), ping(50), ping(99), (after.CPU - before.CPU).Round(10*time.Millisecond),
		(after.Queued - before.Queued).Round(10*time.Millisecond), b.said)
	return o.judge(seen, back)
}

// usage returns the time and memory that the server has used so far; zeros where the kernel does not say.
func (b *besieged) usage() harness.Usage {
	u, err := harness.UsageOf(b.Cmd.Process.Pid)
	if err != nil {
		return harness.Usage{}
	}
	return u
}

// fallBack waits until the server has given back what it took, and gives how long that was.
func (o siegeOptions) fallBack(ctx context.Context, b *besieged) time.Duration {
	began := time.Now()
	for time.Since(began) < o.within && ctx.Err() == nil {
		if u, err := harness.UsageOf(b.Cmd.Process.Pid); err != nil || u.RSS>>20 <= int64(o.back) {
			break
		}
		wait(ctx, 50*time.Millisecond)
	}
	return time.Since(began)
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// judge holds what was seen against the bounds.
func (o siegeOptions) judge(seen siegeSeen, back time.Duration) error {
	var failed []error
	if n := seen.most >> 20; n > int64(o.resident) {
		failed = append(failed, fmt.Errorf("%d MiB were resident, the bound is %d", n, o.resident))
	}
	if back >= o.within {
		failed = append(failed, fmt.Errorf("%d MiB are resident after %v, the bound is %d", seen.last>>20, o.within, o.back))
	}
	if p := percentile(seen.pings, 99); p > o.ping {
		failed = append(failed, fmt.Errorf("one ping in a hundred took %v, the bound is %v", p, o.ping))
	}
	return errors.Join(failed...)
}

// siegeSeen holds the observations of a server under attack.
type siegeSeen struct {
	most, last int64 // bytes resident
	pings      []time.Duration
}

// siegeWatch looks at the memory of a server until end. It owns a goroutine.
type siegeWatch struct {
	stop   chan struct{}
	seen   siegeSeen
	failed chan error
}

func watchSiege(pid int) *siegeWatch {
	w := &siegeWatch{stop: make(chan struct{}), failed: make(chan error, 1)}
	go func() {
		for {
			u, err := harness.UsageOf(pid)
			w.seen.most, w.seen.last = max(w.seen.most, u.RSS), u.RSS
			if err != nil {
				w.failed <- err
				return
			}
			select {
			case <-w.stop:
				w.failed <- nil
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return w
}

func (w *siegeWatch) end() (siegeSeen, error) {
	close(w.stop)
	err := <-w.failed
	return w.seen, err
}

// fileBelow fails where the data file of the store has grown beyond so many bytes.
func (b *besieged) fileBelow(most int64) error {
	info, err := os.Stat(filepath.Join(b.dir, "store", "data.db"))
	if err != nil {
		return err
	}
	b.said = fmt.Sprintf("data.db has %d MiB; %s", info.Size()>>20, b.said)
	if info.Size() > most {
		return fmt.Errorf("data.db has %d MiB, the bound is %d", info.Size()>>20, most>>20)
	}
	return nil
}
