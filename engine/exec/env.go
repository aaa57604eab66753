package exec

import (
	"slices"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/record"

	"github.com/nacredb/nacre/engine/value"
)

// Env is the environment of an expression: a chain of frames with parameters and a current document.
// An Env belongs to one goroutine; operators over rows make one and change its document per row.
type Env struct {
	up   *Env
	vars []record.Param
	at   map[string]int // the places of vars, once they are many; nil before

	doc    value.Value // $this, and where bare field names are looked up
	parent value.Value // $parent
	hasDoc bool
	lent   bool // vars is not the frame's alone: it is copied before one changes
	stands standing
	linked bool // doc is what a link leads to, which $this is itself

	search *searches      // what the WHERE around searches for
	table  *catalog.Table // of the record that is written; nil elsewhere
}

// standing is the role of the document of a frame.
type standing uint8

const (
	asRow     standing = iota // what is written, or what a clause of a definition looks at
	asColumns                 // the row of a SELECT
	asHidden                  // nothing: the row of a SELECT is hidden from closures that a function calls
	asElement                 // an element that a filter looks at
)

// NewEnv is an outermost frame with the given parameters; it takes over vars.
func NewEnv(vars ...record.Param) *Env { return &Env{vars: vars} }

// Child is an inner frame with its own parameters; it takes over vars.
func (e *Env) Child(vars ...record.Param) *Env { return &Env{up: e, vars: vars} }

// WithDoc is an inner frame in which doc is the current document and e's document is $parent.
func (e *Env) WithDoc(doc value.Value) *Env {
	return &Env{up: e, doc: doc, hasDoc: true, parent: e.This()}
}

// WithThis is an inner frame in which doc is the current document and $parent stays what it is.
func (e *Env) WithThis(doc value.Value) *Env {
	return &Env{up: e, doc: doc, hasDoc: true, parent: e.Parent()}
}

// SetDoc replaces the document of a frame made by WithDoc or WithThis.
func (e *Env) SetDoc(doc value.Value) { e.doc = doc }

// Set defines a parameter in this frame, or changes it if this frame has it.
func (e *Env) Set(name string, v value.Value) {
	if e.lent {
		e.vars, e.lent = slices.Clone(e.vars), false
	}
	if i := e.find(name); i >= 0 {
		e.vars[i].Value = v
		return
	}
	if len(e.vars) >= manyVars {
		e.index()
		e.at[name] = len(e.vars)
	}
	e.vars = append(e.vars, record.Param{Name: name, Value: v})
}

// manyVars is how many parameters of a frame are looked at one by one.
const manyVars = 64

// find is the place of a parameter in this frame; -1 where it has none of that name.
func (e *Env) find(name string) int {
	if len(e.vars) > manyVars && len(e.at) == len(e.vars) {
		if i, ok := e.at[name]; ok {
			return i
		}
		return -1
	}
	for i := range e.vars {
		if e.vars[i].Name == name {
			return i
		}
	}
	return -1
}

// index makes at, if it is not that of vars: the first of equal names is the one that is found.
func (e *Env) index() {
	if e.at != nil && len(e.at) == len(e.vars) {
		return
	}
	e.at = make(map[string]int, 2*len(e.vars))
	for i := len(e.vars) - 1; i >= 0; i-- {
		e.at[e.vars[i].Name] = i
	}
}

// Vars are the parameters of this frame alone, as they are now; read-only.
func (e *Env) Vars() []record.Param {
	e.lent = true
	return e.vars
}

// Reset makes vars the parameters of this frame, which does not change them.
func (e *Env) Reset(vars []record.Param) { e.vars, e.at, e.lent = vars, nil, true }

// Lookup finds a parameter, innermost frame first.
func (e *Env) Lookup(name string) (value.Value, bool) {
	for f := e; f != nil; f = f.up {
		if i := f.find(name); i >= 0 {
			return f.vars[i].Value, true
		}
	}
	return value.None, false
}

// lookupBelow is Lookup in the frames inside of base.
func (e *Env) lookupBelow(base *Env, name string) (value.Value, bool) {
	for f := e; f != nil && f != base; f = f.up {
		if i := f.find(name); i >= 0 {
			return f.vars[i].Value, true
		}
	}
	return value.None, false
}

// This is the current document; NONE where there is none.
func (e *Env) This() value.Value {
	for f := e; f != nil; f = f.up {
		if f.hasDoc {
			return f.doc
		}
	}
	return value.None
}

// calling is e as closures see it that a function calls: without the row of a SELECT.
func (e *Env) calling() *Env {
	f := e
	for f != nil && (!f.hasDoc || f.stands == asElement) {
		f = f.up
	}
	if f == nil || f.stands != asColumns {
		return e
	}
	inner := e.WithThis(value.None)
	inner.stands = asHidden
	return inner
}

// withRow is e with the row of the innermost SELECT as its document; with other where there is none.
func (e *Env) withRow(other value.Value) *Env {
	for f := e; f != nil; f = f.up {
		if f.hasDoc && f.stands <= asColumns {
			return e.WithThis(f.doc)
		}
	}
	return e.WithThis(other)
}

// HasDoc reports whether there is a current document.
func (e *Env) HasDoc() bool {
	for f := e; f != nil; f = f.up {
		if f.hasDoc {
			return true
		}
	}
	return false
}

// Parent is the document around the current one; NONE where there is none.
func (e *Env) Parent() value.Value {
	for f := e; f != nil; f = f.up {
		if f.hasDoc {
			return f.parent
		}
	}
	return value.None
}

// Visible copies every parameter in the frames inside of base (nil: in all), inner ones first; a closure keeps them.
// One that is hidden by another of its name is left out: closures that call each other would double what they keep with
// every call.
func (e *Env) Visible(base *Env) []record.Param {
	n := 0
	for f := e; f != nil && f != base; f = f.up {
		n += len(f.vars)
	}
	if n == 0 {
		return nil
	}
	out := make([]record.Param, 0, min(n, fewVars))
	var names map[string]struct{} // of out, where they are many
	for f := e; f != nil && f != base; f = f.up {
		for i := range f.vars {
			v := &f.vars[i]
			if names == nil && len(out) < fewVars {
				if !slices.ContainsFunc(out, func(o record.Param) bool { return o.Name == v.Name }) {
					out = append(out, *v)
				}
				continue
			}
			if names == nil {
				names = make(map[string]struct{}, n)
				for j := range out {
					names[out[j].Name] = struct{}{}
				}
			}
			if _, ok := names[v.Name]; !ok {
				names[v.Name] = struct{}{}
				out = append(out, *v)
			}
		}
	}
	return out
}

// fewVars are so few that looking through them is quicker than a map.
const fewVars = 16
