package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named matches what a document names in backquotes: a path of this repository, or a package.
var named = regexp.MustCompile("`([A-Za-z][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_.-]+)+/?|[a-z]+|[A-Z][A-Za-z]*\\.md)`")

// bare matches the files that a document names without a directory.
var bare = regexp.MustCompile("`([A-Za-z0-9_]+\\.go)`")

// linked matches the targets of relative links.
var linked = regexp.MustCompile(`\]\(([^):#]+)\)`)

// roots are the directories that paths begin with; a word in backquotes that begins otherwise is no path.
var roots = []string{"cli", "client", "cmd", "daemon", "docs", "engine", "examples", "internal", "memsvc", "testdata"}

// TestDocumentsNameWhatExists checks the paths and links of the documents for maintainers.
func TestDocumentsNameWhatExists(t *testing.T) {
	root := filepath.Join("..", "..")
	designs, err := filepath.Glob(filepath.Join(root, "engine", "*", "DESIGN.md"))
	if err != nil {
		t.Fatal(err)
	}
	deep, err := filepath.Glob(filepath.Join(root, "engine", "*", "*", "DESIGN.md"))
	if err != nil {
		t.Fatal(err)
	}
	designs = append(designs, deep...)
	for _, name := range append(designs, filepath.Join(root, "ARCHITECTURE.md"),
		filepath.Join(root, "CONTRIBUTING.md")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			first, _, _ := strings.Cut(m[1], "/")
			if !contains(roots, first) {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", filepath.Base(name), m[1])
			}
		}
		for _, m := range bare.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s names %s, which is not beside it", name, m[1])
			}
		}
		for _, m := range linked.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", filepath.Base(name), m[1])
			}
		}
	}
}
