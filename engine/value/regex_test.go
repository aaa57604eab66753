package value

import (
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/nacredb/nacre/internal/footprint"
)

func TestRegex(t *testing.T) {
	for _, c := range []struct {
		source, text string
		want         bool
	}{
		{`(?i)AB\d`, "xab١", true}, {`^\w$`, "é", true}, {`^\s$`, "\u00a0", true}, {`^[\w.]+$`, "é.b", true},
		{`^[\W\d]+$`, "ab", false}, {`^\D+$`, "١", false},
		{`^[]\d]+$`, "]١", true}, {`^[^]\d]+$`, "ab", true}, {`^[[:alpha:]\d]+$`, "a١", true}, {`a\/b`, "a/b", true},
		{`^\\d$`, `\d`, true}, {`x{2}`, "axxb", true},
	} {
		re, err := CompileRegex(c.source)
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
			continue
		}
		if got := re.Match(c.text); got != c.want {
			t.Errorf("%s on %q: %v", c.source, c.text, got)
		}
	}
	if _, err := CompileRegex("("); err == nil {
		t.Error("an open group compiles")
	}
}

// Patterns whose programs or classes would take much memory or time are refused before they are compiled.
func TestLargePatternsAreRefused(t *testing.T) {
	for _, bad := range []string{strings.Repeat(`\pL`, 21000), "(?i)" + strings.Repeat(`\w`, 2001),
		strings.Repeat(`(?:\pL{500}){2}`, 1000), strings.Repeat("[a-z]", 8000), strings.Repeat("(a|b)", 12000),
		strings.Repeat(".{30}", 1000), strings.Repeat("a", 70000),
		"(?:(?:(?:x?){10}){10}){10}" + strings.Repeat("(?:(?:x{10}){10}){10}", 30)} {
		var re *Regex
		var err error
		if over := footprint.Over(64<<20, func() { re, err = CompileRegex(bad) }); over > 0 {
			t.Errorf("%.20s… takes %d MiB", bad, over>>20)
		}
		if err != ErrRegexTooLarge {
			t.Errorf("%.20s…: %v, %v", bad, re != nil, err)
		}
	}
	for _, good := range []string{strings.Repeat(`\w`, 300), strings.Repeat("word|", 3000), "a{1000}",
		strings.Repeat("(a|b)", 1000), `(?i)\p{Greek}+`, ""} {
		re, err := CompileRegex(good)
		if err != nil {
			t.Errorf("%.20s…: %v", good, err)
			continue
		}
		re.Match("a")
	}
	re, err := CompileRegex("(?:x?y?){1000}")
	if err != nil {
		t.Fatal(err)
	}
	if long := strings.Repeat("z", 1<<20); re.Bears(long) || !re.Bears(long[:1000]) {
		t.Errorf("a program of %d steps over %d bytes is begun", re.Steps, len(long))
	}
}

// What is counted before compiling is near to what the program has.
func TestStepsOfAPattern(t *testing.T) {
	for _, p := range []string{"abc", "a|b|c", "(a(b)c)*", "[a-z]+x?", "(?:ab){3,7}", `\d{4}-\d{2}`, "(?:a{10}b){10}",
		"x{3,}"} {
		tree, err := syntax.Parse(p, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		counted := steps(tree)
		prog, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(prog.Inst); counted+4 < n || counted > 3*n {
			t.Errorf("%s: counted %d steps of %d", p, counted, n)
		}
	}
}
