package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// modelSetup has an index of every ordered kind, edges, references and a grouped view over one table.
const modelSetup = `
	DEFINE TABLE t; DEFINE TABLE r; DEFINE TABLE e;
	DEFINE INDEX n ON t FIELDS n; DEFINE INDEX nm ON t FIELDS n, m; DEFINE INDEX tags ON t FIELDS tags; DEFINE INDEX u ON t FIELDS u UNIQUE;
	DEFINE INDEX c ON t COUNT WHERE n > 1;
	DEFINE FIELD to ON r TYPE option<record<t>> REFERENCE ON DELETE UNSET;
	DEFINE TABLE v AS SELECT n, count() AS k, math::sum(m) AS s, math::max(m) AS hi FROM t GROUP BY n;
`

// TestWhatIsStoredTwiceAgrees runs random writes and then asks everything in two ways.
func TestWhatIsStoredTwiceAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkModel(t, "memory") })
}

// TestWhatIsStoredTwiceAgreesOnDisk is the same over the durable store: few runs, each syncs its writes.
func TestWhatIsStoredTwiceAgreesOnDisk(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		if n++; n > 10 {
			return
		}
		checkModel(t, fmt.Sprintf("bolt://%s/%d.db?sync=never", dir, n))
	})
}

func checkModel(t *rapid.T, dsn string) {
	e, err := engine.Open(context.Background(), dsn, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	s := e.RootSession()
	ask := func(text string) []engine.Result {
		res, err := s.Execute(context.Background(), text, nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return res
	}
	ask("USE NS n DB d;" + modelSetup)
	for range rapid.IntRange(1, 25).Draw(t, "writes") {
		text := randomWrite(t)
		for _, res := range ask(text) {
			if res.Err != nil && !expected(res.Err.Msg) {
				t.Fatalf("%s: %s", text, res.Err.Msg)
			}
		}
	}
	same := func(one, two string) {
		a, b := answer(t, ask(one)), answer(t, ask(two))
		if !slices.Equal(a, b) {
			t.Fatalf("%s: %v\n%s: %v", one, a, two, b)
		}
	}
	for i := range 4 {
		for _, where := range []string{"n = %d", "n > %d", "n <= %d", "n = %d AND m > 1", "tags CONTAINS %d", "tags = [%d]", "u = %d", "n IN [%d, 2]"} {
			w := fmt.Sprintf(where, i)
			same("SELECT VALUE id FROM t WHERE "+w, "SELECT VALUE id FROM t WITH NOINDEX WHERE "+w)
		}
		same(fmt.Sprintf("RETURN t:%d->e", i), fmt.Sprintf("SELECT VALUE id FROM e WHERE in = t:%d", i))
		same(fmt.Sprintf("RETURN t:%d<-e", i), fmt.Sprintf("SELECT VALUE id FROM e WHERE out = t:%d", i))
		same(fmt.Sprintf("RETURN t:%d<~r", i), fmt.Sprintf("SELECT VALUE id FROM r WHERE to = t:%d", i))
	}
	same("SELECT VALUE [n, k, s, hi] FROM v", "SELECT VALUE [n, k, <float> s, hi] FROM (SELECT n, count() AS k, math::sum(m) AS s, math::max(m) AS hi FROM t GROUP BY n)")
	same("RETURN [(SELECT VALUE count FROM ONLY (SELECT count() FROM t GROUP ALL)) ?? 0]", "RETURN [array::len((SELECT VALUE id FROM t))]")
}

// expected says which errors random writes may meet.
func expected(msg string) bool {
	for _, part := range []string{"already exists", "already contains", "does not match the existing", "due to a failed transaction", "due to a cancelled transaction", "aborted due to a prior error",
		"a specific record has been specified"} {
		if strings.Contains(msg, part) {
			return true
		}
	}
	return false
}

// answer is the elements of a result in a fixed order.
func answer(t *rapid.T, res []engine.Result) []string {
	last := res[len(res)-1]
	if last.Err != nil {
		t.Fatal(last.Err)
	}
	var out []string
	if last.Value.Kind() == value.KindArray {
		for _, v := range last.Value.Elems() {
			out = append(out, v.Text())
		}
	}
	slices.Sort(out)
	return out
}

func randomWrite(t *rapid.T) string {
	n := rapid.IntRange(0, 3)
	id := n.Draw(t, "id")
	data := fmt.Sprintf("n = %d, m = %d, tags = %s", n.Draw(t, "n"), n.Draw(t, "m"),
		rapid.SampledFrom([]string{"[]", "[0]", "[1, 1, 2]", "[3, 'x']", "[[1]]", "2", "NONE"}).Draw(t, "tags"))
	if rapid.Bool().Draw(t, "unique") {
		data += fmt.Sprintf(", u = %d", n.Draw(t, "u"))
	}
	other := n.Draw(t, "other")
	switch rapid.IntRange(0, 11).Draw(t, "kind") {
	case 0:
		return fmt.Sprintf("CREATE t:%d SET %s", id, data)
	case 1:
		return fmt.Sprintf("UPSERT t:%d SET %s", id, data)
	case 2:
		return fmt.Sprintf("UPSERT t SET id = %d, %s", id, data)
	case 3:
		return fmt.Sprintf("UPDATE t SET %s WHERE n = %d", strings.Split(data, ", u")[0], other)
	case 4:
		return fmt.Sprintf("UPDATE t:%d SET n += 1, tags += %d", id, other)
	case 5:
		return fmt.Sprintf("DELETE t:%d", id)
	case 6:
		return fmt.Sprintf("DELETE t WHERE m > %d AND tags CONTAINS %d", id, other)
	case 7:
		return fmt.Sprintf("INSERT INTO t [{id: %d, n: 1, m: 1, u: %d}, {id: %d, m: 2, n: 0}] ON DUPLICATE KEY UPDATE m = 3", id, other, other)
	case 8:
		return fmt.Sprintf("INSERT IGNORE INTO t [{id: %d, n: 1, m: 1, u: %d}, {id: %d, m: 2, n: 0, u: %d}]", id, other, other, id)
	case 9:
		return fmt.Sprintf("RELATE t:%d->e:%d->t:%d SET w = 1", id, rapid.IntRange(0, 5).Draw(t, "edge"), other)
	case 10:
		return fmt.Sprintf("UPSERT r:%d SET to = t:%d", id, other)
	}
	return fmt.Sprintf("BEGIN; UPDATE t SET m += 1; CREATE t:%d SET %s; DELETE e:%d; COMMIT", id, data, other)
}
