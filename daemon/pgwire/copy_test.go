package pgwire_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

func TestCopyFrames(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, productSchema)
	f := login(t, addr)
	type msgs = []pgproto3.FrontendMessage
	data := func(s string) *pgproto3.CopyData { return &pgproto3.CopyData{Data: []byte(s)} }
	query := func(s string) *pgproto3.Query { return &pgproto3.Query{String: s} }
	done := &pgproto3.CopyDone{}
	large := ""
	for i := range 7 { // more than are given to the engine at once
		large += fmt.Sprintf("%[1]d\tx%[1]d\t{%[2]s}\n", 100+i, strings.Repeat("x", 400_000))
	}
	for _, tc := range []struct {
		name string
		say  msgs
		want string
	}{
		{"text", msgs{query("COPY person (id, name, age, tags) FROM STDIN"), data("1\tA\\tda\t36\t{a,b}\n2\tBo"),
			data("b\t\\N\t\\N\n"), done}, "G C(COPY 2) ZI"},
		{"csv", msgs{query("COPY person (id, name, age) FROM STDIN CSV HEADER"),
			data("id,name,age\n3,\"C \"\"x\"\"\ny\",\n"), done}, "G C(COPY 1) ZI"},
		{"out", msgs{query("COPY person (id, name, age, tags) TO STDOUT")},
			"H d[person:1\tA\\tda\t36\t{a,b}\n] d[person:2\tBob\t\\N\t\\N\n] d[person:3\tC \"x\"\\ny\t\\N\t\\N\n] c C(COPY 3) ZI"},
		{"csv out", msgs{query("COPY (SELECT name FROM person WHERE age = NONE) TO STDOUT (FORMAT csv, HEADER)")},
			"H d[name\n] d[Bob\n] d[\"C \"\"x\"\"\ny\"\n] c C(COPY 2) ZI"},
		{"the client gives up", msgs{query("COPY person (id, name) FROM STDIN"), data("9\tX\n"),
			&pgproto3.CopyFail{Message: "no"}}, "G E!57014 ZI"},
		{"missing data", msgs{query("COPY person (id, name) FROM STDIN"), data("9\n"), done}, "G E!22P04 ZI"},
		{"extra data", msgs{query("COPY person (id) FROM STDIN"), data("9\tx\n"), done}, "G E!22P04 ZI"},
		{"a bad value", msgs{query("COPY person (name, age) FROM STDIN"), data("x\ty\n"), done}, "G E!22P02 ZI"},
		{"no such column", msgs{query("COPY person (nope) FROM STDIN")}, "E!42703 ZI"},
		{"a column twice", msgs{query("COPY person (id, name, name) FROM STDIN")}, "E!42701 ZI"},
		{"no such table", msgs{query("COPY nope FROM STDIN")}, "E!42P01 ZI"},
		{"a file of the server", msgs{query("COPY person FROM '/etc/passwd'")}, "E!42501 ZI"},
		{"a program", msgs{query("COPY person TO PROGRAM 'id'")}, "E!42501 ZI"},
		{"an open quote", msgs{query("COPY person (id, name) FROM STDIN CSV"), data("9,\"x\n"), done}, "G E!22P04 ZI"},
		{"rows that are large", msgs{query("BEGIN"), query("COPY person (id, name, tags) FROM STDIN"), data(large), done,
			query("SELECT VALUE count() FROM person WHERE string::len(tags[0] ?? '') = 400000 GROUP ALL"), query("ROLLBACK")},
			"C(BEGIN) ZT G C(COPY 7) ZT T[value:20] D[7] C(SELECT 1) ZT C(ROLLBACK) ZI"},
		{"nothing came of those", msgs{query("SELECT VALUE id FROM person")},
			"T[value:25] D[person:1] D[person:2] D[person:3] C(SELECT 3) ZI"},
	} {
		f.send(tc.say...)
		if got := f.read(strings.Count(tc.want, " Z")); got != tc.want {
			t.Errorf("%s\n got: %s\nwant: %s", tc.name, got, tc.want)
		}
	}
}

// Rows that come in pieces of any size are those that came in one.
func TestCopyInPieces(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, "DEFINE TABLE x SCHEMAFULL; DEFINE FIELD a ON x TYPE string; DEFINE FIELD b ON x TYPE option<string>")
	f := login(t, addr)
	long := strings.Repeat("l\"\"m\n", 10_000)
	for name, data := range map[string]string{
		"":              "1\ta\\tb\t\\N\n2\t" + strings.Repeat("x", 40_000) + "\tc\n3\td\te",
		" (FORMAT csv)": "1,a,\n2,\"" + long + "\",c\n3,\"d\",e",
		" (FORMAT binary)": "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
			"\x00\x03\x00\x00\x00\x011\x00\x00\x00\x01a\xff\xff\xff\xff" +
			"\x00\x03\x00\x00\x00\x012\x00\x00\x40\x00" + strings.Repeat("y", 0x4000) + "\x00\x00\x00\x01c" +
			"\x00\x03\x00\x00\x00\x013\x00\x00\x00\x01d\x00\x00\x00\x01e\xff\xff",
	} {
		var want string
		for _, piece := range []int{len(data), 1, 7, 4096} {
			say := []pgproto3.FrontendMessage{&pgproto3.Query{String: "COPY x (id, a, b) FROM STDIN" + name}}
			for rest := data; rest != ""; {
				n := min(piece, len(rest))
				say = append(say, &pgproto3.CopyData{Data: []byte(rest[:n])})
				rest = rest[n:]
			}
			f.send(append(say, &pgproto3.CopyDone{})...)
			if got := f.read(1); got != "G C(COPY 3) ZI" {
				t.Fatalf("%s in pieces of %d: %s", name, piece, got)
			}
			got := f.ask("COPY x TO STDOUT")
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s in pieces of %d\n got: %.200s\nwant: %.200s", name, piece, got, want)
			}
			f.ask("DELETE x")
		}
	}
}

// Texts of all sizes come out as they went in, though small ones share their memory.
func TestCopyKeepsTexts(t *testing.T) {
	addr, d := start(t)
	run(t, d, "DEFINE TABLE x SCHEMAFULL; DEFINE FIELD a ON x TYPE string; DEFINE FIELD b ON x TYPE string")
	c, err := connect(t, "postgres://root:secret@"+addr+"/test%2Ftest?sslmode=disable&options=-c%20dialect%3Dsql")
	if err != nil {
		t.Fatal(err)
	}
	text := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), i*i%3001) }
	var in bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&in, "x:%d\t%s\t%s\n", i, text(i), text(i+7))
	}
	ctx := context.Background()
	if tag, err := c.PgConn().CopyFrom(ctx, &in, "COPY x (id, a, b) FROM STDIN"); err != nil ||
		tag.RowsAffected() != 2000 {
		t.Fatal(tag, err)
	}
	rows, err := c.Query(ctx, "SELECT id, a, b FROM x")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; rows.Next(); n++ {
		var id, a, b string
		if err := rows.Scan(&id, &a, &b); err != nil {
			t.Fatal(err)
		}
		i, err := strconv.Atoi(strings.TrimPrefix(id, "x:"))
		if err != nil || a != text(i) || b != text(i+7) {
			t.Errorf("%s: %d and %d bytes, %v", id, len(a), len(b), err)
		}
	}
	if err := rows.Err(); err != nil || n != 2000 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// pgx copies in the binary format, and reads it back.
func TestCopyBinary(t *testing.T) {
	addr, d := start(t)
	run(t, d, "DEFINE TABLE n SCHEMAFULL; DEFINE FIELD v ON n TYPE int; DEFINE FIELD s ON n TYPE option<string>")
	c, err := connect(t, "postgres://root:secret@"+addr+"/test%2Ftest?sslmode=disable&options=-c%20dialect%3Dsql")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]any
	for i := range 1234 {
		rows = append(rows, []any{int64(i), strings.Repeat("x", i%7)})
	}
	ctx := context.Background()
	if n, err := c.CopyFrom(ctx, pgx.Identifier{"n"}, []string{"v", "s"}, pgx.CopyFromRows(rows)); err != nil ||
		n != 1234 {
		t.Fatalf("copied %d: %v", n, err)
	}
	var n, sum int64
	if err := c.QueryRow(ctx, "SELECT count(*), sum(v)::bigint FROM n").Scan(&n, &sum); err != nil || n != 1234 ||
		sum != 1233*1234/2 {
		t.Errorf("%d rows, sum %d, %v", n, sum, err)
	}
	var out bytes.Buffer
	if _, err := c.PgConn().CopyTo(ctx, &out,
		"COPY (SELECT v FROM n WHERE v < 2 ORDER BY v) TO STDOUT (FORMAT binary)"); err != nil {
		t.Fatal(err)
	}
	want := "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x01\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x01\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x01" + "\xff\xff"
	if out.String() != want {
		t.Errorf("binary: %q", out.String())
	}
}

// TestCopyOfLostClients holds that a client that goes away in the middle of a COPY leaves no rows and no error in the
// log: it is no fault of the server.
func TestCopyOfLostClients(t *testing.T) {
	var log bytes.Buffer // read when the server has ended, which waits for its connections
	stopped := t.Run("server", func(t *testing.T) {
		addr, d := startLogging(t, &log, unauthenticated)
		run(t, d, "DEFINE TABLE item SCHEMAFULL; DEFINE FIELD n ON item TYPE option<int>")
		for _, part := range []struct {
			name string
			last []byte
			cut  bool
		}{
			{"between messages", nil, false},
			{"inside of a message", []byte{'d', 0, 0, 1, 0, 'x'}, false},
			{"with data that was not read", nil, true},
			{"with a good-bye", []byte{'X', 0, 0, 0, 4}, false},
		} {
			f := login(t, addr)
			f.ask("SET dialect = 'sql'")
			f.send(&pgproto3.Query{String: "COPY item (id) FROM STDIN"})
			if m, err := f.f.Receive(); err != nil {
				t.Fatal(err)
			} else if _, ok := m.(*pgproto3.CopyInResponse); !ok {
				t.Fatalf("%s: %T", part.name, m)
			}
			f.send(&pgproto3.CopyData{Data: []byte("1\n")})
			f.write(string(part.last))
			if part.cut {
				_ = f.conn.(*net.TCPConn).SetLinger(0)
			}
			_ = f.conn.Close()
		}
		f := login(t, addr)
		f.ask("SET dialect = 'sql'")
		f.want("SELECT count(*) FROM item", "T[count:20] D[0] C(SELECT 1) ZI")
	})
	if out := log.String(); !stopped || strings.Contains(out, "level=ERROR") {
		t.Errorf("the log has an error:\n%s", out)
	}
}
