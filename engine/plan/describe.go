package plan

import (
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Describe is the plan of a statement that only reads, with those of the statements in it; nil for others. selects
// plans a SELECT.
func Describe(s ast.Statement, selects func(*ast.Select) (*Node, error)) (*Node, error) {
	d := &describer{selects: selects}
	n := d.statement(s)
	return n, d.err
}

type describer struct {
	selects func(*ast.Select) (*Node, error)
	err     error // the first one
}

func (d *describer) statement(s ast.Statement) *Node {
	switch s := s.(type) {
	case *ast.ExprStmt:
		return d.expr(s.X)
	case *ast.Select:
		return d.query(s)
	case *ast.Let:
		return over(&Node{Op: "Let"}, d.expr(s.X)).With("name", ast.Text(&ast.Param{Name: s.Name}))
	case *ast.Return:
		in := d.expr(s.X)
		if len(s.Fetch) > 0 {
			f := Fetching(s.Fetch)
			in = f.Over(in, 0)
		}
		return over(&Node{Op: "Return"}, in)
	case *ast.Throw, *ast.Break, *ast.Continue:
		return expression(&ast.Subquery{Stmt: s}, nil)
	case *ast.If:
		n := (&Node{Op: "IfElse", Runtime: !AsksStore(s)}).With("branches", fmt.Sprint(len(s.Branches)))
		if s.Else != nil {
			n.With("has_else", "true")
		}
		return n
	case *ast.For:
		n := &Node{Op: "Foreach", Runtime: !AsksStore(s)}
		return n.With("param", s.Name).With("statements", fmt.Sprint(len(s.Body.Stmts)))
	case *ast.Sleep:
		return (&Node{Op: "Sleep", Runtime: true}).With("duration", value.DurationOf(s.Duration).Text())
	case *ast.Info:
		return info(s)
	case *ast.ExplainStmt:
		return explained(s.JSON)
	}
	return nil
}

func over(n, in *Node) *Node {
	if in == nil {
		return n
	}
	n.Children, n.Runtime = []*Node{in}, in.Runtime
	return n
}

func explained(json bool) *Node {
	format := "TEXT"
	if json {
		format = "JSON"
	}
	return (&Node{Op: "Explain", Runtime: true}).With("format", format)
}

func (d *describer) query(s *ast.Select) *Node {
	if s.Explain != nil {
		return explained(true)
	}
	n, err := d.selects(s)
	if err != nil && d.err == nil {
		d.err = err
	}
	return n
}

// expr is the plan of an expression: that of the statement that it is, or of its value.
func (d *describer) expr(x ast.Expr) *Node {
	switch x := x.(type) {
	case *ast.Paren:
		return d.expr(x.X)
	case *ast.Subquery:
		if n := d.statement(x.Stmt); n != nil {
			return n
		}
	case *ast.Block:
		if len(x.Stmts) == 1 {
			if n := d.statement(x.Stmts[0]); n != nil {
				return n
			}
		}
		n := &Node{Op: "Sequence", Runtime: !AsksStore(x)}
		return n.With("statements", fmt.Sprint(len(x.Stmts)))
	}
	return expression(x, d.query)
}

func expression(x ast.Expr, selects func(*ast.Select) *Node) *Node {
	n := &Node{Op: "Expr", Runtime: !AsksStore(x)}
	return n.With("expr", Show(x)).Holds("expr", x, selects)
}

func info(s *ast.Info) *Node {
	n := &Node{Op: [...]string{ast.InfoRoot: "InfoRoot", ast.InfoNamespace: "InfoNamespace",
		ast.InfoDatabase: "InfoDatabase", ast.InfoTable: "InfoTable", ast.InfoUser: "InfoUser",
		ast.InfoIndex: "InfoIndex"}[s.Level]}
	n.Runtime, n.namespace = s.Level == ast.InfoRoot, s.Level == ast.InfoNamespace
	if s.Level == ast.InfoUser {
		n.Runtime, n.namespace = s.Base == ast.BaseNone || s.Base == ast.BaseRoot, s.Base == ast.BaseNamespace
	}
	role := map[ast.InfoLevel]string{ast.InfoTable: "table", ast.InfoUser: "user", ast.InfoIndex: "index"}[s.Level]
	if role != "" {
		n.With(role, named(s.Name)).Expr(role, named(s.Name))
	}
	if s.Table != nil {
		n.With("table", named(s.Table)).Expr("table", named(s.Table))
	}
	switch s.Base {
	case ast.BaseRoot:
		n.With("base", "Root")
	case ast.BaseNamespace:
		n.With("base", "Ns")
	case ast.BaseDatabase:
		n.With("base", "Db")
	}
	n.With("structured", fmt.Sprint(s.Structure))
	if s.Version != nil {
		n.With("version", "<expr>")
	}
	return n
}

// named is a name as a text, or the expression that gives it.
func named(n *ast.Name) string {
	if n.Expr != nil {
		return Show(n.Expr)
	}
	return value.Str(n.Ident).Text()
}
