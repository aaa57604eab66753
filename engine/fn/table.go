package fn

import (
	"maps"
	"slices"
	"sort"

	"github.com/nacredb/nacre/engine/value"
)

// Table is the whole library; it is built once and then only read, but for its bounded caches,
// which are safe for concurrent use.
type Table struct {
	funcs   map[string]*Func
	consts  map[string]value.Value
	methods map[string]*Method
	names   []string // of functions and constants
	// pathless functions have a method form only.
	pathless  []*Func
	regexes   regexes
	scratches scratches
	kdfs      chan struct{} // a place for each password hash under way
	web       *webClient
}

// Library builds the table. It costs about a millisecond and is meant to be done once for each engine.
func Library() *Table {
	t := &Table{
		funcs:   make(map[string]*Func, 512),
		consts:  constants(),
		methods: make(map[string]*Method, 512),
		kdfs:    newKDFGate(),
		web:     newWebClient(),
	}
	for _, family := range families() {
		for _, e := range family {
			f := parseSignature(e)
			f.table = t
			if _, dup := t.funcs[f.Name]; dup {
				panic("function table: " + f.Name + " is there twice")
			}
			if f.pathless {
				t.pathless = append(t.pathless, f)
			} else {
				t.funcs[f.Name] = f
			}
			t.addMethod(f, e)
		}
	}
	for name := range t.funcs {
		t.names = append(t.names, name)
	}
	for name := range t.consts {
		t.names = append(t.names, name)
	}
	sort.Strings(t.names)
	return t
}

// Function finds a function by its path in lower case.
func (t *Table) Function(path string) (*Func, bool) {
	f, ok := t.funcs[path]
	return f, ok
}

// Constant finds a constant by its path in lower case.
func (t *Table) Constant(path string) (value.Value, bool) {
	v, ok := t.consts[path]
	return v, ok
}

// Method finds a method by its name, which is matched exactly.
func (t *Table) Method(name string) (*Method, bool) {
	m, ok := t.methods[name]
	return m, ok
}

// Names are the paths of all functions and constants in ascending order; read-only.
func (t *Table) Names() []string { return t.names }

// Functions are all functions in order of their paths.
func (t *Table) Functions() []*Func {
	out := make([]*Func, 0, len(t.funcs))
	for _, name := range t.names {
		if f, ok := t.funcs[name]; ok {
			out = append(out, f)
		}
	}
	return out
}

// MethodsOnly are the functions without a path, in the order of the table; read-only.
func (t *Table) MethodsOnly() []*Func { return t.pathless }

// MethodNames are the names of all methods in ascending order.
func (t *Table) MethodNames() []string { return slices.Sorted(maps.Keys(t.methods)) }

// Resolver is the table as the parser asks for it: an implementation is a *Func.
type Resolver struct{ t *Table }

// Resolver is t as the parser asks for it.
func (t *Table) Resolver() Resolver { return Resolver{t} }

// Function finds a function by its path in lower case; impl is a *Func.
func (r Resolver) Function(path string) (impl any, ok bool) {
	f, ok := r.t.funcs[path]
	return f, ok
}

// Constant finds a constant by its path in lower case.
func (r Resolver) Constant(path string) (value.Value, bool) { return r.t.Constant(path) }

// Names are the paths of all functions and constants in ascending order; read-only.
func (r Resolver) Names() []string { return r.t.names }
