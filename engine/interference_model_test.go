package engine_test

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/internal/onnxtest"
)

// modelSchema is what the worlds of composed statements have besides: rows for several batches, fields that models
// compute, and models that the user may call and may not.
const modelSchema = `
	DEFINE MODEL ml::shut<1.0.0> PERMISSIONS NONE; DEFINE MODEL ml::whose<1.0.0> PERMISSIONS WHERE $auth.id.uid = 1;
	DEFINE MODEL ml::other<1.0.0> PERMISSIONS WHERE $auth.id.uid = 2; DEFINE MODEL ml::empty<1.0.0>;
	DEFINE FIELD score ON p COMPUTED ml::units::celsius<1.0.0>(n ?? 0)[0];
	DEFINE FIELD unseen ON p COMPUTED ml::units::celsius<1.0.0>(secret ?? 0)[0] PERMISSIONS FOR select NONE;
	DEFINE TABLE rated PERMISSIONS FOR select WHERE ml::units::celsius<1.0.0>(n)[0] > 100;
	FOR $i IN 100..160 { CREATE type::record('p', 2 * $i) SET open = true, n = $i, link = p:2; };
	FOR $i IN 30..60 { CREATE type::record('rated', $i) SET n = IF $i > 40 THEN $i ELSE 30 END; };`

// modelHidden is the part of a variant; v is a number that it has in hidden places.
const modelHidden = `
	UPDATE p:220, p:260, p:2 SET secret = VAL, kept = VAL, boss = p:2, odd = 1; UPDATE rated:35 SET n = 1 - VAL;
	FOR $i IN 0..30 { CREATE type::record('p', 2 * $i + 221) SET open = false, n = VAL, secret = VAL; };
	CREATE hid:7 SET v = VAL; CREATE rated:1 SET n = 'x', secret = VAL;`

// modelRules compose statements that call models with what is hidden, and with what is seen.
var modelRules = map[string][]string{
	"path": {"n", "n", "secret", "kept", "odd", "twice", "score", "unseen", "boss.n", "link.n", "link.secret",
		"p:1.n", "p:221.n", "p:2.secret", "hid:7.v", "hid:7.v", "items[0].secret", "some[1].n", "obj.secret", "count(<~p)",
		"(SELECT VALUE secret FROM ONLY p:220)", "count(SELECT * FROM p)", "math::sum(SELECT VALUE secret FROM p)", "refs.len()"},
	"number": {"n", "n", "secret", "⟨path⟩", "⟨path⟩ ?? 1", "secret ?? 2", "(⟨path⟩ ?: 3)", "1"},
	"call": {"ml::units::celsius<1.0.0>(⟨number⟩)", "ml::house<0.0.1>([n, ⟨number⟩])", "ml::house<0.0.1>([⟨number⟩, n])",
		"ml::house<0.0.1>([n, secret])", "ml::house<0.0.1>({ area: n, floors: kept })",
		"ml::house<0.0.1>({ area: n, floors: ⟨number⟩ })", "ml::house<0.0.1>({ area: ⟨number⟩, floors: ⟨number⟩ })",
		"ml::⟨rare⟩<1.0.0>(⟨number⟩)"},
	"rare": {"shut", "whose", "other", "empty", "none", "units::celsius"},
	"expr": {"⟨call⟩", "⟨call⟩[0]", "⟨path⟩ ?? ⟨call⟩", "⟨path⟩ ?: ⟨call⟩", "IF ⟨path⟩ THEN ⟨call⟩ ELSE n END", "[⟨call⟩, ⟨path⟩]",
		"{ x: ⟨call⟩ }", "secret && ⟨call⟩", "kept || ⟨call⟩[0]", "unseen ?? score", "[⟨call⟩, ⟨call⟩]"},
	"from":  {"p", "p", "p", "p:2, p:220, p:260", "p:200..300", "(SELECT * FROM p)", "rated", "hid, p", "(SELECT n, secret FROM p)"},
	"where": {"", "", "WHERE n > 100", "WHERE ⟨call⟩[0] > 100", "WHERE secret = NONE AND ⟨call⟩[0] > 100", "WHERE ⟨path⟩ OR ⟨call⟩"},
	"tail":  {"", "", "ORDER BY x", "ORDER BY x DESC LIMIT 3", "LIMIT 40 START 2", "ORDER BY id LIMIT 20"},
	"select": {"SELECT id, ⟨expr⟩ AS x FROM ⟨from⟩ ⟨where⟩ ⟨tail⟩", "SELECT VALUE ⟨expr⟩ FROM ⟨from⟩ ⟨where⟩",
		"SELECT *, ⟨expr⟩ AS x FROM ⟨from⟩ ⟨where⟩ LIMIT 30", "SELECT math::sum(⟨call⟩[0] ?? 0) AS s, count() AS c FROM ⟨from⟩ ⟨where⟩ GROUP ALL",
		"SELECT ⟨call⟩ AS x, count() AS c FROM ⟨from⟩ GROUP BY x", "SELECT ⟨expr⟩ AS x, array::group(⟨call⟩) AS g FROM p GROUP BY x",
		"SELECT id FROM ⟨from⟩ ⟨where⟩", "EXPLAIN ANALYZE SELECT ⟨expr⟩ AS x FROM ⟨from⟩ ⟨where⟩", "RETURN ⟨call⟩", "SELECT * FROM rated",
		"RETURN (SELECT * FROM p).map(|$r| ml::house<0.0.1>([$r.n, $r.secret ?? 1]))", "INFO FOR DB", "SELECT VALUE [score, unseen] FROM p"},
	"write": {"UPDATE ⟨from⟩ SET m = ⟨expr⟩ ⟨where⟩ RETURN m", "CREATE p:50 SET open = true, m = ⟨call⟩ RETURN m",
		"DELETE p ⟨where⟩ RETURN VALUE id", "REMOVE MODEL ml::whose<1.0.0>", "DEFINE MODEL OVERWRITE ml::shut<1.0.0> PERMISSIONS FULL"},
	"text": {"⟨select⟩", "⟨select⟩", "⟨select⟩", "⟨select⟩", "⟨write⟩; SELECT m FROM p"},
}

// modelWorlds are sessions of the same user in variants that differ in what it may not see.
func modelWorlds(t *testing.T) (users []*engine.Session) {
	for _, v := range []string{"", "7", "90"} {
		hidden := composeHalf("p:9")
		if v != "" {
			hidden += composeHidden(v, "p:2") + strings.ReplaceAll(modelHidden, "VAL", v)
		}
		root, user := hiddenWorld(t, "record:acc:user:{ tenant: 'mine', uid: 1 }", composeSchema)
		for _, name := range []string{"celsius", "house"} {
			importModel(t, root, name)
		}
		for _, r := range mustExecute(t, root, modelSchema+hidden) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		importMade(t, root, "whose", 1, onnxtest.Linear(1))
		users = append(users, user)
	}
	return users
}

// TestModelsTellNothingHidden asks composed statements that call models. Those that only read run by themselves, where
// rows are computed together.
func TestModelsTellNothingHidden(t *testing.T) {
	n, seed := composeCount(t)
	users := modelWorlds(t)
	failed, answered, called := 0, 0, 0
	for i := range n {
		c := &composer{rand.New(rand.NewPCG(uint64(seed), uint64(i)))}
		text := c.fillFrom(modelRules, "⟨text⟩")
		ask := readAnswer
		if strings.Contains(text, "; ") {
			ask = composedAnswer
		}
		want, ok := ask(t, users[0], text)
		if !ok {
			continue
		}
		if answered++; !strings.Contains(want, "ERR ") {
			called++
		}
		for v, u := range users[1:] {
			got, _ := ask(t, u, text)
			if got == want {
				continue
			}
			if failed++; failed <= 10 {
				t.Errorf("seed %d, statement %d, variant %d: %s\n%s", seed, i, v+1, text, differing(want, got))
			}
			break
		}
	}
	t.Logf("%d statements, %d of them parse, %d without an error, %d tell something", n, answered, called, failed)
	if answered < n*9/10 || called < n/5 {
		t.Errorf("of %d statements only %d parse, and %d answer", n, answered, called)
	}
}

// readAnswer is composedAnswer without a transaction around the text.
func readAnswer(t *testing.T, s *engine.Session, text string) (string, bool) {
	t.Helper()
	res, err := s.Execute(context.Background(), text, nil)
	if err != nil {
		return "", false
	}
	return elapsed.ReplaceAllString(texts(res), "…"), true
}

// TestRecordUsersLearnNoModels: which models there are, and what is in their files, is not for record users.
func TestRecordUsersLearnNoModels(t *testing.T) {
	user := modelWorlds(t)[0]
	wantRefusal(t, user, "INFO FOR DB", "Not enough permissions")
	wantRefusal(t, user, "REMOVE MODEL ml::whose<1.0.0>", "Not enough permissions")
	wantRefusal(t, user, "ALTER MODEL ml::whose<1.0.0> PERMISSIONS FULL", "Not enough permissions")
	there := user.ExportModel(t.Context(), "house", "0.0.1", io.Discard)
	missing := user.ExportModel(t.Context(), "none", "1.0.0", io.Discard)
	if there == nil || missing == nil || there.Error() != missing.Error() {
		t.Errorf("export: %v for a model, %v for none", there, missing)
	}
	_, err := user.ImportModel(t.Context(), strings.NewReader(string(modelFile(t, "svml/logistic.svml"))))
	if err == nil || !strings.Contains(err.Error(), "Not enough permissions") {
		t.Errorf("import: %v", err)
	}
}
