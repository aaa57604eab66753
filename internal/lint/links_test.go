package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinksOfTheDocs holds that links between the pages lead to pages, and that the index of the book names all of
// them.
func TestLinksOfTheDocs(t *testing.T) {
	pages := []string{"../../README.md", "../../ARCHITECTURE.md", "../../CONTRIBUTING.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/language/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no pages: %v", err)
		}
		pages = append(pages, found...)
	}
	index := map[string]bool{}
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, ":") {
				continue
			}
			path := filepath.Join(filepath.Dir(page), target)
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
			if page == "../../docs/README.md" {
				index[path] = true
			}
		}
	}
	for _, page := range pages[3:] {
		if page != "../../docs/README.md" && !index[page] {
			t.Errorf("docs/README.md does not name %s", page)
		}
	}
}
