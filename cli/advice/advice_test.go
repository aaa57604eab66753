package advice

import (
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
)

func TestAdvice(t *testing.T) {
	names := Names{Tables: []string{"person", "city"}, Functions: []string{"fn::greet"}}
	for _, tc := range []struct{ text, msg, want string }{
		{"SELECT * FROM persn", "The table 'persn' does not exist",
			" --> [3:15]\n  |\n3 | SELECT * FROM persn\n  |               ^^^^^\nDid you mean person?"},
		{"RETURN\n fn::gret()", "Function 'fn::gret' not found: The function 'fn::gret' does not exist",
			" --> [4:2]\n  |\n4 |  fn::gret()\n  |  ^^^^^^^^\nDid you mean fn::greet?"},
		{"RETURN math::sqrt('a')", "Incorrect arguments for function math::sqrt(). Argument 1 was the wrong type.",
			" --> [3:8]\n  |\n3 | RETURN math::sqrt('a')\n  |        ^^^^^^^^^^"},
		{"RETURN <int>'abc'", "Could not cast into `int` using input `'abc'`",
			" --> [3:9]\n  |\n3 | RETURN <int>'abc'\n  |         ^^^"},
		{"SELECT a, a FROM x", "Found `a`", ""},
		{"THROW 'é'", "An error occurred: é", ""},
		{"SELECT * FROM zebra", "The table 'zebra' does not exist",
			" --> [3:15]\n  |\n3 | SELECT * FROM zebra\n  |               ^^^^^"},
	} {
		if got := On(errs.New(errs.KindQuery, "%s", tc.msg), tc.text, 3, names); got != tc.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", tc.text, got, tc.want)
		}
	}
}

func TestAdviceOnKeywords(t *testing.T) {
	_, err := parse.Query("SELEC * FROM person", parse.Options{})
	if got := On(err, "SELEC * FROM person", 1, Names{}); got != "Did you mean SELECT?" {
		t.Errorf("got %q", got)
	}
}

func TestAdviceOnAnswers(t *testing.T) {
	for text, want := range map[string]string{
		"CREATE a;\nCRATE b;":            "Did you mean CREATE?",
		"CREATE a;\nCREATE b; SELCT 1;":  "Did you mean SELECT?",
		"CREATE a;\nCREATE b SET\n x y;": "",
		"CREATE a;\nRETURN [;":           "",
	} {
		_, err := parse.Query(text, parse.Options{})
		if got := OnAnswer(errs.Parse(err.Error()), 2); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Neither long texts nor strange ones make advice that is long, or fail.
func FuzzOn(f *testing.F) {
	f.Add("SELECT `a", "The table 'a' does not exist")
	f.Add("é'é'", "'é' `é` é()")
	f.Fuzz(func(t *testing.T, text, msg string) {
		got := On(errs.New(errs.KindQuery, "%s", msg), text, 1, Names{Tables: []string{text}})
		if strings.Count(got, "\n") > strings.Count(text, "\n")+5 {
			t.Fatalf("too long: %q", got)
		}
	})
}
