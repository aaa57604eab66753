package engine_test

import (
	"strings"
	"testing"
	"time"
)

// TestRightsOfTodayGovernThePast: VERSION reads records as they were, but who may read them is what the definitions of
// now say. What was open and is closed stays closed, and conditions are tried on the record as it was.
func TestRightsOfTodayGovernThePast(t *testing.T) {
	e := openVersioned(t, "mem://?versioned=true")
	root := owner(t, e)
	run(t, root, `DEFINE TABLE user PERMISSIONS NONE; CREATE user:1; DEFINE TABLE log PERMISSIONS FULL;
		DEFINE TABLE closed PERMISSIONS FULL; CREATE closed:1 SET c = 'canary';
		DEFINE TABLE f PERMISSIONS FULL; DEFINE FIELD c ON f PERMISSIONS FULL; CREATE f:1 SET c = 'canary', n = 1;
		DEFINE TABLE r PERMISSIONS FOR select WHERE open; CREATE r:1 SET open = true, c = 'seen'; CREATE r:2 SET open = false, c = 'canary';
		DEFINE TABLE gone PERMISSIONS FULL; CREATE gone:1 SET c = 'canary';
		DEFINE TABLE link PERMISSIONS FULL; CREATE link:1 SET to = closed:1, all = [f:1, r:2];
		DEFINE TABLE e TYPE RELATION PERMISSIONS FULL; RELATE link:1->e:1->closed:1 SET c = 'canary';
		DEFINE TABLE feed CHANGEFEED 1h PERMISSIONS FULL; CREATE feed:1 SET c = 'canary';
		DEFINE FUNCTION fn::f() { 'canary' }; DEFINE PARAM $open VALUE 'canary'`)
	time.Sleep(time.Millisecond)
	at := one(t, root, "RETURN time::now()")
	time.Sleep(time.Millisecond)
	run(t, root, `DEFINE TABLE OVERWRITE closed PERMISSIONS NONE; DEFINE FIELD OVERWRITE c ON f PERMISSIONS NONE;
		UPDATE r:1 SET open = false; UPDATE r:2 SET open = true, c = 'now'; DEFINE TABLE OVERWRITE e TYPE RELATION PERMISSIONS NONE;
		REMOVE TABLE gone; DEFINE TABLE gone PERMISSIONS NONE; DEFINE TABLE OVERWRITE feed CHANGEFEED 1h PERMISSIONS NONE;
		DEFINE FUNCTION OVERWRITE fn::f() { 'canary' } PERMISSIONS NONE; DEFINE PARAM OVERWRITE $open VALUE 'canary' PERMISSIONS NONE`)
	user, err := signIn(e, "record:acc:user:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ query, want string }{
		{"SELECT * FROM closed VERSION AT", "[]"},
		{"SELECT * FROM closed:1 VERSION AT", "[]"},
		{"SELECT count() FROM closed GROUP ALL VERSION AT", "[]"},
		{"SELECT * FROM f VERSION AT", "[{ id: f:1, n: 1 }]"},
		{"SELECT c FROM f WHERE c = 'canary' VERSION AT", "[]"},
		{"SELECT * FROM r VERSION AT", "[{ c: 'seen', id: r:1, open: true }]"},
		{"SELECT * FROM gone VERSION AT", "[]"},
		{"SELECT to.c AS x, all.c AS y FROM link VERSION AT", "[{ x: NONE, y: [NONE, NONE] }]"},
		{"SELECT ->e AS x, ->e->closed AS y FROM link VERSION AT", "[{ x: [], y: [] }]"},
		{"SELECT * FROM link FETCH to VERSION AT", "[{ all: [f:1, r:2], id: link:1, to: NONE }]"},
		{"SELECT (SELECT * FROM closed VERSION AT) AS x FROM link", "[{ x: [] }]"},
		{"SELECT fn::f() AS x FROM link VERSION AT", "ERR You don't have permission to run the fn::f function"},
		{"SELECT $open AS x FROM link VERSION AT", "ERR You don't have permission to view the $open parameter"},
		{"INFO FOR TABLE closed VERSION AT", "ERR IAM error: Not enough permissions to perform this action"},
		{"INFO FOR DB VERSION AT", "ERR IAM error: Not enough permissions to perform this action"},
		{"SHOW CHANGES FOR TABLE feed SINCE 0", "ERR IAM error: Not enough permissions to perform this action"},
		{"SHOW CHANGES FOR TABLE feed SINCE AT", "ERR IAM error: Not enough permissions to perform this action"},
	} {
		query := strings.ReplaceAll(c.query, "AT", at)
		got := texts(mustExecute(t, user, query))
		if !strings.HasPrefix(got, c.want) || strings.Contains(got, "canary") {
			t.Errorf("%s:\ngot  %s\nwant %s", c.query, got, c.want)
		}
		if all := texts(mustExecute(t, root, query)); strings.HasPrefix(c.want, "[]") && !strings.Contains(query, "count()") && !strings.Contains(all, "canary") {
			t.Errorf("%s tells the owner nothing: %s", c.query, all)
		}
	}
}

// TestVersionReachesAllThatIsRead: sub-selects, graph steps, links, references, functions, parameters and FETCH of a SELECT
// with VERSION read the same past.
func TestVersionReachesAllThatIsRead(t *testing.T) {
	e := openVersioned(t, "mem://?versioned=true")
	defer closeEngine(t, e)
	s := owner(t, e)
	run(t, s, `CREATE va:1 SET n = 1, l = vb:1; CREATE vb:1 SET n = 10; RELATE va:1->ve:1->vb:1; DEFINE PARAM $f VALUE 2;
		DEFINE FIELD own ON vc TYPE record<vb> REFERENCE; CREATE vc:1 SET own = vb:1;
		DEFINE FUNCTION fn::n() { (SELECT VALUE n FROM ONLY vb:1) }`)
	time.Sleep(time.Millisecond)
	at := one(t, s, "RETURN time::now()")
	time.Sleep(time.Millisecond)
	run(t, s, `UPDATE vb:1 SET n = 20; DEFINE PARAM OVERWRITE $f VALUE 3; CREATE vb:2; RELATE va:1->ve:2->vb:2;
		UPDATE vc:1 SET own = vb:2; DELETE ve:1`)
	for _, c := range []struct{ query, want string }{
		{"SELECT VALUE [n * $f, ->ve->vb.n, (SELECT VALUE n FROM ONLY vb:1)] FROM va:1 VERSION AT", "[[2, [10], 10]]"},
		{"SELECT VALUE [n * $f, ->ve->vb.id, (SELECT VALUE n FROM ONLY vb:1)] FROM va:1", "[[3, [vb:2], 20]]"},
		{"SELECT VALUE [l.n, l.*, ->?->?.id, fn::n()] FROM va:1 VERSION AT", "[[10, { id: vb:1, n: 10 }, [vb:1], 10]]"},
		{"SELECT VALUE [(SELECT VALUE n FROM ONLY vb:1 VERSION NONE), l.n] FROM va:1 VERSION AT", "[[20, 10]]"},
		{"SELECT VALUE [(SELECT VALUE n FROM ONLY vb:1 VERSION AT), l.n] FROM va:1", "[[10, 20]]"},
		{"SELECT VALUE x FROM (SELECT l.n AS x FROM va:1 VERSION AT)", "[10]"},
		{"SELECT VALUE l.n FROM va WHERE l.n = 10 VERSION AT", "[10]"},
		{"SELECT l FROM va FETCH l VERSION AT", "[{ l: { id: vb:1, n: 10 } }]"},
		{"SELECT VALUE <~vc FROM vb:1 VERSION AT", "[[vc:1]]"},
		{"SELECT VALUE <~vc FROM vb:1", "[[]]"},
		{"SELECT VALUE id.{1..3}(->ve->vb) FROM va:1 VERSION AT", "[[vb:1]]"},
		{"SELECT VALUE (SELECT count() FROM vb GROUP ALL) FROM va VERSION AT", "[[{ count: 1 }]]"},
		{"SELECT (DELETE vb:1) AS x FROM va:1 VERSION AT",
			"ERR A SELECT with VERSION reads the past: what it asks for may not write"},
	} {
		query := strings.ReplaceAll(c.query, "AT", at)
		if got := texts(mustExecute(t, s, query)); strings.TrimSpace(got) != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.query, got, c.want)
		}
	}
}
