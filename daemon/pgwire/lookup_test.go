package pgwire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/pgwire/sql"
)

const lookupSchema = `DEFINE TABLE person SCHEMAFULL; DEFINE FIELD name ON person TYPE string;
	DEFINE TABLE letter SCHEMAFULL; DEFINE FIELD by ON letter TYPE option<record<person>>; DEFINE FIELD n ON letter TYPE int;
	DEFINE FIELD room ON letter TYPE option<int>; DEFINE INDEX letter_by ON letter FIELDS by;
	DEFINE TABLE room SCHEMAFULL; DEFINE FIELD number ON room TYPE int; DEFINE FIELD floor ON room TYPE int;
	DEFINE INDEX room_number ON room FIELDS number UNIQUE;
	CREATE |person:1..300| SET name = 'p' + <string> record::id(id);
	FOR $i IN 1..=900 { CREATE type::record('letter', $i) SET by = type::record('person', $i % 300 + 1), n = $i, room = $i % 30 };
	UPDATE letter:7 SET by = NONE; UPDATE letter:8 SET by = person:9999; UPDATE letter:9 SET room = NONE;
	FOR $i IN 0..20 { CREATE type::record('room', $i) SET number = $i, floor = $i % 3 };`

// TestJoinsByLookups: joins give the same rows whether few rows look for others by an id, a link or an index, or both
// sides are read; the plans tell, and what is looked for is read alone.
func TestJoinsByLookups(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, lookupSchema)
	f := login(t, addr)
	f.ask("SET dialect = 'sql'")
	lookups := sql.MostLookups.Load()
	defer sql.MostLookups.Store(lookups)
	for _, text := range []string{
		"SELECT l.n, p.name FROM letter l JOIN person p ON l.by = p.id WHERE l.id = 'letter:5'",
		"SELECT l.n, p.name FROM letter l LEFT JOIN person p ON l.by = p.id WHERE l.n < 12 ORDER BY n",
		"SELECT p.name, l.n FROM person p JOIN letter l ON l.by = p.id WHERE p.name IN ('p3', 'p4', 'p5') ORDER BY n",
		"SELECT p.name, l.n FROM person p LEFT JOIN letter l ON l.by = p.id AND l.n > 300 WHERE p.id = 'person:3' ORDER BY n",
		"SELECT p.name, l.n FROM person p LEFT JOIN letter l ON l.by = p.id AND l.n > 100 * length(p.name) WHERE p.id = 'person:3'",
		"SELECT p.name, count(l.id) FROM person p LEFT JOIN letter l ON l.by = p.id GROUP BY p.name ORDER BY 2 DESC, 1 LIMIT 5",
		"SELECT l.n, r.floor FROM letter l JOIN room r ON r.number = l.room WHERE l.n BETWEEN 5 AND 50 ORDER BY n",
		"SELECT l.n, r.floor FROM letter l LEFT JOIN room r ON r.number = l.room AND r.floor = 1 WHERE l.n < 20 ORDER BY n",
		"SELECT l.n, r.floor, p.name FROM letter l JOIN room r ON r.number = l.room JOIN person p ON p.id = l.by WHERE p.id = 'person:10' ORDER BY n",
		"SELECT count(*) FROM letter l JOIN person p ON l.by = p.id",
		"SELECT count(*) FROM letter l RIGHT JOIN person p ON l.by = p.id AND l.n < 10",
		"SELECT count(*) FROM letter l FULL JOIN person p ON l.by = p.id AND l.n < 10",
		"SELECT v.x, p.name FROM (VALUES ('person:1'), ('person:2'), ('person:none'), ('none'), (NULL)) v(x) LEFT JOIN person p ON p.id = v.x ORDER BY 1",
		"SELECT v.x, r.floor FROM (VALUES (1), (2), (2), (99)) v(x) JOIN room r ON r.number = v.x ORDER BY 1",
		"SELECT v.x, r.floor FROM (VALUES (1.0), (2.5)) v(x) JOIN room r ON r.number = v.x ORDER BY 1",
		"SELECT (SELECT count(*) FROM letter l JOIN room r ON r.number = l.room WHERE l.by = p.id) FROM person p WHERE p.name < 'p11' ORDER BY p.id",
		"SELECT a.n, b.n FROM letter a JOIN letter b ON a.by = b.by WHERE a.n = 17 ORDER BY 2",
		"SELECT n FROM letter WHERE by = 'person:17' ORDER BY n",
		"SELECT count(*) FROM letter WHERE by = 'person:17'",
		"SELECT count(*) FROM letter WHERE by = 'nothing'",
		"SELECT count(*) FROM letter WHERE by = 'person:017'",
		"SELECT count(*) FROM letter WHERE by IN ('person:17', 'person:18') AND n > 20",
	} {
		sql.MostLookups.Store(0)
		whole := f.ask(text)
		sql.MostLookups.Store(lookups)
		if got := f.ask(text); got != whole || strings.Contains(got, "E!") {
			t.Errorf("%s\nby lookups %s\nelse       %s", text, got, whole)
		}
	}
	if got := f.ask("EXPLAIN SELECT l.n, p.name FROM letter l JOIN person p ON l.by = p.id WHERE l.id = 'letter:5'"); !strings.Contains(got,
		"Lookup: person by id") {
		t.Errorf("plan: %s", got)
	}
	if got := f.ask("EXPLAIN SELECT n FROM letter WHERE by = 'person:17'"); !strings.Contains(got, "letter_by") {
		t.Errorf("plan: %s", got)
	}
}

// TestLinksOfOldRecords: what is no record, in a column of links, is told of and not passed by.
func TestLinksOfOldRecords(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, `CREATE |old:11..40| SET by = 'person:1'; CREATE old:1 SET by = 'person:1'; DEFINE TABLE OVERWRITE old SCHEMAFULL; DEFINE FIELD by ON old TYPE record<person>;
		CREATE old:2 SET by = person:1`)
	f := login(t, addr)
	f.ask("SET dialect = 'sql'")
	f.want("SELECT id, by FROM old WHERE id = 'old:2'", "T[id:25 by:25] D[old:2|person:1] C(SELECT 1) ZI")
	f.want("SELECT by FROM old WHERE by = 'person:1'", "T[by:25] D[person:1] C(SELECT 1) ZI")
	f.want("SELECT id, by FROM old WHERE id = 'old:1'", "T[id:25 by:25] E!22P02 ZI")
	f.want("SELECT max(by) FROM old WHERE id > 'old:10'", "T[max:25] E!22P02 ZI")
	f.want("SELECT by FROM old ORDER BY id", "T[by:25] E!22P02 ZI")
	f.want("SELECT by FROM old WHERE by LIKE 'person:%'", "T[by:25] E!22P02 ZI")
}

// BenchmarkJoinOfOne joins one row with one of many.
func BenchmarkJoinOfOne(b *testing.B) {
	addr, d := start(b, unauthenticated)
	run(b, d, fmt.Sprintf("DEFINE TABLE person SCHEMAFULL; DEFINE FIELD name ON person TYPE string;"+
		"DEFINE TABLE letter SCHEMAFULL; DEFINE FIELD by ON letter TYPE option<record<person>>;"+
		"CREATE |person:1..%d| SET name = 'x'; CREATE letter:5 SET by = person:77", 20_000))
	f := login(b, addr)
	f.ask("SET dialect = 'sql'")
	for b.Loop() {
		if got := f.ask("SELECT p.name FROM letter l JOIN person p ON l.by = p.id WHERE l.id = 'letter:5'"); !strings.Contains(got, "D[x]") {
			b.Fatal(got)
		}
	}
}
