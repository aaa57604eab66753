// Package column names the columns that the expressions of a projection become. It looks at their text alone.
package column

import (
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Alias is an alias as a path of names; nil for none.
func Alias(id *ast.Idiom) []string {
	if id == nil {
		return nil
	}
	return Path(id.Parts)
}

// Path is the path under which an idiom shows in a result: names and graph steps; all else is left out.
func Path(parts []ast.Part) []string {
	var out []string
	for _, p := range parts {
		switch p := p.(type) {
		case *ast.PartField:
			out = append(out, p.Name)
		case *ast.PartGraph:
			if p.Graph.Alias != nil {
				return Path(p.Graph.Alias.Parts)
			}
			out = append(out, Step(p.Graph))
		}
	}
	return out
}

// Is reports whether an expression without an alias goes to one column of that name.
func Is(x ast.Expr, name string) bool {
	if id, ok := x.(*ast.Idiom); ok && len(id.Parts) == 1 {
		if f, ok := id.Parts[0].(*ast.PartField); ok {
			return f.Name == name
		}
	}
	path := Of(x)
	return len(path) == 1 && path[0] == name
}

// Of is where an expression without an alias goes.
func Of(x ast.Expr) []string {
	switch x := x.(type) {
	case *ast.Paren:
		return Of(x.X)
	case *ast.Param:
		return []string{x.Name}
	case *ast.Call:
		return []string{Call(x)}
	case *ast.Subquery:
		return []string{ast.Text(x.Stmt)}
	case *ast.Idiom:
		if start, ok := x.Parts[0].(*ast.PartStart); ok {
			if from, ok := start.X.(*ast.Idiom); ok {
				return ofWay(from, x.Parts[1:])
			}
			return ofStart(start.X, Path(x.Parts[1:]))
		}
		if path := Path(x.Parts); len(path) > 0 {
			return path
		}
		if _, ok := x.Parts[0].(*ast.PartDoc); ok { // @.{2}(->knows) names nothing
			return []string{""}
		}
	}
	return []string{ast.Text(x)}
}

// ofStart is the key of an idiom that starts from a value.
func ofStart(x ast.Expr, rest []string) []string {
	switch x := x.(type) {
	case *ast.Param:
		return append([]string{"$" + x.Name}, rest...)
	case *ast.Call:
		return append([]string{Call(x)}, rest...)
	}
	text := ast.Text(x)
	switch x.(type) {
	case *ast.Binary, *ast.Unary, *ast.Cast, *ast.Range:
		text = "(" + text + ")"
	case *ast.RecordID:
		if len(rest) > 0 {
			text = "(" + text + ")"
		}
	}
	for _, name := range rest {
		text += "." + value.QuoteIdent(name)
	}
	return []string{text}
}

// ofWay is the key of a path that goes on from one in parentheses: edges name the whole way that they lead from the
// last field, further ones behind the parentheses themselves only.
func ofWay(from *ast.Idiom, rest []ast.Part) []string {
	path := Path(rest)
	if !from.Traverses() {
		if from.RepeatsRest() {
			return ofStart(from, path)
		}
		return append(Of(from), path...)
	}
	if _, edges := rest[0].(*ast.PartGraph); edges {
		return path
	}
	var out []string
	way := 0        // where the parts begin that have one name
	joined := false // the last name is of parts of this way
	for i, p := range from.Parts {
		switch p.(type) {
		case *ast.PartGraph:
			if joined {
				out = out[:len(out)-1]
			}
			joined = true
			out = append(out, strings.TrimPrefix(ast.Text(&ast.Idiom{Parts: from.Parts[way : i+1]}), "."))
		case *ast.PartRecurse:
			way, joined = i, false
		case *ast.PartField, *ast.PartStart, *ast.PartDoc:
			way, joined = i, true
			out = append(out, strings.TrimPrefix(ast.Text(&ast.Idiom{Parts: from.Parts[i : i+1]}), "."))
		}
	}
	return append(out, path...)
}

// Step is a graph step as it shows in a name: "->knows".
func Step(g *ast.Graph) string {
	return ast.Text(&ast.Idiom{Parts: []ast.Part{&ast.PartGraph{Graph: g}}})
}

// Call is the name of a called function with its prefix.
func Call(c *ast.Call) string {
	switch c.Kind {
	case ast.CallCustom:
		return "fn::" + c.Path
	case ast.CallModel:
		return "ml::" + c.Path + "<" + c.Version + ">"
	case ast.CallModule:
		return "mod::" + c.Path
	case ast.CallSilo:
		return "silo::" + c.Path + "<" + c.Version + ">"
	}
	return c.Path
}

// Debug names a field as the reference's text does.
func Debug(x ast.Expr) string {
	id, ok := x.(*ast.Idiom)
	if !ok {
		return ast.Text(x)
	}
	var parts []string
	for _, name := range Path(id.Parts) {
		parts = append(parts, `Field("`+name+`")`)
	}
	return "Idiom([" + strings.Join(parts, ", ") + "])"
}

// OfRecord reports whether x is @.{ … } or @.*: its fields become columns.
func OfRecord(x ast.Expr) bool {
	id, ok := x.(*ast.Idiom)
	if !ok || len(id.Parts) != 2 {
		return false
	}
	if _, doc := id.Parts[0].(*ast.PartDoc); !doc {
		return false
	}
	switch id.Parts[1].(type) {
	case *ast.PartDestructure, *ast.PartAll:
		return true
	}
	return false
}
