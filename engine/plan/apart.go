package plan

import (
	"slices"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/value"
)

// nested reports whether an indexed field is more than a name: its path may lead through a link into another record,
// which the index does not follow.
func nested(ix *catalog.Index, i int) bool {
	path := ix.Paths[i]
	return len(path) != 1 && !(len(path) == 2 && path[1].All)
}

// apart are the parts of an index with records that may hold although their values do not stand where the access looks,
// where there are any: what is behind a link, which engine/index keeps in an object, and regexes, which equal the
// strings that they match.
func (q *Query) apart(c *candidate) ([]index.Access, error) {
	p := &parts{q: q, c: c}
	for i, v := range c.lead {
		p.field(i, c.lead[:i], isString(v))
	}
	n := len(c.lead)
	if c.in == nil {
		if c.from.Kind != value.Unbounded || c.to.Kind != value.Unbounded {
			p.field(n, c.lead, false)
		}
		return p.out, p.err
	}
	p.field(n, c.lead, slices.ContainsFunc(c.in, isString))
	for i, v := range c.tail {
		for _, in := range c.in {
			p.field(n+1+i, c.access(in).Lead[:n+1+i], isString(v))
		}
	}
	if c.from.Kind != value.Unbounded || c.to.Kind != value.Unbounded {
		for _, in := range c.in {
			p.field(n+1+len(c.tail), c.access(in).Lead, false)
		}
	}
	return p.out, p.err
}

// parts gathers the parts of an index that have entries.
type parts struct {
	q   *Query
	c   *candidate
	out []index.Access
	err error
}

// field adds what may stand apart in one field, after values of the fields before it.
func (p *parts) field(i int, lead []value.Value, text bool) {
	from := value.RegexOf(&value.Regex{})
	switch {
	case p.err != nil:
		return
	case nested(p.c.ix, i):
		from = value.ObjectOf(nil) // and the regexes, which come later
	case !text:
		return
	}
	a := index.Access{Lead: lead, From: atLeast(from), Elements: p.c.elements}
	n, err := p.q.Host.Entries(p.c.ix, a, 1)
	if n > 0 {
		p.out = append(p.out, a)
	}
	p.err = err
}

func isString(v value.Value) bool { return v.Kind() == value.KindString }
