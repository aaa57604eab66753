package engine_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
)

// answerOf is the text of the last result, or its error.
func answerOf(t testing.TB, s *engine.Session, text string) string {
	t.Helper()
	res, err := s.Execute(context.Background(), text, nil)
	if err != nil {
		return "ERR " + err.Error()
	}
	last := res[len(res)-1]
	if last.Err != nil {
		return "ERR " + last.Err.Msg
	}
	return last.Value.Text()
}

const searchSetup = `
	DEFINE ANALYZER an TOKENIZERS blank, class FILTERS lowercase;
	DEFINE INDEX ft ON d FIELDS t FULLTEXT ANALYZER an BM25 HIGHLIGHTS;
	DEFINE INDEX fu ON d FIELDS u FULLTEXT ANALYZER an BM25;
	DEFINE INDEX hv ON d FIELDS v HNSW DIMENSION 2;
	CREATE d:1 SET t = 'x y', u = 'p', v = [0, 0], n = 1;
	CREATE d:2 SET t = 'x', u = 'q', v = [1, 0], n = 2;
	CREATE d:3 SET t = 'z', u = 'p q', v = [5, 5], n = 1;
	CREATE d:4 SET n = 2;`

// TestSearchPlans holds what differs from the reference, or what the recorded answers do not ask.
func TestSearchPlans(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		// A query that has to be computed is a query.
		{"SELECT VALUE id FROM d WHERE t @@ string::lowercase('X')", "[d:1, d:2]"},
		{"EXPLAIN SELECT VALUE id FROM d WHERE t @@ ('x' + '')",
			`'ProjectValue [ctx: Db] [expr: id]\n    FullTextScan [ctx: Db] [index: ft, query: x]\n'`},
		{"SELECT VALUE id FROM d WHERE v <|1,9|> (SELECT VALUE v FROM ONLY d:3)", "[d:3]"},
		{"LET $q = [1, 0]; SELECT VALUE id FROM d WHERE v <|1,9|> $q", "[d:2]"},
		{"SELECT VALUE id FROM d WHERE v <|1,9|> 'abc'", "ERR Expected `array<number>` but found `'abc'`"},
		// The rest of the condition does not take any of the k away.
		{"SELECT VALUE id FROM d WHERE v <|2,9|> [0,0] AND n = 1", "[d:1, d:3]"},
		{"SELECT VALUE id FROM d WHERE v <|2,EUCLIDEAN|> [0,0] AND n = 1", "[d:1, d:3]"},
		{"UPDATE d SET m = 1 WHERE v <|2,9|> [0,0] AND n = 1 RETURN VALUE id", "[d:1, d:3]"},
		{"UPDATE d SET m = vector::distance::knn() WHERE v <|2,EUCLIDEAN|> [0,0] RETURN VALUE m", "[0f, 1f]"},
		{"DELETE d WHERE v <|1,9|> [4,4] RETURN VALUE $before.id", "[d:3]"},
		// Unions of texts, and of texts with other indexes.
		{"SELECT VALUE id FROM d WHERE t @@ 'y' OR u @@ 'q'", "[d:1, d:2, d:3]"},
		{"DEFINE INDEX n ON d FIELDS n; SELECT VALUE id FROM d WHERE t @@ 'y' OR n = 2", "[d:1, d:2, d:4]"},
		{"SELECT VALUE id FROM d WHERE (t @@ 'x' OR u @@ 'q') AND n = 1", "[d:1, d:3]"},
		{"SELECT VALUE id FROM d WHERE !(t @@ 'x')", "[d:3, d:4]"},
		{"SELECT VALUE id FROM d WITH NOINDEX WHERE t @@ 'x' AND u @@ 'p'", "[d:1]"},
		// Two conditions are one search, of one index or two.
		{"SELECT VALUE id FROM d WHERE t @@ 'x' AND u @@ 'p'", "[d:1]"},
		{"SELECT VALUE id FROM d WHERE t @@ 'x' AND t @@ 'y'", "[d:1]"},
		{"SELECT VALUE id FROM d WHERE t @@ 'x' AND t @@ ''", "[]"},
		{"SELECT VALUE id FROM d WHERE t @@ 'x' AND u @@ ''", "[]"},
		{"SELECT count() FROM d WHERE u @@ 'p' AND t @OR@ 'x z' GROUP ALL", "[{ count: 2 }]"},
		{"EXPLAIN SELECT VALUE id FROM d WHERE t @@ 'x' AND t @@ 1 AND t @@ 'y' AND n = 1",
			`"ProjectValue [ctx: Db] [expr: id]\n    Filter [ctx: Db] [predicate: t @@ 1 AND n = 1]\n        FullTextScan [ctx: Db] [index: ft, query: x, and: t @@ 'y']\n"`},
		{"BEGIN; UPDATE d:2 SET u = 'p'; SELECT VALUE id FROM d WHERE t @@ 'x' AND u @@ 'p'; COMMIT; SELECT VALUE id FROM d WHERE t @@ 'x' AND u @@ 'p'",
			"[d:1, d:2]"},
		{"UPDATE d SET m = 1 WHERE t @@ 'x' AND u @@ 'p' RETURN VALUE id", "[d:1]"},
		// Within a transaction its own changes count.
		{"BEGIN; CREATE d:5 SET t = 'x'; UPDATE d:1 SET t = 'w'; SELECT VALUE id FROM d WHERE t @@ 'x'; COMMIT; SELECT VALUE id FROM d WHERE t @@ 'x'",
			"[d:2, d:5]"},
		{"BEGIN; CREATE d:5 SET v = [0, 0.5]; LET $in = (SELECT VALUE id FROM d WHERE v <|2,9|> [0,0]); CREATE log:1 SET found = $in; COMMIT; SELECT VALUE found FROM log",
			"[[d:1, d:5]]"},
		{"SELECT id, search::score(3) FROM d WHERE t @1@ 'x' OR u @2@ 'p'",
			"ERR Invalid query: Index function 'search::score': no MATCHES clause found for match_ref 3 (available: [1, 2])"},
		{"SELECT id, search::score(1) AS s FROM d WHERE t @1@ 'x' ORDER BY s DESC LIMIT 1 START 1", "[{ id: d:2, s: 0f }]"},
		{"LET $d = d:1; SELECT VALUE search::highlight('<', '>', 0) FROM $d WHERE t @@ 'x'", "['<x> y']"},
	} {
		s := owner(t, openQuiet(t))
		run(t, s, searchSetup)
		if got := answerOf(t, s, tc.text); got != tc.want {
			t.Errorf("%s\n    got  %s\n    want %s", tc.text, got, tc.want)
		}
	}
}

// TestDiskANN: a DISKANN definition is served by the same graph as HNSW.
func TestDiskANN(t *testing.T) {
	e, err := engine.Open(context.Background(), "memory", engine.Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	s := owner(t, e)
	run(t, s, "DEFINE INDEX dv ON d FIELDS w DISKANN DIMENSION 2 TYPE I8; CREATE d:1 SET w = [1, 2]; CREATE d:2 SET w = [9, 9]")
	for _, tc := range []struct{ text, want string }{
		{"SELECT id, vector::distance::knn() AS far FROM d WHERE w <|1,9|> [1, 0]", "[{ far: 2f, id: d:1 }]"},
		{"RETURN (INFO FOR TABLE d).indexes.dv", "'DEFINE INDEX dv ON d FIELDS w DISKANN DIMENSION 2 DIST EUCLIDEAN TYPE I8'"},
		{"CREATE d:6 SET w = [1, 200]", "ERR Cannot convert from '200' to 'i8'"},
	} {
		if got := answerOf(t, s, tc.text); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.text, got, tc.want)
		}
	}
}

// TestSearchHidesWhatPermissionsHide asks as a record user: rows and fields that it may not see are not found, also
// when an index holds them.
func TestSearchHidesWhatPermissionsHide(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	run(t, s, `
		DEFINE TABLE user PERMISSIONS FULL;
		DEFINE TABLE d PERMISSIONS FOR select WHERE open, FOR update FULL, FOR create, delete NONE;
		DEFINE FIELD secret ON d PERMISSIONS FOR select NONE;
		DEFINE FIELD sv ON d PERMISSIONS FOR select NONE;
		DEFINE ANALYZER an TOKENIZERS blank;
		DEFINE INDEX a ON d FIELDS t FULLTEXT ANALYZER an BM25 HIGHLIGHTS;
		DEFINE INDEX b ON d FIELDS secret FULLTEXT ANALYZER an BM25 HIGHLIGHTS;
		DEFINE INDEX c ON d FIELDS v HNSW DIMENSION 1;
		DEFINE INDEX e ON d FIELDS sv HNSW DIMENSION 1;
		CREATE user:1;
		CREATE d:1 SET open = true, t = 'x', secret = 's', v = [1], sv = [1];
		CREATE d:2 SET open = false, t = 'x', secret = 's', v = [0], sv = [0];
		CREATE d:3, d:4, d:5 SET open = true, t = 'y'`)
	user, err := signIn(e, "record:a:user:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ text, want string }{
		{"SELECT VALUE id FROM d WHERE t @@ 'x'", "[d:1]"},
		{"SELECT VALUE id FROM d WHERE v <|1,9|> [0]", "[d:1]"},
		{"SELECT VALUE id FROM d WHERE v <|1,EUCLIDEAN|> [0]", "[d:1]"},
		{"SELECT VALUE id FROM d WHERE secret @@ 's'", "[]"},
		{"SELECT VALUE id FROM d WHERE secret @@ 's' AND t @@ 'x'", "[]"},
		{"SELECT VALUE id FROM d WHERE t @@ 'x' AND secret @@ 's'", "[]"},
		{"SELECT VALUE id FROM d WHERE secret @@ 's' AND secret @@ 's'", "[]"},
		{"SELECT count() FROM d WHERE t @@ 'x' AND secret @@ 's' GROUP ALL", "[]"},
		{"SELECT VALUE id FROM d WHERE sv <|1,9|> [0]", "[]"},
		{"SELECT VALUE id FROM d WHERE sv <|1,EUCLIDEAN|> [0]", "[]"},
		{"SELECT VALUE search::score(1) FROM d WHERE t @2@ 'x' OR secret @1@ 's'", "[0f]"},
		{"SELECT VALUE search::highlight('<', '>', 1) FROM d WHERE t @2@ 'x' OR secret @1@ 's'", "[NONE]"},
		{"UPDATE d SET m = 1 WHERE v <|1,9|> [0] RETURN VALUE id", "[d:1]"},
		{"UPDATE d SET m = 1 WHERE sv <|1,9|> [0] RETURN VALUE id", "[]"},
		{"UPDATE d SET m = 1 WHERE secret @@ 's' RETURN VALUE id", "[]"},
	} {
		if got := answerOf(t, user, tc.text); got != tc.want {
			t.Errorf("%s\n    got  %s\n    want %s", tc.text, got, tc.want)
		}
	}
}

// TestSearchWritersDoNotConflict writes texts and vectors from several sessions in explicit transactions, which are not
// run again when they conflict.
func TestSearchWritersDoNotConflict(t *testing.T) {
	e := openQuiet(t)
	run(t, owner(t, e), searchSetup)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			s := owner(t, e)
			for i := range 20 {
				text := fmt.Sprintf("BEGIN; CREATE d:%d SET t = 'common word%d', u = 'p', v = [%d, 1]; COMMIT", 100*(w+1)+i, i, w)
				if got := answerOf(t, s, text); got != "NONE" {
					t.Errorf("%s: got %s", text, got)
				}
			}
		})
	}
	wg.Wait()
	s := owner(t, e)
	if got := answerOf(t, s, "RETURN count(SELECT id FROM d WHERE t @@ 'common')"); got != "80" {
		t.Errorf("got %s documents, want 80", got)
	}
	if got := answerOf(t, s, "RETURN count(SELECT id FROM d WHERE v <|80,80|> [0, 1])"); got != "80" {
		t.Errorf("got %s vectors, want 80", got)
	}
}

// TestSearchAgreesWithScan changes records at random and compares every search with the same one without the index, in
// memory and on disk, before and after a restart.
func TestSearchAgreesWithScan(t *testing.T) {
	for _, dsn := range []string{"memory", "bolt://" + filepath.Join(t.TempDir(), "store")} {
		open := func() *engine.Engine {
			e, err := engine.Open(context.Background(), dsn, engine.Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		e := open()
		s := owner(t, e)
		run(t, s, `
			DEFINE ANALYZER an TOKENIZERS blank FILTERS lowercase;
			DEFINE INDEX ft ON d FIELDS t FULLTEXT ANALYZER an BM25;
			DEFINE INDEX fu ON d FIELDS u FULLTEXT ANALYZER an BM25;
			DEFINE INDEX hv ON d FIELDS v HNSW DIMENSION 2 TYPE F64;`)
		r := rand.New(rand.NewPCG(1, 2))
		rounds := 600
		if testing.Short() {
			rounds = 150
		}
		word := func() string { return string(rune('a' + r.IntN(6))) }
		for round := range rounds {
			switch id := r.IntN(40); r.IntN(8) {
			case 0:
				answerOf(t, s, fmt.Sprintf("DELETE d:%d", id))
			case 1:
				answerOf(t, s, fmt.Sprintf("UPDATE d:%d UNSET t, v", id))
				answerOf(t, s, fmt.Sprintf("UPDATE d:%d UNSET u", r.IntN(40)))
			case 2:
				answerOf(t, s, fmt.Sprintf("BEGIN; UPSERT d:%d SET t = 'gone', v = [0, 0]; CANCEL", id))
			case 3:
				answerOf(t, s, "REBUILD INDEX ft ON d; REBUILD INDEX hv ON d")
			default:
				run(t, s, fmt.Sprintf("UPSERT d:%d SET t = ['%s', '%s %s'], u = '%s %s', v = [%d, %d], n = %d",
					id, word(), word(), word(), word(), word(), r.IntN(9), r.IntN(9), r.IntN(3)))
			}
			if round == rounds/2 && dsn != "memory" {
				if err := e.Close(context.Background()); err != nil {
					t.Fatal(err)
				}
				e = open()
				s = owner(t, e)
			}
			q := word() + " " + word()
			compareAnswers(t, s, fmt.Sprintf("(SELECT VALUE id FROM d %%s WHERE t @@ '%s').sort()", q))
			compareAnswers(t, s, fmt.Sprintf("(SELECT VALUE id FROM d %%s WHERE t @OR@ '%s' AND n = 1).sort()", q))
			compareAnswers(t, s, fmt.Sprintf("(SELECT VALUE id FROM d %%s WHERE t @@ '%s' OR t @@ '%s').sort()", word(), word()))
			compareAnswers(t, s, fmt.Sprintf("(SELECT id, search::score(0) AS s FROM d %%s WHERE t @OR@ '%s' ORDER BY s DESC LIMIT 5)[*].s", q))
			both := fmt.Sprintf("t @1%s@ '%s' AND t @2%s@ '%s %s'", anyOf(r), word(), anyOf(r), word(), word())
			three := fmt.Sprintf("t @1%s@ '%s' AND u @2%s@ '%s' AND t @3@ '%s'", anyOf(r), q, anyOf(r), word(), word())
			for _, where := range []string{both, three, three + " AND n = 1", "(" + both + " OR u @@ 'c') AND t @@ 'a'"} {
				compareAnswers(t, s, "(SELECT VALUE id FROM d %s WHERE "+where+").sort()")
				compareAnswers(t, s, "SELECT count() FROM d %s WHERE "+where+" GROUP ALL")
				compareAnswers(t, s, "(SELECT id, search::score(1) AS s FROM d %s WHERE "+where+" ORDER BY s DESC LIMIT 5)[*].s")
				compareAnswers(t, s, "(SELECT id, search::score(2) AS s FROM d %s WHERE "+where+" ORDER BY s DESC LIMIT 5)[*].s")
			}
			near := fmt.Sprintf("[%d, %d]", r.IntN(9), r.IntN(9))
			byIndex := answerOf(t, s, "SELECT id, vector::distance::knn() AS far FROM d WHERE v <|5,9|> "+near+" AND n > 0")
			byScan := answerOf(t, s, "SELECT id, vector::distance::knn() AS far FROM d WHERE v <|5,EUCLIDEAN|> "+near+" AND n > 0")
			if byIndex != byScan {
				t.Fatalf("nearest to %s: got %s by the index, %s without", near, byIndex, byScan)
			}
		}
		if err := e.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// anyOf is the OR of a MATCHES operator, or nothing.
func anyOf(r *rand.Rand) string { return []string{"", ",OR"}[r.IntN(2)] }

// compareAnswers runs a text with and without indexes; %s is where WITH goes.
func compareAnswers(t *testing.T, s *engine.Session, text string) {
	t.Helper()
	with, without := answerOf(t, s, fmt.Sprintf(text, "")), answerOf(t, s, fmt.Sprintf(text, "WITH NOINDEX"))
	if with != without || strings.HasPrefix(with, "ERR") {
		t.Fatalf("%s: got %s with the index, %s without", text, with, without)
	}
}

// TestScoresKeepQuiet: how well the records fit that a record user sees does not depend on those that it does not see.
// Who sees all gets the scores of the whole.
func TestScoresKeepQuiet(t *testing.T) {
	const schema = `USE NS n DB d; DEFINE ANALYZER an TOKENIZERS blank FILTERS lowercase;
		DEFINE TABLE doc PERMISSIONS FOR select WHERE open; DEFINE TABLE mail PERMISSIONS FULL;
		DEFINE FIELD text ON mail PERMISSIONS FOR select WHERE open;
		DEFINE INDEX ft ON doc FIELDS text FULLTEXT ANALYZER an BM25; DEFINE INDEX ft ON mail FIELDS text FULLTEXT ANALYZER an BM25;
		FOR $t IN ['doc', 'mail'] { FOR $i IN 0..9 { CREATE type::record($t, $i) SET open = true, text = ['apple pie', 'apple juice of the day', 'banana', 'pie', 'red red apple', 'x', 'y', 'z', 'w'][$i] } };`
	const hidden = "FOR $t IN ['doc', 'mail'] { FOR $i IN 10..30 { CREATE type::record($t, $i) SET open = false, text = 'apple banana secret ' + string::repeat('word ', $i) } };"
	answers := func(setup string) (user, root []string) {
		e := accessEngine(t)
		run(t, e.RootSession(), schema+setup)
		for _, tb := range []string{"doc", "mail"} {
			for _, q := range []string{"@1@ 'apple' ORDER BY s DESC, id", "@1@ 'apple pie' ORDER BY s DESC, id", "@1,OR@ 'apple pie secret' ORDER BY s DESC, id", "@1,OR@ 'apple banana' ORDER BY s DESC LIMIT 2", "@1@ 'secret'"} {
				text := "SELECT id, search::score(1) AS s FROM " + tb + " WHERE text " + q
				user = append(user, run(t, e.SessionAs(someone(auth.RecordUser, 0), "n", "d"), text)[0].Value.Text())
				root = append(root, run(t, e.RootSession(), "USE NS n DB d; "+text)[1].Value.Text())
			}
		}
		return user, root
	}
	without, whole := answers("")
	with, more := answers(hidden)
	for i := range without {
		if without[i] != with[i] {
			t.Errorf("with hidden records\n%s\nwithout\n%s", with[i], without[i])
		}
		if whole[i] == more[i] {
			t.Errorf("scores of who sees all do not depend on the records: %s", whole[i])
		}
	}
	if !strings.HasPrefix(without[0], "[{ id: doc:0, s: 1.66") || !strings.HasPrefix(without[1], "[{ id: doc:0, s: 3.33") {
		t.Errorf("got %s, %s", without[0], without[1])
	}
}

// TestSearchAnswers: what the reference engine was seen to answer.
func TestSearchAnswers(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, `
		DEFINE ANALYZER edge TOKENIZERS blank FILTERS lowercase, edgengram(2,5);
		DEFINE ANALYZER parts TOKENIZERS blank FILTERS ngram(2,3);
		DEFINE ANALYZER words TOKENIZERS blank, class, punct FILTERS lowercase;
		DEFINE INDEX e ON e FIELDS t FULLTEXT ANALYZER edge BM25;
		DEFINE INDEX p ON p FIELDS t FULLTEXT ANALYZER parts BM25;
		DEFINE INDEX w ON w FIELDS t FULLTEXT ANALYZER words BM25 HIGHLIGHTS;
		INSERT INTO e [{id: 1, t: 'delta'}, {id: 2, t: 'running run'}, {id: 3, t: 'de delt'}, {id: 4, t: 'alphabet'}];
		INSERT INTO p [{id: 1, t: 'delta'}, {id: 2, t: 'running run'}, {id: 3, t: 'de delt'}, {id: 4, t: 'alphabet'}];
		INSERT INTO w [{id: 1, t: 1.5}, {id: 2, t: 2.5dec}, {id: 3, t: ['x', 7]}, {id: 4, t: 'cafe dog cat'}, {id: 5, t: 'dog dog cafe'}, {id: 6, t: 'f'}]`)
	for _, tc := range []struct{ text, want string }{
		{"SELECT VALUE id FROM e WHERE t @@ 'delta'", "[e:1]"},
		{"SELECT VALUE id FROM e WHERE t @@ 'De'", "[e:1, e:3]"},
		{"SELECT VALUE id FROM e WHERE t @@ 'alphabet'", "[]"},
		{"SELECT VALUE id FROM e WHERE t @OR@ 'zzz run'", "[e:2]"},
		{"SELECT VALUE id FROM p WHERE t @@ 'elt'", "[p:1, p:3]"},
		{"SELECT VALUE id FROM p WHERE t @@ 'delta'", "[]"},
		{"SELECT VALUE search::highlight('<', '>', 1) FROM w WHERE t @1,OR@ '1 5 7'", "['<1>.<5>', '2.<5>', ['x', '<7>']]"},
		{"SELECT VALUE id FROM w WHERE t @@ 'f'", "[w:1, w:6]"},
		{"SELECT VALUE id FROM w WHERE t @@ 'dec'", "[w:2]"},
		// A row without a score counts by its place in all lists: the second of the second list is the fourth.
		{"SELECT VALUE linear_score FROM search::linear([[{ id: 1, score: 1 }, { id: 2, score: 0 }], [{ id: 3, score: 1.25 }, { id: 4 }, { id: 5, score: 0.75 }]], [1, 1], 9, 'minmax') WHERE id = 5", "[0.5f]"},
		// The last record is scored after the search has ended.
		{"LET $a = (SELECT id, search::score(1) AS s FROM w WHERE t @1@ 'cafe dog' ORDER BY id); LET $b = (SELECT id, search::score(1) AS s FROM w WHERE t @1@ 'cafe dog');" +
			"RETURN $a = $b AND $a[1].s > 0", "true"},
	} {
		results := run(t, s, tc.text)
		if got := results[len(results)-1].Value.Text(); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.text, got, tc.want)
		}
	}
}
