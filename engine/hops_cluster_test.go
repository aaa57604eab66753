//go:build linux || windows || cgo

package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/kv/mem"
)

// friends makes a graph of a root, ten that it knows, and so on: three steps lead to the last of 1111. There are ways
// back, edges of edges, a node with forty edges, and some that lead to what is gone or hidden.
const friends = `
	DEFINE TABLE person PERMISSIONS FOR select WHERE hidden != true;
	DEFINE TABLE knows TYPE RELATION PERMISSIONS FOR select WHERE secret != true;
	DEFINE TABLE likes TYPE RELATION PERMISSIONS FULL;
	DEFINE FIELD OVERWRITE out ON likes TYPE record PERMISSIONS FOR select WHERE in != person:3;
	DEFINE TABLE saw TYPE RELATION PERMISSIONS NONE;
	DEFINE TABLE about TYPE RELATION PERMISSIONS FULL;
	DEFINE TABLE city PERMISSIONS FULL; DEFINE TABLE done;
	DEFINE TABLE note PERMISSIONS FOR select WHERE open;
	DEFINE FIELD of ON note TYPE option<record<person>> REFERENCE;
	DEFINE FIELD also ON note TYPE option<array<record<person>>> REFERENCE;
	FOR $i IN 0..1111 { CREATE person SET id = $i, age = $i % 10, hidden = $i % 13 = 5 };
	FOR $i IN 0..111 { FOR $j IN 1..=10 {
		RELATE (type::record('person', $i))->(type::record('knows', $i * 10 + $j))->(type::record('person', $i * 10 + $j))
			SET since = $j, secret = $j = 7 } };
	FOR $i IN 1..=10 { RELATE (type::record('person', $i))->(type::record('likes', $i))->person:0 };
	FOR $i IN 1..=40 { RELATE person:2->(type::record('likes', 100 + $i))->(type::record('person', $i)) };
	FOR $i IN 1..=9 { RELATE (type::record('knows', $i))->(type::record('about', $i))->(type::record('likes', $i)) };
	FOR $i IN 1..=9 { RELATE (type::record('person', $i))->(type::record('saw', $i))->city:1 };
	FOR $i IN 1..=30 { CREATE note SET id = $i, of = type::record('person', $i % 4),
		also = [type::record('person', $i % 5), person:1], open = $i % 3 > 0 };
	DEFINE TABLE mix PERMISSIONS FULL;
	FOR $i IN 0..60 { CREATE mix SET id = $i, x = IF $i < 40 OR $i % 3 = 0 { { y: $i % 7, z: -$i } }
		ELSE { type::record('person', $i) } };
	CREATE city:1;
	DELETE person:4; DELETE person:66; DELETE person:500;`

// hopQueries are paths over friends.
var hopQueries = []string{
	"RETURN person:0->knows->person", "RETURN person:0->knows->person->knows->person",
	"RETURN person:0->knows->person->knows->person->knows->person",
	"RETURN person:0->knows->person->knows->person.age", "RETURN person:0->knows->person.{ id, age }",
	"RETURN person:0->knows->person->knows->person->knows", "RETURN person:0->knows->person->(knows LIMIT 2)->person",
	"RETURN person:0->(knows WHERE since > 5)->(person WHERE age > 6)->knows->person",
	"RETURN person:0->knows->(SELECT id, age FROM person WHERE age > 3 ORDER BY age DESC LIMIT 3)->likes->person",
	"RETURN person:0->(SELECT since, out.age AS age FROM knows)", "RETURN person:0->knows[WHERE since > 5]->person",
	"RETURN person:0->knows->person[WHERE age > 3 AND hidden = false]->likes->person",
	"RETURN person:5<->knows<->person", "RETURN person:0->knows->person<->knows<->person",
	"RETURN person:0->knows->person<-knows<-person->likes->person", "RETURN person:0->knows->person->likes",
	"RETURN person:0->knows->person->likes->person->knows->person", "RETURN person:2->likes->person->knows",
	"RETURN person:0->knows->person->?", "RETURN person:0->knows->person<->?", "RETURN person:0->knows->person<-?.id",
	"RETURN person:0->knows->about->likes", "RETURN person:0->knows->about->likes->person",
	"RETURN person:0->knows->(knows, likes)->person", "RETURN person:0->knows->person->(knows, likes, gone)->person",
	"RETURN person:0->knows->person->knows:15..45->person", "RETURN person:0->knows->person->saw->city",
	"RETURN [knows:1, knows:2, likes:3, likes:4, person:1]->person", "RETURN [knows:1, knows:2, likes:3]<-person",
	"RETURN [knows:1, likes:3, likes:5]<->person", "RETURN [knows:1, knows:7, likes:3]->(person WHERE age > 1).age",
	"RETURN person:0->knows->person<~note", "RETURN person:0->knows->person<~(note WHERE open)",
	"RETURN person:0->knows->person<~note.also", "RETURN person:0->knows->person<~(note FIELD of WHERE open)",
	"RETURN person:0->knows->person<~?", "RETURN person:0->likes->gone->knows", "RETURN gone:1->knows->person",
	"RETURN person:0.{1..3}->knows->person", "RETURN person:0.{3}->knows->person", "RETURN person:0.{..4}->knows->person",
	"RETURN person:0.{..3+collect}->knows->person", "RETURN person:0.{..3+collect+inclusive}(->knows->person<-likes<-person)",
	"RETURN person:1.{..4+collect}(->likes->person->knows->person)", "RETURN person:0.{..3+path}->knows->person",
	"RETURN person:0.{..9+shortest=person:900}->knows->person", "RETURN person:1.{..9+shortest=person:3}->likes->person->knows->person",
	"RETURN person:0.{..2}.{ id, age, knows: ->knows->person.@ }", "RETURN person:0.{..5}.{ id, likes: ->likes->person.@ }",
	"RETURN person:0.{2}->knows->(person WHERE age > 4)", "RETURN person:0.{..2}->(knows WHERE since < 4)->person",
	"SELECT VALUE ->knows->person.age FROM ONLY person:0", "SELECT ->knows->person AS k, <-knows<-person AS b FROM person:0..20",
	"SELECT id, count(->knows->person) AS n FROM person WHERE age = 3 LIMIT 20", "SELECT * FROM person:0->knows->person",
	"SELECT VALUE ->knows->person->knows->person FROM person:0..3", "SELECT VALUE id FROM person:0..99 WHERE person:0 IN <-knows<-person",
	"SELECT id FROM person:0..150 WHERE ->likes->person CONTAINS person:0 ORDER BY id DESC",
	"SELECT ->likes->person.{ id, k: ->knows->person } AS l FROM [person:1, person:2, person:3]",
	"SELECT * FROM person:0->knows->person FETCH nothing", "SELECT in, out FROM person:3->likes",
}

// rowQueries follow paths over friends from every row.
var rowQueries = []string{
	"SELECT id, ->knows->person AS k FROM person:0..300", "SELECT id, ->knows->person->knows->person.age AS k FROM person:0..40",
	"SELECT id, ->knows.since AS s, <-likes<-person.{ age, n: <~note } AS l FROM person WHERE age < 3 LIMIT 40 START 10",
	"SELECT in.age AS a, out.age AS b FROM knows WHERE in.age + out.age > 9 LIMIT 300", "SELECT VALUE also.age FROM note",
	"SELECT id FROM note WHERE of.age = 1 AND also.age CONTAINS 1", "SELECT VALUE of.* FROM note ORDER BY id DESC",
	"SELECT of.age AS age, count(), math::sum(of.age) AS sum FROM note GROUP BY age ORDER BY age",
	"SELECT id, of.age FROM note ORDER BY of.age DESC, id", "SELECT VALUE of.{ age, k: ->knows->person } FROM note",
	"SELECT id, ->person AS p, <-person.age AS q FROM knows:1..150", "SELECT id, <~note AS n, <~note.also AS m FROM person:0..10",
	"SELECT of FROM note WHERE of->knows->person.age CONTAINS 3 LIMIT 5", "SELECT count() FROM note WHERE of.age = 1 GROUP ALL",
	"SELECT id, ->knows->person AS k FROM person:0, person:1, person:2, person:4", "SELECT VALUE ->likes->person FROM person:1..=9",
	"SELECT ->knows->(person WHERE age > 3 LIMIT 2).age AS k FROM [person:0, person:2, person:1, 'no', NONE]",
	"SELECT id.{..3+collect}->knows->person AS c FROM person:0..3", "SELECT id, @.{2}->knows->person AS c FROM person:0..3",
	"SELECT id, IF age > 3 { ->likes->person } ELSE { of.age } AS x, of.age.?.floor() AS y FROM person:0..20",
	"SELECT (SELECT VALUE age FROM $parent->knows->person) AS k FROM person:0..20", "SELECT * FROM note LIMIT 20 FETCH of, also",
	"SELECT * FROM mix FETCH x", "SELECT *, of.age AS age FROM note ORDER BY age, id FETCH of, of.gone",
	"SELECT in, out FROM knows WHERE in.age = 3 LIMIT 40 FETCH in, out", "SELECT of, count() FROM note GROUP BY of ORDER BY of FETCH of",
	"SELECT ->knows->person AS k, ->likes->person AS l, <-knows<-person AS m, <-likes<-person AS n, ->saw->city AS o FROM person:0..70",
	"SELECT VALUE array::len(->knows->person->knows->person) FROM person:0..111", "SELECT id FROM person:0..20 ORDER BY id.age DESC",
	"SELECT id, of.gone.age, of.id.gone, gone.of FROM note", "SELECT (SELECT of.age FROM note WHERE of = $parent.id) AS n FROM person:0..9",
	"SELECT VALUE id FROM mix WHERE x.y > 2 OR x.age > 3", "SELECT x.y AS y, x.age AS a FROM mix",
	"SELECT id, x.z FROM mix WHERE x.y > 1 ORDER BY x.z LIMIT 3", "SELECT id FROM mix ORDER BY x.age DESC LIMIT 5",
	"SELECT count(), math::sum(x.y) AS n FROM mix WHERE x.y > 1 OR x.age > 5 GROUP ALL",
	"SELECT count(), x.age AS a FROM mix GROUP BY a ORDER BY a", "SELECT count(), x.y AS y FROM mix:3..50 GROUP BY y ORDER BY y",
	"SELECT id FROM note WHERE fn::gone(of.age)", "SELECT VALUE of.age + 'x' FROM note",
}

// hopChanges are statements of a transaction that see what they have written.
const hopChanges = `DELETE knows:3; DELETE person:5; RELATE person:6->knows:x->person:1; CREATE person:66;
	RELATE person:0->knows:y->person:66; UPDATE person:7 SET hidden = true;
	RETURN [person:0->knows->person, person:0->knows->person->knows->person, person:0.{..3+collect}->knows->person,
		person:0->(knows WHERE since = NONE)->person.hidden];
	LET $a = person:0->knows->about->likes; REMOVE TABLE about; REMOVE TABLE likes;
	RETURN [$a, person:0->knows->person->likes, person:0->knows->person->?, person:0->knows->about->likes]`

// askAll is what a text answers: the values of all of its statements, or their errors.
func askAll(t *testing.T, s *engine.Session, text string) string {
	t.Helper()
	tx, err := s.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Cancel(context.Background())
	res, err := tx.Execute(context.Background(), text, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return valuesOf(res)
}

func valuesOf(res []engine.Result) string {
	var out strings.Builder
	for _, r := range res {
		if r.Err != nil {
			fmt.Fprintf(&out, "error: %v\n", r.Err)
		} else {
			out.WriteString(r.Value.Text() + "\n")
		}
	}
	return out.String()
}

// askPlainly is askAll without a transaction around the text.
func askPlainly(t *testing.T, s *engine.Session, text string) string {
	t.Helper()
	res, err := s.Execute(context.Background(), text, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return valuesOf(res)
}

// TestHopsOnCluster: what a path reads ahead on a cluster changes none of its answers, neither those of the one who may
// read everything nor those of one who may not.
func TestHopsOnCluster(t *testing.T) {
	far, _ := openCluster(t)
	near := openStore(t, mem.New())
	var of [2][2]*engine.Session
	for i, e := range []*engine.Engine{near, far} {
		of[i] = twoSessions(t, e, friends)
	}
	long := 0
	compare := func(text string, ask func(*testing.T, *engine.Session, string) string) {
		t.Helper()
		for who, name := range []string{"root", "a user"} {
			want, got := ask(t, of[0][who], text), ask(t, of[1][who], text)
			if got != want {
				t.Errorf("%s: %s\n got %.2000s\nwant %.2000s", name, text, got, want)
			}
			if len(want) > 100 && !strings.Contains(want, "error: ") {
				long++
			}
		}
	}
	for _, text := range append(hopQueries, hopChanges) {
		compare(text, askAll)
	}
	for _, text := range append(hopQueries, rowQueries...) {
		compare(text, askPlainly)
	}
	if long < 2*len(hopQueries)+len(rowQueries) {
		t.Errorf("only %d answers tell anything", long)
	}
	for i := range of { // ends without a table
		mustDo(t, of[i][0], "REMOVE TABLE city; REMOVE TABLE likes")
	}
	for _, text := range []string{"RETURN person:0->knows->person->saw->city", "RETURN person:0->knows->about->likes",
		"RETURN person:0->knows->about->?", "RETURN person:0->knows->person->likes->person", "RETURN person:1->?"} {
		compare(text, askAll)
	}
}

// TestHopsAheadAreNotRead: what was read ahead, and not looked at, may change before the commit. What was looked at may
// not, be it ever so little.
func TestHopsAheadAreNotRead(t *testing.T) {
	e, _ := openCluster(t)
	s, other := e.RootSession(), e.RootSession()
	mustDo(t, other, "USE NS test DB test")
	mustDo(t, s, "USE NS test DB test;"+friends)
	for i, tc := range []struct {
		change   string
		conflict bool
	}{
		// The way to person:11 ends at person:1: those behind it are not looked at.
		{"RELATE person:2->knows->person:700", false},
		{"DELETE knows:95", false},
		{"RELATE person:1->knows->person:700", true},
		{"DELETE knows:12", true},
		{"DELETE knows:9", true},
	} {
		ctx := context.Background()
		tx, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		res, err := tx.Execute(ctx, fmt.Sprintf("RETURN person:0.{..3+shortest=person:11}->knows->person; CREATE done:%d", i), nil)
		if err != nil || res[0].Err != nil || res[0].Value.Text() != "[person:1, person:11]" {
			t.Fatal(res, err)
		}
		mustDo(t, other, tc.change)
		if err := tx.Commit(ctx); isConflict(err) != tc.conflict || err != nil && !tc.conflict {
			t.Errorf("%s: %v", tc.change, err)
		}
	}
}

// TestTripsOfHops holds the number of requests of paths over a graph in which each node leads to ten others. Those that
// go out beside another one are waited for together.
func TestTripsOfHops(t *testing.T) {
	e, st := openUnsure(t)
	both := twoSessions(t, e, `DEFINE TABLE person PERMISSIONS FULL;
		DEFINE TABLE knows TYPE RELATION PERMISSIONS FOR select WHERE since > 0;
		DEFINE TABLE note PERMISSIONS FULL; DEFINE FIELD of ON note TYPE record<person> REFERENCE;
		FOR $i IN 0..1111 { CREATE person SET id = $i, age = $i % 10 };
		FOR $i IN 0..111 { FOR $j IN 1..=10 {
			RELATE (type::record('person', $i))->knows->(type::record('person', $i * 10 + $j)) SET since = $j } };
		FOR $i IN 0..50 { RELATE person:1110->knows->(type::record('person', $i)) SET since = 1 };
		FOR $i IN 1..=10 { CREATE note SET of = type::record('person', $i) };`)
	s, u := both[0], both[1]
	for _, tc := range []struct {
		s    *engine.Session
		text string
		want trips
	}{
		{s, "SELECT VALUE ->knows->person FROM ONLY person:0", trips{reads: 2}},
		{s, "SELECT VALUE ->knows->person->knows->person FROM ONLY person:0", trips{reads: 12, beside: 9}},
		// A hundred nodes in two parts: 32, and the others.
		{s, "SELECT VALUE ->knows->person->knows->person->knows->person FROM ONLY person:0", trips{reads: 112, beside: 107}},
		{s, "RETURN person:0.{3}->knows->person", trips{reads: 112, beside: 107}},
		{s, "RETURN person:0.{..3+collect}->knows->person", trips{reads: 112, beside: 107}},
		{s, "RETURN person:0.{..3+path}->knows->person", trips{reads: 112, beside: 107}},
		{s, "RETURN person:0.{..2}.{ id, knows: ->knows->person.@ }", trips{reads: 14, beside: 9}},
		// Nodes without edges may be edges themselves: they are read together.
		{s, "RETURN person:50->knows->person->knows->person", trips{reads: 13, beside: 9}},
		{s, "RETURN person:1<->knows<->person", trips{reads: 3, beside: 1}},
		{s, "RETURN person:0->knows->person<~note", trips{reads: 12, beside: 9}},
		{s, "RETURN person:0->(knows WHERE since > 5)->(person WHERE age > 6)->knows->person", trips{reads: 12, beside: 6}},
		{s, "RETURN person:0->knows->person->(knows WHERE since > 5)->person.age", trips{reads: 66, beside: 57}},
		{s, "RETURN person:0->knows->person[WHERE age > 3 AND age < 8]", trips{reads: 3}},
		{s, "RETURN person:0->knows->person.{ age, k: ->knows->person }", trips{reads: 13, beside: 9}},
		{u, "RETURN person:0->knows->person->knows->person", trips{reads: 15, beside: 9}},
		{u, "RETURN person:1110->knows->person", trips{reads: 5}}, // fifty edges, in two parts
	} {
		name := "root"
		if tc.s == u {
			name = "a user"
		}
		if got := leastTrips(st, func() { mustDo(t, tc.s, tc.text) }); got != tc.want {
			t.Errorf("%s: %s: got %+v, want %+v", name, tc.text, got, tc.want)
		}
	}
}

// twice is a table with two full text indexes: of sixty records that have a word in one of them, each third has another
// in the other one.
const twice = `
	DEFINE ANALYZER a TOKENIZERS blank; DEFINE TABLE doc PERMISSIONS FOR select WHERE n != 9;
	DEFINE INDEX ta ON doc FIELDS a FULLTEXT ANALYZER a BM25; DEFINE INDEX tb ON doc FIELDS b FULLTEXT ANALYZER a BM25;
	FOR $i IN 0..60 { CREATE doc SET id = $i, n = $i, a = IF $i % 3 = 0 { 'rare word' } ELSE { 'word' },
		b = 'text ' + <string> $i };
	UPDATE doc:6 SET a = NONE; UPDATE doc:12 SET b = 'other'; DELETE doc:15;`

// twiceQueries ask both indexes.
var twiceQueries = []string{
	"SELECT VALUE id FROM doc WHERE a @@ 'rare' AND b @@ 'text'",
	"SELECT VALUE id FROM doc WHERE b @@ 'text' AND a @@ 'word' AND a @@ 'rare'",
	"SELECT * FROM doc WHERE a @@ 'rare' AND b @@ 'text' AND n > 20 LIMIT 5",
	"SELECT count() FROM doc WHERE a @@ 'rare' AND b @@ 'text' GROUP ALL",
	"SELECT id, search::score(1) AS s, search::score(2) AS z FROM doc WHERE a @1@ 'rare' AND b @2@ 'text' ORDER BY s DESC LIMIT 4",
	"SELECT id, search::score(1) AS s FROM doc WHERE a @1@ 'rare' AND b @@ 'none' ORDER BY s DESC LIMIT 4",
	`CREATE doc:x SET a = 'rare', b = 'text'; UPDATE doc:18 SET b = 'other'; DELETE doc:21;
		RETURN [SELECT VALUE id FROM doc WHERE a @@ 'rare' AND b @@ 'text',
			SELECT count() FROM doc WHERE a @@ 'rare' AND b @@ 'text' GROUP ALL]`,
}

// TestTwoTextIndexesOnCluster: what the one index finds is looked up in the other one by few requests, and the answers
// are those of one machine.
func TestTwoTextIndexesOnCluster(t *testing.T) {
	far, st := openCluster(t)
	near := openStore(t, mem.New())
	var of [2][2]*engine.Session
	for i, e := range []*engine.Engine{near, far} {
		of[i] = twoSessions(t, e, twice)
	}
	for _, text := range twiceQueries {
		for who, name := range []string{"root", "a user"} {
			want, got := askAll(t, of[0][who], text), askAll(t, of[1][who], text)
			if got != want {
				t.Errorf("%s: %s\n got %.2000s\nwant %.2000s", name, text, got, want)
			}
		}
	}
	for text, want := range map[string]trips{
		"SELECT VALUE id FROM doc WHERE a @@ 'rare' AND b @@ 'text'":                                           {reads: 11, beside: 2},
		"SELECT * FROM doc WHERE a @@ 'rare' AND b @@ 'text'":                                                  {reads: 13, beside: 2},
		"SELECT count() FROM doc WHERE a @@ 'rare' AND b @@ 'text' GROUP ALL":                                  {reads: 11, beside: 2},
		"SELECT id, search::score(1) AS s FROM doc WHERE a @1@ 'word' AND b @@ 'text' ORDER BY s DESC LIMIT 9": {reads: 17, beside: 2},
	} {
		if got := leastTrips(st, func() { mustDo(t, of[1][0], text) }); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

// twoSessions are the sessions of root and of a record that may read by permissions, over what a setup defines.
func twoSessions(t *testing.T, e *engine.Engine, setup string) [2]*engine.Session {
	t.Helper()
	s, u := e.RootSession(), e.Session()
	mustDo(t, s, "DEFINE NAMESPACE test; USE NS test; DEFINE DATABASE test; USE DB test;"+setup+
		"CREATE user:1; DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user:1)")
	if _, err := u.Signin(context.Background(), credentials("NS", "test", "DB", "test", "AC", "acc")); err != nil {
		t.Fatal(err)
	}
	return [2]*engine.Session{s, u}
}

// TestTripsOfRows holds the number of requests of paths that are followed from every row: those that go out beside
// another one are waited for together.
func TestTripsOfRows(t *testing.T) {
	e, st := openUnsure(t)
	s := twoSessions(t, e, friends)[0]
	for _, tc := range []struct {
		text string
		want trips
	}{
		{"SELECT id, ->knows->person AS k FROM person:0..100", trips{reads: 102, beside: 97}},
		{"SELECT VALUE ->knows->person->knows->person FROM person:0..11", trips{reads: 101, beside: 98}},
		{"SELECT VALUE ->knows->person.age FROM person:0..32", trips{reads: 40, beside: 31}},
		{"SELECT in.age AS a, out.age AS b FROM knows LIMIT 300", trips{reads: 9, beside: 1}},
		{"SELECT VALUE out.in.age FROM likes LIMIT 30", trips{reads: 3, beside: 1}},
		{"SELECT id FROM note WHERE of.age = 1", trips{reads: 3, beside: 1}},
		{"SELECT count() FROM note WHERE of.age = 1 GROUP ALL", trips{reads: 3, beside: 1}},
		{"SELECT of.age AS age, count() FROM note GROUP BY age", trips{reads: 3, beside: 1}},
		{"SELECT id FROM note ORDER BY of.age LIMIT 3", trips{reads: 3, beside: 1}},
		{"SELECT count(), x.z AS z FROM mix WHERE x.y > 3 GROUP BY z", trips{reads: 17, beside: 1}}, // no link at first
		{"SELECT * FROM note FETCH of, also", trips{reads: 4, beside: 1}},
		{"SELECT * FROM note WHERE open FETCH of", trips{reads: 3, beside: 1}},
		{"SELECT id FROM note ORDER BY of.age", trips{reads: 4, beside: 1}},
		{"SELECT VALUE out FROM likes WHERE in.age = 2 AND out.age = 3", trips{reads: 6, beside: 1}},
		{"SELECT ->person AS p FROM knows:1..33", trips{reads: 34, beside: 31}},
		{"SELECT VALUE <~note FROM person:0..33", trips{reads: 67, beside: 64}},
		{"SELECT VALUE ->knows->person FROM person:0, person:1, person:2, person:5", trips{reads: 8, beside: 3}},
		{"SELECT VALUE ->knows->person FROM [person:0, person:1, person:2, person:5]", trips{reads: 5, beside: 3}},
	} {
		if got := leastTrips(st, func() { mustDo(t, s, tc.text) }); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.text, got, tc.want)
		}
	}
}

// patterns are GQL over friends.
var patterns = []string{
	"MATCH (a:person)-[k:knows]->(b:person) WHERE a.age = 1 RETURN a.id AS a, b.age AS b, k.since AS s ORDER BY a, s LIMIT 50",
	"MATCH (a:person)-[:knows]->(b)-[:knows]->(c) WHERE a.id = $a RETURN b.id AS b, c.id AS c",
	"MATCH (a:person)-[:knows]->(b)-[:knows]->(c)-[:knows]->(d) WHERE a.id = $a RETURN count(d) AS n",
	"MATCH (a:person)<-[:likes]-(b) RETURN a.id AS a, b.id AS b ORDER BY a, b", "MATCH (a:person)-[:likes]-(b) RETURN count(*) AS n",
	"MATCH (a:person)-[k]->(b) WHERE k.since > 8 RETURN a.id AS a, b.id AS b ORDER BY b LIMIT 60", "MATCH (a:knows)-[:about]->(l) RETURN l.id AS l",
	"MATCH (a:person)-[:knows]->(b)<-[:likes]-(a) RETURN a.id AS a, b.id AS b", "MATCH (a)-[:saw]->(c:city) RETURN a.id AS a, c.id AS c",
	"MATCH (a:person)-[:knows]->{1,3}(b) WHERE a.id = $a RETURN count(b) AS n", "MATCH (a:person)-[:none]->(b) RETURN a",
	"MATCH (a:person)-[k:knows WHERE k.since < 3]->(b:person WHERE b.age > 1) RETURN a.id AS a, b.id AS b ORDER BY b LIMIT 40",
	"MATCH p = ANY SHORTEST (a:person {id: $a})-[:knows]->+(b:person {id: $b}) RETURN PATH_LENGTH(p) AS n",
	"MATCH p = ALL SHORTEST (a:person {id: $c})-[:knows|likes]-+(b:person {id: $d}) RETURN PATH_LENGTH(p) AS n",
	"MATCH (a:person) OPTIONAL MATCH (a)-[:likes]->(b) RETURN a.id AS a, b.id AS b ORDER BY a, b LIMIT 80",
	"MATCH (a:person)-[:knows]->(b)-[:knows]->(a) RETURN a.id AS a", "MATCH (a:gone)-[:knows]->(b) RETURN b",
}

// TestPatternsOnCluster: what a pattern reads ahead on a cluster changes none of its answers, neither those of the one
// who may read everything nor those of one who may not.
func TestPatternsOnCluster(t *testing.T) {
	far, st := openCluster(t)
	near := openStore(t, mem.New())
	var of [2][2]*engine.Session
	for i, e := range []*engine.Engine{near, far} {
		of[i] = twoSessions(t, e, friends)
	}
	ends := mustDo(t, of[0][0], "RETURN { a: person:0, b: person:911, c: person:1, d: person:3 }").Object()
	long := 0
	for _, text := range patterns {
		for who, name := range []string{"root", "a user"} {
			var said [2]string
			for i := range of {
				v, err := runGQL(of[i][who], text, ends)
				said[i] = v.Text()
				if err != nil {
					said[i] = "error: " + err.Error()
				}
			}
			if said[0] != said[1] {
				t.Errorf("%s: %s\n got %.2000s\nwant %.2000s", name, text, said[1], said[0])
			}
			if said[0] != "[]" && !strings.Contains(said[0], "error: ") {
				long++
			}
		}
	}
	if long < len(patterns) {
		t.Errorf("only %d answers tell anything", long)
	}
	for text, want := range map[string]trips{
		"MATCH (a:person)-[:knows]->(b)-[:knows]->(c) WHERE a.id = $a RETURN b.id AS b, c.id AS c":             {reads: 14, beside: 8},
		"MATCH (a:person)-[:knows]->(b:person) WHERE a.age = 1 RETURN a.id AS a, b.age AS b":                   {reads: 121, beside: 108},
		"MATCH (a:person)-[:likes]->(b) RETURN a.id AS a, b.id AS b":                                           {reads: 1126, beside: 1102},
		"MATCH p = ANY SHORTEST (a:person {id: $a})-[:knows]->+(b:person {id: $b}) RETURN PATH_LENGTH(p) AS n": {reads: 16},
	} {
		got := leastTrips(st, func() {
			if _, err := runGQL(of[1][0], text, ends); err != nil {
				t.Fatal(err)
			}
		})
		if got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}
