package script

import (
	"fmt"
	"math/big"
	"reflect"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// One step of the interpreter may make a BigInt of any size, out of two small ones, and nothing stops it on the way. So
// scripts that can have BigInts (they write one, name the class, or are given one) are compiled with calls of guard.js
// in the place of the operators that could; all others have no BigInts at all.

// guardedOps are the operators that make, or read, BigInts much larger than what they are given, by the names of their
// guards.
var guardedOps = map[token.Token]string{
	token.MULTIPLY: " *", token.EXPONENT: " **", token.SHIFT_LEFT: " <<", token.SHIFT_RIGHT: " >>",
	token.EQUAL: " ==", token.NOT_EQUAL: " !=", token.LESS: " <", token.GREATER: " >", token.LESS_OR_EQUAL: " <=",
	token.GREATER_OR_EQUAL: " >=",
	token.MULTIPLY_ASSIGN:  " *", token.EXPONENT_ASSIGN: " **", token.SHIFT_LEFT_ASSIGN: " <<",
	token.SHIFT_RIGHT_ASSIGN: " >>",
}

// bigClasses are the classes that make BigInts out of other things.
var bigClasses = [...]string{"BigInt", "BigInt64Array", "BigUint64Array"}

// dropBigInts takes BigInts out of a runtime.
func dropBigInts(vm *goja.Runtime) error {
	for _, name := range bigClasses {
		if err := vm.GlobalObject().Delete(name); err != nil {
			return err
		}
	}
	views := vm.Get("DataView").ToObject(vm).Get("prototype").ToObject(vm)
	for _, name := range [...]string{"getBigInt64", "getBigUint64"} {
		if err := views.Delete(name); err != nil {
			return err
		}
	}
	return nil
}

// guarder puts guards into a program: templates always, operators where there are BigInts.
type guarder struct {
	seen    map[any]bool
	literal bool   // a BigInt is written
	replace bool   // operators are replaced, not only looked for
	refused string // what can not be guarded
	depth   int    // nodes inside one another
}

// maxNesting is how many nodes of a program may be inside one another: an operator of a chain is inside the next.
// Nothing interrupts the compiler, which takes the square of that.
const maxNesting = 4000

// guardBigInts replaces the operators of a program if it can have BigInts: given says that its arguments do. It fails
// with a text for what it can not replace.
func guardBigInts(program *ast.Program, source string, given bool) (has bool, refused string) {
	g := &guarder{seen: map[any]bool{}}
	g.visit(reflect.ValueOf(program))
	if g.refused != "" {
		return false, g.refused
	}
	if !given && !g.literal && !strings.Contains(source, "BigInt") {
		return false, ""
	}
	g = &guarder{seen: map[any]bool{}, replace: true}
	g.visit(reflect.ValueOf(program))
	return true, g.refused
}

// visit walks what hangs on a node. The tree has dozens of kinds of nodes and no walk of its own.
func (g *guarder) visit(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || g.seen[v.Interface()] {
			return
		}
		g.seen[v.Interface()] = true
		if g.depth++; g.depth > maxNesting {
			g.refused = fmt.Sprintf("expressions are nested deeper than %d", maxNesting)
		} else if g.refused == "" {
			defer func() { g.depth-- }()
		}
		if g.refused != "" {
			return
		}
		if n, ok := v.Interface().(*ast.NumberLiteral); ok {
			_, big := n.Value.(*big.Int)
			g.literal = g.literal || big
			return
		}
		g.visit(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		g.visit(v.Elem())
		x, ok := v.Interface().(ast.Expression)
		if !ok || !v.CanSet() {
			return
		}
		if t, ok := x.(*ast.TemplateLiteral); ok && t.Tag == nil && len(t.Expressions) > 0 {
			v.Set(reflect.ValueOf(guardTemplate(t)))
		} else if g.replace {
			if now := g.guarded(x); now != nil {
				v.Set(reflect.ValueOf(now))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				g.visit(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			g.visit(v.Index(i))
		}
	}
}

// guarded is the call in the place of an operator; nil where the expression stays.
func (g *guarder) guarded(x ast.Expression) ast.Expression {
	switch x := x.(type) {
	case *ast.BinaryExpression:
		if name, ok := guardedOps[x.Operator]; ok {
			return guardCall(name, x.Idx0(), x.Left, x.Right)
		}
	case *ast.AssignExpression:
		name, ok := guardedOps[x.Operator]
		if !ok {
			return nil
		}
		at := x.Idx0()
		switch left := x.Left.(type) {
		case *ast.Identifier:
			read := *left
			return &ast.AssignExpression{Operator: token.ASSIGN, Left: left, Right: guardCall(name, at, &read, x.Right)}
		case *ast.DotExpression:
			if _, super := left.Left.(*ast.SuperExpression); !super {
				return guardCall(" =", at, text(name, at), left.Left, text(left.Identifier.Name, at), x.Right)
			}
		case *ast.BracketExpression:
			if _, super := left.Left.(*ast.SuperExpression); !super {
				return guardCall(" =", at, text(name, at), left.Left, left.Member, x.Right)
			}
		}
		g.refused = "`" + x.Operator.String() + "` of a private field, or of super, with BigInts: write the assignment out"
	}
	return nil
}

// guardTemplate is the call in the place of a template: it makes a text of any length in one step. The texts come
// first.
func guardTemplate(t *ast.TemplateLiteral) ast.Expression {
	at := t.Idx0()
	texts := &ast.ArrayLiteral{LeftBracket: at, RightBracket: at}
	for _, e := range t.Elements {
		texts.Value = append(texts.Value, &ast.StringLiteral{Idx: at, Literal: e.Literal, Value: e.Parsed})
	}
	return guardCall(" `", at, append([]ast.Expression{texts}, t.Expressions...)...)
}

func guardCall(name string, at file.Idx, args ...ast.Expression) ast.Expression {
	return &ast.CallExpression{Callee: &ast.Identifier{Name: unistring.String(name), Idx: at}, ArgumentList: args,
		LeftParenthesis: at, RightParenthesis: at}
}

func text[S ~string](s S, at file.Idx) ast.Expression {
	return &ast.StringLiteral{Idx: at, Literal: string(s), Value: unistring.String(s)}
}
