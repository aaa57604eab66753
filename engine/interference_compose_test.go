package engine_test

import (
	"context"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
)

// The composed statements ask a database that has three variants: they differ in what user:{tenant: 'mine', uid: 1} may not
// see, and in nothing else. composeHidden are the hidden parts of each.
const composeSchema = `
	DEFINE TABLE user PERMISSIONS FOR select WHERE id = $auth; CREATE user:{ tenant: 'mine', uid: 1 } SET tenant = 'other';
	DEFINE TABLE p PERMISSIONS FOR select, update, delete WHERE open, FOR create FULL;
	DEFINE FIELD secret ON p PERMISSIONS FOR select NONE; DEFINE FIELD kept ON p PERMISSIONS FOR select, update NONE;
	DEFINE FIELD obj ON p TYPE option<object | array>; DEFINE FIELD obj.secret ON p PERMISSIONS FOR select NONE;
	DEFINE FIELD items ON p TYPE option<array>; DEFINE FIELD items.secret ON p PERMISSIONS FOR select NONE;
	DEFINE FIELD deep.*.l.secret ON p PERMISSIONS FOR select NONE;
	DEFINE FIELD some ON p TYPE option<array>; DEFINE FIELD OVERWRITE some.* ON p PERMISSIONS FOR select WHERE $value.open;
	DEFINE FIELD odd ON p PERMISSIONS FOR select WHERE $value + 1 > 200;
	DEFINE FIELD link ON p TYPE option<record<p>> REFERENCE; DEFINE FIELD boss ON p TYPE option<record<p>> REFERENCE PERMISSIONS FOR select NONE;
	DEFINE FIELD refs ON p COMPUTED <~p; DEFINE FIELD twice ON p COMPUTED n * 2;
	DEFINE INDEX pn ON p FIELDS n; DEFINE INDEX ps ON p FIELDS secret; DEFINE INDEX pi ON p FIELDS items.secret; DEFINE INDEX pb ON p FIELDS boss; DEFINE INDEX pc ON p COUNT;
	DEFINE TABLE e TYPE RELATION PERMISSIONS FOR select, update, delete WHERE open, FOR create FULL;
	DEFINE TABLE half TYPE RELATION PERMISSIONS FULL; DEFINE FIELD OVERWRITE out ON half TYPE record PERMISSIONS FOR select NONE;
	DEFINE TABLE ten PERMISSIONS FOR select, update, delete WHERE id.tenant = $auth.id.tenant; DEFINE INDEX ti ON ten FIELDS id.tenant;
	DEFINE TABLE err PERMISSIONS FOR select, update, delete WHERE n + 1 > 3, FOR create NONE;
	DEFINE TABLE blind PERMISSIONS FOR select NONE, FOR update, delete FULL; DEFINE FIELD n ON blind TYPE int;
	DEFINE TABLE hid PERMISSIONS NONE; DEFINE EVENT noted ON p WHEN $event = 'UPDATE' THEN { CREATE hid SET of = $before.id; };
	DEFINE TABLE log PERMISSIONS FULL;
	DEFINE FUNCTION fn::secrets() { SELECT secret, items FROM p };
	CREATE p:2 SET open = true, n = 2, obj = { a: 1 }, items = [{ a: 1 }, { a: 2 }], some = [{ open: true, n: 1 }, { n: 0 }], deep = [{ l: [{ a: 1 }] }], link = p:3, links = [p:1, p:4];
	CREATE p:4 SET open = true, n = 4, obj = [{ a: 1 }, { a: 2 }], items = [], link = p:2, links = [p:2, p:3], set = <set>[1, 2], text = 'fish';
	CREATE p:{ k: 6, n: 7 } SET open = true, n = 6, k = 'body', link = p:2;
	CREATE ten:{ tenant: 'mine', n: 1 } SET n = 1, tenant = 'x'; CREATE err:2 SET n = 5; CREATE blind:1 SET n = 1;
	RELATE p:2->e:2->p:4 SET open = true, n = 1; RELATE p:4->e:4->p:2 SET open = true, n = 2; RELATE p:2->e:5->p:{ k: 6, n: 7 } SET open = true;`

// composeHidden makes a variant; v is a value that it has in hidden places.
func composeHidden(v string, other string) string {
	return strings.NewReplacer("VAL", v, "OTHER", other).Replace(`
	UPDATE p:2 SET secret = VAL, kept = VAL, obj.secret = VAL, items[0].secret = VAL, some[1].n = VAL, deep[0].l[0].secret = VAL, boss = OTHER, odd = 100;
	UPDATE p:4 SET secret = 3, kept = 9223372036854775807, obj[1].secret = VAL, boss = p:2, odd = VAL; UPDATE blind:1 SET s = VAL, n = 5, l = [VAL];
	CREATE p:1 SET open = false, n = 1, link = p:2, secret = VAL, links = [p:2]; CREATE p:3 SET open = false, n = VAL, link = p:4 RETURN NONE;
	RELATE p:2->e:1->p:1 SET open = false, n = VAL; RELATE p:4->e:3->OTHER SET open = false; RELATE OTHER->e:7->p:2 SET open = false;
	CREATE ten:{ tenant: 'other', n: 2 } SET n = VAL, tenant = 'mine'; CREATE ten:{ tenant: VAL, n: 3 } SET tenant = 'mine';
	CREATE err:1 SET n = 'no number'; CREATE err:3 SET n = 1; CREATE hid:1 SET v = VAL; CREATE hid:2 SET v = OTHER; DELETE log;`)
}

// composeHalf is the end that each variant has of an edge whose out is hidden.
func composeHalf(end string) string {
	return "RELATE p:2->half:1->" + end + "; RELATE p:4->half:2->" + end + ";"
}

// composer makes statements of parts that grammar rules choose by chance.
type composer struct{ rand *rand.Rand }

func (c *composer) one(of ...string) string { return of[c.rand.IntN(len(of))] }

// fill replaces each ⟨rule⟩ of a text by one of its alternatives, by one of its leaves where depth is used up.
func (c *composer) fill(text string, depth int) string {
	for range 60 {
		open := strings.Index(text, "⟨")
		if open < 0 {
			return text
		}
		end := strings.Index(text, "⟩")
		name := text[open+len("⟨") : end]
		of := composeRules[name]
		if depth <= 0 && composeLeaves[name] != nil {
			of = composeLeaves[name]
		}
		depth--
		text = text[:open] + c.one(of...) + text[end+len("⟩"):]
	}
	return strings.NewReplacer("⟨expr⟩", "n", "⟨path⟩", "n", "⟨value⟩", "1", "⟨place⟩", "m", "⟨where⟩", "", "⟨cond⟩", "true").Replace(text)
}

// composeLeaves are the rules once a statement is deep enough.
var composeLeaves = map[string][]string{
	"expr": {"n", "secret", "⟨path⟩", "⟨value⟩"}, "path": {"secret", "n", "items", "link", "obj.secret"}, "cond": {"true", "secret = 5"},
	"elem": {"secret", "a", "$this"}, "from": {"p"}, "where": {""}, "place": {"m"}, "set": {"m = 1"},
}

var composeRules = map[string][]string{
	"value": {"[{ a: 1 }]", "5", "1", "'canary'", "NONE", "true", "[1]", "p:1", "p:2", "p:9", "{ a: 1 }", "'x'", "0", "[p:1, p:2]"},
	"name":  {"n", "secret", "kept", "obj", "items", "some", "deep", "link", "links", "boss", "refs", "twice", "odd", "set", "text", "id", "k", "in", "out", "tenant", "s", "l"},
	"path":  {"⟨name⟩", "⟨name⟩.⟨name⟩", "⟨name⟩⟨dot⟩", "⟨name⟩⟨dot⟩⟨dot⟩", "⟨link⟩⟨dot⟩", "⟨link⟩⟨dot⟩⟨dot⟩", "->e->p⟨dot⟩", "->half⟨dot⟩", "<~p⟨dot⟩", "$this⟨dot⟩", "id⟨dot⟩", "$auth⟨dot⟩", "@⟨dot⟩"},
	"dot": {".n", ".secret", ".id", ".*", ".k", "[0]", "[1]", "[$]", "[WHERE ⟨elem⟩]", "[WHERE ⟨elem⟩ = ⟨value⟩]", "->e", "->e->p", "<-e<-p", "<->e<->p", "->half", "->half->p", "<-half<-p",
		"<~p", "<~(p FIELD boss)", "<~(p WHERE ⟨elem⟩)", "->(e WHERE ⟨elem⟩)", "->(SELECT * FROM e)", "->(SELECT ⟨elem⟩ AS y, count() FROM half GROUP BY y)", ".{ n, secret, id }", ".{ secret, x: ⟨elem⟩ }", ".items.secret",
		".{..2}.link", ".{1..2}->e->p", ".{..+collect}->e->p", ".{..+path}(.link)", ".len()", ".keys()", ".exists()", ".map(|$i| $i.secret)", ".flatten()", "['secret']", ".tenant", ".id.tenant", ".refs", ".boss", ".obj.secret", ".out", ".in"},
	"link": {"link", "links", "boss", "p:1", "p:2", "p:3", "p:{ k: 6, n: 7 }", "e:1", "e:2", "half:1", "ten:{ tenant: 'other', n: 2 }", "ten:{ tenant: 'mine', n: 1 }", "blind:1", "err:1", "hid:1", "[p:1, p:2, p:4]"},
	"elem": {"secret", "a", "$this", "n", "open", "⟨elem⟩ = ⟨value⟩", "{THROW <string> $this}", "{THROW <string> secret}", "(SELECT VALUE secret FROM p)[0]", "$this.secret", "string::len(<string> $this) > 3", "$parent.secret", "{CREATE log RETURN NONE; true}", "id", "out"},
	"expr": {"⟨path⟩", "⟨path⟩", "⟨path⟩", "⟨value⟩", "⟨path⟩ = ⟨value⟩", "⟨path⟩ + 1", "1 / ⟨path⟩", "<string> ⟨path⟩", "<int> ⟨path⟩", "[⟨expr⟩, ⟨path⟩]", "{ x: ⟨expr⟩ }", "count(⟨path⟩)", "⟨path⟩ ?? 'none'", "⟨path⟩ CONTAINS ⟨value⟩", "⟨path⟩ IN ⟨path⟩",
		"IF ⟨expr⟩ { 1 } ELSE { 2 }", "{ IF ⟨expr⟩ { THROW 'seen' } ELSE { 1 } }", "{THROW <string> ⟨path⟩}", "array::flatten([⟨path⟩])", "string::len(<string> ⟨path⟩)", "type::of(⟨path⟩)", "math::sum([⟨path⟩])", "object::keys(⟨path⟩)", "⟨path⟩ > ⟨value⟩",
		"(SELECT VALUE ⟨path⟩ FROM ⟨from⟩)", "(SELECT ⟨expr⟩ AS y FROM ⟨from⟩ ⟨where⟩)", "(SELECT * FROM $parent.link)", "(SELECT VALUE secret FROM p WHERE id = $parent.link)", "type::field('secret')", "fn::secrets()", "record::exists(p:1)", "{CREATE log RETURN NONE; 1}",
		"!⟨path⟩", "⟨path⟩ AND ⟨path⟩", "value::diff(⟨path⟩, ⟨path⟩)", "encoding::json::encode(⟨path⟩)", "⟨path⟩ = ⟨path⟩", "$before.⟨name⟩", "$after.⟨name⟩", "$parent.⟨name⟩", "$value", "|$x| ⟨path⟩", "array::group([⟨path⟩])", "<set> [⟨path⟩]"},
	"from":   {"p", "p", "p:1", "p:2", "p:1..9", "[p:1, p:2, p:4]", "p:2->e", "p:2->e->p", "p:4<-half", "p:2->half->p", "p:4<~p", "e", "half", "ten", "err", "blind", "hid", "ONLY p:2", "p, e", "(SELECT * FROM p)", "$auth", "p:2.links", "p:{ k: 6, n: 7 }", "ten:{ tenant: 'other', n: 2 }", "(SELECT ⟨expr⟩ AS n, secret, id FROM p)"},
	"target": {"p", "p", "p:1", "p:2", "p:4", "p:1..9", "[p:1, p:2]", "p:2->e", "p:4->e->p", "p:2<~p", "e", "half", "half:1", "ten", "err", "blind", "blind:1", "hid", "p:{ k: 6, n: 7 }", "(SELECT VALUE id FROM p ⟨where⟩)", "e:1", "ten:{ tenant: 'other', n: 2 }"},
	"where":  {"", "", "WHERE ⟨expr⟩", "WHERE ⟨expr⟩", "WHERE ⟨name⟩ = ⟨value⟩", "WHERE ⟨path⟩ = ⟨value⟩ AND ⟨expr⟩", "WHERE items.secret CONTAINS 'canary'", "WHERE secret > 1", "WHERE boss = p:2", "WHERE id.tenant = 'other'", "WHERE n > 0"},
	"tail":   {"", "", "", "ORDER BY x", "ORDER BY x DESC LIMIT 2", "LIMIT 1", "LIMIT 2 START 1", "FETCH link", "FETCH links, boss", "SPLIT x", "GROUP BY x", "GROUP ALL", "ORDER BY x FETCH x", "SPLIT x ORDER BY x LIMIT 3", "EXPLAIN", "EXPLAIN ANALYZE", "WITH NOINDEX"},
	"select": {"SELECT ⟨expr⟩ AS x FROM ⟨from⟩ ⟨where⟩ ⟨tail⟩", "SELECT *, ⟨expr⟩ AS x FROM ⟨from⟩ ⟨where⟩ ⟨tail⟩", "SELECT VALUE ⟨expr⟩ FROM ⟨from⟩ ⟨where⟩", "SELECT ⟨expr⟩ AS x, count(), math::sum(⟨path⟩) AS s FROM ⟨from⟩ ⟨where⟩ GROUP BY x",
		"SELECT count() FROM ⟨from⟩ ⟨where⟩ GROUP ALL", "SELECT count(⟨expr⟩), array::group(⟨path⟩) AS g FROM ⟨from⟩ GROUP ALL", "SELECT * OMIT ⟨name⟩ FROM ⟨from⟩ ⟨where⟩", "SELECT * FROM ⟨from⟩ ⟨where⟩ SPLIT ⟨name⟩", "SELECT * FROM ⟨from⟩ ⟨where⟩ ORDER BY ⟨name⟩",
		"SELECT ⟨path⟩ FROM ⟨from⟩ ⟨where⟩", "SELECT * FROM ⟨from⟩ WITH INDEX ps ⟨where⟩", "SELECT * FROM ⟨from⟩ ⟨where⟩ FETCH ⟨name⟩, ⟨name⟩", "SELECT * FROM ⟨from⟩ VERSION d'2020-01-01T00:00:00Z'", "RETURN ⟨expr⟩", "RETURN ⟨link⟩⟨dot⟩", "RETURN ⟨link⟩⟨dot⟩⟨dot⟩", "RETURN (SELECT * FROM ⟨from⟩ ⟨where⟩)⟨dot⟩",
		"FOR $r IN (SELECT * FROM ⟨from⟩) { UPDATE $r.id SET ⟨set⟩ }", "LET $r = (SELECT * FROM ⟨from⟩ ⟨where⟩); RETURN $r⟨dot⟩", "IF (SELECT * FROM ⟨from⟩ ⟨where⟩) { RETURN 'seen' } ELSE { RETURN ⟨expr⟩ }"},
	"place": {"m", "n", "secret", "kept", "obj.a", "obj.secret", "obj.secret.x", "items[0].a", "items[0].secret", "items.a", "items.*.a", "items[WHERE ⟨elem⟩].hit", "items[WHERE ⟨elem⟩]", "some[WHERE ⟨elem⟩].hit", "some[1].n", "some[$]", "some.*.x", "deep[0].l[WHERE ⟨elem⟩].x", "deep.*.l[WHERE ⟨elem⟩].secret",
		"obj[WHERE ⟨elem⟩].a", "secret[WHERE ⟨elem⟩].x", "kept[0]", "secret.*", "items[{CREATE log RETURN NONE; 0}].a", "secret.*[{CREATE log RETURN NONE; 0}]", "link", "links", "l[WHERE ⟨elem⟩]", "s", "open", "deep.*.l.*.x", "odd"},
	"op":     {"=", "=", "=", "+=", "-=", "+?="},
	"set":    {"⟨place⟩ ⟨op⟩ ⟨expr⟩", "⟨place⟩ ⟨op⟩ ⟨value⟩", "⟨place⟩ ⟨op⟩ ⟨value⟩, ⟨place⟩ ⟨op⟩ ⟨expr⟩", "m = ⟨expr⟩", "items[WHERE ⟨elem⟩].a ⟨op⟩ ⟨value⟩, m = ⟨expr⟩"},
	"data":   {"SET ⟨set⟩", "SET ⟨set⟩", "UNSET ⟨place⟩", "UNSET ⟨place⟩, ⟨place⟩", "CONTENT { open: true, n: 2, m: ⟨expr⟩ }", "MERGE { m: ⟨expr⟩, ⟨name2⟩: ⟨value⟩ }", "REPLACE { open: true, n: 3, m: ⟨expr⟩ }", "PATCH [⟨patch⟩]", "PATCH [⟨patch⟩, ⟨patch⟩]", "CONTENT $this", "MERGE { items: [{ a: 1 }, { a: ⟨expr⟩ }] }", "CONTENT { open: true, n: 1, items: items, obj: obj, some: some }"},
	"name2":  {"secret", "kept", "obj", "items", "some", "link", "x", "odd"},
	"ptr":    {"/secret", "/m", "/items/0/secret", "/items/0/a", "/items/-", "/obj", "/obj/secret", "", "/some/1", "/some/1/n", "/kept", "/deep/0/l/0", "/link", "/n", "/s", "/l/0", "/items", "/deep"},
	"patch":  {"{ op: 'copy', from: '⟨ptr⟩', path: '⟨ptr⟩' }", "{ op: 'move', from: '⟨ptr⟩', path: '⟨ptr⟩' }", "{ op: 'test', path: '⟨ptr⟩', value: ⟨value⟩ }", "{ op: 'add', path: '⟨ptr⟩', value: ⟨value⟩ }", "{ op: 'replace', path: '⟨ptr⟩', value: ⟨expr⟩ }", "{ op: 'remove', path: '⟨ptr⟩' }", "{ op: 'change', path: '⟨ptr⟩', value: '@@ -1,3 +1,3 @@\\n can\\n-a\\n+b\\n' }"},
	"return": {"", "", "RETURN BEFORE", "RETURN DIFF", "RETURN NONE", "RETURN NULL", "RETURN ⟨expr⟩ AS x", "RETURN VALUE ⟨expr⟩", "RETURN $before.⟨name⟩ AS b, $after.⟨name⟩ AS a", "RETURN ⟨path⟩"},
	"write": {"UPDATE ⟨target⟩ ⟨data⟩ ⟨where⟩ ⟨return⟩", "UPDATE ⟨target⟩ ⟨data⟩ ⟨return⟩", "UPDATE ⟨target⟩ ⟨data⟩ ⟨where⟩ ⟨return⟩", "UPSERT p:2 ⟨data⟩ ⟨return⟩", "UPSERT p ⟨data⟩ WHERE id = p:2 AND ⟨expr⟩ ⟨return⟩", "DELETE ⟨target⟩ ⟨where⟩ ⟨return⟩", "DELETE ⟨target⟩ RETURN BEFORE",
		"INSERT INTO p { id: 2, open: true } ON DUPLICATE KEY UPDATE ⟨set⟩ ⟨return⟩", "INSERT INTO p [{ id: 50, open: true, n: ⟨expr⟩ }, { id: 4, open: true }] ON DUPLICATE KEY UPDATE ⟨set⟩ ⟨return⟩", "INSERT IGNORE INTO p { id: 2, m: ⟨expr⟩ } ⟨return⟩", "CREATE p:50 SET open = true, n = 1, m = ⟨expr⟩ ⟨return⟩",
		"CREATE p:50 CONTENT { open: true, n: 1, items: [{ a: 1, secret: ⟨expr⟩ }], link: p:1 } ⟨return⟩", "RELATE p:2->e:50->⟨end⟩ SET open = true, m = ⟨expr⟩ ⟨return⟩", "RELATE p:2->half:50->⟨end⟩ SET m = ⟨expr⟩ ⟨return⟩", "INSERT INTO hid { id: 50, x: ⟨expr⟩ }", "INSERT RELATION INTO e { id: 50, in: p:2, out: ⟨end⟩, open: true } ⟨return⟩",
		"INSERT RELATION INTO half { id: 1, in: p:2, out: ⟨end⟩ } ON DUPLICATE KEY UPDATE ⟨set⟩ ⟨return⟩", "EXPLAIN UPDATE ⟨target⟩ SET m = 1 ⟨where⟩", "UPSERT ⟨known⟩ MERGE { m: ⟨expr⟩ } WHERE id != NONE AND id IN [p:2, p:4] ⟨return⟩"},
	"known": {"p:2", "p:4", "p", "half", "[p:2, p:4]", "e:2"},
	"end":   {"p:1", "p:2", "p:4", "(SELECT VALUE id FROM p)", "links", "p:3"},
	"after": {"SELECT * FROM p", "SELECT * FROM p, e, half, ten, err", "SELECT count() FROM p GROUP ALL; SELECT count() FROM log GROUP ALL", "SELECT * FROM log.map(|$l| 1)", "SELECT ->e->p AS x, ->half AS h, <~p AS r FROM p", "RETURN count(SELECT * FROM log)", "SELECT secret, kept, items FROM p"},
	"text":  {"⟨select⟩", "⟨write⟩; ⟨after⟩; RETURN count(SELECT * FROM log)", "⟨write⟩; ⟨after⟩; ⟨after⟩; RETURN count(SELECT * FROM log)", "⟨write⟩; ⟨write⟩; ⟨after⟩", "⟨write⟩; ⟨select⟩"},
}

// composeCount is how many statements are composed; NACRE_INTERFERENCE sets another number, NACRE_INTERFERENCE_SEED the
// first of the seeds.
func composeCount(t *testing.T) (n, seed int) {
	n, seed = 1500, 1
	for name, to := range map[string]*int{"NACRE_INTERFERENCE": &n, "NACRE_INTERFERENCE_SEED": &seed} {
		if text := os.Getenv(name); text != "" {
			v, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			*to = v
		}
	}
	return n, seed
}

// composeWorlds are sessions of the same user in the three variants.
func composeWorlds(t *testing.T) (users []*engine.Session, roots []*engine.Session) {
	for _, hidden := range []string{
		composeHalf("p:9"), composeHalf("p:1") + composeHidden("'canary'", "p:4"), composeHalf("hid:1") + composeHidden("7", "p:2"),
	} {
		root, user := hiddenWorld(t, "record:acc:user:{ tenant: 'mine', uid: 1 }", composeSchema+hidden)
		users, roots = append(users, user), append(roots, root)
	}
	return users, roots
}

// TestComposedStatementsTellNothingHidden asks statements that grammar rules compose, in a transaction each that is
// cancelled: the answers and errors must be the same in all variants.
func TestComposedStatementsTellNothingHidden(t *testing.T) {
	n, seed := composeCount(t)
	worlds, _ := composeWorlds(t)
	failed, parsed := 0, 0
	for i := range n {
		c := &composer{rand.New(rand.NewPCG(uint64(seed), uint64(i)))}
		text := c.fill("⟨text⟩", 12)
		want, ok := composedAnswer(t, worlds[0], text)
		if !ok {
			continue
		}
		parsed++
		for v, w := range worlds[1:] {
			got, _ := composedAnswer(t, w, text)
			if got == want && !strings.Contains(got, "canary\"") {
				continue
			}
			if failed++; failed <= 10 {
				t.Errorf("seed %d, statement %d, variant %d: %s\n%s", seed, i, v+1, text, differing(want, got))
			}
			break
		}
	}
	t.Logf("%d statements, %d of them parse, %d tell something", n, parsed, failed)
	if parsed < n/2 {
		t.Errorf("only %d of %d statements parse", parsed, n)
	}
}

// composedAnswer is what a text answers in a transaction; false where it does not parse.
func composedAnswer(t *testing.T, s *engine.Session, text string) (string, bool) {
	t.Helper()
	ctx := context.Background()
	tx, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Cancel(ctx) }()
	res, err := tx.Execute(ctx, text, nil)
	if err != nil {
		return "", false
	}
	return generated.ReplaceAllString(elapsed.ReplaceAllString(texts(res), "…"), "new:…"), true
}

// differing shows where two answers part.
func differing(without, with string) string {
	at := 0
	for at < len(without) && at < len(with) && without[at] == with[at] {
		at++
	}
	from := max(0, at-80)
	cut := func(s string) string { return s[from:min(len(s), at+160)] }
	return "without …" + cut(without) + "…\nwith    …" + cut(with) + "…"
}

// generated are the ids of records that statements make without naming them.
var generated = regexp.MustCompile(`\b[a-z]+:[0-9a-z]{20}\b`)
