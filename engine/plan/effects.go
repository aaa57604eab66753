package plan

import "github.com/nacredb/nacre/engine/ast"

// MayWrite reports whether a statement might write. Calls of functions whose bodies are not at hand might.
func MayWrite(s ast.Statement) bool {
	writes := false
	ast.Inspect(s, func(n any) bool {
		switch n := n.(type) {
		case *ast.PartCall:
			writes = true
		case *ast.PartMethod:
			// A closure that came with a parameter or a field may do anything.
			writes = writes || n.Impl == nil
		default:
			writes = writes || writesItself(n)
		}
		return !writes
	})
	return writes
}

// WritesOpenly reports whether a statement might write without its closures. Where it does not, they may not write.
func WritesOpenly(s ast.Statement) bool {
	writes := false
	ast.Inspect(s, func(n any) bool {
		if _, ok := n.(*ast.Closure); ok {
			return false
		}
		writes = writes || writesItself(n)
		return !writes
	})
	return writes
}

// writesItself reports whether a node might write, leaving out what stands inside of it, and closures that it calls.
func writesItself(n any) bool {
	switch n := n.(type) {
	case *ast.Call:
		// A definition behind fn:: may do anything; sequences count on.
		return n.Kind != ast.CallModel && (n.Kind != ast.CallBuiltin || !readOnly(n.Path))
	case *ast.Script: // it may run statements
		return true
	case ast.Statement:
		return !ReadsOnly(n)
	}
	return false
}

// ReadsOnly reports whether a statement writes nothing itself. What stands inside it may.
func ReadsOnly(s ast.Statement) bool {
	switch s := s.(type) {
	case *ast.GQL:
		return !s.Writes
	case *ast.ExprStmt, *ast.Let, *ast.Return, *ast.Throw, *ast.If, *ast.For, *ast.Select, *ast.ExplainStmt, *ast.Break,
		*ast.Continue,
		*ast.Sleep, *ast.Info, *ast.Show, *ast.Option:
		return true
	}
	return false
}

// Modifies reports whether an expression holds a statement that writes: in sub-selects, blocks, closures and arguments,
// not in the functions of the database that it calls.
func Modifies(x ast.Expr) bool {
	modifies := false
	ast.Inspect(x, func(n any) bool {
		if s, ok := n.(ast.Statement); ok && !ReadsOnly(s) {
			modifies = true
		}
		return !modifies
	})
	return modifies
}

// readOnly reports whether a built-in function leaves the store alone. Closures among its
// arguments are looked into by themselves; those that come as parameters are not known.
func readOnly(path string) bool {
	switch path {
	case "sequence::nextval", "sequence::next", "eval::surql", "eval::gql", "api::invoke":
		// what an endpoint does is its own
		return false
	}
	return true
}
