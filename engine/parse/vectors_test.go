package parse

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// vector is one recorded question to the reference engine.
type vector struct {
	Name  string          `json:"name"`
	Setup string          `json:"setup"`
	SQL   string          `json:"sql"`
	Error string          `json:"error"`
	Parse json.RawMessage `json:"parse"`
	file  string
}

// parseError is the first line of the parse error that v expects, "" when it must parse.
func (v vector) parseError() string {
	var s string
	if json.Unmarshal(v.Parse, &s) == nil && s != "" {
		return s
	}
	if string(v.Parse) == "true" {
		return v.Error
	}
	return ""
}

// sharedFile is a path below ../shared, next to the module.
func sharedFile(tb testing.TB, path ...string) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(append([]string{dir, "..", "shared"}, path...)...)
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// loadVectors reads all vectors of ../shared/conformance; the test is skipped where they are not there.
func loadVectors(tb testing.TB) []vector {
	tb.Helper()
	files, err := filepath.Glob(sharedFile(tb, "conformance", "*", "*.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	if len(files) == 0 {
		tb.Skip("the conformance vectors (../shared/conformance) are not here")
	}
	var out []vector
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			tb.Fatal(err)
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 16<<20)
		for sc.Scan() {
			v := vector{file: filepath.Base(filepath.Dir(name)) + "/" + filepath.Base(name)}
			if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
				tb.Fatalf("%s: %v", name, err)
			}
			out = append(out, v)
		}
		if err := sc.Err(); err != nil {
			tb.Fatal(err)
		}
		if err := f.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	return out
}

// library is a Resolver that knows the names of the reference's functions and constants, and nothing else.
type library struct {
	names            []string
	funcs, constants map[string]bool
}

func (l *library) Function(path string) (any, bool)         { return nil, l.funcs[path] }
func (l *library) Constant(path string) (value.Value, bool) { return value.None, l.constants[path] }
func (l *library) Names() []string                          { return l.names }

// loadLibrary reads the names from the tables of ../shared/reference/functions.md.
func loadLibrary(tb testing.TB) *library {
	tb.Helper()
	text, err := os.ReadFile(sharedFile(tb, "reference", "functions.md"))
	if err != nil {
		tb.Skip("the function sheet (../shared/reference/functions.md) is not here")
	}
	l := &library{funcs: map[string]bool{}, constants: map[string]bool{}}
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \|`).FindAllSubmatch(text, -1) {
		for _, m := range regexp.MustCompile("`([a-z_0-9]+(?:::[a-z_0-9]+)*)\\(").FindAllSubmatch(row[1], -1) {
			l.funcs[string(m[1])] = true
		}
	}
	for _, newer := range []string{"encoding::json::decode", "encoding::json::encode", "eval::gql", "eval::surql", "vector::sum"} {
		delete(l.funcs, newer) // not in 3.0.2
	}
	for _, c := range strings.Fields("e frac_1_pi frac_1_sqrt_2 frac_2_pi frac_2_sqrt_pi frac_pi_2 frac_pi_3 frac_pi_4 frac_pi_6 frac_pi_8 inf " +
		"ln_10 ln_2 log10_2 log10_e log2_10 log2_e neg_inf pi sqrt_2 tau") {
		l.constants["math::"+c] = true
	}
	for _, c := range []string{"duration::max", "time::epoch", "time::minimum", "time::maximum"} {
		l.constants[c] = true
	}
	l.names = slices.Sorted(maps.Keys(l.funcs))
	l.names = append(l.names, slices.Sorted(maps.Keys(l.constants))...)
	slices.Sort(l.names)
	return l
}

// notOurs are vectors that record a gap of the reference's build.
var notOurs = map[string]string{
	"errors_parse/101": "DEFINE MODULE is refused there only because the oracle is a WebAssembly build",
}

// later are statements that the recorded release refuses and later ones accept, as this parser does.
var later = regexp.MustCompile(`\b(ALTER (ACCESS|ANALYZER|API|BUCKET|CONFIG|EVENT|FUNCTION|PARAM|USER)|REMOVE (CONFIG|MODEL)|DEFINE MODEL|DEFINE INDEX .* (DISKANN|DEFER)|RELATE OR UPDATE)\b`)

func TestVectors(t *testing.T) {
	lib := loadLibrary(t)
	pass, total := 0, 0
	for _, v := range loadVectors(t) {
		if notOurs[v.Name] != "" {
			continue
		}
		for i, text := range []string{v.Setup, v.SQL} {
			if text == "" {
				continue
			}
			total++
			want := ""
			if i == 1 {
				if want = v.parseError(); later.MatchString(text) {
					want = ""
				}
			}
			_, err := Query(text, Options{Resolver: lib})
			got := ""
			if err != nil {
				got, _, _ = strings.Cut(err.Error(), "\n")
			}
			if got == want {
				pass++
				continue
			}
			t.Errorf("%s %s\n  sql  %s\n  got  %s\n  want %s", v.file, v.Name, text, got, want)
		}
	}
	t.Logf("%d of %d texts parse as expected", pass, total)
}

func TestPrintIsFixedPoint(t *testing.T) {
	for _, v := range loadVectors(t) {
		for _, text := range []string{v.Setup, v.SQL} {
			checkFixedPoint(t, v.Name, text)
		}
	}
}

// checkFixedPoint fails where the text of what text parses to is not that of its own tree.
func checkFixedPoint(t *testing.T, name, text string) {
	t.Helper()
	q, err := Query(text, Options{})
	if err != nil {
		return
	}
	first := ast.Text(q)
	again, err := Query(first, Options{Depth: 64})
	if err != nil {
		t.Errorf("%s\n  sql  %s\n  text %s\n  does not parse: %v", name, text, first, err)
		return
	}
	if second := ast.Text(again); second != first {
		t.Errorf("%s\n  sql    %s\n  first  %s\n  second %s", name, text, first, second)
	}
}

// TestDocumentedErrors compares whole error texts with those in ../shared/reference/serviceql: its lines
// "`statement` ⇒ `ERR Parse error: …`", where ⏎ is a line feed and a lone expression was run by RETURN.
func TestDocumentedErrors(t *testing.T) {
	lib := loadLibrary(t)
	files, err := filepath.Glob(sharedFile(t, "reference", "serviceql", "*.md"))
	if err != nil || len(files) == 0 {
		t.Skip("the language sheets (../shared/reference/serviceql) are not here")
	}
	line := regexp.MustCompile("(?m)^- `+ ?(.*?) ?`+ ⇒ `+ ?ERR (Parse error: .*?⏎) ?`+$")
	n := 0
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range line.FindAllSubmatch(text, -1) {
			sql := strings.ReplaceAll(string(m[1]), "⏎", "\n")
			want := strings.ReplaceAll(string(m[2]), "⏎", "\n")
			if strings.Contains(want, "WASM") || later.MatchString(sql) {
				continue
			}
			n++
			got := ""
			for _, prefix := range []string{"", "RETURN "} {
				if _, err := Query(prefix+sql, Options{Resolver: lib}); err != nil {
					got = err.Error()
				}
				if got == want {
					break
				}
			}
			if got != want {
				t.Errorf("%s\n sql %s\n got\n%s\n want\n%s", filepath.Base(f), sql, got, want)
			}
		}
	}
	t.Logf("%d documented errors", n)
}
