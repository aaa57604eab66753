package graphql

import (
	"context"
	"encoding/base64"
	"math"
	"strconv"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

var (
	errMissing  = errs.Validation("Cannot return null for a field that cannot be null")
	errMismatch = errs.Validation("Internal Error: The stored value does not fit the type of the field")
)

func appendText(b []byte, s string) []byte { return value.AppendJSON(b, value.Str(s)) }

func appendKey(b []byte, key string) []byte { return append(appendText(b, key), ':') }

// object writes what was picked of a record, or of an object inside of one.
func (x *runner) object(ctx context.Context, o *object, doc value.Value, picks []*pick) error {
	x.buf = append(x.buf, '{')
	for i, p := range picks {
		if i > 0 {
			x.buf = append(x.buf, ',')
		}
		x.buf = appendKey(x.buf, p.key)
		mark := len(x.buf)
		x.path = append(x.path, p.key)
		err := x.settle(ctx, p, mark, x.member(ctx, o, doc, p))
		x.path = x.path[:len(x.path)-1]
		if err != nil {
			return err
		}
	}
	x.buf = append(x.buf, '}')
	return nil
}

func (x *runner) member(ctx context.Context, o *object, doc value.Value, p *pick) error {
	switch f := o.fields[p.name]; {
	case p.name == "__typename":
		x.buf = appendText(x.buf, o.name)
		return nil
	case p.name == "id" && o.table != "":
		x.buf = appendScalar(x.buf, member1(doc, "id"))
		return nil
	case f == nil:
		return errMismatch
	case f.edge != nil:
		picks, err := p.of(x.o, f.edge.to.name)
		if err != nil {
			return err
		}
		return x.objects(ctx, f.edge.to, p.edges[value.KeyOf(member1(doc, "id").Record())], picks)
	default:
		return x.value(ctx, member1(doc, f.real), f.shape, p)
	}
}

// value writes a value of a shape.
func (x *runner) value(ctx context.Context, v value.Value, s *shape, p *pick) error {
	if v.IsNullish() {
		if !s.null {
			return errMissing
		}
		x.buf = append(x.buf, "null"...)
		return nil
	}
	switch s.kind {
	case shapeList:
		return x.listValue(ctx, v, s, p)
	case shapeLink:
		return x.link(ctx, v, s, p)
	case shapeNested:
		if v.Kind() != value.KindObject {
			return errMismatch
		}
		picks, err := p.of(x.o, s.obj.name)
		if err != nil {
			return err
		}
		return x.object(ctx, s.obj, v, picks)
	case shapeGeometry:
		return x.geometryValue(v, s, p)
	case shapeEnum:
		item, ok := s.enum.item[value.ToString(v)]
		if !ok || v.Kind() != value.KindString {
			return errMismatch
		}
		x.buf = appendText(x.buf, item)
		return nil
	}
	return x.scalar(v, s)
}

// scalar writes a value of a scalar type.
func (x *runner) scalar(v value.Value, s *shape) error {
	ok := true
	switch s.name {
	case "Int", "Float":
		ok = v.Kind().IsNumber()
	case "Boolean":
		ok = v.Kind() == value.KindBool
	case "String":
		ok = v.Kind() == value.KindString || v.Kind() == value.KindFile
	}
	if v.Kind() == value.KindFloat && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)) && !s.null {
		return errMissing
	}
	if !ok {
		return errMismatch
	}
	x.buf = appendScalar(x.buf, v)
	return nil
}

// listValue writes the elements of a list; links that lead nowhere are left out.
func (x *runner) listValue(ctx context.Context, v value.Value, s *shape, p *pick) error {
	if v.Kind() != value.KindArray && v.Kind() != value.KindSet {
		return errMismatch
	}
	x.buf = append(x.buf, '[')
	n := 0
	for i, e := range v.Elems() {
		if s.elem.kind == shapeLink {
			if _, ok := x.linked(e, s.elem, p); !ok {
				continue
			}
		}
		if n++; n > 1 {
			x.buf = append(x.buf, ',')
		}
		x.path = append(x.path, i)
		err := x.value(ctx, e, s.elem, p)
		if err == nil {
			err = x.roomy(ctx)
		} else if err != errNulled && !x.ends(ctx, err) {
			x.failed(ctx, p, err)
			err = errNulled
		}
		x.path = x.path[:len(x.path)-1]
		if err != nil {
			return err
		}
	}
	x.buf = append(x.buf, ']')
	return nil
}

// linked is the record behind a link, where the caller may see it.
func (x *runner) linked(v value.Value, s *shape, p *pick) (value.Value, bool) {
	id := exec.RecordOf(v)
	if id.IsNone() {
		return value.None, false
	}
	if len(s.targets) > 0 {
		o, found := x.o.s.tables[id.Record().Table], false
		for _, t := range s.targets {
			found = found || t == o
		}
		if !found {
			return value.None, false
		}
	}
	doc := p.docs[value.KeyOf(id.Record())]
	return doc, !doc.IsNone()
}

func (x *runner) link(ctx context.Context, v value.Value, s *shape, p *pick) error {
	doc, ok := x.linked(v, s, p)
	if !ok {
		if !s.null {
			return errMissing
		}
		x.buf = append(x.buf, "null"...)
		return nil
	}
	o := x.o.s.tables[member1(doc, "id").Record().Table]
	picks, err := p.of(x.o, o.name)
	if err != nil {
		return err
	}
	return x.object(ctx, o, doc, picks)
}

// geometryValue writes what was picked of a geometry.
func (x *runner) geometryValue(v value.Value, s *shape, p *pick) error {
	if v.Kind() != value.KindGeometry {
		return errMismatch
	}
	g := v.Geometry()
	typ := geometryType(g.Kind)
	picks, err := p.of(x.o, typ)
	if err != nil {
		return err
	}
	if kinds := shapesOf(s.typ); allowed(g.Kind, kinds) != nil {
		return errMismatch
	}
	x.buf = append(x.buf, '{')
	for i, q := range picks {
		if i > 0 {
			x.buf = append(x.buf, ',')
		}
		x.buf = appendKey(x.buf, q.key)
		switch q.name {
		case "__typename":
			x.buf = appendText(x.buf, typ)
		case "type":
			x.buf = appendText(x.buf, geometryNames[g.Kind])
		case "coordinates":
			c, _ := g.Object().Get("coordinates")
			x.buf = value.AppendJSON(x.buf, c)
		default:
			if err := x.geometryItems(g, q); err != nil {
				return err
			}
		}
	}
	x.buf = append(x.buf, '}')
	return nil
}

func (x *runner) geometryItems(g *value.Geometry, p *pick) error {
	any := &shape{kind: shapeGeometry, typ: value.Simple(value.TypeGeometry)}
	x.buf = append(x.buf, '[')
	for i, item := range g.Items {
		if i > 0 {
			x.buf = append(x.buf, ',')
		}
		if err := x.geometryValue(value.GeometryOf(item), any, p); err != nil {
			return err
		}
	}
	x.buf = append(x.buf, ']')
	return nil
}

// appendScalar writes a value as GraphQL shows it: as JSON does elsewhere, but for bytes, zones and record ids.
func appendScalar(b []byte, v value.Value) []byte {
	switch v.Kind() {
	case value.KindDatetime:
		text := v.Datetime().String()
		return append(append(append(b, '"'), text[:len(text)-1]...), `+00:00"`...)
	case value.KindBytes:
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, v.Bytes())
		return append(b, '"')
	case value.KindRecord:
		return appendText(b, idText(v.Record()))
	case value.KindArray, value.KindSet:
		b = append(b, '[')
		for i, e := range v.Elems() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendScalar(b, e)
		}
		return append(b, ']')
	case value.KindObject:
		b = append(b, '{')
		for i, f := range v.Object().Fields() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendScalar(appendKey(b, f.Name), f.Value)
		}
		return append(b, '}')
	}
	return value.AppendJSON(b, v)
}

// idText is a record id as GraphQL shows it: keys that are texts, numbers and UUIDs as they are.
func idText(id *value.RecordID) string {
	switch id.Key.Kind() {
	case value.KindInt:
		return id.Table + ":" + strconv.FormatInt(id.Key.Int(), 10)
	case value.KindString:
		return id.Table + ":" + id.Key.Str()
	case value.KindUUID:
		return id.Table + ":" + id.Key.UUID().String()
	}
	return id.Table + ":" + id.Key.Text()
}
