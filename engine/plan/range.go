package plan

import (
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// bounded uses the comparisons of the field after those that are equal.
func (c *candidate) bounded(conds []condition, field string) {
	if strings.HasSuffix(field, ".*") || strings.HasSuffix(field, "[*]") {
		return
	}
	for i := range conds {
		d := &conds[i]
		if d.field != field {
			continue
		}
		switch d.op {
		case ast.OpMore, ast.OpMoreEqual:
			c.narrowFrom(d)
			c.used = append(c.used, d.x)
		case ast.OpLess, ast.OpLessEqual:
			c.narrowTo(d)
			c.used = append(c.used, d.x)
		}
	}
	if c.from.Kind != value.Unbounded {
		c.score++
	}
	if c.to.Kind != value.Unbounded {
		c.score++
	}
}

func (c *candidate) narrowFrom(d *condition) {
	kind := value.Included
	if d.op == ast.OpMore {
		kind = value.Excluded
	}
	cmp := value.Compare(d.v, c.from.Value)
	if c.from.Kind == value.Unbounded || cmp > 0 || cmp == 0 && kind == value.Excluded {
		c.from = value.Bound{Kind: kind, Value: d.v}
	}
}

func (c *candidate) narrowTo(d *condition) {
	kind := value.Included
	if d.op == ast.OpLess {
		kind = value.Excluded
	}
	cmp := value.Compare(d.v, c.to.Value)
	if c.to.Kind == value.Unbounded || cmp < 0 || cmp == 0 && kind == value.Excluded {
		c.to = value.Bound{Kind: kind, Value: d.v}
	}
}
