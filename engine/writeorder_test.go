package engine_test

import "testing"

// TestWritesThatLookAtOtherRecordsGoInTheOrderOfTheTable: what a WHERE finds behind a link may have been changed by the
// statement itself, for records that came before. An index must not change which those are.
func TestWritesThatLookAtOtherRecordsGoInTheOrderOfTheTable(t *testing.T) {
	const data = "DEFINE ANALYZER a TOKENIZERS blank; DEFINE INDEX n ON t FIELDS n; DEFINE INDEX s ON t FIELDS s FULLTEXT ANALYZER a;" +
		"CREATE t:1 SET n = 9, s = 'x'; CREATE t:2 SET n = 5, l = t:1, s = 'y'; CREATE t:3 SET n = 9, l = t:4, s = 'x'; CREATE t:4 SET n = 3, l = t:1, s = 'x y'"
	for _, tc := range []struct{ index, plain string }{
		{"DELETE t WHERE n > 2 AND !(l.n > 2)", "DELETE t WITH NOINDEX WHERE n > 2 AND !(l.n > 2)"},
		{"DELETE t WHERE n > 2 AND l.n = NONE", "DELETE t WITH NOINDEX WHERE n > 2 AND l.n = NONE"},
		{"DELETE t WHERE (n = 3 OR n = 9) AND count(SELECT * FROM t WHERE n = 9) > 1", "DELETE t WITH NOINDEX WHERE (n = 3 OR n = 9) AND count(SELECT * FROM t WHERE n = 9) > 1"},
		{"UPDATE t SET n += 10 WHERE n > 2 AND l.n > 10", "UPDATE t WITH NOINDEX SET n += 10 WHERE n > 2 AND l.n > 10"},
		{"UPDATE t SET n += 10 WHERE n IN [3, 5, 9] AND (l = NONE OR l.n > 10)", "UPDATE t WITH NOINDEX SET n += 10 WHERE n IN [3, 5, 9] AND (l = NONE OR l.n > 10)"},
		{"DELETE t WHERE (s @@ 'x' OR n = 5) AND !(l.n > 8)", "DELETE t WHERE (s IN ['x', 'x y'] OR n = 5) AND !(l.n > 8)"},
	} {
		left := func(text string) string {
			s := owner(t, openQuiet(t))
			run(t, s, data)
			run(t, s, text)
			return run(t, s, "SELECT * FROM t")[0].Value.Text()
		}
		if got, want := left(tc.index), left(tc.plain); got != want {
			t.Errorf("%s\nleaves   %s\nwithout: %s", tc.index, got, want)
		}
	}
}
