package engine_test

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"pgregory.net/rapid"
)

// TestIndexesDoNotChangeAnswers: for any data and condition, a query answers the same rows with and without
// the indexes of its table.
func TestIndexesDoNotChangeAnswers(t *testing.T) {
	scalar := rapid.SampledFrom([]string{"1", "2", "3f", "2dec", "'a'", "'b'", "NONE", "NULL", "true", "1h", "t:1",
		"d'2024-01-01T00:00:00Z'", "-1", "1.5", "'1'"})
	any := rapid.OneOf(scalar, rapid.Map(rapid.SliceOfN(scalar, 0, 3), func(s []string) string { return "[" + strings.Join(s, ", ") + "]" }))
	field := rapid.SampledFrom([]string{"a", "b", "tags", "o.x", "id"})
	op := rapid.SampledFrom([]string{"=", "==", "!=", "<", "<=", ">", ">=", "IN", "NOT IN", "CONTAINS", "CONTAINSANY", "CONTAINSALL"})
	rapid.Check(t, func(rt *rapid.T) {
		e := openQuiet(t)
		defer e.Close(context.Background())
		s := owner(t, e)
		var setup strings.Builder
		setup.WriteString("DEFINE TABLE t; DEFINE INDEX ia ON t FIELDS a; DEFINE INDEX iab ON t FIELDS a, b; DEFINE INDEX it ON t FIELDS tags;" +
			"DEFINE INDEX ix ON t FIELDS o.x; DEFINE INDEX ib ON t FIELDS b;")
		for i := range rapid.IntRange(1, 12).Draw(rt, "rows") {
			fmt.Fprintf(&setup, "CREATE t:%d SET a = %s, b = %s, tags = %s, o = { x: %s };", i,
				any.Draw(rt, "a"), scalar.Draw(rt, "b"), any.Draw(rt, "tags"), scalar.Draw(rt, "x"))
		}
		run(t, s, setup.String())
		condition := func(label string) string {
			l, r := field.Draw(rt, label+" field"), any.Draw(rt, label+" value")
			o := op.Draw(rt, label+" op")
			if rapid.Bool().Draw(rt, label+" mirrored") {
				l, r = r, l
			}
			return l + " " + o + " " + r
		}
		where := condition("first")
		for i := range rapid.IntRange(0, 2).Draw(rt, "more") {
			where += rapid.SampledFrom([]string{" AND ", " OR "}).Draw(rt, "link") + condition(fmt.Sprint(i))
		}
		with, without := ids(t, s, "", where), ids(t, s, "WITH NOINDEX", where)
		if with != without {
			rt.Fatalf("WHERE %s\nwith indexes    %s\nwithout indexes %s\n%s", where, with, without, setup.String())
		}
	})
}

// TestOrderFromAnIndexIsTheOrderOfASort: with and without the index, forwards and backwards, with START and LIMIT.
func TestOrderFromAnIndexIsTheOrderOfASort(t *testing.T) {
	scalar := rapid.SampledFrom([]string{"1", "2", "2f", "3", "'a'", "'b'", "NONE", "NULL", "true", "[1]", "[2, 1]", "t:1"})
	rapid.Check(t, func(rt *rapid.T) {
		e := openQuiet(t)
		defer e.Close(context.Background())
		s := owner(t, e)
		var setup strings.Builder
		setup.WriteString("DEFINE TABLE t; DEFINE INDEX ia ON t FIELDS a; DEFINE INDEX iab ON t FIELDS b, o.x;")
		for i := range rapid.IntRange(0, 15).Draw(rt, "rows") {
			fmt.Fprintf(&setup, "CREATE t:%d SET a = %s, b = %s, o = { x: %s };", i,
				scalar.Draw(rt, "a"), scalar.Draw(rt, "b"), scalar.Draw(rt, "x"))
		}
		run(t, s, setup.String())
		desc := rapid.SampledFrom([]string{"", " DESC"}).Draw(rt, "direction")
		order := rapid.SampledFrom([]string{"a" + desc, "b" + desc, "b" + desc + ", o.x" + desc, "id" + desc}).Draw(rt, "order")
		where := rapid.SampledFrom([]string{"", " WHERE a != 2", " WHERE o.x"}).Draw(rt, "where")
		tail := fmt.Sprintf("%s ORDER BY %s LIMIT %d START %d", where, order, rapid.IntRange(0, 10).Draw(rt, "limit"), rapid.IntRange(0, 4).Draw(rt, "start"))
		with := run(t, s, "SELECT id, a, b, o.x FROM t"+tail)[0].Value.Text()
		without := run(t, s, "SELECT id, a, b, o.x FROM t WITH NOINDEX"+tail)[0].Value.Text()
		if with != without {
			rt.Fatalf("%s\nwith indexes    %s\nwithout indexes %s\n%s", tail, with, without, setup.String())
		}
	})
}

func ids(t *testing.T, s *engine.Session, hint, where string) string {
	t.Helper()
	res, err := s.Execute(context.Background(), "SELECT VALUE id FROM t "+hint+" WHERE "+where, nil)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	if res[0].Err != nil {
		return "error " + res[0].Err.Msg
	}
	var out []string
	for _, v := range res[0].Value.Elems() {
		out = append(out, v.Text())
	}
	sort.Strings(out)
	return strings.Join(out, " ")
}

// TestContainsFindsPartsOfUUIDs: an index knows no parts of texts, and must not hide those that contain one.
func TestContainsFindsPartsOfUUIDs(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, `DEFINE INDEX a ON t FIELDS a; CREATE t:1 SET a = u'018a6680-bef9-701b-9025-e1754f296a0f'; CREATE t:2 SET a = 'x0fx';
		CREATE t:3 SET a = ['0f']; CREATE t:4 SET a = 15; CREATE t:5 SET a = u'018a6680-bef9-701b-9025-e1754f296a00'; CREATE t:6 SET a = [15]`)
	for _, cond := range []string{"a CONTAINS '0f'", "'0f' IN a"} {
		want := run(t, s, "SELECT VALUE id FROM t WITH NOINDEX WHERE "+cond+" ORDER BY id")[0].Value.Text()
		got := run(t, s, "SELECT VALUE id FROM t WHERE "+cond+" ORDER BY id")[0].Value.Text()
		if want != "[t:1, t:2, t:3]" || got != want {
			t.Errorf("%s: with the index %s, without %s", cond, got, want)
		}
	}
}
