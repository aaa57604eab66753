package engine_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
)

// The world of the test: user:1 sees rows with open = true, and all fields but those named secret. hidden* add what it
// must not learn of; every query is asked with and without them.
const (
	interferenceSchema = `
		DEFINE TABLE user PERMISSIONS FOR select WHERE id = $auth;
		DEFINE TABLE p PERMISSIONS FOR select, update, delete WHERE open, FOR create FULL;
		DEFINE FIELD secret ON p PERMISSIONS FOR select NONE;
		DEFINE FIELD link ON p TYPE option<record<p>> REFERENCE;
		DEFINE FIELD boss ON p TYPE option<record<p>> REFERENCE PERMISSIONS FOR select NONE;
		DEFINE FIELD note ON p PERMISSIONS FOR select NONE; DEFINE FIELD place ON p PERMISSIONS FOR select NONE;
		DEFINE FIELD refers ON p COMPUTED <~p; DEFINE FIELD inverse ON p COMPUTED 10 / n;
		DEFINE INDEX uniq ON p FIELDS u UNIQUE;
		DEFINE INDEX pn ON p FIELDS n; DEFINE INDEX ps ON p FIELDS secret; DEFINE INDEX pc ON p COUNT; DEFINE INDEX pl ON p FIELDS link;
		DEFINE TABLE e TYPE RELATION PERMISSIONS FOR select, update, delete WHERE open, FOR create FULL;
		DEFINE TABLE log PERMISSIONS FULL;
		DEFINE EVENT ev ON p WHEN $event = 'UPDATE' THEN (CREATE log:[$after.id, $after.m] SET m = $after.m);
		DEFINE TABLE visible AS SELECT n, m, open FROM p WHERE open PERMISSIONS FULL;
		DEFINE FUNCTION fn::all() { SELECT id, n, m, secret FROM p };
		DEFINE FUNCTION fn::bump($m: int) { UPDATE p SET m = $m RETURN BEFORE };
		DEFINE ANALYZER words TOKENIZERS blank FILTERS lowercase; DEFINE INDEX pt ON p FIELDS text FULLTEXT ANALYZER words BM25;
		DEFINE INDEX pv ON p FIELDS v HNSW DIMENSION 2;
		DEFINE INDEX pnote ON p FIELDS note FULLTEXT ANALYZER words BM25; DEFINE INDEX pplace ON p FIELDS place HNSW DIMENSION 2;
		CREATE user:1; CREATE user:2;
		CREATE p:2 SET open = true, n = 2, m = 1, text = 'red fish', v = [0, 1];
		CREATE p:4 SET open = true, n = 4, m = 1, link = p:3, links = [p:1, p:2, p:3], text = 'blue fish', v = [2, 2];
		CREATE p:6 SET open = true, n = 6, m = 2, link = p:2, text = 'green', v = [3, 1];
		RELATE p:2->e:2->p:4 SET open = true, n = 1; RELATE p:4->e:4->p:3 SET open = true, n = 2;`
	hiddenRows = `
		CREATE p:1 SET open = false, n = 1, m = 1, link = p:2, text = 'red fish fish', v = [0, 0];
		CREATE p:3 SET open = false, n = 4, m = 3, link = p:2, text = 'fish', v = [2, 2];
		CREATE p:9 SET open = false, n = 9, m = 9, links = [p:2], u = 1; CREATE p:0 SET open = false, n = 'no number';
		RELATE p:2->e:1->p:6 SET open = false, n = 0; RELATE p:1->e:3->p:2 SET open = false, n = 5; RELATE p:6->e:9->p:2 SET open = false;`
	hiddenFields = `
		UPDATE p:2 SET secret = 5, boss = p:4, note = 'red fish', place = [0, 1]; UPDATE p:4 SET secret = 3; UPDATE p:6 SET secret = 9, note = 'fish', place = [2, 2]; DELETE log;`
)

// shapes are the queries. Each line is a request; its last answers are compared, all of them.
const interferenceShapes = `
SELECT * FROM p
SELECT * FROM p:1
SELECT * FROM p:1, p:2
SELECT * FROM [p:1, p:2]
SELECT * FROM ONLY p:1
SELECT VALUE n FROM p
SELECT *, secret FROM p
SELECT VALUE secret FROM p
SELECT * FROM p:1..5
SELECT * FROM p ORDER BY n
SELECT * FROM p ORDER BY secret
SELECT id, secret FROM p ORDER BY secret DESC
SELECT id, n FROM p ORDER BY n DESC LIMIT 2
SELECT id, secret FROM p ORDER BY secret LIMIT 2
SELECT id, secret FROM p ORDER BY secret DESC LIMIT 1
SELECT * FROM p WHERE secret = NONE OR secret IN [NONE, 3]
SELECT * FROM p WHERE note @@ 'fish'
SELECT id, search::score(1) AS s FROM p WHERE note @1@ 'fish'
SELECT id FROM p WHERE place <|1|> [2, 2]
SELECT id FROM p WHERE place <|1,40|> [2, 2]
RETURN p:4<~p
SELECT <~(p FIELD boss) AS x FROM p
SELECT * FROM p WHERE boss = p:4
RETURN p:4.refers
SELECT inverse, refers FROM p
DELETE p:4; SELECT * FROM p
CREATE p:20 SET open = true, u = 1
SELECT * FROM p LIMIT 1
SELECT * FROM p START 1
SELECT * FROM p LIMIT 1 START 1
SELECT * FROM p WHERE n > 0
SELECT * FROM p WHERE n = 4
SELECT * FROM p WHERE n IN [1, 4, 9]
SELECT * FROM p WHERE n > 3 ORDER BY n LIMIT 1
SELECT * FROM p WHERE secret = 5
SELECT * FROM p WHERE secret > 1
SELECT * FROM p WHERE secret = NONE
SELECT * FROM p WITH NOINDEX WHERE secret = 5
SELECT * FROM p WHERE 10 / (secret - 5) > 0
SELECT * FROM p WHERE <int> (n - 1) = 3
SELECT * FROM p WHERE (IF n = 9 { THROW 'seen' } ELSE { true })
SELECT * FROM p WHERE (IF secret = 9 { THROW 'seen' } ELSE { true })
SELECT count() FROM p
SELECT count() FROM p GROUP ALL
SELECT count() FROM p WHERE n > 0 GROUP ALL
SELECT count() FROM p:1 GROUP ALL
SELECT count() FROM p:1..9 GROUP ALL
SELECT count(secret) FROM p GROUP ALL
SELECT count(secret = 5) FROM p GROUP ALL
SELECT math::sum(n), math::max(n), math::mean(n) FROM p GROUP ALL
SELECT math::sum(secret) FROM p GROUP ALL
SELECT m, count() FROM p GROUP BY m
SELECT m, array::group(n) AS n FROM p GROUP BY m
SELECT secret, count() FROM p GROUP BY secret
SELECT array::distinct(secret) AS s FROM p GROUP ALL
SELECT * FROM p SPLIT links
SELECT * FROM p FETCH link
SELECT * FROM p FETCH links
SELECT link.n, links.n, link.*, links.* FROM p
SELECT link.secret, links.secret FROM p
SELECT link.link.n FROM p
SELECT * OMIT n FROM p
SELECT ->e, <-e, <->e FROM p
SELECT ->e->p, <-e<-p FROM p
SELECT ->e->p.n, <-e<-p.n, ->e.n FROM p
SELECT ->(e WHERE n > 0) AS x, ->(SELECT n FROM e ORDER BY n LIMIT 1) AS y FROM p
SELECT ->(SELECT n FROM e) AS x FROM p
SELECT count(->e) AS x, count(<-e<-p) AS y FROM p
SELECT * FROM p WHERE ->e->p
SELECT * FROM p WHERE count(<-e) > 0
SELECT * FROM p:2->e
SELECT * FROM p:2->e->p
SELECT * FROM p:4->e->p
SELECT ->? FROM p
SELECT <~p FROM p
SELECT <~(p WHERE n > 1) AS x FROM p
RETURN p:1
RETURN p:1.n
RETURN p:1.*
RETURN p:1.exists()
RETURN record::exists(p:1)
RETURN p:2.secret
RETURN p:2.*
RETURN p:2.{ n, secret }
RETURN [p:1, p:2].n
RETURN p:2->e
RETURN p:2->e->p
RETURN p:2->e->p.n
RETURN p:2<-e<-p
RETURN p:2<~p
RETURN p:2.{1..3}->e->p
RETURN p:2.{..+collect}->e->p
RETURN p:2.{..+path}->e->p
RETURN p:2.{..+shortest=p:6}->e->p
RETURN p:4.links.map(|$r| $r.n)
RETURN p:4.links[WHERE n > 0]
RETURN (SELECT VALUE n FROM p)
RETURN count(SELECT * FROM p)
RETURN fn::all()
RETURN fn::bump(7)
SELECT * FROM visible
SELECT count() FROM visible GROUP ALL
SELECT * FROM p WHERE text @@ 'fish'
SELECT id, search::score(1) > 0 AS s FROM p WHERE text @1@ 'fish' ORDER BY id
SELECT id FROM p WHERE v <|2|> [0, 0]
SELECT id FROM p WHERE v <|2,40|> [0, 0]
SELECT id, vector::distance::knn() AS d FROM p WHERE v <|2,EUCLIDEAN|> [0, 0] ORDER BY d
SELECT id, search::score(1) AS s FROM p WHERE text @1@ 'fish'
SELECT id, search::highlight('<', '>', 1) AS h FROM p WHERE text @1@ 'fish'
SELECT id, search::offsets(1) AS o FROM p WHERE text @1@ 'fish'
SELECT id, search::highlight('<', '>', 1) AS h, search::score(1) AS s FROM p WHERE note @1@ 'fish'
SELECT id, vector::distance::knn() AS d FROM p WHERE place <|2,40|> [2, 2]
SELECT id FROM p WHERE v <|2,40|> [0, 0] AND n > 1
SELECT * FROM p, e
SELECT * FROM (SELECT * FROM p)
SELECT * FROM p WHERE id IN [p:1, p:2, p:3]
SELECT * FROM p WHERE id IN (SELECT VALUE link FROM p)
SELECT * FROM p WHERE id = p:1 OR id = p:2
SELECT * FROM p WHERE link = p:3
SELECT * FROM p WHERE link.n > 0
SELECT * FROM p WHERE link.open = false
SELECT * FROM p WHERE links.n CONTAINS 1
SELECT * FROM p WHERE link.secret = 5
SELECT id, link.n AS x FROM p ORDER BY x
SELECT link, count() FROM p GROUP BY link
SELECT link.n AS x, count() FROM p GROUP BY x
SELECT id, (SELECT VALUE n FROM p WHERE id = $parent.link) AS x FROM p
SELECT id, (SELECT VALUE secret FROM p WHERE id = $parent.id) AS x FROM p
SELECT n, (SELECT count() FROM p GROUP ALL) AS x FROM p:2
SELECT math::stddev(n), math::median(n), array::len(array::group(n)) FROM p GROUP ALL
SELECT count() FROM p WHERE secret = 5 GROUP ALL
SELECT count() FROM p WITH INDEX pn WHERE n = 4 GROUP ALL
SELECT count() FROM e GROUP ALL
SELECT m, count() FROM p WHERE n > 3 GROUP BY m
SELECT * FROM p SPLIT links FETCH links
SELECT *, ->e.* FROM p
SELECT ->e[0], ->e[$], count(->e->p) FROM p
SELECT ->e->p->e->p AS x FROM p
SELECT ->(? WHERE n >= 0)->p FROM p
SELECT <->e<->p AS x FROM p
SELECT ->e.{ id, n } FROM p
SELECT * FROM p:2<-e
SELECT *, ->e.n AS x FROM p ORDER BY x
SELECT VALUE count(<~p) FROM p
RETURN p:4.link
RETURN p:4.link.n
RETURN p:4.link.*
RETURN p:4.links.n
RETURN p:4.links.*
RETURN p:4.{1..3}.link
RETURN p:4.{..}(.link)
RETURN p:4.{..+collect}(.link)
RETURN p:2.{..2}.{ id, next: ->e->p.@ }
RETURN p:1->e->p
RETURN p:1<~p
RETURN p:1.secret ?? 'none'
RETURN p:1 IN (SELECT VALUE id FROM p)
RETURN array::len((SELECT * FROM p))
RETURN record::exists(p:3)
RETURN (SELECT * FROM p:1).len()
RETURN [p:1, p:3].filter(|$r| $r.n > 0)
RETURN object::keys(p:2.*)
RETURN p:2.refers
RETURN p:2.inverse
SELECT * FROM p:0
SELECT inverse FROM p:0, p:2
LET $r = p:1; RETURN $r.n; SELECT * FROM $r
UPDATE p SET m = link.n RETURN m
UPDATE p SET m = links.n RETURN m
UPDATE p SET m = (SELECT VALUE n FROM ONLY p:1) RETURN m
UPDATE p SET m = count(SELECT * FROM p) RETURN m
UPDATE p SET m = count(->e) RETURN m
UPDATE p SET m = math::max(->e->p.n) RETURN m
UPDATE p SET m = 5 RETURN ->e, <~p AS r
UPDATE p SET m = 5 RETURN link.n, links.n
UPDATE p:2 SET u = 1; SELECT u FROM p:2
UPDATE p SET link = p:1 RETURN link, link.n
UPDATE p SET m = 1 WHERE link.n = 4
UPDATE p SET m = 1 WHERE count(->e) > 1
UPDATE p SET n += 1; SELECT * FROM p ORDER BY n
UPDATE p SET open = false; SELECT count() FROM p GROUP ALL; SELECT count() FROM visible GROUP ALL
UPDATE p MERGE { secret: 1 } RETURN DIFF
UPDATE p REPLACE { open: true, n: 1 } RETURN DIFF
UPDATE p UNSET secret RETURN DIFF
UPSERT p:2 SET u = 1; SELECT u FROM p:2
CREATE p:21 SET open = true, n = count(SELECT * FROM p) RETURN n
CREATE p:21 SET open = true, link = p:1 RETURN link, link.n, link.*
CREATE p:21 SET open = true, n = 1; SELECT * FROM visible; SELECT count() FROM p GROUP ALL
INSERT INTO p { id: 21, open: true, u: 1 }
INSERT IGNORE INTO p { id: 21, open: true, u: 1 }; SELECT u FROM p:21
INSERT INTO p { open: true, u: 1 } ON DUPLICATE KEY UPDATE n = n + 1 RETURN BEFORE
RELATE p:2->e:30->p:1 SET open = true; SELECT ->e->p, ->e FROM p:2
RELATE p:2->e:30->(SELECT VALUE id FROM p) SET open = true RETURN in, out
DELETE p:2; SELECT * FROM e; SELECT count() FROM e GROUP ALL
DELETE p:4->e; SELECT * FROM e
DELETE p:4<~p; SELECT * FROM p
DELETE p WHERE link.n = 4
DELETE p WHERE count(<-e) > 1 RETURN BEFORE
BEGIN; UPDATE p SET m = 9; SELECT * FROM p; SELECT count() FROM p GROUP ALL; CANCEL; SELECT m FROM p
FOR $r IN (SELECT VALUE id FROM p) { DELETE $r }; SELECT count() FROM p GROUP ALL
{ LET $n = count(SELECT * FROM p); RETURN $n }
(|$x| SELECT VALUE id FROM p WHERE n = $x)(4)
SHOW CHANGES FOR TABLE p SINCE 0
INFO FOR INDEX pn ON p
INFO FOR TABLE e STRUCTURE
EXPLAIN SELECT * FROM p WHERE secret = 5
EXPLAIN SELECT count() FROM p GROUP ALL
EXPLAIN ANALYZE SELECT * FROM p WHERE n = 4
EXPLAIN ANALYZE SELECT * FROM p WHERE n > 0 ORDER BY n LIMIT 2
EXPLAIN ANALYZE SELECT * FROM p WHERE secret = 5
EXPLAIN ANALYZE SELECT count() FROM p GROUP ALL
EXPLAIN ANALYZE SELECT * FROM p WHERE text @@ 'fish'
EXPLAIN ANALYZE SELECT ->e->p FROM p
UPDATE p SET m = 5
UPDATE p SET m = 5 RETURN BEFORE
UPDATE p SET m = 5 RETURN DIFF
UPDATE p SET m = 5 RETURN VALUE 1
UPDATE p SET m = 5 RETURN NULL
UPDATE p SET m = secret RETURN m
UPDATE p SET m = $before.secret RETURN m
UPDATE p SET m = $this.secret RETURN m
UPDATE p:1 SET m = 5
UPDATE p:1 SET m = 5 RETURN BEFORE
UPDATE ONLY p:1 SET m = 5
UPDATE p:1..5 SET m = 5
UPDATE [p:1, p:2] SET m = 5
UPDATE p SET m = 5 WHERE n > 0 RETURN BEFORE
UPDATE p SET m = 5 WHERE secret = 5
UPDATE p SET m = 5 WHERE (IF n = 9 { THROW 'seen' } ELSE { true })
UPDATE p:2 MERGE { m: 5 } RETURN secret, $before.secret AS b, $after.secret AS a
UPDATE p:2 PATCH [{ op: 'copy', from: '/secret', path: '/m' }]
UPDATE p:2 PATCH [{ op: 'move', from: '/secret', path: '/m' }]
UPDATE p:2 PATCH [{ op: 'test', path: '/secret', value: 5 }]
UPDATE p:2 CONTENT { open: true, n: 2, m: 4 } RETURN DIFF
UPDATE p:2 SET m += secret
UPDATE p SET m = 5; SELECT * FROM log
UPDATE p:2->e SET x = 1 RETURN BEFORE
UPSERT p SET m = 6 WHERE n = 1 RETURN m
UPSERT p:2 SET m = 6 RETURN BEFORE
DELETE p
DELETE p RETURN BEFORE
DELETE p RETURN VALUE 1
DELETE p RETURN NULL
DELETE p RETURN DIFF
DELETE p:1 RETURN BEFORE
DELETE ONLY p:1 RETURN BEFORE
DELETE p WHERE n > 0 RETURN BEFORE
DELETE p WHERE secret = 5 RETURN BEFORE
DELETE p; SELECT * FROM p; SELECT * FROM e
DELETE p:2->e RETURN BEFORE
DELETE e RETURN BEFORE
INSERT INTO p { id: 2, n: 7, open: true } ON DUPLICATE KEY UPDATE m = secret RETURN m
INSERT INTO p { id: 2 } ON DUPLICATE KEY UPDATE m = $before.secret RETURN m
INSERT IGNORE INTO p { id: 2 }
FOR $r IN (SELECT * FROM p) { UPDATE $r SET m = 8 }; SELECT m FROM p
LET $rows = (SELECT * FROM p); RETURN $rows.len()
IF (SELECT * FROM p WHERE n = 9) { RETURN 'seen' } ELSE { RETURN 'unseen' }
INFO FOR TABLE p
EXPLAIN SELECT * FROM p WHERE n = 4`

// leaks are the shapes that tell of hidden records, and why that stays. With the same ids, CREATE and UPSERT of a hidden
// record cannot do what they do for a missing one: TestWhatHiddenRecordsRefuse holds those.
var leaks = map[string]string{
	"rows: CREATE p:20 SET open = true, u = 1":                                                 unique,
	"rows: UPDATE p:2 SET u = 1; SELECT u FROM p:2":                                            unique,
	"rows: UPSERT p:2 SET u = 1; SELECT u FROM p:2":                                            unique,
	"rows: INSERT INTO p { id: 21, open: true, u: 1 }":                                         unique,
	"rows: INSERT IGNORE INTO p { id: 21, open: true, u: 1 }; SELECT u FROM p:21":              unique,
	"rows: INSERT INTO p { open: true, u: 1 } ON DUPLICATE KEY UPDATE n = n + 1 RETURN BEFORE": unique,
}

const unique = "a unique index that let two records have one value would be none; which record has it is not told"

// TestHiddenRowsAndFieldsDoNotInterfere asks each shape as a record user, with something hidden and without it: answers,
// errors and order must be the same.
func TestHiddenRowsAndFieldsDoNotInterfere(t *testing.T) {
	for _, hidden := range []struct{ name, setup string }{{"rows", hiddenRows}, {"fields", hiddenFields}} {
		t.Run(hidden.name, func(t *testing.T) {
			for _, query := range strings.Split(strings.TrimSpace(interferenceShapes), "\n") {
				without, with := interferenceAnswer(t, "", query), interferenceAnswer(t, hidden.setup, query)
				_, kept := leaks[hidden.name+": "+query]
				if with == without == kept {
					t.Errorf("%s (to be seen: %v)\nwithout %s\nwith    %s", query, kept, without, with)
				}
			}
		})
	}
}

// interferenceAnswer is what user:1 is answered.
func interferenceAnswer(t *testing.T, hidden, query string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	e := openQuiet(t)
	defer e.Close(ctx)
	for _, r := range mustExecute(t, owner(t, e), interferenceSchema+hidden) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	user, err := signIn(e, "record:acc:user:1")
	if err != nil {
		t.Fatal(err)
	}
	return elapsed.ReplaceAllString(texts(mustExecute(t, user, query)), "…")
}

// elapsed are the times in the answers of EXPLAIN ANALYZE.
var elapsed = regexp.MustCompile(`(elapsed|time): [0-9.]+(ns|µs|ms|s)`)

func mustExecute(t *testing.T, s *engine.Session, query string) []engine.Result {
	t.Helper()
	res, err := s.Execute(context.Background(), query, nil)
	if err != nil {
		t.Errorf("%s: %v", query, err)
	}
	return res
}

// TestWhatHiddenRecordsRefuse: what must fail, or do nothing, because of a hidden record does not tell which, or what is in
// it. An owner hears it.
func TestWhatHiddenRecordsRefuse(t *testing.T) {
	const setup = interferenceSchema + hiddenRows + `
		DEFINE FIELD guard ON p TYPE option<record<p>> REFERENCE ON DELETE REJECT; CREATE p:30 SET open = false, guard = p:6;
		CREATE p:31 SET open = true, u = 2, secret = 7; DEFINE TABLE en TYPE RELATION IN p OUT p ENFORCED PERMISSIONS FULL;
		DEFINE TABLE closed TYPE RELATION IN p OUT p ENFORCED PERMISSIONS FOR create WHERE in.open AND out.open;`
	for _, c := range []struct{ query, user, owner string }{
		{"CREATE p:20 SET open = true, u = 1", "ERR Database index `uniq` already contains these values", "ERR Database index `uniq` already contains 1, with record `p:9`"},
		{"UPDATE p:2 SET u = 1 RETURN NONE", "ERR Database index `uniq` already contains these values", "ERR Database index `uniq` already contains 1, with record `p:9`"},
		{"UPDATE p:2 SET u = 2 RETURN NONE", "ERR Database index `uniq` already contains 2, with record `p:31`", "ERR Database index `uniq` already contains 2, with record `p:31`"},
		{"DELETE p:6", "ERR Cannot delete `p:6` as it is referenced with an ON DELETE REJECT clause", "ERR Cannot delete `p:6` as it is referenced by `p:30` with an ON DELETE REJECT clause"},
		{"CREATE p:1 SET open = true", "ERR Database record `p:1` already exists", "ERR Database record `p:1` already exists"},
		{"INSERT IGNORE INTO p { id: 1, open: true }", "[]", "[]"},
		{"UPSERT p:1 SET open = true RETURN n", "[]", "[{ n: 1 }]"},
		{"INSERT INTO p { id: 1, open: true } ON DUPLICATE KEY UPDATE open = true RETURN n", "[]", "[{ n: 1 }]"},
		{"RELATE p:2->e:1->p:6 SET open = true RETURN n", "[]", "[{ n: 0 }]"},
		{"RELATE p:2->en:1->p:1 RETURN out", "[{ out: p:1 }]", "[{ out: p:1 }]"},
		{"RELATE p:2->en:1->p:99 RETURN out", "ERR The record 'p:99' does not exist", "ERR The record 'p:99' does not exist"},
		{"RELATE p:2->closed:1->p:1 RETURN out", "[]", "[{ out: p:1 }]"},
		{"RELATE p:2->closed:1->p:99 RETURN out", "[]", "ERR The record 'p:99' does not exist"},
	} {
		e := openQuiet(t)
		root := owner(t, e)
		mustExecute(t, root, setup)
		user, err := signIn(e, "record:acc:user:1")
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(mustExecute(t, user, c.query)); got != c.user {
			t.Errorf("%s as a user:\ngot  %s\nwant %s", c.query, got, c.user)
		}
		if got := texts(mustExecute(t, root, c.query)); got != c.owner {
			t.Errorf("%s as an owner:\ngot  %s\nwant %s", c.query, got, c.owner)
		}
	}
}

// TestLiveQueriesTellNothingHidden: what user:1 is notified of, with and without changes of what is hidden from it.
func TestLiveQueriesTellNothingHidden(t *testing.T) {
	const seen = "CREATE p:40 SET open = true, n = 1; UPDATE p:40 SET n = 2; DELETE p:40; CREATE p:42 SET open = true, n = 5"
	heard := func(changes string) string {
		e := openQuiet(t)
		root := owner(t, e)
		mustExecute(t, root, "DEFINE ACCESS acc ON DATABASE TYPE RECORD;"+interferenceSchema)
		user, err := signIn(e, "record:acc:user:1")
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan *engine.Notification, 64)
		user.Notify(func(n *engine.Notification) error { got <- n; return nil })
		for _, q := range []string{"LIVE SELECT * FROM p", "LIVE SELECT VALUE secret FROM p", "LIVE SELECT id, ->e AS out, link.n AS l FROM p WHERE n > 0", "LIVE SELECT * FROM p WHERE secret = 5"} {
			mustExecute(t, user, q)
		}
		mustExecute(t, root, changes)
		mustExecute(t, root, "CREATE p:99 SET open = true, n = 99, secret = 5")
		var told []string
		for last := 0; last < 3; { // p:99 is told of by three of the live queries
			select {
			case n := <-got:
				if n.Record.Text() == "p:99" {
					last++
				}
				told = append(told, n.Action+" "+n.Record.Text()+" "+n.Result.Text())
			case <-time.After(10 * time.Second):
				t.Fatalf("after %d notifications none came: %v", len(told), told)
			}
		}
		slices.Sort(told)
		return strings.Join(told, "\n")
	}
	hidden := "CREATE p:41 SET open = false, n = 1; UPDATE p:41 SET n = 2, secret = 5; UPDATE p:42 SET secret = 5; RELATE p:42->e:77->p:41 SET open = false; DELETE p:41"
	if without, with := heard(seen), heard(seen+"; "+hidden); without != with {
		t.Errorf("without\n%s\nwith\n%s", without, with)
	}
}
