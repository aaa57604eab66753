package http

import (
	"fmt"
	"net/http/httptest"
	"syscall"
	"testing"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/internal/wire"
)

// cpu is the time that this process has used, user and system, in nanoseconds.
func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// What an answer of 10,000 rows costs once the rows are there: JSON as /sql sends it, and CBOR.
func BenchmarkAnswer10kRows(b *testing.B) {
	eng, err := engine.Open(b.Context(), "memory", engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = eng.Close(b.Context()) }()
	s := eng.RootSession()
	ns, db := "bench", "bench"
	if err := s.Use(b.Context(), &ns, &db); err != nil {
		b.Fatal(err)
	}
	const fill = `FOR $i IN 0..10000 { CREATE type::record('person', $i) SET name = 'person ' + <string> $i, age = $i % 90, score = $i / 7.0, active = $i % 2 = 0,
		email = 'person' + <string> $i + '@example.com', tags = ['a', 'b', 'c'], address = { street: 'Main Street 1', city: 'London', zip: '12345' }, born = d'1990-01-01T00:00:00Z', friend = type::record('person', $i - 1) }`
	if res, err := s.Execute(b.Context(), fill, nil); err != nil || res[0].Err != nil {
		b.Fatal(err, res)
	}
	for _, q := range []struct{ name, text string }{
		{"stored", "SELECT * FROM person"}, {"projected", "SELECT id, name, age, score, born FROM person"},
	} {
		results, err := s.Execute(b.Context(), q.text, nil)
		if err != nil || results[0].Err != nil {
			b.Fatal(err, results)
		}
		b.Run(q.name+"/query", func(b *testing.B) {
			before := cpu(b)
			for b.Loop() {
				if results, err := s.Execute(b.Context(), q.text, nil); err != nil || results[0].Err != nil {
					b.Fatal(err, results)
				}
			}
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/10_000, "cpu-ns/row")
		})
		srv := &Server{Options: Options{RPC: &rpc.Server{}}}
		for _, f := range []wire.Format{wire.JSON, wire.CBOR} {
			b.Run(fmt.Sprintf("%s/%s", q.name, f), func(b *testing.B) {
				b.ReportAllocs()
				size := 0
				before := cpu(b)
				for b.Loop() {
					w := httptest.NewRecorder()
					w.Body = nil
					if err := srv.results(w, 200, f, results); err != nil {
						b.Fatal(err)
					}
					if _, err := fmt.Sscan(w.Header().Get("Content-Length"), &size); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(size)/10_000, "bytes/row")
				b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/10_000, "cpu-ns/row")
			})
		}
	}
}
