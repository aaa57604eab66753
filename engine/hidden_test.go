package engine_test

import (
	"testing"

	"github.com/nacredb/nacre/engine"
)

// hiddenCase is what a record user is answered in a database that holds something hidden from it.
type hiddenCase struct{ name, setup, query, want string }

// checkHidden runs each case in an engine of its own, as the record user who.
func checkHidden(t *testing.T, who string, cases []hiddenCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Helper()
			_, user := hiddenWorld(t, who, c.setup)
			if got := texts(mustExecute(t, user, c.query)); got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", c.query, got, c.want)
			}
		})
	}
}

// hiddenWorld is an engine with a database that an owner has set up, and the sessions of that owner and of a record user.
func hiddenWorld(t *testing.T, who, setup string) (root, user *engine.Session) {
	t.Helper()
	e := openQuiet(t)
	root = owner(t, e)
	for _, r := range mustExecute(t, root, setup) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	user, err := signIn(e, who)
	if err != nil {
		t.Fatal(err)
	}
	return root, user
}

func TestNamesLeadIntoTheKeyOfARecord(t *testing.T) {
	const tenants = `
		DEFINE TABLE user PERMISSIONS FOR select WHERE id = $auth; CREATE user:{ tenant: 'mine', uid: 1 };
		DEFINE TABLE ten PERMISSIONS FOR select WHERE id.tenant = $auth.id.tenant, FOR update FULL;
		CREATE ten:{ tenant: 'other', n: 1 } SET c = 'canary', tenant = 'mine'; CREATE ten:{ tenant: 'mine', n: 2 } SET c = 'own', tenant = 'x';`
	const keyed = `
		DEFINE TABLE user PERMISSIONS FULL; CREATE user:{ tenant: 'mine', uid: 1 };
		DEFINE TABLE k PERMISSIONS FULL;
		CREATE k:{ a: 2, b: { c: [7] } } SET a = 'body', x = 'body x'; CREATE k:{ a: 1 } SET a = 'body', b = 'body b'; CREATE k:5 SET a = 'plain';
		DEFINE TABLE l PERMISSIONS FULL; CREATE l:1 SET to = k:{ a: 1 }, all = [k:{ a: 1 }, k:5];`
	checkHidden(t, "record:acc:user:{ tenant: 'mine', uid: 1 }", []hiddenCase{
		{"permissions", tenants, "SELECT VALUE c FROM ten", "['own']"},
		{"permissions after a change", tenants, "UPDATE ten SET tenant = 'mine' RETURN NONE; SELECT VALUE c FROM ten", "[] ;; ['own']"},
		{"auth", tenants, "RETURN [$auth.id.tenant, $auth.tenant, $auth['uid']]", "['mine', 'mine', 1]"},
		{"projection", keyed, "SELECT VALUE [id.a, id.b.c[0], id.x] FROM k", "[['plain', NONE, NONE], [1, NONE, NONE], [2, 7, 'body x']]"},
		{"compiled condition", keyed + "CREATE |m:20| RETURN NONE; CREATE k:6, k:7, k:8, k:9, k:10, k:11, k:12 RETURN NONE",
			"SELECT VALUE id FROM k WHERE id.a = 2; SELECT VALUE id FROM k WHERE id.a = 'body'", "[k:{ a: 2, b: { c: [7] } }] ;; []"},
		{"a key without the name", keyed, "RETURN k:{ a: 1 }.b", "'body b'"},
		{"a part that is NONE", keyed + "CREATE k:{ a: NULL, z: 1 } SET a = 'body'", "RETURN k:{ a: NULL, z: 1 }.a", "NULL"},
		{"a record that is missing", keyed, "RETURN k:{ a: 'gone' }.a", "'gone'"},
		{"links", keyed, "SELECT VALUE [to.a, all.a, to['a']] FROM l", "[[1, [1, 'plain'], 1]]"},
		{"destructuring", keyed, "RETURN k:{ a: 2, b: { c: [7] } }.{ a, x, b: b.c }", "{ a: 2, b: NONE, x: 'body x' }"},
		{"group and order", keyed, "SELECT id.a AS a, count() FROM k GROUP BY a ORDER BY a DESC; SELECT VALUE id FROM (SELECT id, id.a AS s FROM k WHERE id != k:5 ORDER BY s DESC)",
			"[{ a: 'plain', count: 1 }, { a: 2, count: 1 }, { a: 1, count: 1 }] ;; [k:{ a: 2, b: { c: [7] } }, k:{ a: 1 }]"},
		{"order by the path", keyed, "SELECT VALUE id FROM (SELECT * FROM k WHERE id != k:5 ORDER BY id.a DESC)", "[k:{ a: 2, b: { c: [7] } }, k:{ a: 1 }]"},
		{"an index", keyed + "DEFINE INDEX ka ON k FIELDS id.a;", "SELECT VALUE id FROM k WHERE id.a = 1; SELECT VALUE id FROM k WHERE id.a = 'plain'", "[k:{ a: 1 }] ;; [k:5]"},
		{"a unique index", keyed + "DEFINE INDEX ka ON k FIELDS id.a UNIQUE;", "CREATE k:{ a: 1, n: 2 }", "ERR Database index `ka` already contains 1, with record `k:{ a: 1 }`"},
	})
}

// The world of the assignment tests: user:1 may update all of t, and sees neither list nor obj nor what is named secret.
const hiddenPlaces = `
	DEFINE TABLE user PERMISSIONS FULL; CREATE user:1;
	DEFINE TABLE t PERMISSIONS FULL; DEFINE FIELD list ON t PERMISSIONS FOR select NONE;
	DEFINE FIELD obj ON t PERMISSIONS NONE; DEFINE FIELD n ON t PERMISSIONS FOR select NONE;
	DEFINE FIELD items ON t TYPE option<array>; DEFINE FIELD items.*.secret ON t PERMISSIONS FOR select NONE;
	DEFINE FIELD some ON t TYPE option<array>; DEFINE FIELD OVERWRITE some.* ON t PERMISSIONS FOR select WHERE $value.open;
	DEFINE TABLE log PERMISSIONS FULL;
	CREATE t:1 SET list = ['canary', 2], items = [{ a: 1, secret: 'canary' }, { a: 2 }], obj = { x: 'canary' }, n = 9223372036854775807,
		deep = { list: [{ l: [{ a: 1 }] }] }, some = [{ open: true, n: 1 }, { n: 'canary' }, { open: true, n: 3 }];
	DEFINE FIELD deep.list.*.l.*.secret ON t PERMISSIONS FOR select NONE; UPDATE t:1 SET deep.list[0].l[0].secret = 'canary';
	DEFINE TABLE blind PERMISSIONS FOR select NONE, FOR update, delete FULL; CREATE blind:1 SET s = 'canary', l = ['canary'];`

func TestConditionsInPlacesSeeWhatTheCallerSees(t *testing.T) {
	checkHidden(t, "record:acc:user:1", []hiddenCase{
		{"a list", hiddenPlaces, "UPDATE t:1 SET list[WHERE {THROW <string>$this}] = 1 RETURN NONE", "[]"},
		{"a member", hiddenPlaces, "UPDATE t:1 SET items[WHERE {IF a = 1 {THROW <string>$this}}].a = 1", "ERR An error occurred: { a: 1 }"},
		{"an object", hiddenPlaces, "UPDATE t:1 SET obj[WHERE {THROW <string>$this}].a = 1 RETURN NONE", "[]"},
		{"UNSET", hiddenPlaces, "UPDATE t:1 UNSET list[WHERE {THROW <string>$this}] RETURN NONE", "[]"},
		{"UNSET a member", hiddenPlaces, "UPDATE t:1 UNSET items[WHERE secret = 'canary'] RETURN VALUE items", "[[{ a: 1 }, { a: 2 }]]"},
		{"UNSET of what is seen", hiddenPlaces, "UPDATE t:1 UNSET items[WHERE a = 1] RETURN VALUE items", "[[{ a: 2 }]]"},
		{"ON DUPLICATE KEY UPDATE", hiddenPlaces, "INSERT INTO t { id: 1 } ON DUPLICATE KEY UPDATE list[WHERE {THROW <string>$this}] = 1 RETURN NONE", "[]"},
		{"+=", hiddenPlaces, "UPDATE t:1 SET list[WHERE {THROW <string>$this}] += 1 RETURN NONE", "[]"},
		{"an oracle", hiddenPlaces, "UPDATE t:1 SET items[WHERE secret = 'canary'].hit = true RETURN VALUE items", "[[{ a: 1 }, { a: 2 }]]"},
		{"an oracle of what is missing", hiddenPlaces, "UPDATE t:1 SET items[WHERE secret = NONE].hit = true RETURN VALUE items", "[[{ a: 1, hit: true }, { a: 2, hit: true }]]"},
		{"what is seen", hiddenPlaces, "UPDATE t:1 SET items[WHERE a = 2].hit = true RETURN VALUE items", "[[{ a: 1 }, { a: 2, hit: true }]]"},
		{"hidden elements", hiddenPlaces, "UPDATE t:1 SET some[WHERE {CREATE log; n != 3}].hit = true RETURN VALUE some; SELECT VALUE count() FROM log GROUP ALL",
			"[[{ hit: true, n: 1, open: true }, NONE, { n: 3, open: true }]] ;; [{ count: 2 }]"},
		{"depth", hiddenPlaces, "UPDATE t:1 SET deep.list[0].l[WHERE {THROW <string>$this}].x = 1", "ERR An error occurred: { a: 1 }"},
		{"what the statement set before", hiddenPlaces, "UPDATE t:1 SET items[0].a = 5, items[WHERE a = 5].hit = true RETURN VALUE items", "[[{ a: 5, hit: true }, { a: 2 }]]"},
		{"-= of what is seen", hiddenPlaces, "UPDATE t:1 SET items -= [{ a: 1 }] RETURN VALUE items; UPDATE t:1 SET items += [{ a: 2 }, { a: 3 }], items +?= [{ a: 3 }, { a: 4 }] RETURN VALUE items", "[[{ a: 2 }]] ;; [[{ a: 2 }, { a: 3 }, { a: 4 }]]"},
		{"indexes on the way are evaluated once", hiddenPlaces, "UPDATE t:1 SET list.*[{CREATE log; 0}] = 1 RETURN NONE; SELECT VALUE count() FROM log GROUP ALL", "[] ;; [{ count: 1 }]"},
		{"+= of a hidden number", hiddenPlaces, "UPDATE t:1 SET n += 1 RETURN NONE; UPDATE t:1 SET n -= 1 RETURN NONE", "[] ;; []"},
		{"a record that may be written only", hiddenPlaces, "UPDATE blind SET l[WHERE {THROW <string>$this}] = 1; UPDATE blind SET x = {THROW <string>s}", "[] ;; ERR An error occurred: NONE"},
		{"WHERE of a record that may be written only", hiddenPlaces, "UPDATE blind SET x = 1 WHERE {THROW <string>$this}; DELETE blind WHERE s = 'canary'; DELETE blind WHERE s != 'x'", "[] ;; [] ;; []"},
		{"PATCH of a record that may be written only", hiddenPlaces, "UPDATE blind PATCH [{ op: 'test', path: '/s', value: NONE }, { op: 'copy', from: '/s', path: '/x' }, { op: 'add', path: '/l/-', value: 1 }]", "[]"},
	})
	root, user := hiddenWorld(t, "record:acc:user:1", hiddenPlaces)
	mustExecute(t, user, "UPDATE t:1 SET list[WHERE true] = 1, items[WHERE a = 1].b = 2, n += 1; UPDATE t:1 UNSET some[WHERE true]; UPDATE blind PATCH [{ op: 'add', path: '/l/-', value: 1 }]")
	got := texts(mustExecute(t, root, "SELECT list, items, n, some FROM t:1; SELECT VALUE l FROM blind"))
	const want = "[{ items: [{ a: 1, b: 2, secret: 'canary' }, { a: 2 }], list: ['canary', 2], n: 9223372036854775807, some: [{ n: 'canary' }] }] ;; [['canary', 1]]"
	if got != want {
		t.Errorf("what is stored afterwards\ngot  %s\nwant %s", got, want)
	}
}

// The world of the list tests: user:1 sees no field named secret, and may not write those named kept.
const hiddenInLists = `
	DEFINE TABLE user PERMISSIONS FULL; CREATE user:1;
	DEFINE TABLE t CHANGEFEED 1h PERMISSIONS FULL;
	DEFINE FIELD items ON t TYPE option<array | set | object>; DEFINE FIELD items.secret ON t PERMISSIONS FOR select NONE;
	DEFINE FIELD items.kept ON t PERMISSIONS FOR create, update NONE;
	DEFINE FIELD o.p.secret ON t PERMISSIONS FOR select NONE; DEFINE FIELD l.*.secret ON t PERMISSIONS FOR select NONE;
	DEFINE FIELD gate.secret ON t PERMISSIONS FOR select WHERE $value = 'open';
	DEFINE INDEX items ON t FIELDS items.*.secret; DEFINE INDEX deep ON t FIELDS l.secret;
	CREATE t:1 SET items = [{ a: 1, secret: 'canary', kept: 'k' }, [{ a: 2, secret: 'canary' }], 3],
		o = [{ p: { b: 1, secret: 'canary' } }, { p: [{ b: 2, secret: 'canary' }] }],
		l = [[{ b: 1, secret: 'canary' }], { b: 2, secret: 'canary' }], gate = [{ secret: 'open' }, { secret: 'canary' }];
	CREATE t:2 SET items = <set>[{ a: 1, secret: 'canary' }]; DEFINE TABLE link PERMISSIONS FULL; CREATE link:1 SET to = t:2;
	DEFINE TABLE e TYPE RELATION PERMISSIONS FULL; RELATE link:1->e:1->t:2;
	DEFINE TABLE r PERMISSIONS FULL; DEFINE FIELD refs ON r TYPE option<array<record<t>>> REFERENCE;
	DEFINE FIELD OVERWRITE refs.* ON r TYPE record<t> PERMISSIONS FOR select WHERE $value = t:1; CREATE r:1 SET refs = [t:1, t:2];`

func TestPermissionsOfFieldsReachIntoLists(t *testing.T) {
	const two, empty = "{ gate: {  }, id: t:2, items: {{ a: 1 },}, o: { p: {  } } }", ", o: { p: {  } } }"
	checkHidden(t, "record:acc:user:1", []hiddenCase{
		{"SELECT", hiddenInLists, "SELECT VALUE items FROM t:1; SELECT VALUE o FROM t:1; SELECT VALUE l FROM t:1; SELECT VALUE gate FROM t:1",
			"[[{ a: 1, kept: 'k' }, [{ a: 2 }], 3]] ;; [[{ p: { b: 1 } }, { p: [{ b: 2 }] }]] ;; [[[{ b: 1 }], { b: 2 }]] ;; [[{ secret: 'open' }, {  }]]"},
		{"sets", hiddenInLists, "SELECT * FROM t:2", "[" + two + "]"},
		{"FETCH, links, edges", hiddenInLists, "SELECT VALUE to FROM link FETCH to; RETURN link:1.to.items; RETURN link:1->e->t.*; RETURN t:2.{ items }",
			"[" + two + "] ;; {{ a: 1 },} ;; [" + two + "] ;; { items: {{ a: 1 },} }"},
		{"WHERE by an index", hiddenInLists, "SELECT VALUE id FROM t WHERE items.*.secret = 'canary'; SELECT VALUE id FROM t WHERE items.*.secret CONTAINS 'canary'; SELECT VALUE id FROM t WHERE l.secret CONTAINS 'canary'", "[] ;; [] ;; []"},
		{"answers of writes", hiddenInLists, "UPDATE t:2 SET b = 1 RETURN BEFORE; UPDATE t:2 SET b = 2; UPDATE t:2 SET items = [{ a: 2 }] RETURN DIFF; DELETE t:2 RETURN BEFORE",
			"[" + two + "] ;; [{ b: 2, gate: {  }, id: t:2, items: {{ a: 1 },}" + empty + "] ;; [[{ op: 'replace', path: '/items', value: [{ a: 2 }] }]] ;; [{ b: 2, gate: {  }, id: t:2, items: [{ a: 2 }]" + empty + "]"},
		{"PATCH", hiddenInLists, "UPDATE t:1 PATCH [{ op: 'copy', from: '/items', path: '/x' }, { op: 'copy', from: '/items/0/secret', path: '/y' }] RETURN VALUE [x, y]", "ERR You don't have permission to read '/items' by PATCH"},
		{"PATCH of one of them", hiddenInLists, "UPDATE t:1 PATCH [{ op: 'copy', from: '/items/0/secret', path: '/y' }]; UPDATE t:1 PATCH [{ op: 'copy', from: '/items/0/a', path: '/y' }] RETURN VALUE y",
			"ERR You don't have permission to read '/items/0/secret' by PATCH ;; [1]"},
		{"an object that a writer makes a list", hiddenInLists, "UPSERT t:3 SET items = { a: 1, secret: 's' }; UPDATE t:3 SET items = [items, { secret: 's' }]; UPDATE t:3 SET items += [{ secret: 's', b: 1 }]",
			"[{ gate: {  }, id: t:3, items: { a: 1 }" + empty + "] ;; [{ gate: {  }, id: t:3, items: [{ a: 1 }, {  }]" + empty + "] ;; [{ gate: {  }, id: t:3, items: [{ a: 1 }, {  }, { b: 1 }]" + empty + "]"},
		{"create", hiddenInLists, "CREATE t:4 SET items = [{ a: 1, kept: 1 }, [{ kept: 2 }]]; CREATE t:5 SET items = <set>[{ kept: 1 }]; CREATE t:6 SET items = { kept: 1 }",
			"[{ gate: {  }, id: t:4, items: [{ a: 1 }, [{  }]]" + empty + "] ;; [{ gate: {  }, id: t:5, items: {{  },}" + empty + "] ;; [{ gate: {  }, id: t:6, items: {  }" + empty + "]"},
		{"update", hiddenInLists, "UPDATE t:1 SET items[0].kept = 'x' RETURN VALUE items[0]; UPDATE t:1 SET items = [{ a: 5 }, { kept: 6 }] RETURN VALUE items; UPDATE t:1 MERGE { items: [{ kept: 7 }] } RETURN VALUE items",
			"[{ a: 1, kept: 'k' }] ;; [[{ a: 5, kept: 'k' }, {  }]] ;; [[{ kept: 'k' }]]"},
		{"references", hiddenInLists, "RETURN [t:1<~r, t:2<~r]", "[[r:1], []]"},
	})
}

// The world of the edge tests: user:1 may not delete keep, may delete mine where its own, and does not see one end of half.
const hiddenEdges = `
	DEFINE TABLE user PERMISSIONS FULL; CREATE user:1; DEFINE TABLE node PERMISSIONS FULL; CREATE node:1, node:2, node:3;
	DEFINE TABLE keep TYPE RELATION PERMISSIONS FOR select, create FULL; DEFINE TABLE mine TYPE RELATION PERMISSIONS FOR select FULL, FOR delete WHERE by = $auth;
	RELATE node:1->keep:1->node:2; RELATE node:2->mine:1->node:1 SET by = user:1; RELATE node:2->mine:2->node:1 SET by = user:2;
	DEFINE TABLE half TYPE RELATION PERMISSIONS FULL; DEFINE FIELD OVERWRITE out ON half TYPE record PERMISSIONS FOR select NONE;
	RELATE node:1->half:1->node:2; DEFINE TABLE child PERMISSIONS FULL;
	DEFINE FIELD of ON child TYPE option<record<node>> REFERENCE ON DELETE CASCADE; CREATE child:1 SET of = node:3; RELATE child:1->keep:2->node:2;`

func TestEdgesAskTheirPermissions(t *testing.T) {
	checkHidden(t, "record:acc:user:1", []hiddenCase{
		{"DELETE of a node", hiddenEdges, "DELETE node:1; SELECT VALUE id FROM keep, mine", "[] ;; [keep:1, keep:2, mine:2]"},
		{"DELETE that cascades", hiddenEdges, "DELETE node:3; SELECT VALUE id FROM child; SELECT VALUE id FROM keep", "[] ;; [] ;; [keep:1, keep:2]"},
		{"the end that is seen", hiddenEdges, "RETURN [node:1->half, half:1<-node, half:1.in, <string> half:1->node]", "[[half:1], [node:1], node:1, '[]']"},
		{"the end that is hidden", hiddenEdges, "RETURN [node:1->half->node, node:1->half->?, node:2<-half, node:2<-half<-node, node:2<->half, half:1->?, half:1.out, node:1<->half<->node]",
			"[[], [], [], [], [], [], NONE, [node:1]]"},
		{"its clauses", hiddenEdges, "RETURN node:1->(half WHERE out = node:2); SELECT ->half->node AS x FROM node:1; SELECT * FROM node:1->half; RETURN node:1.{..}->half->node", "[] ;; [{ x: [] }] ;; [{ id: half:1, in: node:1 }] ;; []"},
	})
}

func TestRefusedWritesEvaluateNothing(t *testing.T) {
	const setup = `DEFINE TABLE user PERMISSIONS FULL; CREATE user:1; DEFINE TABLE t PERMISSIONS FULL; CREATE t:1, t:2;
		DEFINE TABLE hid PERMISSIONS NONE; CREATE hid:1; DEFINE TABLE rel TYPE RELATION PERMISSIONS NONE;`
	var cases []hiddenCase
	for _, c := range [][2]string{
		{"INSERT INTO hid { x: (CREATE t:80) }", "[]"}, {"INSERT INTO hid (id, x) VALUES (1, (CREATE t:80))", "[]"},
		{"INSERT IGNORE INTO hid { id: 1, x: (CREATE t:80) }", "[]"}, {"INSERT INTO hid { id: 1 } ON DUPLICATE KEY UPDATE x = (CREATE t:80)", "[]"},
		{"INSERT RELATION INTO rel { in: t:1, out: t:2, x: (CREATE t:80) }", "[]"}, {"INSERT INTO nowhere { x: (CREATE t:80) }", "[]"},
		{"LET $t = type::table('hid'); INSERT INTO $t { x: (CREATE t:80) }", "NONE ;; []"}, {"INSERT INTO hid { x: {THROW 'seen'} }", "[]"},
		{"UPSERT hid:1 SET x = (CREATE t:80)", "[]"}, {"UPSERT hid:2 SET x = (CREATE t:80)", "[]"}, {"UPSERT hid SET x = (CREATE t:80)", "[]"},
		{"UPSERT hid CONTENT { x: (CREATE t:80) } WHERE (CREATE t:81)", "[]"}, {"CREATE hid SET x = (CREATE t:80)", "[]"},
		{"UPDATE hid SET x = (CREATE t:80) WHERE (CREATE t:81)", "[]"}, {"DELETE hid WHERE (CREATE t:81)", "[]"},
		{"RELATE t:1->rel->t:2 SET x = (CREATE t:80)", "[]"}, {"RELATE (CREATE t:80)->rel->t:2", "[]"}, {"RELATE ONLY t:1->rel->t:2 SET x = (CREATE t:80)", "NONE"},
	} {
		cases = append(cases, hiddenCase{c[0], setup, c[0] + "; SELECT VALUE id FROM t", c[1] + " ;; [t:1, t:2]"})
	}
	checkHidden(t, "record:acc:user:1", cases)
}

func TestFilesAreCopiedWhereTheCallerMayPut(t *testing.T) {
	const setup = `DEFINE TABLE user PERMISSIONS FULL; CREATE user:1;
		DEFINE BUCKET wh BACKEND 'memory' PERMISSIONS WHERE file::key($file).starts_with('/pub'); f"wh:/pub/1".put('mine'); f"wh:/priv".put('secret');`
	const denied = "ERR IAM error: Not enough permissions to perform this action"
	var cases []hiddenCase
	for _, name := range []string{"copy", "copy_if_not_exists", "rename", "rename_if_not_exists"} {
		for _, to := range []string{"/priv", "/new"} {
			cases = append(cases, hiddenCase{name + " to " + to, setup, `f"wh:/pub/1".` + name + "('" + to + `'); RETURN <string> f"wh:/pub/1".get()`, denied + " ;; 'mine'"})
		}
		cases = append(cases, hiddenCase{name, setup, `f"wh:/pub/1".` + name + `('/pub/2'); RETURN <string> f"wh:/pub/2".get()`, "NONE ;; 'mine'"})
	}
	checkHidden(t, "record:acc:user:1", cases)
}

// The world of the error tests: what user:1 may not see holds a canary, in a value, a condition or an id.
const hiddenErrors = `
	DEFINE TABLE user PERMISSIONS FULL; CREATE user:1; DEFINE TABLE hid PERMISSIONS NONE; CREATE hid:canary SET v = 'canary';
	DEFINE TABLE asserted PERMISSIONS FULL; DEFINE FIELD secret ON asserted ASSERT $value < limit AND 'canary' != '' PERMISSIONS FOR select NONE;
	CREATE asserted:1 SET secret = 4242, limit = 9999;
	DEFINE TABLE coerced PERMISSIONS FULL; CREATE coerced:1 SET secret = 'canary'; DEFINE FIELD secret ON coerced TYPE int PERMISSIONS FOR select NONE;
	DEFINE TABLE guarded PERMISSIONS FOR select WHERE level + 1 > 3, FOR create, update, delete FULL; CREATE guarded:1 SET level = 'canary'; CREATE guarded:2 SET level = 5;
	DEFINE TABLE fields PERMISSIONS FULL; DEFINE FIELD f ON fields PERMISSIONS FOR select WHERE $value + 1 > 3, FOR update WHERE $before + 1 > 3; CREATE fields:1 SET f = 'canary'; CREATE fields:2 SET f = 5;
	DEFINE TABLE computed PERMISSIONS FULL; DEFINE FIELD secret ON computed PERMISSIONS FOR select NONE; CREATE computed:1 SET secret = 'canary'; DEFINE FIELD dbl ON computed COMPUTED secret * 2;
	DEFINE TABLE valued PERMISSIONS FULL; DEFINE FIELD secret ON valued PERMISSIONS FOR select NONE; CREATE valued:1 SET secret = 'canary'; DEFINE FIELD z ON valued VALUE secret * 2;
	DEFINE TABLE noted PERMISSIONS FULL; DEFINE EVENT e ON noted THEN { LET $c = (SELECT VALUE v FROM hid)[0]; CREATE hid SET x = $c * 2 };
	DEFINE TABLE noted2 PERMISSIONS FULL; DEFINE EVENT e ON noted2 THEN { CREATE hid:canary };
	DEFINE TABLE told PERMISSIONS FULL; DEFINE EVENT e ON told THEN { THROW 'no more than ten' };
	DEFINE TABLE cause PERMISSIONS FULL; CREATE cause:1, cause:2, cause:3, cause:4;
	DEFINE TABLE follows PERMISSIONS NONE; DEFINE FIELD then ON follows TYPE option<record<cause>> REFERENCE ON DELETE THEN { CREATE follows SET n = s * 2, s = (SELECT VALUE v FROM hid)[0] * 2 };
	CREATE follows:canary SET then = cause:1, s = 'canary';
	DEFINE FIELD must ON follows TYPE option<record<cause>> REFERENCE ON DELETE UNSET; DEFINE FIELD ok ON follows ASSERT s != 'canary' OR must != NONE OR then != NONE; CREATE follows:canary2 SET must = cause:2, s = 'canary';
	DEFINE FIELD goes ON follows TYPE option<record<cause>> REFERENCE ON DELETE CASCADE; CREATE follows:canary3 SET goes = cause:3, s = 'canary', must = cause:4;
	DEFINE TABLE stays PERMISSIONS NONE; DEFINE FIELD of ON stays TYPE option<record<follows>> REFERENCE ON DELETE REJECT; CREATE stays:canary SET of = follows:canary3;
	DEFINE TABLE blind PERMISSIONS FOR select NONE, FOR update, delete FULL; CREATE blind:canary SET n = 1; DEFINE FIELD n ON blind TYPE int ASSERT $value < 5;
	DEFINE TABLE viewed PERMISSIONS FULL; CREATE viewed:1 SET n = 1, secret = 4242; DEFINE FIELD secret ON viewed PERMISSIONS FOR select NONE;
	DEFINE TABLE sums AS SELECT math::sum(secret + n) AS s FROM viewed GROUP ALL PERMISSIONS NONE;
	DEFINE TABLE ixed PERMISSIONS FULL; DEFINE FIELD secret ON ixed PERMISSIONS FOR select NONE; CREATE ixed:1 SET secret = 5, n = 1; DEFINE INDEX c ON ixed COUNT WHERE secret * n > 1;
	DEFINE TABLE likes TYPE RELATION PERMISSIONS FULL; DEFINE FIELD OVERWRITE out ON likes TYPE record PERMISSIONS FOR select NONE; RELATE user:1->likes:1->hid:canary;
	DEFINE TABLE open PERMISSIONS FULL; DEFINE FIELD mail ON open TYPE string ASSERT string::is_email($value); DEFINE FIELD pass ON open PERMISSIONS FOR select NONE; DEFINE FIELD OVERWRITE pass ON open TYPE option<string> ASSERT $value = NONE OR $value.len() > 3 PERMISSIONS FOR select NONE;
	DEFINE FUNCTION fn::f() { 1 } PERMISSIONS WHERE (SELECT VALUE v FROM hid)[0] * 2; DEFINE PARAM $p VALUE 1 PERMISSIONS WHERE (SELECT VALUE v FROM hid)[0] * 2;
	DEFINE BUCKET b BACKEND 'memory' PERMISSIONS WHERE (SELECT VALUE v FROM hid)[0] * 2;`

func TestErrorsTellNothingHidden(t *testing.T) {
	const assert = "ERR Found a value for field `secret` that does not conform to the ASSERT of the field"
	const coerce = "ERR Couldn't coerce value for field `secret` of table `coerced` to the type of the field"
	const event = "ERR Error while processing event e"
	checkHidden(t, "record:acc:user:1", []hiddenCase{
		{"ASSERT", hiddenErrors, "UPDATE asserted:1 SET limit = 0; UPDATE asserted:1 SET secret += 99999; UPDATE asserted:1 SET limit = 'x', secret = [1]", assert + " ;; " + assert + " ;; " + assert},
		{"what the caller gave", hiddenErrors, "UPDATE asserted:1 MERGE { secret: 10000 }; UPDATE asserted:1 SET secret = 10000; CREATE asserted:2 SET secret = 3, limit = 2",
			"ERR Found 10000 for field `secret`, with record `asserted:1`, but field must conform to: the ASSERT of the field ;; " + assert +
				" ;; ERR Found 3 for field `secret`, with record `asserted:2`, but field must conform to: the ASSERT of the field"},
		{"ASSERT of what is seen", hiddenErrors, "CREATE open:1 SET mail = 'a'; CREATE open:1 SET mail = 'a@b.cd', pass = 'abc'; INSERT INTO open { id: 1, mail: 'x' }",
			"ERR Found 'a' for field `mail`, with record `open:1`, but field must conform to: the ASSERT of the field ;; ERR Found 'abc' for field `pass`, with record `open:1`, but field must conform to: the ASSERT of the field" +
				" ;; ERR Found 'x' for field `mail`, with record `open:1`, but field must conform to: the ASSERT of the field"},
		{"TYPE", hiddenErrors, "UPDATE coerced:1 SET pub = 2; UPDATE coerced:1 SET secret += 'x'; UPDATE coerced:1 MERGE { secret: 'mine' }",
			coerce + " ;; " + coerce + " ;; ERR Couldn't coerce value for field `secret` of `coerced:1`: Expected `int` but found `'mine'`"},
		{"PERMISSIONS of a table", hiddenErrors, "SELECT VALUE id FROM guarded; SELECT * FROM guarded:1; UPDATE guarded SET x = 1 RETURN VALUE id; SELECT count() FROM guarded GROUP ALL; RETURN guarded:1.level", "[guarded:2] ;; [] ;; [guarded:2] ;; [{ count: 1 }] ;; NONE"},
		{"a hostile record", hiddenErrors, "CREATE guarded:3 SET level = 'x' RETURN NONE; SELECT VALUE id FROM guarded", "[] ;; [guarded:2]"},
		{"PERMISSIONS of a field", hiddenErrors, "SELECT * FROM fields; UPDATE fields SET f = 9 RETURN f", "[{ id: fields:1 }, { f: 5, id: fields:2 }] ;; [{ f: NONE }, { f: 9 }]"},
		{"COMPUTED", hiddenErrors, "SELECT * FROM computed; UPDATE computed SET x = 1", "ERR The COMPUTED field `dbl` of table `computed` failed ;; ERR The COMPUTED field `dbl` of table `computed` failed"},
		{"VALUE", hiddenErrors, "UPDATE valued:1 SET x = 1", "ERR The VALUE of field `z` of table `valued` failed"},
		{"events", hiddenErrors, "CREATE noted:1; CREATE noted2:1; CREATE told:1", event + " ;; " + event + " ;; ERR Error while processing event e: An error occurred: no more than ten"},
		{"ON DELETE", hiddenErrors, "DELETE cause:1; DELETE cause:2; DELETE cause:3", "ERR Cannot delete `cause:1` as the ON DELETE clause of a record that refers to it failed ;; " +
			"ERR Cannot delete `cause:2` as the ON DELETE clause of a record that refers to it failed ;; ERR Cannot delete `cause:3` as the ON DELETE clause of a record that refers to it failed"},
		{"a record that may be written only", hiddenErrors, "UPDATE blind SET n = 9; UPDATE blind SET n = 'x'", "ERR Found a value for field `n` that does not conform to the ASSERT of the field ;; ERR Couldn't coerce value for field `n` of table `blind` to the type of the field"},
		{"views", hiddenErrors, "UPDATE viewed:1 SET n = 'x'", "ERR A view of table `viewed` cannot follow the change"},
		{"indexes", hiddenErrors, "UPDATE ixed:1 SET n = 'x'", "ERR The record does not fit the index `c`"},
		{"ends", hiddenErrors, "INSERT RELATION INTO likes { id: 1, in: user:1, out: user:1 } ON DUPLICATE KEY UPDATE x = 1; RELATE user:1->likes:1->user:1", "ERR Found another record for the `id` field, but a specific record has been specified ;; ERR Found another record for the `out` field, which does not match the existing field value"},
		{"functions, parameters, buckets", hiddenErrors, `RETURN fn::f(); RETURN $p; RETURN f"b:/a".get()`, "ERR You don't have permission to run the fn::f function ;; ERR You don't have permission to view the $p parameter ;; ERR IAM error: Not enough permissions to perform this action"},
	})
}
