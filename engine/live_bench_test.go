package engine_test

import (
	"sync"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// One CREATE and its way to all who watch, in CBOR: live queries of one class are matched and encoded once, those that
// differ (here by a variable) each for itself. The time above "no subscriber" is the cost of the deliveries.
func BenchmarkLiveFanOut(b *testing.B) {
	for _, bc := range []struct {
		name        string
		subscribers int
		apart       bool
	}{{"nobody watches", 0, false}, {"1 subscriber", 1, false}, {"100 of one class", 100, false}, {"100 classes", 100, true}} {
		b.Run(bc.name, func(b *testing.B) {
			e := openQuiet(b)
			boss := owner(b, e)
			run(b, boss, "DEFINE TABLE ev")
			var told sync.WaitGroup
			for i := range bc.subscribers {
				s := owner(b, e)
				buf := make([]byte, 0, 512)
				s.NotifyQuietly(func(n *engine.Notification) error {
					body, err := n.Shared(int(wire.CBOR), func() ([]byte, error) {
						return wire.AppendNotificationBody(nil, wire.CBOR, n.Record, n.Result)
					})
					buf = wire.AppendNotification(buf[:0], wire.CBOR, &wire.Notification{Live: n.Live, Action: n.Action, Body: body})
					told.Done()
					return err
				})
				if bc.apart {
					if err := s.Set("mine", value.Int(int64(i))); err != nil {
						b.Fatal(err)
					}
				}
				run(b, s, "LIVE SELECT * FROM ev WHERE n < 10")
			}
			b.ReportAllocs()
			for b.Loop() {
				told.Add(bc.subscribers)
				run(b, boss, "CREATE ev SET n = 5, name = 'a name' RETURN NONE")
				told.Wait()
			}
			if bc.subscribers > 0 {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*bc.subscribers), "ns/delivery")
			}
		})
	}
}
