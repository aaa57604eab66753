package pgwire_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/engine/auth"
)

// randomTable defines a table of random fields, permissions and records, and gives the names of its columns.
func randomTable(r *rand.Rand, name string) (text string, cols []string) {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	permissions := pick("", "PERMISSIONS NONE", "PERMISSIONS FULL", "PERMISSIONS FOR select WHERE n0 != NONE")
	text = fmt.Sprintf("DEFINE TABLE %s %s %s; ", name, pick("SCHEMAFULL", "SCHEMALESS", "SCHEMALESS"), permissions)
	kinds := []string{"int", "float", "bool", "string", "datetime", "decimal", "uuid", "duration", "array<int>",
		"object", "record", "number", "any", "bytes", "option<int>", "option<string>", "option<float>", "int | string"}
	values := map[string][]string{"int": {"1", "-7", "9223372036854775807"}, "float": {"1f", "-2.5e300", "1e-7f"},
		"bool": {"true", "false"}, "string": {"''", "'a\\tb'", "'ä'"}, "decimal": {"1.50dec", "-3dec"},
		"datetime": {"d'2024-02-29T12:00:00.123456789Z'", "d'-0044-03-15T00:00:00Z'"},
		"uuid":     {"u'018e2c2e-0000-7000-8000-000000000001'"}, "duration": {"1w2d3ms"},
		"array<int>": {"[]", "[1, 2]"}, "object": {"{}", "{ a: 1, b: [NONE, 'x'] }"},
		"record": {"t:1", "t:`a b`", "t:['x', 1]"}, "number": {"1", "2.5f", "3dec"},
		"any": {"1", "'x'", "NULL", "NONE", "[t:1]", "{ a: t:1 }", "/a+/"}, "bytes": {"<bytes> 'x'"},
		"int | string": {"1", "'x'"}, "option<int>": {"NONE", "5"}, "option<string>": {"NONE", "'o'"},
		"option<float>": {"NONE", "2", "0.1f"}}
	var fields []string
	for i := range 1 + r.IntN(6) {
		field, kind := fmt.Sprintf("n%d", i), kinds[r.IntN(len(kinds))]
		cols, fields = append(cols, field), append(fields, kind)
		text += fmt.Sprintf("DEFINE FIELD %s ON %s TYPE %s %s; ", field, name, kind,
			pick("", "", "PERMISSIONS FOR select NONE", "PERMISSIONS FOR select WHERE n0 != NONE"))
	}
	if r.IntN(4) == 0 {
		text += fmt.Sprintf("DEFINE FIELD computed ON %s COMPUTED n0; ", name)
		cols = append(cols, "computed")
	}
	for i := range r.IntN(400) {
		var sets []string
		for j, kind := range fields {
			sets = append(sets, fmt.Sprintf("n%d: %s", j, pick(values[kind]...)))
		}
		if strings.Contains(text, "SCHEMALESS") && r.IntN(3) > 0 {
			sets = append(sets, "more: "+pick("1", "2", "2.5", "'x'", "NULL"), pick("a", "z")+": 1")
		}
		id := fmt.Sprintf(pick("%d", "%d", "%d", "k%d", "`a b%d`", "[%d, 'x']"), i)
		if strings.Contains(text, "SCHEMALESS") { // the type of this column is that of the first records
			late := "1"
			if id[0] > '9' {
				late = "'x'"
			}
			sets = append(sets, "late: "+late)
		}
		text += fmt.Sprintf("CREATE %s:%s CONTENT { %s }; ", name, id, strings.Join(sets, ", "))
	}
	return text, append(cols, "id")
}

// binary runs a text in a transaction, with an answer in the binary formats.
func (f *frames) binary(text string) string {
	f.t.Helper()
	b := bind("", "")
	b.ResultFormatCodes = []int16{1}
	f.send(&pgproto3.Query{String: "BEGIN"}, parse("", text), b, execute("", 0), sync,
		&pgproto3.Query{String: "ROLLBACK"})
	return f.read(3)
}

// Rows that go out from the bytes of their records are those of the ordinary way, which OFFSET 0 takes: for all types,
// for records with and without a field, under permissions, and for every user.
func TestDirectScans(t *testing.T) {
	addr, d := start(t)
	r := rand.New(rand.NewPCG(1, 2))
	run(t, d, hashed("owner", "OWNER")+hashed("editor", "EDITOR")+hashed("viewer", "VIEWER"))
	session := d.Engine().SessionAs(auth.RootOwner(), "test", "test")
	t.Cleanup(session.Close)
	var users []*frames
	for _, name := range []string{"owner", "editor", "viewer"} {
		f := signIn(t, addr, name)
		_ = f.conn.SetDeadline(time.Now().Add(5 * time.Minute))
		f.want("SET dialect = 'sql'", "C(SET) ZI")
		users = append(users, f)
	}
	rows, failed, copied := 0, 0, 0
	for i := range 40 {
		table := fmt.Sprintf("t%d", i)
		text, cols := randomTable(r, table)
		if _, err := session.Execute(t.Context(), text, nil); err != nil { // some records do not fit: there are others
			t.Fatal(err)
		}
		for j, f := range users {
			if j == i%3 {
				f.ask("SET timezone = 'Asia/Kolkata'")
			}
			r.Shuffle(len(cols), func(a, b int) { cols[a], cols[b] = cols[b], cols[a] })
			for _, list := range []string{"*", strings.Join(cols, ", "), cols[0] + ", " + cols[0]} {
				query := "SELECT " + list + " FROM " + table
				got, want := f.ask(query), f.ask(query+" OFFSET 0")
				if got != want {
					t.Fatalf("%s\n%s\n got: %s\nwant: %s", text, query, got, want)
				}
				rows += strings.Count(want, "D[")
				failed += strings.Count(want, "E!")
				if got, want := f.binary(query), f.binary(query+" OFFSET 0"); got != want {
					t.Fatalf("%s\n%s in binary\n got: %q\nwant: %q", text, query, got, want)
				}
			}
			list := strings.Join(cols, ", ")
			for _, form := range []string{"", " (FORMAT csv, HEADER, FORCE_QUOTE *, NULL 'x')", " (FORMAT binary)"} {
				got := f.ask("COPY " + table + " (" + list + ") TO STDOUT" + form)
				want := f.ask("COPY (SELECT " + list + " FROM " + table + " OFFSET 0) TO STDOUT" + form)
				if got != want {
					t.Fatalf("%s\nCOPY (%s)%s\n got: %q\nwant: %q", text, list, form, got, want)
				}
				copied += strings.Count(want, "d[")
			}
		}
	}
	if rows < 1000 || failed == 0 || copied < 1000 {
		t.Errorf("only %d rows, %d rows of COPY and %d errors were compared", rows, copied, failed)
	}
}
