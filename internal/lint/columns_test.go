package lint

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxColumns = 120 // of a line; a tab counts as four
	maxLiteral = 40  // columns that a string counts for: strings are not broken
)

// wideStill are the packages whose lines are not held to maxColumns yet, wideTests those whose tests are not. The lists
// only shrink: take a package out and wrap its lines.
var (
	wideStill = []string{"testdata/sdk-go"}
	wideTests = []string{
		"daemon", "engine",
	}
)

// TestColumns holds the lines of Go files to maxColumns. Preformatted comments and strings of several lines may be
// wider.
func TestColumns(t *testing.T) {
	for _, file := range goFiles(t) {
		dir := filepath.ToSlash(filepath.Dir(file))
		if slices.Contains(wideStill, dir) || strings.HasSuffix(file, "_test.go") && slices.Contains(wideTests, dir) {
			continue
		}
		src, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range wideLines(src) {
			t.Errorf("%s:%d has more than %d columns", file, line, maxColumns)
		}
	}
}

// TestWideLines holds that lines are measured as TestColumns says.
func TestWideLines(t *testing.T) {
	long := strings.Repeat("x", maxColumns)
	for src, want := range map[string]int{
		"package p\nvar a = " + long + "\n":                                   1,
		"package p\nvar a = \"" + long + "\"\n":                               0,
		"package p\nvar a = `\n" + long + long + "`\n":                        0,
		"package p\n// " + long + "\n":                                        1,
		"package p\n//\t" + long + "\n":                                       0,
		"package p\nvar a = " + strings.Repeat("y", maxColumns-8) + "\n":      0,
		"package p\nfunc f() {\n\t" + strings.Repeat("y", maxColumns) + "\n}": 1,
	} {
		if got := len(wideLines([]byte(src))); got != want {
			t.Errorf("%.40q…: %d wide lines, want %d", src, got, want)
		}
	}
}

// wideLines are the lines with more columns than allowed, from 1.
func wideLines(src []byte) (wide []int) {
	spared := sparedColumns(src)
	for i, line := range strings.Split(string(src), "\n") {
		text := strings.TrimLeft(line, "\t")
		columns := 4*(len(line)-len(text)) + utf8.RuneCountInString(strings.Join(strings.Fields(text), " "))
		if columns-spared[i+1] > maxColumns && !strings.HasPrefix(text, "//\t") && !strings.HasPrefix(text, "//go:") {
			wide = append(wide, i+1)
		}
	}
	return wide
}

// sparedColumns are the columns of each line that do not count.
func sparedColumns(src []byte) map[int]int {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	out := map[int]int{}
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			return out
		}
		if kind != token.STRING {
			continue
		}
		line, lines := file.Position(pos).Line, strings.Split(text, "\n")
		if n := utf8.RuneCountInString(text); len(lines) == 1 && n > maxLiteral {
			out[line] += n - maxLiteral
		}
		for i, part := range lines {
			if len(lines) > 1 {
				out[line+i] += utf8.RuneCountInString(part)
			}
		}
	}
}

// goFiles are the Go files of the module, by their path below its root.
func goFiles(t *testing.T) []string {
	t.Helper()
	generated := func(name string) bool { return strings.HasSuffix(name, ".pb.go") }
	return slices.DeleteFunc(treeFiles(t, ".go"), generated)
}

// treeFiles are the files of the tree with an extension, by paths from its root, without those of npm packages.
func treeFiles(t *testing.T, extension string) (files []string) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() &&
			(name == "node_modules" || strings.HasPrefix(name, ".") && path != root) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == extension {
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			files = append(files, name)
		}
		return nil
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	return files
}
