package pgwire_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// What the reader leaves to the engine (WHERE, ORDER BY, LIMIT, count) gives the reader's own answers, also when
// older records have no value, NULL, or a value of another type.
func TestPushdownOverOldRecords(t *testing.T) {
	types := [][2]string{{"int", "n"}, {"string", "s"}, {"datetime", "t"}, {"bool", "b"}, {"uuid", "u"}, {"float", "f"},
		{"decimal", "d"}}
	good := map[string][]string{"n": {"0", "1", "2", "-5", "9007199254740993"},
		"s": {"''", "'a'", "'B'", "'ä'", "'10'"},
		"t": {"d'2024-01-01T00:00:00Z'", "d'1999-12-31T23:59:59.5Z'"}, "b": {"true", "false"},
		"u": {"u'018f3f3c-0000-7000-8000-000000000001'", "u'f18f3f3c-0000-4000-8000-000000000001'"},
		"f": {"0f", "1.5f", "-2f", "1e20f"}, "d": {"1.5dec", "0dec", "-7dec"}}
	constants := map[string][]string{"n": {"0", "1", "2", "-5", "1.5", "NULL", "'1'"}, "s": {"''", "'a'", "'B'", "'1'"},
		"t": {"'2024-01-01'", "'2000-01-01 00:00:00+02'"}, "b": {"true", "false"},
		"u": {"'018f3f3c-0000-7000-8000-000000000001'"}, "f": {"0", "1.5", "'NaN'"}, "d": {"0", "1.5", "-7"}}
	odd := []string{"NONE", "NULL", "NONE", "NULL"}
	odder := append(odd, "1", "'a'", "1.5f", "2dec", "true", "[1]", "{ a: 1 }", "d'2024-01-01T00:00:00Z'", "item:1")
	compared, failed, errors := 0, 0, 0
	for seed := range 8 {
		r := rand.New(rand.NewPCG(uint64(seed), 31))
		addr, d := start(t, unauthenticated)
		var b strings.Builder
		for i := range 12 + r.IntN(20) {
			fmt.Fprintf(&b, "CREATE item:%d SET x = 1", i)
			for _, f := range types {
				v := pickOf(r, good[f[1]]...)
				if i < 8 { // an old record
					if v = pickOf(r, append(odd, v)...); seed >= 4 && i == 0 {
						v = pickOf(r, append(odder, v)...)
					}
				}
				fmt.Fprintf(&b, ", %s = %s", f[1], v)
			}
			b.WriteString(";")
			if i == 7 {
				b.WriteString("DEFINE TABLE OVERWRITE item SCHEMAFULL; DEFINE FIELD x ON item TYPE int;")
				for _, f := range types {
					kind := f[0]
					if r.IntN(3) == 0 {
						kind = "option<" + kind + ">"
					}
					fmt.Fprintf(&b, "DEFINE FIELD %s ON item TYPE %s;", f[1], kind)
					if r.IntN(2) == 0 {
						fmt.Fprintf(&b, "DEFINE INDEX %s_i ON item FIELDS %[1]s;", f[1])
					}
				}
				if r.IntN(2) == 0 {
					b.WriteString("DEFINE INDEX c ON item COUNT;")
				}
			}
		}
		run(t, d, b.String())
		f := login(t, addr)
		f.want("SET dialect = 'sql'", "C(SET) ZI")
		for range 60 {
			col := types[r.IntN(len(types))][1]
			where := ""
			switch r.IntN(5) {
			case 0:
			case 1:
				where = fmt.Sprintf(" WHERE %s BETWEEN %s AND %s", col, pickOf(r, constants[col]...),
					pickOf(r, constants[col]...))
			default:
				where = fmt.Sprintf(" WHERE %s %s %s", col, pickOf(r, "=", "<", ">", "<=", ">=", "<>"),
					pickOf(r, constants[col]...))
			}
			by := types[r.IntN(len(types))][1]
			if r.IntN(2) == 0 {
				by = col
			}
			// A sub-select with OFFSET 0 is a wall: what is around it is done by the reader.
			wall := "(SELECT id, " + col + " FROM item OFFSET 0) item"
			if by != col {
				wall = "(SELECT id, " + col + ", " + by + " FROM item OFFSET 0) item"
			}
			tail := fmt.Sprintf(" ORDER BY %s%s", by, pickOf(r, "", " DESC", " NULLS FIRST", " DESC NULLS LAST"))
			limit := fmt.Sprintf(" LIMIT %d", r.IntN(6))
			if r.IntN(3) == 0 {
				limit += fmt.Sprintf(" OFFSET %d", r.IntN(4))
			}
			for _, q := range []string{"SELECT count(*) FROM %s" + where, "SELECT id FROM %s" + where,
				"SELECT " + by + " FROM %s" + where + tail + limit} {
				got, want := f.ask(fmt.Sprintf(q, "item")), f.ask(fmt.Sprintf(q, wall))
				compared++
				if strings.Contains(want, " E!") {
					errors++ // a record has a value of another type
					continue
				}
				if rowsOf(got) != rowsOf(want) {
					if failed == 0 {
						t.Log(b.String())
					}
					if failed++; failed <= 10 {
						t.Errorf("seed %d: %s\npushed down %s\nby itself   %s", seed, q, got, want)
					}
				}
			}
		}
	}
	t.Logf("%d queries, %d differ, %d are refused", compared, failed, errors)
	if errors > compared*3/4 {
		t.Errorf("%d of %d queries are refused", errors, compared)
	}
}

// A column that is converted is another value: the engine is not asked for it.
func TestFiltersOfConvertedColumns(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, "DEFINE TABLE a SCHEMAFULL; DEFINE FIELD b ON a TYPE option<bool>; CREATE a:1 SET b = true; CREATE a:2")
	f := login(t, addr)
	f.want("SET dialect = 'sql'", "C(SET) ZI")
	f.want("SELECT id FROM a WHERE b::int4::int8 = 1", "T[id:25] D[a:1] C(SELECT 1) ZI")
	f.want("SELECT id FROM a WHERE -1 < b::int4::int8", "T[id:25] D[a:1] C(SELECT 1) ZI")
	f.want("SELECT count(*) FROM a WHERE b::int4::int8 < 2", "T[count:20] D[1] C(SELECT 1) ZI")
}

// Links to records are texts in SQL: the engine is not asked for them by these.
func TestFiltersOfLinks(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, `DEFINE TABLE a SCHEMAFULL; DEFINE FIELD one ON a TYPE record<a>; DEFINE FIELD whose ON a TYPE option<record>;
		DEFINE FIELD two ON a TYPE record<a | b>; DEFINE FIELD mixed ON a TYPE string | record<a>;
		CREATE a:1 SET one = a:1, whose = b:1, two = b:2, mixed = a:1; CREATE a:2 SET one = a:2, two = a:2, mixed = 'a:1'`)
	f := login(t, addr)
	f.want("SET dialect = 'sql'", "C(SET) ZI")
	f.want("SELECT id FROM a WHERE one = 'a:1'", "T[id:25] D[a:1] C(SELECT 1) ZI")
	f.want("SELECT id FROM a WHERE whose = 'b:1'", "T[id:25] D[a:1] C(SELECT 1) ZI")
	f.want("SELECT count(*) FROM a WHERE whose = 'b:1'", "T[count:20] D[1] C(SELECT 1) ZI")
	f.want("SELECT two FROM a WHERE two > 'a' ORDER BY two DESC LIMIT 1", "T[two:25] D[b:2] C(SELECT 1) ZI")
	f.want("SELECT id FROM a WHERE mixed = 'a:1' ORDER BY id", "T[id:25] D[a:1] D[a:2] C(SELECT 2) ZI")
}

// rowsOf are the rows of an answer without the tables of its columns. Rows that the query does not order are sorted.
func rowsOf(answer string) string {
	if strings.HasPrefix(answer, "T[id:") {
		rows := strings.Split(answer, " ")
		slices.Sort(rows)
		return strings.Join(rows, " ")
	}
	return answer
}
