package lint

import (
	"io/fs"
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

// declared matches the declarations that ARCHITECTURE.md tells apart.
var declared = regexp.MustCompile(`(?m)^type (Limits|Options) struct`)

// TestLimitsAndOptionsAreToldApart keeps the tables of ARCHITECTURE.md complete: every package with a type Limits or
// Options stands in the table of that name, and no other.
func TestLimitsAndOptionsAreToldApart(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]map[string]bool{"Limits": {}, "Options": {}}
	var table string
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "| package | `Limits`"):
			table = "Limits"
		case strings.HasPrefix(line, "| package | `Options`"):
			table = "Options"
		case !strings.HasPrefix(line, "|"):
			table = ""
		case table != "":
			cell, _, _ := strings.Cut(line[1:], "|")
			for name := range strings.SplitSeq(cell, ",") {
				listed[table][strings.Trim(name, " `")] = true
			}
		}
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "node_modules" || name == "testdata" || name == "pb") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, m := range declared.FindAllSubmatch(source, -1) {
			if kind := string(m[1]); !listed[kind][filepath.ToSlash(pkg)] {
				t.Errorf("%s has a type %s: say in ARCHITECTURE.md what it is for, or give it a name of its own", pkg, kind)
			}
			delete(listed[string(m[1])], filepath.ToSlash(pkg))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for kind, rest := range listed {
		for pkg := range rest {
			if pkg = strings.Trim(pkg, "-"); pkg != "" {
				t.Errorf("ARCHITECTURE.md lists a type %s of %s, which has none", kind, pkg)
			}
		}
	}
}
