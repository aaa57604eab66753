package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// proof matches a piece of evidence: a file, and what stands in it.
var proof = regexp.MustCompile("`([^`#]+)#([^`]+)`")

// TestFeaturesHaveEvidence checks that the tests that testdata/features.md names exist.
func TestFeaturesHaveEvidence(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "testdata", "features.md"))
	must(t, err)
	_, table, _ := strings.Cut(string(b), "|---|---|---|\n")
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 3 {
			t.Errorf("want a feature, what nacre does, and evidence: %s", line)
			continue
		}
		rows++
		pieces := proof.FindAllStringSubmatch(cells[2], -1)
		if len(pieces) == 0 {
			t.Errorf("%s has no evidence", cells[0])
		}
		for _, p := range pieces {
			text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(p[1])))
			if err != nil {
				t.Errorf("%s: %v", cells[0], err)
				continue
			}
			want := p[2]
			if strings.HasPrefix(want, "Test") {
				want = "func " + want + "("
			}
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: %s has no %q", cells[0], p[1], want)
			}
		}
	}
	if rows < 30 {
		t.Errorf("the table has %d rows", rows)
	}
}
