package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// TestTextCounts: count() of a full-text search is that of the records that match and may be seen, whether the postings of
// the index answer it or the records, also after changes that the transaction itself has made.
func TestTextCounts(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	run(t, s, `DEFINE ANALYZER words TOKENIZERS blank FILTERS lowercase; DEFINE TABLE d PERMISSIONS FOR select WHERE open;
		DEFINE FIELD body ON d; DEFINE INDEX dt ON d FIELDS body FULLTEXT ANALYZER words BM25;
		DEFINE TABLE c; DEFINE FIELD up ON c COMPUTED n + 1; DEFINE INDEX ct ON c FIELDS body FULLTEXT ANALYZER words BM25;
		DEFINE TABLE user; DEFINE ACCESS acc ON DATABASE TYPE RECORD;
		FOR $i IN 0..300 { CREATE type::record('d', $i) SET n = $i, open = $i % 3 = 0, body = 'red ' + (IF $i % 2 = 0 { 'fish' } ELSE { 'bird' }) };
		FOR $i IN 0..40 { CREATE type::record('c', $i) SET n = $i, body = IF $i % 2 = 0 { 'red fish' } ELSE { 'bird' } };
		UPDATE d:1..20 SET body = 'blue fish'; DELETE d:250..`)
	slow, stop := e.WithRulesOff(plan.CoverCount)
	t.Cleanup(stop)
	user := auth.Principal{Level: auth.RecordUser, NS: "test", DB: "test", Access: "acc", Record: value.Record("user", value.Int(1))}
	for _, q := range []string{
		"SELECT count() FROM d WHERE body @@ 'fish' GROUP ALL",
		"SELECT count() AS n FROM d WHERE body @@ 'red fish' GROUP ALL",
		"SELECT count() FROM d WHERE body @OR@ 'blue bird' GROUP ALL",
		"SELECT count() FROM d WHERE body @@ 'nothing' GROUP ALL",
		"SELECT count() FROM d WHERE body @@ 'fish' AND n > 100 GROUP ALL",
		"SELECT count() FROM d WHERE body @@ 'fish' OR body @@ 'bird' GROUP ALL",
		"SELECT count(n) FROM d WHERE body @@ 'fish' GROUP ALL",
		"SELECT count() FROM c WHERE body @@ 'fish' GROUP ALL",
		"SELECT VALUE count() FROM d WHERE body @@ 'fish' GROUP ALL",
		"BEGIN; DELETE d:100..120; CREATE d:900 SET body = 'red fish', open = true; SELECT count() FROM d WHERE body @@ 'fish' GROUP ALL; CANCEL",
	} {
		for _, who := range []string{"owner", "user"} {
			fast, plain := owner(t, e), owner(t, slow)
			if who == "user" {
				fast, plain = e.SessionAs(user, "test", "test"), slow.SessionAs(user, "test", "test")
			}
			want, err := plain.Execute(context.Background(), q, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := fast.Execute(context.Background(), q, nil)
			if err != nil {
				t.Fatal(err)
			}
			if texts(got) != texts(want) {
				t.Errorf("%s, %s: got %s, want %s", who, q, texts(got), texts(want))
			}
		}
	}
	for q, want := range map[string]string{
		"SELECT VALUE count() FROM d WHERE body @@ 'bird' GROUP ALL": "[115]",
		"SELECT VALUE count() FROM d WHERE body @@ 'blue' GROUP ALL": "[19]",
	} {
		if got := texts(run(t, s, q)); got != want {
			t.Errorf("%s: got %s, want %s", q, got, want)
		}
	}
}

// TestIDsOfIndexes: a SELECT of nothing but ids answers the same whether an index or the records tell them, also ids that
// are lists and objects, for who may not see all records, and after changes of the transaction itself.
func TestIDsOfIndexes(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	run(t, s, `DEFINE ANALYZER words TOKENIZERS blank FILTERS lowercase; DEFINE TABLE d PERMISSIONS FOR select WHERE open;
		DEFINE FIELD body ON d; DEFINE INDEX dt ON d FIELDS body FULLTEXT ANALYZER words BM25; DEFINE INDEX dn ON d FIELDS n;
		DEFINE FIELD up ON d COMPUTED n + 1; DEFINE TABLE l TYPE RELATION; DEFINE TABLE user; DEFINE ACCESS acc ON DATABASE TYPE RECORD;
		FOR $i IN 0..300 { CREATE type::record('d', $i) SET n = $i % 7, open = $i % 3 = 0, body = 'red ' + (IF $i % 2 = 0 { 'fish' } ELSE { 'bird' }) };
		CREATE d:[1.50dec, 2f, 'x', d:1], d:{ a: 1.0f, b: [NULL, 2] }, d:['a', 1.5f] SET n = 3, open = true, body = 'red fish';
		DEFINE INDEX dv ON d FIELDS v HNSW DIMENSION 2; UPDATE d SET v = [n, record::id(id) % 17] WHERE type::is_int(record::id(id));
		UPDATE d:1..20 SET body = 'blue fish'; DELETE d:250..; RELATE d:2->l->d:4`)
	slow, stop := e.WithRulesOff(plan.CoverID)
	t.Cleanup(stop)
	user := auth.Principal{Level: auth.RecordUser, NS: "test", DB: "test", Access: "acc", Record: value.Record("user", value.Int(1))}
	for _, q := range []string{
		"SELECT id FROM d WHERE body @@ 'fish'",
		"SELECT id, search::score(1) AS s FROM d WHERE body @1@ 'fish' ORDER BY s DESC LIMIT 200",
		"SELECT id, search::score(1) AS s FROM d WHERE body @1@ 'red fish' ORDER BY s LIMIT 100 START 3",
		"SELECT VALUE id FROM d WHERE body @OR@ 'blue bird' ORDER BY id DESC LIMIT 9",
		"SELECT id, search::highlight('<', '>', 1) FROM d WHERE body @1@ 'fish'",
		"SELECT id, body FROM d WHERE body @@ 'fish' LIMIT 3", "SELECT * FROM d WHERE body @@ 'fish' LIMIT 3",
		"SELECT id, up FROM d WHERE body @@ 'fish' LIMIT 3", "SELECT id FROM d WHERE body @@ 'fish' ORDER BY n, id",
		"SELECT id FROM d WHERE v <|9,40|> [3, 4]", "SELECT VALUE id FROM d WHERE v <|9,40|> [3, 4] AND open",
		"SELECT id, vector::distance::knn() AS far FROM d WHERE v <|12,40|> [3, 4] ORDER BY far DESC",
		"SELECT id, v FROM d WHERE v <|3,40|> [3, 4]", "SELECT id, up FROM d WHERE v <|3,40|> [3, 4]",
		"SELECT id FROM d WHERE v <|9,40|> [3, 4] AND body @@ 'fish'", "SELECT id FROM d WHERE v <|9,40|> [3, 4] ORDER BY n, id",
		"BEGIN; DELETE d:100..120; CREATE d:900 SET v = [3, 4], open = true; SELECT id FROM d WHERE v <|9,40|> [3, 4]; CANCEL",
		"SELECT id AS n FROM d WHERE n = 3 ORDER BY n", "SELECT VALUE id FROM d WHERE n = 3",
		"SELECT id, ->l->d AS to FROM d WHERE n = 2", "SELECT id, $this FROM d WHERE n = 2",
		"SELECT id, (SELECT VALUE n FROM d WHERE id = $parent.id) AS x FROM d WHERE n = 2 LIMIT 4",
		"SELECT id FROM d WHERE n > 4 AND open", "SELECT VALUE id FROM d WHERE n > 4 ORDER BY n DESC LIMIT 5",
		"SELECT id FROM d WHERE n IN [2, 3] FETCH id", "SELECT VALUE id.id() FROM d WHERE n IN [3, 4]",
		"SELECT id FROM d WHERE n = 3 SPLIT id", "SELECT id, count() FROM d WHERE n = 3 GROUP BY id", "SELECT id OMIT id FROM d WHERE n = 3",
		"SELECT id, type::field('n') FROM d WHERE n = 3", "SELECT id, body @@ 'red' AS r FROM d WHERE n = 3",
		"BEGIN; DELETE d:100..120; CREATE d:900 SET body = 'red fish', open = true, n = 3; SELECT id FROM d WHERE body @@ 'fish'; CANCEL",
		"BEGIN; DELETE d:100..120; CREATE d:900 SET body = 'red fish', open = true, n = 3; SELECT id FROM d WHERE n = 3; CANCEL",
	} {
		for _, who := range []string{"owner", "user"} {
			fast, plain := owner(t, e), owner(t, slow)
			if who == "user" {
				fast, plain = e.SessionAs(user, "test", "test"), slow.SessionAs(user, "test", "test")
			}
			want, got := texts(run(t, plain, q, allowErrors)), texts(run(t, fast, q, allowErrors))
			if got != want || want == "[]" {
				t.Errorf("%s, %s: got %s, want %s", who, q, got, want)
			}
		}
	}
}

// TestBestOfFilteredSearches: the best few of what a search finds and a condition lets through are the same, whether the
// index gives the best first and is asked for more of them again and again, or all are sorted. Words are repeated, in the
// texts and in the query, and many scores are equal.
func TestBestOfFilteredSearches(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	run(t, s, `DEFINE ANALYZER words TOKENIZERS blank FILTERS lowercase; DEFINE TABLE d; DEFINE TABLE empty;
		DEFINE INDEX dt ON d FIELDS body FULLTEXT ANALYZER words BM25; DEFINE INDEX et ON empty FIELDS body FULLTEXT ANALYZER words BM25;
		FOR $i IN 0..900 { CREATE type::record('d', $i) SET n = $i, body = string::repeat('red ', 1 + $i % 5) + string::repeat('old ', $i % 3) +
			(IF $i % 7 = 0 { 'red fish ' } ELSE { 'fish red ' }) + (IF $i % 90 = 3 { 'rare' } ELSE { 'common' }) };
		UPDATE d:1..20 SET body = 'blue fish'; DELETE d:800..820; CREATE empty:1 SET body = ''`)
	slow, stop := e.WithRulesOff(plan.BestScores)
	t.Cleanup(stop)
	plain := owner(t, slow)
	for _, table := range []string{"d", "empty"} {
		for _, query := range []string{"red fish", "red red fish", "fish", "rare", "old rare fish", "nothing", "red nothing"} {
			for _, filter := range []string{"body CONTAINS 'red fish'", "body CONTAINS ' red red fish '", "n % 40 = 7", "n < 0", "n >= 0"} {
				for _, limit := range []int{1, 3, 10, 200} {
					q := fmt.Sprintf("SELECT id, search::score(1) AS s FROM %s WHERE body @1@ '%s' AND %s ORDER BY s DESC LIMIT %d", table, query, filter, limit)
					if got, want := texts(run(t, s, q)), texts(run(t, plain, q)); got != want {
						t.Errorf("%s: got %s, want %s", q, got, want)
					}
				}
			}
		}
	}
	if got := texts(run(t, s, "SELECT VALUE id FROM d WHERE body @1@ 'red fish' AND body CONTAINS 'red red fish rare' LIMIT 3")); got == "[]" {
		t.Error("no phrase is found at all")
	}
}

// TestOrderByScore: rows are in the order of the column that ORDER BY names, whether the search gives the best first or
// all are sorted, also where another column goes by that name, and for who may not see all.
func TestOrderByScore(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	run(t, s, `DEFINE ANALYZER words TOKENIZERS blank FILTERS lowercase; DEFINE TABLE user; DEFINE ACCESS acc ON DATABASE TYPE RECORD;
		DEFINE TABLE d PERMISSIONS FOR select WHERE n % 3 > 0; DEFINE FIELD body ON d PERMISSIONS FOR select WHERE n % 5 > 0; DEFINE FIELD n ON d;
		DEFINE INDEX dt ON d FIELDS body FULLTEXT ANALYZER words BM25; DEFINE INDEX du ON d FIELDS title FULLTEXT ANALYZER words BM25;
		FOR $i IN 0..300 { CREATE type::record('d', $i) SET n = $i, s = 1000 - $i, title = string::repeat('red ', 1 + $i % 6),
			body = string::repeat('red ', 1 + $i % 5) + string::repeat('old ', $i % 3) };
		UPDATE d:1..20 SET body = 'blue red'`)
	slow, stop := e.WithRulesOff(plan.BestScores)
	t.Cleanup(stop)
	user := auth.Principal{Level: auth.RecordUser, NS: "test", DB: "test", Access: "acc", Record: value.Record("user", value.Int(1))}
	for _, columns := range []string{"id, search::score(1) AS s", "*, search::score(1) AS s", "search::score(1) AS s, *", "search::score(1) AS s, n AS s",
		"n AS s, search::score(1) AS s", "search::score(1) AS s, s", "s, search::score(1) AS s", "search::score(1) AS s, type::field('s')",
		"search::score(1) AS s, type::fields(['n', 's'])", "search::score(1) AS s, @.{ id, s }", "search::score(1) AS s, { n: n } AS s.x",
		"search::score(1) AS s, search::score(2) AS z", "search::score(2) AS s, n", "search::score(1) AS s.x, n AS s", "id, -search::score(1) AS s"} {
		for _, where := range []string{"body @1@ 'red'", "body @1@ 'red' AND title @2@ 'red'", "body @1@ 'red' AND n % 2 = 0"} {
			for _, end := range []string{"LIMIT 7", "LIMIT 5 START 4", "LIMIT 400", "LIMIT 0"} {
				q := "SELECT " + columns + " FROM d WHERE " + where + " ORDER BY s DESC " + end
				if got, want := texts(run(t, s, q, allowErrors)), texts(run(t, owner(t, slow), q, allowErrors)); got != want {
					t.Errorf("%s: got %s, want %s", q, got, want)
				}
				got := texts(run(t, e.SessionAs(user, "test", "test"), q, allowErrors))
				if want := texts(run(t, slow.SessionAs(user, "test", "test"), q, allowErrors)); got != want {
					t.Errorf("user, %s: got %s, want %s", q, got, want)
				}
			}
		}
	}
}
