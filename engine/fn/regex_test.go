package fn

import (
	"fmt"
	"strings"
	"testing"
)

// The cache of patterns is bounded in number and in the size of what it keeps.
func TestTheCacheOfPatternsIsBounded(t *testing.T) {
	var c regexes
	for i := range 3 * regexesCache {
		if _, err := c.compile(fmt.Sprintf("a%d", i)); err != nil {
			t.Fatal(err)
		}
		if len(c.m) > regexesCache {
			t.Fatalf("%d patterns are kept", len(c.m))
		}
	}
	if re, _ := c.compile("a1"); re == nil || c.m["a1"] != re {
		t.Error("a pattern is not kept")
	}
	for i := range 40 {
		if _, err := c.compile(fmt.Sprintf(`(?:x%d{10}y){100}`, i)); err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, re := range c.m {
			sum += re.Steps
		}
		if sum != c.steps || sum > regexesSteps {
			t.Fatalf("%d steps are kept, counted as %d", sum, c.steps)
		}
	}
	if _, err := c.compile(strings.Repeat("(", 5)); err == nil || c.m["((((("] != nil {
		t.Error("a bad pattern is kept")
	}
}
