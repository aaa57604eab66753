package parse

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/vectors"
)

// library is a Resolver that knows the names of the documented functions and constants, and nothing else.
type library struct {
	names            []string
	funcs, constants map[string]bool
}

func (l *library) Function(path string) (any, bool)         { return nil, l.funcs[path] }
func (l *library) Constant(path string) (value.Value, bool) { return value.None, l.constants[path] }
func (l *library) Names() []string                          { return l.names }

// loadLibrary knows the functions and constants of the recorded release.
func loadLibrary(tb testing.TB) *library {
	tb.Helper()
	l := &library{funcs: map[string]bool{}, constants: map[string]bool{}}
	functions, constants := vectors.Library(tb)
	for _, f := range functions {
		l.funcs[f.Name] = true
	}
	for _, c := range constants {
		l.constants[c.Name] = true
	}
	l.names = slices.Sorted(maps.Keys(l.funcs))
	l.names = append(l.names, slices.Sorted(maps.Keys(l.constants))...)
	slices.Sort(l.names)
	return l
}

func TestVectors(t *testing.T) {
	lib := loadLibrary(t)
	pass, total := 0, 0
	for _, v := range vectors.All(t) {
		for i, text := range []string{v.Setup, v.SQL} {
			if text == "" {
				continue
			}
			total++
			want := ""
			if i == 1 {
				want = v.ParseError()
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
			t.Errorf("%s %s\n  sql  %s\n  got  %s\n  want %s", v.File, v.Name, text, got, want)
		}
	}
	t.Logf("%d of %d texts parse as expected", pass, total)
}

func TestPrintIsFixedPoint(t *testing.T) {
	for _, v := range vectors.All(t) {
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
