package graphql

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// What a page has.
const (
	usualPage = 20
	mostPage  = 1000
)

// page is the part of a list that a connection asks for.
type page struct {
	size     int64
	backward bool
	cursor   value.Value // the record to go on from; NONE: from the end
}

func (x *runner) pageOf(o *object, p *pick) (page, error) {
	first, last, after, before := p.arg("first"), p.arg("last"), p.arg("after"), p.arg("before")
	out := page{size: usualPage, backward: !last.IsNullish() || !before.IsNullish()}
	switch {
	case !first.IsNullish() && !last.IsNullish():
		return out, resolving("Pass either `first` or `last`, not both")
	case !after.IsNullish() && !before.IsNullish():
		return out, resolving("Pass either `after` or `before`, not both")
	case first.Kind() == value.KindInt:
		out.size, out.backward = first.Int(), false
	case last.Kind() == value.KindInt:
		out.size = last.Int()
	}
	out.size = min(max(out.size, 1), mostPage)
	text := after
	if text.IsNullish() {
		text = before
	}
	if text.IsNullish() {
		return out, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(value.ToString(text))
	if err != nil {
		return out, resolving("invalid cursor")
	}
	id, err := x.o.conv.readRecord(string(raw))
	if err != nil || id.Record().Key.Kind() == value.KindRange {
		return out, resolving("invalid cursor")
	}
	if table := id.Record().Table; table != o.table {
		return out, resolving("cursor table mismatch: cursor decodes to table `%s`, expected `%s`", table, o.table)
	}
	out.cursor = id
	return out, nil
}

// connection pages through the records of a table in the order of their ids.
func (x *runner) connection(ctx context.Context, o *object, p *pick) error {
	pg, err := x.pageOf(o, p)
	if err != nil {
		return err
	}
	where, err := x.where(o, p)
	if err != nil {
		return err
	}
	c := &connection{x: x, o: o, where: where, page: pg, after: !p.arg("after").IsNullish()}
	name := p.field.Definition.Type.NamedType
	picks, err := p.of(x.o, name)
	if err != nil {
		return err
	}
	edge := name[:len(name)-len("Connection")] + "Edge"
	var nodes []*pick
	rows := false
	for _, q := range picks {
		rows = rows || q.name == "edges" || q.name == "pageInfo"
		if q.name != "edges" {
			continue
		}
		inner, err := q.of(x.o, edge)
		if err != nil {
			return err
		}
		for _, r := range inner {
			if r.name == "node" {
				sub, err := r.of(x.o, o.name)
				if err != nil {
					return err
				}
				nodes = append(nodes, sub...)
			}
		}
	}
	if rows {
		if err := c.read(ctx, nodes); err != nil {
			return err
		}
	}
	return c.write(ctx, picks, name, edge)
}

// connection is a page of records at work.
type connection struct {
	x     *runner
	o     *object
	where ast.Expr
	page  page
	after bool // the cursor is that of after
	docs  []value.Value
	more  bool // there are records behind the page in its direction
}

// beyond is the condition for the records on one side of the cursor.
func (c *connection) beyond(op ast.BinaryOp) ast.Expr {
	cond := c.where
	if !c.page.cursor.IsNone() {
		at := binary(op, place(nil).field("id").expr(), literalOf(c.page.cursor))
		if cond == nil {
			return at
		}
		return binary(ast.OpAnd, at, &ast.Paren{X: cond})
	}
	return cond
}

func (c *connection) read(ctx context.Context, nodes []*pick) error {
	op := ast.OpMore
	if !c.page.cursor.IsNone() && !c.after {
		op = ast.OpLess
	}
	s := &ast.Select{From: []ast.Expr{&ast.Table{Name: c.o.table}}, Where: c.beyond(op),
		Limit: literalOf(value.Int(c.page.size + 1)),
		Order: &ast.Order{Keys: []ast.OrderKey{{Key: &ast.Idiom{Parts: place(nil).field("id")},
			Desc: c.page.backward}}}}
	s.Projections = projection(c.o, nodes, s.Order)
	docs, err := c.x.rows(ctx, s, nil)
	if err != nil {
		return err
	}
	if c.more = len(docs) > int(c.page.size); c.more {
		docs = docs[:c.page.size]
	}
	if c.page.backward {
		docs = slices.Clone(docs)
		slices.Reverse(docs)
	}
	c.docs = docs
	return c.x.gather(ctx, c.o, docs, nodes)
}

// other reports whether there are records on the other side of the cursor.
func (c *connection) other(ctx context.Context) (bool, error) {
	if c.page.cursor.IsNone() {
		return false, nil
	}
	op := ast.OpLessEqual
	if !c.after {
		op = ast.OpMoreEqual
	}
	s := &ast.Select{From: []ast.Expr{&ast.Table{Name: c.o.table}}, Where: c.beyond(op), Limit: literalOf(value.Int(1)),
		Projections: &ast.Projections{Fields: []ast.Projection{{X: place(nil).field("id").expr()}}}}
	docs, err := c.x.rows(ctx, s, nil)
	return len(docs) > 0, err
}

func (c *connection) total(ctx context.Context) (int64, error) {
	s := &ast.Select{From: []ast.Expr{&ast.Table{Name: c.o.table}}, Where: c.where, Group: &ast.Group{All: true},
		Projections: &ast.Projections{Fields: []ast.Projection{{X: builtin("count"),
			Alias: &ast.Idiom{Parts: place(nil).field("n")}}}}}
	rows, err := c.x.rows(ctx, s, nil)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	if n := member1(rows[0], "n"); n.Kind() == value.KindInt {
		return n.Int(), nil
	}
	return 0, nil
}

// members writes an object of fields that write themselves.
func (x *runner) members(ctx context.Context, typ string, picks []*pick, f func(p *pick) error) error {
	x.buf = append(x.buf, '{')
	for i, p := range picks {
		if i > 0 {
			x.buf = append(x.buf, ',')
		}
		x.buf = appendKey(x.buf, p.key)
		mark := len(x.buf)
		x.path = append(x.path, p.key)
		var err error
		if p.name == "__typename" {
			x.buf = appendText(x.buf, typ)
		} else {
			err = f(p)
		}
		err = x.settle(ctx, p, mark, err)
		x.path = x.path[:len(x.path)-1]
		if err != nil {
			return err
		}
	}
	x.buf = append(x.buf, '}')
	return nil
}

func (c *connection) write(ctx context.Context, picks []*pick, name, edge string) error {
	x := c.x
	return x.members(ctx, name, picks, func(p *pick) error {
		switch p.name {
		case "edges":
			return c.edges(ctx, p, edge)
		case "pageInfo":
			return c.info(ctx, p)
		}
		n, err := c.total(ctx)
		x.buf = strconv.AppendInt(x.buf, n, 10)
		return err
	})
}

func (c *connection) edges(ctx context.Context, p *pick, edge string) error {
	x := c.x
	picks, err := p.of(x.o, edge)
	if err != nil {
		return err
	}
	x.buf = append(x.buf, '[')
	for i, doc := range c.docs {
		if i > 0 {
			x.buf = append(x.buf, ',')
		}
		x.path = append(x.path, i)
		err := x.members(ctx, edge, picks, func(q *pick) error {
			if q.name == "cursor" {
				x.buf = appendText(x.buf, cursorOf(doc))
				return nil
			}
			node, err := q.of(x.o, c.o.name)
			if err != nil {
				return err
			}
			return x.object(ctx, c.o, doc, node)
		})
		x.path = x.path[:len(x.path)-1]
		if err != nil {
			return err
		}
	}
	x.buf = append(x.buf, ']')
	return nil
}

// cursorOf is the cursor of a record: the text of its id in base64.
func cursorOf(doc value.Value) string {
	return base64.RawURLEncoding.EncodeToString([]byte(member1(doc, "id").Text()))
}

func (c *connection) info(ctx context.Context, p *pick) error {
	x := c.x
	picks, err := p.of(x.o, "PageInfo")
	if err != nil {
		return err
	}
	return x.members(ctx, "PageInfo", picks, func(q *pick) error {
		switch q.name {
		case "hasNextPage", "hasPreviousPage":
			on := c.more
			if (q.name == "hasNextPage") == c.page.backward {
				var err error
				if on, err = c.other(ctx); err != nil {
					return err
				}
			}
			x.buf = strconv.AppendBool(x.buf, on)
			return nil
		}
		if len(c.docs) == 0 {
			x.buf = append(x.buf, "null"...)
			return nil
		}
		doc := c.docs[0]
		if q.name == "endCursor" {
			doc = c.docs[len(c.docs)-1]
		}
		x.buf = appendText(x.buf, cursorOf(doc))
		return nil
	})
}
