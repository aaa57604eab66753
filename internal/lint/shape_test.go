package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The shape of the packages that run the language. Divide a package that outgrows these numbers; do not raise them.
const (
	mostLines  = 12_000 // of a package, without its tests
	mostKnot   = 25     // files that use identifiers of one another in a circle
	coreKnot   = 60     // the same in the core, whose parts are recursive in the language itself
	mostFields = 31     // of exec.Run
)

const core = "engine/exec"

// shaped are the packages that TestShape looks at.
var shaped = []string{core, "engine/query", "engine/define", "engine/access", "engine/endpoint", "engine/build",
	"engine/plan", "engine/record", "engine"}

// TestShape holds how large the packages are and how much their files hang together. Run it with -v to see the numbers.
func TestShape(t *testing.T) {
	for _, s := range measure(t, shaped) {
		t.Logf("%-16s %6d lines %3d files, largest knot %2d", s.name, s.lines, s.files, s.knot)
		if s.lines > mostLines {
			t.Errorf("%s has %d lines: at most %d", s.name, s.lines, mostLines)
		}
		most := mostKnot
		if s.name == core {
			most = coreKnot
			n := s.pkg.Scope().Lookup("Run").Type().Underlying().(*types.Struct).NumFields()
			t.Logf("%s.Run has %d fields", s.name, n)
			if n > mostFields {
				t.Errorf("%s.Run has %d fields: at most %d", s.name, n, mostFields)
			}
		}
		if s.knot > most {
			t.Errorf("%s: %d files use one another in a circle: at most %d", s.name, s.knot, most)
		}
	}
}

// shape is what TestShape measures of a package.
type shape struct {
	name               string
	lines, files, knot int
	pkg                *types.Package
}

// listed is a package as go list gives it.
type listed struct {
	ImportPath, Export, Dir string
	GoFiles                 []string
}

func measure(t *testing.T, names []string) []shape {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles"}
	for _, n := range names {
		args = append(args, module+n)
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
	shapes := make([]shape, len(names))
	for i, n := range names {
		if shapes[i], err = shapeOf(n, all); err != nil {
			t.Fatal(err)
		}
	}
	return shapes
}

// shapeOf reads one package from its source, and what it imports from its export data.
func shapeOf(name string, all map[string]listed) (shape, error) {
	p := all[module+name]
	s := shape{name: name, files: len(p.GoFiles)}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, f := range p.GoFiles {
		path := filepath.Join(p.Dir, f)
		src, err := os.ReadFile(path)
		if err != nil {
			return s, err
		}
		s.lines += bytes.Count(src, []byte("\n"))
		file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
		if err != nil {
			return s, err
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if all[path].Export == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(all[path].Export)
	})}
	var err error
	if s.pkg, err = conf.Check(module+name, fset, files, info); err != nil {
		return s, err
	}
	s.knot = largestKnot(uses(fset, s.pkg, info, files))
	return s, nil
}

// uses says of each file whose identifiers it uses: functions, types, variables, methods and fields of the package.
func uses(fset *token.FileSet, pkg *types.Package, info *types.Info, files []*ast.File) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, f := range files {
		out[fset.File(f.Pos()).Name()] = map[string]bool{}
	}
	for id, o := range info.Uses {
		if _, isImport := o.(*types.PkgName); isImport || o.Pkg() != pkg || !belongs(pkg, o) {
			continue
		}
		out[fset.File(id.Pos()).Name()][fset.File(o.Pos()).Name()] = true
	}
	return out
}

// belongs reports whether o is the package's and not that of a function.
func belongs(pkg *types.Package, o types.Object) bool {
	switch o := o.(type) {
	case *types.Var:
		if o.IsField() {
			return true
		}
	case *types.Func:
		if o.Signature().Recv() != nil {
			return true
		}
	}
	return o.Parent() == pkg.Scope()
}

// largestKnot is the size of the largest strongly connected component, by Tarjan's algorithm.
func largestKnot(graph map[string]map[string]bool) int {
	k := knots{graph: graph, index: map[string]int{}, low: map[string]int{}, on: map[string]bool{}}
	for v := range graph {
		if k.index[v] == 0 {
			k.visit(v)
		}
	}
	return k.largest
}

type knots struct {
	graph      map[string]map[string]bool
	index, low map[string]int
	stack      []string
	on         map[string]bool
	largest    int
}

func (k *knots) visit(v string) {
	n := len(k.index) + 1
	k.index[v], k.low[v] = n, n
	k.stack, k.on[v] = append(k.stack, v), true
	for w := range k.graph[v] {
		if k.index[w] == 0 {
			k.visit(w)
			k.low[v] = min(k.low[v], k.low[w])
		} else if k.on[w] {
			k.low[v] = min(k.low[v], k.index[w])
		}
	}
	if k.low[v] != k.index[v] {
		return
	}
	size := 0
	for w := ""; w != v; size++ {
		w = k.stack[len(k.stack)-1]
		k.stack, k.on[w] = k.stack[:len(k.stack)-1], false
	}
	k.largest = max(k.largest, size)
}

func TestLargestKnot(t *testing.T) {
	graph := map[string]map[string]bool{}
	for _, arrow := range strings.Fields("a>b b>c c>a c>d d>e e>d f>a") {
		from, to, _ := strings.Cut(arrow, ">")
		for _, v := range []string{from, to} {
			if graph[v] == nil {
				graph[v] = map[string]bool{}
			}
		}
		graph[from][to] = true
	}
	if n := largestKnot(graph); n != 3 {
		t.Errorf("the largest knot has %d files, want 3", n)
	}
}
