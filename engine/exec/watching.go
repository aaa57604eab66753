package exec

import (
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/plan"
)

// A live query is matched while the changes of others wait, or in turns with them. What it evaluates must neither wait,
// nor reach outside, nor write. LIVE refuses what it can see of that; what stands behind a function, a closure or a
// permission is refused when it is called.

// notInLive refuses something in a live query.
func notInLive(what string) error {
	return errs.Validation("Cannot use %s in a live query: it may neither wait, nor reach outside, nor write", what)
}

// waits reports whether a built-in function waits, reaches outside or changes something.
func waits(path string) bool {
	switch family, _, _ := strings.Cut(path, "::"); family {
	case "sleep", "http", "file", "sequence", "api", "eval":
		return true
	}
	return false
}

// mayCall refuses a built-in function to those who may not call it, and to live queries where it waits.
func (r *Run) mayCall(f *fn.Func) error {
	if r.Watching && waits(f.Name) {
		return notInLive("the function " + f.Name)
	}
	return r.Auth.Caps.MayCall(f.Name)
}

// Watchable refuses a LIVE statement that waits, reaches outside or writes, in itself or in the functions that it calls
// by name.
func (r *Run) Watchable(s *ast.Live) error {
	seen := map[string]bool{}
	var refusal error
	var look func(n any) bool
	look = func(n any) bool {
		switch n := n.(type) {
		case *ast.Call:
			switch {
			case n.Kind == ast.CallBuiltin && waits(n.Path):
				refusal = notInLive("the function " + n.Path)
			case n.Kind == ast.CallCustom && !seen[n.Path]:
				seen[n.Path] = true
				if f, err := r.function(n.Path); err == nil { // else the first change tells
					ast.Inspect(f.Body, look)
				}
			}
		case *ast.PartMethod:
			if n.Name == "sleep" {
				refusal = notInLive("the method " + n.Name)
			}
		case *ast.Script:
			refusal = notInLive("a script")
		case *ast.Sleep:
			refusal = notInLive("SLEEP")
		case ast.Statement:
			if !plan.ReadsOnly(n) {
				refusal = notInLive("a statement that writes")
			}
		}
		return refusal == nil
	}
	parts := append([]ast.Expr{s.From, s.Where}, s.Fetch...)
	if s.Projections != nil {
		for i := range s.Projections.Fields {
			parts = append(parts, s.Projections.Fields[i].X)
		}
	}
	for _, x := range parts {
		ast.Inspect(x, look)
	}
	return refusal
}
