package sockets

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/value"
)

// rateOptions say what is asked, and by how many.
type rateOptions struct {
	store   string
	clients string
	length  time.Duration
}

func rateFlags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o rateOptions
	fs.StringVar(&o.store, "store", "memory", "memory, or bolt (synced)")
	fs.StringVar(&o.clients, "clients", "1,16,64", "numbers of WebSockets, one request at a time each")
	fs.DurationVar(&o.length, "for", 3*time.Second, "how long each")
	return func(ctx context.Context, out io.Writer) error { return rate(ctx, out, o) }
}

// rateRow is one statement to ask again and again; $i in its variables counts.
type rateRow struct{ name, text string }

func rateRows() []rateRow {
	return []rateRow{
		{"RETURN 1", "RETURN 1"},
		{"point read", "SELECT * FROM ONLY type::record('t', $i % 10000)"},
		{"CREATE", "CREATE made SET n = $i, name = 'a name', tags = ['a', 'b'] RETURN NONE"},
	}
}

// rate measures requests a second over WebSockets, and what each costs the server.
func rate(ctx context.Context, out io.Writer, o rateOptions) error {
	var counts []int
	for c := range strings.SplitSeq(o.clients, ",") {
		n, err := strconv.Atoi(c)
		if err != nil || n < 1 {
			return fmt.Errorf("-clients: %q is no number of clients", c)
		}
		counts = append(counts, n)
	}
	fmt.Fprintf(out, "rate: %s\n", o.store)
	return withServer(ctx, "rate", o.store, func(s *harness.Server) error {
		k, err := harness.DialRaw(ctx, s.Addr, 4<<10)
		if err != nil {
			return err
		}
		defer k.Close()
		if err := k.Place("DEFINE TABLE made; FOR $i IN 0..10000 { CREATE type::record('t', $i) SET n = $i, name = 'a name', tags = ['a', 'b'] }"); err != nil {
			return err
		}
		for _, row := range rateRows() {
			for _, n := range counts {
				if err := o.measure(ctx, out, s, row, n); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (o rateOptions) measure(ctx context.Context, out io.Writer, s *harness.Server, row rateRow, clients int) error {
	sockets := make([]*harness.RawSocket, clients)
	for i := range sockets {
		k, err := harness.DialRaw(ctx, s.Addr, 4<<10)
		if err != nil {
			return err
		}
		defer k.Close()
		if err := k.Place(""); err != nil {
			return err
		}
		sockets[i] = k
	}
	before, err := harness.UsageOf(s.Cmd.Process.Pid)
	if err != nil {
		return err
	}
	took := make([][]time.Duration, clients)
	failed := make([]error, clients)
	var wg sync.WaitGroup
	began := time.Now()
	for i, k := range sockets {
		wg.Go(func() { took[i], failed[i] = askOn(k, row.text, uint64(i)<<32, began.Add(o.length)) })
	}
	wg.Wait()
	length := time.Since(began)
	spent, err := s.Since(before)
	if err := errors.Join(append(failed, err)...); err != nil {
		return err
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	_, err = fmt.Fprintf(out, "%-10s %3d clients: %7.0f/s, server CPU %5.1f µs a request, p50 %v, p99 %v\n", row.name, clients,
		float64(len(all))/length.Seconds(), micros(spent)/float64(len(all)), percentile(all, 50), percentile(all, 99))
	return err
}

// askOn sends one request after the other until the end, and gives how long each took.
func askOn(k *harness.RawSocket, text string, first uint64, end time.Time) ([]time.Duration, error) {
	request := harness.RawRequest("query", value.Str(text),
		value.ObjectOf(value.NewObject(value.Field{Name: "i", Value: value.Int(1 << 62)})))
	key := []byte("\x61i\x1b")
	at := bytes.Index(request, key) + len(key)
	var took []time.Duration
	for sent := time.Now(); sent.Before(end); {
		binary.BigEndian.PutUint64(request[at:], first)
		first++
		if err := k.Ask(request); err != nil {
			return nil, err
		}
		now := time.Now()
		took = append(took, now.Sub(sent))
		sent = now
	}
	return took, nil
}
