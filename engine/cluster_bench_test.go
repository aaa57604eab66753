//go:build linux || windows || cgo

package engine_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/catalog"

	"github.com/tikv/client-go/v2/txnkv"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
	"github.com/nacredb/nacre/engine/record"
)

// BenchmarkBesideClient runs a point read, and the commit of one record, by the bare client of the cluster and by
// statements, in turns on the same stubs, and reports microseconds of both and their ratio.
func BenchmarkBesideClient(b *testing.B) {
	ctx := context.Background()
	c, prefix := stub.Shared(b)
	bare, err := txnkv.NewClient([]string{c.PD})
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	st, err := tikv.Open(ctx, tikv.Options{PD: []string{c.PD}, Prefix: prefix, Counter: record.MayCount, Steady: catalog.Steady})
	if err != nil {
		b.Fatal(err)
	}
	e := openStore(b, st)
	s := e.RootSession()
	mustDo(b, s, "USE NS test DB test; DEFINE TABLE t; DEFINE FIELD name ON t TYPE string; CREATE t:1 SET name = 'a'")
	var last atomic.Int64
	write := func() error {
		tx, err := bare.Begin()
		if err != nil {
			return err
		}
		if err := tx.Set(fmt.Appendf(nil, "bare/%s/%d", prefix, last.Add(1)), []byte("name: a")); err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
	if err := write(); err != nil {
		b.Fatal(err)
	}
	key := fmt.Appendf(nil, "bare/%s/1", prefix)
	read := func() error {
		tx, err := bare.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // it has read only
		_, err = tx.Get(ctx, key)
		return err
	}
	for _, of := range []struct {
		name, text string
		bare       func() error
	}{{"read", "SELECT * FROM ONLY t:1", read}, {"commit", "CREATE t SET name = 'a' RETURN NONE", write}} {
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%d", of.name, clients), func(b *testing.B) {
				besideClient(b, e, clients, of.text, of.bare)
			})
		}
	}
}

// besideClient runs b.N rounds of both by a number of clients.
func besideClient(b *testing.B, e *engine.Engine, clients int, text string, bare func() error) {
	sessions := make([]*engine.Session, clients)
	for i := range sessions {
		sessions[i] = e.RootSession()
		mustDo(b, sessions[i], "USE NS test DB test")
	}
	round := func(f func(client int) error) (took time.Duration) {
		const each = 50
		var wg sync.WaitGroup
		start := time.Now()
		for i := range clients {
			wg.Go(func() {
				for range each {
					if err := f(i); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return time.Since(start) / time.Duration(each*clients)
	}
	var alone, ours time.Duration
	for b.Loop() {
		alone += round(func(int) error { return bare() })
		ours += round(func(i int) error {
			_, err := tryDo(sessions[i], text)
			return err
		})
	}
	b.ReportMetric(float64(alone.Microseconds())/float64(b.N), "client-µs")
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N), "nacre-µs")
	b.ReportMetric(float64(ours)/float64(alone), "ratio")
	b.ReportMetric(0, "ns/op")
}
