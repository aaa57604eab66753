package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// unpacked makes the answers of ExecutePacked those of Execute.
func unpacked(t *testing.T, res []engine.Result) (packed int) {
	t.Helper()
	for i := range res {
		if res[i].Rows == nil {
			continue
		}
		if res[i].Err != nil || !res[i].Value.IsNone() && res[i].Value.Len() > 0 {
			t.Errorf("answer %d has rows and something else: %v %s", i, res[i].Err, res[i].Value.Text())
		}
		packed++
		b, err := res[i].Rows.AppendTo(nil)
		if err != nil {
			t.Fatal(err)
		}
		if res[i].Value, err = value.DecodeCBORValue(b, value.DecodeLimits{}); err != nil {
			t.Fatal(err)
		}
	}
	return packed
}

const packSetup = `FOR $i IN 0..300 { CREATE type::record('t', $i) SET n = $i % 50, link = type::record('o', $i % 7), links = [o:1, type::record('o', $i % 5)] };
	FOR $i IN 0..5 { CREATE type::record('o', $i) SET n = $i, up = type::record('o', $i + 1) };
	DEFINE FIELD double ON c COMPUTED n * 2; FOR $i IN 0..5 { CREATE type::record('c', $i) SET n = $i, link = type::record('c', $i + 1) };
	DEFINE INDEX i ON t FIELDS n`

// TestPackedAnswersAreThoseOfExecute: statement by statement, in transactions and outside, for good ones and bad ones.
func TestPackedAnswersAreThoseOfExecute(t *testing.T) {
	for _, tc := range []struct {
		text   string
		packed int
	}{
		{"SELECT * FROM t", 1},
		{"SELECT * FROM t; SELECT n FROM t WHERE n > 40; RETURN 5; SELECT VALUE n FROM t LIMIT 3", 3},
		{"SELECT * FROM t:10..20; SELECT * FROM t ORDER BY n DESC, id START 4 LIMIT 5; SELECT n, count() FROM t GROUP BY n", 3},
		{"SELECT * FROM t WHERE n = 3; SELECT * FROM t WHERE n > 45; SELECT * FROM t ORDER BY n DESC LIMIT 9; SELECT * FROM t WHERE n IN [3, 4] AND link = o:1", 4},
		{"BEGIN; CREATE t:999 SET n = 3; DELETE t:3; SELECT * FROM t WHERE n = 3; CANCEL; SELECT * FROM t WHERE n = 999; DEFINE INDEX j ON c FIELDS n; SELECT * FROM c WHERE n = 3", 2},
		{"DEFINE INDEX l ON t FIELDS links.*; SELECT * FROM t WHERE links CONTAINS o:3; SELECT id FROM t WHERE n = 3; SELECT * FROM t WHERE n = 3 START 2 LIMIT 2", 3},
		{"SELECT * FROM nowhere; SELECT * FROM t WHERE n = 99; SELECT * FROM [1, 'a', { b: 1 }]", 2},
		{"SELECT * FROM ONLY t:1; SELECT VALUE n FROM ONLY t:1; RETURN [1, o:1]; RETURN []; LET $a = [o:1]; RETURN $a[0]", 0},
		{"SELECT * FROM t:1 EXPLAIN; RETURN (SELECT * FROM t:1); LET $a = [o:1, 'a']; RETURN $a; RETURN { a: $a }", 2},
		{"SELECT VALUE links FROM ONLY t:1; RELATE o:1->e:1->o:2; RELATE o:1->e:2->o:3 RETURN NONE; SELECT VALUE ->e->o FROM ONLY o:1; REMOVE TABLE e", 3},
		{"CREATE o:91 SET a = [o:1]; UPDATE o:91 SET b = 'b'; UPDATE ONLY o:91 SET b = 1; DELETE o:91 RETURN BEFORE; DELETE o:91 RETURN BEFORE", 3},
		{"RETURN [['a', [o:1, { b: d'2020-01-01T00:00:00Z' }]], NONE, |$x| 1].slice(0, 2); RETURN [NONE, 'a']; FOR $i IN 0..2 { o:1 }", 1},
		{"BEGIN; CREATE o:92; RETURN ['a']; COMMIT; DELETE o:92 RETURN BEFORE; BEGIN; CREATE o:93; CANCEL", 3},
		{"SELECT * FROM t FETCH link, links, link.up; SELECT *, link.n AS m FROM t FETCH links.*.up", 2},
		{"SELECT * FROM c; SELECT * FROM c FETCH link", 2},
		{"SELECT n, IF n = 30 { THROW 'no' } AS x FROM t; SELECT * FROM o", 1},
		{"BEGIN; SELECT * FROM o; CREATE o:77; SELECT * FROM o FETCH up; DELETE o:77; SELECT * FROM o; COMMIT; SELECT * FROM o", 5},
		{"BEGIN; SELECT * FROM o; THROW 'no'; SELECT * FROM o; COMMIT; SELECT * FROM o", 1},
		{"BEGIN; SELECT * FROM o; CANCEL; BEGIN; SELECT * FROM o", 0},
		{"SELECT *, (UPDATE ONLY o:1 SET n += 1).n AS m FROM t:1..4 FETCH link; SELECT * FROM o; UPDATE o:1 SET n = 1", 3},
		{"DEFINE FUNCTION fn::w() { CREATE o:88 RETURN NONE }; SELECT n, fn::w() AS x FROM o:1; SELECT * FROM o; DELETE o:88", 2},
		{"SELECT id, type::record('o', n) AS l FROM t:1..3 FETCH l; SELECT * FROM t TIMEOUT 0ns", 1},
	} {
		t.Run(tc.text, func(t *testing.T) {
			s := owner(t, openQuiet(t))
			run(t, s, packSetup)
			got, err := s.ExecutePacked(context.Background(), tc.text, nil)
			if err != nil {
				t.Fatal(err)
			}
			if packed := unpacked(t, got); packed != tc.packed {
				t.Errorf("%d answers are packed, want %d", packed, tc.packed)
			}
			s = owner(t, openQuiet(t))
			run(t, s, packSetup)
			want, err := s.Execute(context.Background(), tc.text, nil)
			if err != nil {
				t.Fatal(err)
			}
			sameAnswers(t, got, want)
		})
	}
}

// sameAnswers compares answers, packed ones as they have been unpacked.
func sameAnswers(t *testing.T, got, want []engine.Result) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d answers, want %d", len(got), len(want))
	}
	for i := range want {
		if g, w := answerText(&got[i]), answerText(&want[i]); g != w {
			t.Errorf("answer %d:\n got %.300s\nwant %.300s", i, g, w)
		}
	}
}

func answerText(r *engine.Result) string {
	if r.Err != nil {
		return "error: " + r.Err.Msg
	}
	return r.Value.Text()
}

// TestFetchShowsToEachWhatHeMaySee: a record that several rows link to is read once only where that makes no difference.
func TestFetchShowsToEachWhatHeMaySee(t *testing.T) {
	e := openQuiet(t)
	root := owner(t, e)
	run(t, root, packSetup+`; DEFINE TABLE OVERWRITE o PERMISSIONS FOR select WHERE n > 2; DEFINE TABLE OVERWRITE t PERMISSIONS FULL; DEFINE FIELD secret ON o PERMISSIONS FOR select NONE;
		UPDATE o SET secret = 1; DEFINE ACCESS acc ON DATABASE TYPE RECORD; CREATE user:1`)
	const ask = "SELECT VALUE link FROM t:0..7 FETCH link"
	viewer, err := signIn(e, "record:acc:user:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		s    *engine.Session
		want string
	}{
		{root, "[{ id: o:0, n: 0, secret: 1, up: o:1 }, { id: o:1, n: 1, secret: 1, up: o:2 }"},
		{viewer, "[NONE, NONE, NONE, { id: o:3, n: 3, up: o:4 }, { id: o:4, n: 4, up: o:5 }, NONE, NONE]"},
	} {
		if got := run(t, tc.s, ask)[0].Value.Text(); !strings.HasPrefix(got, tc.want) {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
}

// TestPackedRowsOfAnIndexShowToEachWhatHeMaySee: rows of an index are packed as the gate gives them.
func TestPackedRowsOfAnIndexShowToEachWhatHeMaySee(t *testing.T) {
	e := openQuiet(t)
	root := owner(t, e)
	run(t, root, `DEFINE TABLE v PERMISSIONS FOR select WHERE n > 100; DEFINE FIELD secret ON v PERMISSIONS FOR select NONE;
		DEFINE INDEX i ON v FIELDS kind; FOR $i IN 0..300 { CREATE type::record('v', $i) SET n = $i, secret = 1, kind = $i % 100 };
		DEFINE TABLE w PERMISSIONS FOR select WHERE n > 100; DEFINE INDEX i ON w FIELDS kind; INSERT INTO w (SELECT id.id() AS id, n, kind FROM v);
		DEFINE TABLE c PERMISSIONS FULL; DEFINE FIELD twice ON c COMPUTED n * 2; DEFINE INDEX i ON c FIELDS kind; INSERT INTO c (SELECT id.id() AS id, n, kind FROM v);
		DEFINE ACCESS acc ON DATABASE TYPE RECORD; CREATE user:1`)
	viewer, err := signIn(e, "record:acc:user:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		s    *engine.Session
		want string
	}{
		{root, "[{ id: v:7, kind: 7, n: 7, secret: 1 }, { id: v:107, kind: 7, n: 107, secret: 1 }, { id: v:207, kind: 7, n: 207, secret: 1 }]"},
		{viewer, "[{ id: v:107, kind: 7, n: 107 }, { id: v:207, kind: 7, n: 207 }]"},
	} {
		res, err := tc.s.ExecutePacked(context.Background(), "SELECT * FROM v WHERE kind = 7", nil)
		if err != nil || unpacked(t, res) != 1 {
			t.Fatal(err, res)
		}
		if got := answerText(&res[0]); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
		for _, text := range []string{"SELECT * FROM w WHERE kind = 7", "SELECT * FROM w WHERE kind > 97", "SELECT * FROM w WHERE kind IN [7, 8]",
			"SELECT * FROM c WHERE kind = 7", "SELECT * FROM c WHERE kind > 97 LIMIT 2"} {
			if res, err = tc.s.ExecutePacked(context.Background(), text, nil); err != nil || unpacked(t, res) != 1 {
				t.Fatal(text, err, res)
			}
			sameAnswers(t, res, run(t, tc.s, text))
		}
	}
}

// Rows are counted, and weighed, while they are packed.
func TestPackedAnswersAreLimited(t *testing.T) {
	e, err := engine.Open(context.Background(), "memory", engine.Options{NoDefaults: true, Limits: engine.Limits{Rows: 100, Answer: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close(context.Background()) }()
	s := owner(t, e)
	run(t, s, packSetup+"; DELETE t:97..; CREATE big:1 SET x = string::repeat('a', 900000); CREATE big:2 SET x = string::repeat('a', 900000)")
	for text, want := range map[string]string{
		"SELECT * FROM t":                  "",
		"SELECT * FROM t, o, c":            "The statement would answer more than 100 rows",
		"SELECT n FROM t, o, c":            "The statement would answer more than 100 rows",
		"SELECT * FROM big":                "The answer would be larger than 1048576 bytes",
		"SELECT x FROM big":                "The answer would be larger than 1048576 bytes",
		"SELECT * FROM big WHERE x = NONE": "",
		"RETURN [string::repeat('a', 900000), string::repeat('a', 900000)]": "The value would be larger than 1048576 bytes",
	} {
		res, err := s.ExecutePacked(context.Background(), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(res[0].Err); res[0].Err == nil && want != "" || res[0].Err != nil && res[0].Err.Msg != want {
			t.Errorf("%s: got %s, want %q", text, got, want)
		}
	}
}
