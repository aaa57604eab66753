package daemon_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

const benchPeople = "DEFINE CONFIG GRAPHQL AUTO; DEFINE TABLE city SCHEMAFULL; DEFINE FIELD name ON city TYPE string;" +
	"DEFINE TABLE person SCHEMAFULL; DEFINE FIELD name ON person TYPE string; DEFINE FIELD age ON person TYPE int;" +
	"DEFINE FIELD mail ON person TYPE string; DEFINE FIELD score ON person TYPE float; DEFINE FIELD home ON person TYPE record<city>;" +
	"FOR $i IN 0..10 { CREATE type::record('city', $i) SET name = 'city' };" +
	"FOR $i IN 0..100 { CREATE type::record('person', $i) SET name = 'name', age = $i, mail = 'a@b.c', score = 1.5, home = type::record('city', $i % 10) }"

// A change told to 500 subscribers, each on a WebSocket of its own: p50-ms and p99-ms are from before the change is sent
// to when a subscriber has its event. The clients are in the same process.
func BenchmarkGraphQLSubscribers(b *testing.B) {
	s := start(b)
	setup(b, s, benchPeople)
	const n = 500
	var (
		subscribers [n]*socket
		mu          sync.Mutex // guards begun and took
		begun       time.Time
		took        []time.Duration
		told        sync.WaitGroup
	)
	for i := range subscribers {
		k := s.graphQL("graphql-transport-ws", rootAuth)
		k.tell(`{"type":"connection_init"}`)
		k.expect(initDone)
		k.tell(`{"id":"s","type":"subscribe","payload":{"query":"subscription { person { id name age } }"}}`)
		subscribers[i] = k
	}
	eventually(b, "the live queries", func() bool { return s.stats().LiveQueries == n })
	for _, k := range subscribers {
		go func() {
			for {
				if _, _, err := k.read(); err != nil {
					return // the server has stopped
				}
				mu.Lock()
				took = append(took, time.Since(begun))
				mu.Unlock()
				told.Done()
			}
		}()
	}
	writer := s.graphQL("graphql-transport-ws", rootAuth)
	writer.tell(`{"type":"connection_init"}`)
	writer.expect(initDone)
	before := cpu(b)
	i := 0
	for b.Loop() {
		i++
		told.Add(n)
		mu.Lock()
		begun = time.Now()
		mu.Unlock()
		writer.tell(fmt.Sprintf(
			`{"id":"m","type":"subscribe","payload":{"query":"mutation { updatePerson(id:\"5\",data:{age:%d}) { id } }"}}`, i))
		for range 2 { // its answer, and the end
			if _, _, err := writer.read(); err != nil {
				b.Fatal(err)
			}
		}
		told.Wait()
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(i), "cpu-ns/op")
	slices.Sort(took)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(took[len(took)*p/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
	}
}

// A list of 100 rows with five fields and a link over a WebSocket of RPC: by GraphQL, and by the SELECT that says the same.
func BenchmarkGraphQLBesideSelect(b *testing.B) {
	for _, bc := range []struct{ name, message string }{
		{"graphql", `{"id":1,"method":"graphql","params":["{ people { id name age mail score home { name } } }"]}`},
		{"select", `{"id":1,"method":"query","params":["SELECT id, name, age, mail, score, home.{ name } AS home FROM person"]}`},
	} {
		b.Run(bc.name, func(b *testing.B) {
			s := start(b)
			setup(b, s, benchPeople)
			k := s.dial("json")
			for _, text := range []string{`{"id":0,"method":"signin","params":[{"user":"root","pass":"root"}]}`,
				`{"id":0,"method":"use","params":["test","test"]}`} {
				k.tell(text)
				if _, _, err := k.read(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			before := cpu(b)
			for b.Loop() {
				k.tell(bc.message)
				if _, answer, err := k.read(); err != nil || len(answer) < 5000 {
					b.Fatalf("%s %v", answer, err)
				}
			}
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}
