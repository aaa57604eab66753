package graphql

import (
	gast "github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/nacredb/nacre/engine/value"
)

// pick is a field of an answer: what was selected under one name, put together.
type pick struct {
	key   string // its name in the answer
	name  string // of the field
	field *gast.Field
	args  value.Value // an object
	sets  []gast.SelectionSet
	subs  map[string][]*pick // by the name of the object type, once they are asked for

	// What was read for it, by the links and parents that lead to it.
	docs  map[value.IDKey]value.Value
	edges map[value.IDKey][]value.Value
}

// arg is an argument; NONE where it was not given.
func (p *pick) arg(name string) value.Value {
	v, _ := p.args.Object().Get(name)
	return v
}

// collect puts together what is selected of an object type.
func (o *Operation) collect(typ string, sets []gast.SelectionSet) ([]*pick, error) {
	c := &collector{o: o, typ: typ, by: map[string]*pick{}}
	for _, set := range sets {
		if err := c.add(set); err != nil {
			return nil, err
		}
	}
	return c.out, nil
}

type collector struct {
	o    *Operation
	typ  string
	out  []*pick
	by   map[string]*pick
	seen map[string]bool // fragments that were spread
}

func (c *collector) add(set gast.SelectionSet) error {
	for _, x := range set {
		var err error
		switch x := x.(type) {
		case *gast.Field:
			err = c.field(x)
		case *gast.InlineFragment:
			if ok, e := c.o.wanted(x.Directives); e != nil || !ok || !c.o.s.is(c.typ, x.TypeCondition) {
				err = e
				break
			}
			err = c.add(x.SelectionSet)
		case *gast.FragmentSpread:
			ok, e := c.o.wanted(x.Directives)
			f := c.o.doc.Fragments.ForName(x.Name)
			if e != nil || !ok || f == nil || c.seen[x.Name] || !c.o.s.is(c.typ, f.TypeCondition) {
				err = e
				break
			}
			if c.seen == nil {
				c.seen = map[string]bool{}
			}
			c.seen[x.Name] = true
			err = c.add(f.SelectionSet)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) field(x *gast.Field) error {
	ok, err := c.o.wanted(x.Directives)
	if !ok || err != nil {
		return err
	}
	key := x.Alias
	if key == "" {
		key = x.Name
	}
	p := c.by[key]
	if p == nil {
		p = &pick{key: key, name: x.Name, field: x}
		if p.args, err = c.o.arguments(x); err != nil {
			return err
		}
		c.by[key] = p
		c.out = append(c.out, p)
	}
	if len(x.SelectionSet) > 0 {
		p.sets = append(p.sets, x.SelectionSet)
	}
	return nil
}

// arguments are those of a field, as an object.
func (o *Operation) arguments(x *gast.Field) (value.Value, error) {
	if len(x.Arguments) == 0 {
		return value.ObjectOf(value.NewObject()), nil
	}
	fields := make([]value.Field, 0, len(x.Arguments))
	for _, a := range x.Arguments {
		var t *gast.Type
		if x.Definition != nil {
			if d := x.Definition.Arguments.ForName(a.Name); d != nil {
				t = d.Type
			}
		}
		v, err := o.input(a.Value, t)
		if err != nil {
			return value.None, err
		}
		if !v.IsNone() {
			fields = append(fields, value.Field{Name: a.Name, Value: v})
		}
	}
	return value.ObjectOf(value.NewObject(fields...)), nil
}

// wanted evaluates @skip and @include.
func (o *Operation) wanted(ds gast.DirectiveList) (bool, error) {
	for _, d := range ds {
		if d.Name != "skip" && d.Name != "include" {
			continue
		}
		a := d.Arguments.ForName("if")
		if a == nil {
			continue
		}
		v, err := o.input(a.Value, nil)
		if err != nil {
			return false, err
		}
		on := v.Kind() == value.KindBool && v.Bool()
		if on == (d.Name == "skip") {
			return false, nil
		}
	}
	return true, nil
}

// is reports whether an object type satisfies a type condition.
func (s *Schema) is(object, condition string) bool {
	if condition == "" || condition == object {
		return true
	}
	for _, d := range s.graph.PossibleTypes[condition] {
		if d.Name == object {
			return true
		}
	}
	return false
}

// of are the picks of a field for an object type.
func (p *pick) of(o *Operation, typ string) ([]*pick, error) {
	if picks, ok := p.subs[typ]; ok {
		return picks, nil
	}
	picks, err := o.collect(typ, p.sets)
	if p.subs == nil {
		p.subs = map[string][]*pick{}
	}
	p.subs[typ] = picks
	return picks, err
}

func locationOf(at *gast.Position) []gqlerror.Location {
	if at == nil {
		return nil
	}
	return []gqlerror.Location{{Line: at.Line, Column: at.Column}}
}
