package pgwire_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	synclib "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/daemon/config"
)

// benchRows is how many records the table of the benchmarks has.
const benchRows = 10_000

// benchServer has a table of benchRows records, and a client that speaks SQL.
func benchServer(b *testing.B, change ...func(*config.Config)) *frames {
	b.Helper()
	addr, d := start(b, append(change, unauthenticated)...)
	run(b, d, fmt.Sprintf(`DEFINE TABLE item SCHEMAFULL; DEFINE FIELD n ON item TYPE int;
		DEFINE FIELD name ON item TYPE string; DEFINE FIELD score ON item TYPE option<float>;
		DEFINE INDEX item_n ON item FIELDS n; DEFINE TABLE made SCHEMAFULL; DEFINE FIELD n ON made TYPE int;
		DEFINE FIELD name ON made TYPE string;
		INSERT INTO item (SELECT VALUE { id: 'k' + <string> $this, n: $this, name: 'the name of ' + <string> $this,
			score: $this / 2f } FROM <array> (0..%d)) RETURN NONE`, benchRows))
	f := login(b, addr)
	_ = f.conn.SetDeadline(time.Time{})
	f.ask("SET dialect = 'sql'")
	return f
}

// exchange sends bytes and reads answers up to n ReadyForQuery. It returns how many rows came.
func (f *frames) exchange(b *testing.B, out []byte, n int) (rows int) {
	b.Helper()
	if _, err := f.conn.Write(out); err != nil {
		b.Fatal(err)
	}
	for n > 0 {
		m, err := f.f.Receive()
		if err != nil {
			b.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.DataRow:
			rows++
		case *pgproto3.ErrorResponse:
			b.Fatal(m.Code, m.Message)
		case *pgproto3.ReadyForQuery:
			n--
		}
	}
	return rows
}

func encodeAll(b *testing.B, list ...pgproto3.FrontendMessage) (out []byte) {
	b.Helper()
	var err error
	for _, m := range list {
		if out, err = m.Encode(out); err != nil {
			b.Fatal(err)
		}
	}
	return out
}

// benchPrepared runs a prepared statement again and again; args gives the arguments of run i.
func benchPrepared(b *testing.B, f *frames, text string, rows int, binary bool, args func(i int) []string) {
	b.Helper()
	f.exchange(b, encodeAll(b, parse("s", text), describe('S', "s"), sync), 1)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		bound := bind("", "s", args(i)...)
		if binary {
			bound.ResultFormatCodes = []int16{1}
		}
		got := f.exchange(b, encodeAll(b, bound, execute("", 0), sync), 1)
		if got != rows {
			b.Fatalf("%d rows, want %d", got, rows)
		}
		i++
	}
	if rows > 1 {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
	}
}

func none(int) []string { return nil }

func BenchmarkStatements(b *testing.B) {
	id := func(i int) []string { return []string{"item:k" + strconv.Itoa(i*7919%benchRows)} }
	for _, bm := range []struct {
		name, text string
		rows       int
		args       func(int) []string
	}{
		{"point read", "SELECT name, n FROM item WHERE id = $1", 1, id},
		{"point read of the language", "SELECT name, n FROM ONLY type::record($1)", 1, id},
		{"range by index", "SELECT id, name FROM item WHERE n >= $1 AND n < $2", 10, func(i int) []string {
			from := i * 7919 % (benchRows - 10)
			return []string{strconv.Itoa(from), strconv.Itoa(from + 10)}
		}},
		{"insert", "INSERT INTO made (id, n, name) VALUES ($1, $2, $3)", 0, func(i int) []string {
			return []string{"made:k" + strconv.Itoa(i), strconv.Itoa(i), "a name"}
		}},
		{"update", "UPDATE item SET score = $2 WHERE id = $1", 0, func(i int) []string {
			return append(id(i), "1.5")
		}},
		{"scan", "SELECT id, n, name, score FROM item", benchRows, none},
		{"scan in binary", "SELECT id, n, name, score FROM item", benchRows, none},
		{"count", "SELECT count(*) FROM item", 1, none},
		{"group", "SELECT n % 10, count(*), sum(n), max(name) FROM item GROUP BY 1", 10, none},
		{"top", "SELECT id, n FROM item ORDER BY n DESC LIMIT 10", 10, none},
	} {
		b.Run(bm.name, func(b *testing.B) {
			f := benchServer(b)
			if strings.Contains(bm.text, "ONLY") {
				f.ask("SET dialect = 'surrealql'")
				f.ask("SET result_types = 'jsonb'")
			}
			benchPrepared(b, f, bm.text, bm.rows, strings.Contains(bm.name, "binary"), bm.args)
		})
	}
}

// BenchmarkSyncedInserts runs inserts of many clients on a store on disk, where a commit is synced.
func BenchmarkSyncedInserts(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(strconv.Itoa(clients)+" clients", func(b *testing.B) {
			f := benchServer(b, func(c *config.Config) { c.Path = "bolt://" + b.TempDir() + "/store" })
			addr := f.conn.RemoteAddr().String()
			var next atomic.Int64
			var wg synclib.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range clients {
				f := login(b, addr)
				_ = f.conn.SetDeadline(time.Time{})
				f.ask("SET dialect = 'sql'")
				f.exchange(b, encodeAll(b, parse("s", "INSERT INTO made (id, n, name) VALUES ($1, $2, $3)"), sync), 1)
				wg.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						n := strconv.FormatInt(i, 10)
						f.exchange(b, encodeAll(b, bind("", "s", "made:k"+n, n, "a name"), execute("", 0), sync), 1)
					}
				})
			}
			wg.Wait()
		})
	}
}

// BenchmarkCancel measures the time from a cancel request, its connection included, to the end of the statement, of
// which there are two kinds: one that waits and one that computes.
func BenchmarkCancel(b *testing.B) {
	for name, text := range map[string]string{"wait": "SELECT * FROM sleep(1m)",
		"compute": "FOR $i IN 0..1000000000 { LET $x = $i * 2 }"} {
		b.Run(name, func(b *testing.B) {
			addr, _ := start(b, unauthenticated)
			f := dial(b, addr)
			_ = f.conn.SetDeadline(time.Time{})
			f.write(startupPacket("user", "root", "database", "test/test"))
			key := f.key()
			var each []time.Duration
			for b.Loop() {
				f.send(&pgproto3.Query{String: text})
				time.Sleep(20 * time.Millisecond) // it runs by now
				began := time.Now()
				dial(b, addr).write(packet(80877102, key))
				if got := f.read(1); got != "E!57014 ZI" {
					b.Fatal(got)
				}
				each = append(each, time.Since(began))
			}
			slices.Sort(each)
			b.ReportMetric(float64(each[len(each)/2].Microseconds())/1000, "ms/median")
			b.ReportMetric(float64(each[len(each)-1].Microseconds())/1000, "ms/most")
		})
	}
}

// key reads the end of a start-up, and gives the number and secret of the session as a cancel request has them.
func (f *frames) key() (key string) {
	f.t.Helper()
	for {
		m, err := f.f.Receive()
		if err != nil {
			f.t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.BackendKeyData:
			key = string(binary.BigEndian.AppendUint32(nil, m.ProcessID)) + string(m.SecretKey)
		case *pgproto3.ReadyForQuery:
			return key
		}
	}
}

// The data of a COPY comes in messages of 64 KiB, as pgx sends them.
func BenchmarkCopyIn(b *testing.B) {
	f := benchServer(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		out := encodeAll(b, &pgproto3.Query{String: "COPY made (id, n, name) FROM STDIN"})
		var data strings.Builder
		for range benchRows {
			fmt.Fprintf(&data, "made:c%d\t%d\tthe name of %d\n", n, n, n)
			n++
		}
		for text := data.String(); text != ""; {
			piece := text[:min(len(text), 64<<10)]
			text = text[len(piece):]
			out = append(out, encodeAll(b, &pgproto3.CopyData{Data: []byte(piece)})...)
		}
		out = append(out, encodeAll(b, &pgproto3.CopyDone{})...)
		go func() { _, _ = io.Copy(f.conn, strings.NewReader(string(out))) }()
		f.exchange(b, nil, 1)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}
