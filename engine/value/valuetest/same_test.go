package valuetest

import "testing"

func TestSameText(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"[1f, 'x']", "[1f, 'x']", true},
		{"0.1f", "0.10000000000000003f", true}, // two steps
		{"0.1f", "0.10000000000000009f", false},
		{"-0.1f", "0.1f", false},
		{"{ a: 1e300f }", "{ b: 1e300f }", false},
		{"[1f]", "[1f, 1f]", false},
		{"0.1dec", "0.10000000000000003dec", false},
		{"1", "2", false},
	} {
		if got := SameText(c.a, c.b); got != c.same {
			t.Errorf("SameText(%s, %s) = %v", c.a, c.b, got)
		}
	}
}
