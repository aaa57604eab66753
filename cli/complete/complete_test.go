package complete

import (
	"slices"
	"strings"
	"testing"
)

func sample() *Names {
	return &Names{
		Namespaces: []string{"main", "test"}, Databases: []string{"app", "my db"},
		Tables: []string{"city", "person", "my table"},
		Fields: map[string][]string{"person": {"name", "age", "home.street", "home.zip", "tags", "tags.*"},
			"city": {"mayor"}},
		Functions: []Function{{"fn::greet", "fn::greet($name: string)"}},
		Params:    []string{"$limit"},
	}
}

func TestWhatMayStandAtAPlace(t *testing.T) {
	for _, tc := range []struct{ typed, with, without string }{
		{"", "SELECT CREATE", "WHERE person"},
		{"sel", "SELECT", "person"},
		{"SELECT * FROM |", "person city `my table` ONLY", "name WHERE string::len"},
		{"SELECT * FROM per|", "person", "city"},
		{"SELECT * FROM person, |", "city", "WHERE"},
		{"SELECT | FROM person", "name age home tags VALUE", "mayor person city home.street"},
		{"SELECT na| FROM person", "name", "age"},
		{"SELECT * FROM person |", "WHERE GROUP LIMIT", "name person SELECT"},
		{"SELECT * FROM person WHERE |", "name age", "mayor city"},
		{"SELECT * FROM person WHERE home.|", "street zip", "name"},
		{"SELECT * FROM person WHERE na|", "name", "person"},
		{"SELECT * FROM person ORDER BY |", "name age", "mayor"},
		{"UPDATE city SET |", "mayor", "name"},
		{"SELECT ->| FROM person", "person city", "name"},
		{"INSERT INTO |", "person city", "name"},
		{"DEFINE FIELD x ON |", "person TABLE", "name"},
		{"INFO FOR TABLE |", "person", "name"},
		{"REMOVE FIELD |", "name home.street", "person"},
		{"REMOVE FUNCTION |", "fn::greet", "person"},
		{"USE NS |", "main test", "app"},
		{"USE DB |", "app `my db`", "main"},
		{"USE NS main DB |", "app", "test"},
		{"RETURN string::le|", "string::len", "string::slug"},
		{"RETURN fn::|", "fn::greet", "person"},
		{"RETURN $|", "$limit $auth $session", "name"},
		{"RETURN 'a'.le|", "len", "name"},
		{"SELECT 'na|", "", "name"},
		{"SELECT * FROM person -- wh|", "", "WHERE"},
		{"SELECT * FROM person AS |", "", "name"},
		{"RETURN person:|", "", "person name"},
		{"SELECT * FROM person\nWHERE |", "name", "city"},
		{"RETURN 1; SELECT * FROM |", "person", "WHERE"},
	} {
		before, after, _ := strings.Cut(tc.typed, "|")
		got := At(sample(), before, after).Words
		for w := range strings.SplitSeq(tc.with, " ") {
			if w != "" && w != "`my" && w != "table`" && w != "db`" && !slices.Contains(got, w) {
				t.Errorf("%q: %s is not offered: %v", tc.typed, w, got)
			}
		}
		for _, w := range strings.Fields(tc.without) {
			if slices.Contains(got, w) {
				t.Errorf("%q: %s is offered", tc.typed, w)
			}
		}
	}
}

func TestSignaturesAreHints(t *testing.T) {
	for typed, want := range map[string]string{"RETURN string::len(": "string::len(text: string) -> int",
		"RETURN fn::greet(": "fn::greet($name: string)", "RETURN (": "", "RETURN foo(": ""} {
		if got := At(sample(), typed, "").Hint; !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: got %q, want %q", typed, got, want)
		}
	}
}

// For any text, the offered words replace the text before the cursor.
func FuzzAt(f *testing.F) {
	for _, s := range []string{"SELECT na", "RETURN fn::gr", "a.b.c", "``", "⟨", "'", "/*", "::", ":", "->", "$",
		"é::ü"} {
		f.Add(s, "")
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		o := At(sample(), before, after)
		if n := len([]rune(before)); o.Length > n {
			t.Fatalf("replaces %d of %d characters", o.Length, n)
		}
		word := string([]rune(before)[len([]rune(before))-o.Length:])
		for _, w := range o.Words {
			if len(w) < len(word) || !strings.EqualFold(w[:len(word)], word) {
				t.Fatalf("%q does not go on %q", w, word)
			}
		}
	})
}
