package parse

import "testing"

func TestCompleteAsksForMore(t *testing.T) {
	for text, want := range map[string]bool{
		"":                           true,
		"SELECT * FROM person":       true,
		"SELECT * FROM person;":      true,
		"SELECT * FROM":              false,
		"CREATE person SET":          false,
		"CREATE person CONTENT {":    false,
		"CREATE person CONTENT { }":  true,
		"RETURN 'abc":                false,
		"RETURN [1, 2":               false,
		"RETURN (1 + 2":              false,
		"RETURN 1 +":                 false,
		"DEFINE FUNCTION fn::a() {":  false,
		"RETURN 1; /* open":          false,
		"RETURN 1; -- a comment":     true,
		"IF true { RETURN 1 }":       true,
		"SELEC * FROM person":        true, // wrong, and more text will not mend it
		"RETURN ]":                   true,
		"BEGIN; CREATE a; COMMIT":    true,
		"LET $f = |$x| { RETURN $x;": false,
	} {
		if got := Complete(text); got != want {
			t.Errorf("Complete(%q) = %v, want %v", text, got, want)
		}
	}
}
