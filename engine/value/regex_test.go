package value

import "testing"

func TestRegex(t *testing.T) {
	for _, c := range []struct {
		source, text string
		want         bool
	}{
		{`(?i)AB\d`, "xab١", true}, {`^\w$`, "é", true}, {`^\s$`, "\u00a0", true}, {`^[\w.]+$`, "é.b", true}, {`^[\W\d]+$`, "ab", false}, {`^\D+$`, "١", false},
		{`^[]\d]+$`, "]١", true}, {`^[^]\d]+$`, "ab", true}, {`^[[:alpha:]\d]+$`, "a١", true}, {`a\/b`, "a/b", true}, {`^\\d$`, `\d`, true}, {`x{2}`, "axxb", true},
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
