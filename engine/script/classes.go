package script

import (
	"strings"

	"github.com/dop251/goja"
	"github.com/nacredb/nacre/engine/value"
)

// classes are the kinds of values that JavaScript has no like of, by the names of their classes. Those with a type can
// be made by a script, of their text.
var classes = [...]struct {
	kind value.Kind
	name string
	made bool
	typ  value.TypeKind
}{
	{value.KindRecord, "Record", true, value.TypeRecord}, {value.KindUUID, "Uuid", true, value.TypeUUID},
	{value.KindDuration, "Duration", true, value.TypeDuration}, {value.KindDecimal, "Decimal", true, value.TypeDecimal},
	{kind: value.KindGeometry, name: "Geometry"}, {kind: value.KindTable, name: "Table"},
	{kind: value.KindFile, name: "File"},
	{kind: value.KindRegex, name: "Regex"}, {kind: value.KindRange, name: "Range"},
	{kind: value.KindClosure, name: "Closure"},
}

// defineClasses makes the classes that scripts may make values of.
func (c *call) defineClasses() error {
	for _, class := range classes {
		if !class.made {
			continue
		}
		ctor := c.vm.ToValue(func(call goja.ConstructorCall) *goja.Object {
			v, err := c.make(class.kind, class.typ, call.Arguments)
			if err == nil {
				err = c.adopt(call.This, v)
			}
			if err != nil {
				panic(c.vm.NewTypeError(strings.TrimPrefix(err.Error(), prefix)))
			}
			return nil
		}).(*goja.Object)
		proto, ok := ctor.Get("prototype").(*goja.Object)
		if !ok {
			continue
		}
		c.protos[class.kind] = proto
		if err := c.methods(proto, class.kind); err != nil {
			return err
		}
		if err := ctor.DefineDataProperty("name", c.vm.ToValue(class.name), goja.FLAG_FALSE, goja.FLAG_TRUE,
			goja.FLAG_FALSE); err != nil {
			return err
		}
		if err := c.vm.GlobalObject().DefineDataProperty(class.name, ctor, goja.FLAG_TRUE, goja.FLAG_TRUE,
			goja.FLAG_FALSE); err != nil {
			return err
		}
	}
	return nil
}

// make is the value of a constructor's arguments: (table, key) of a Record, or a text.
func (c *call) make(kind value.Kind, typ value.TypeKind, args []goja.Value) (value.Value, error) {
	c.left = c.e.limits.Data
	vs := make([]value.Value, len(args))
	for i, a := range args {
		var err error
		if vs[i], err = c.out(a, 0); err != nil {
			return value.None, err
		}
	}
	if kind == value.KindRecord && len(vs) >= 2 {
		return c.makeRecord(vs[0], vs[1])
	}
	if len(vs) == 0 {
		return value.None, failed("An argument is missing")
	}
	return value.Cast(vs[0], value.Simple(typ), c.e.records)
}

func (c *call) makeRecord(table, key value.Value) (value.Value, error) {
	var name string
	switch table.Kind() {
	case value.KindString:
		name = table.Str()
	case value.KindTable:
		name = table.Table()
	default:
		return value.None, failed("The table of a record is a %s", table.Kind())
	}
	switch key.Kind() {
	case value.KindInt, value.KindString, value.KindUUID, value.KindArray, value.KindObject:
		return value.Record(name, key), nil
	}
	return value.None, failed("The id of a record cannot be a %s", key.Kind())
}

// standIn makes an object that stands for a value.
func (c *call) standIn(v value.Value) (goja.Value, error) {
	proto := c.protos[v.Kind()]
	if proto == nil {
		proto = c.vm.NewObject()
		if err := c.methods(proto, v.Kind()); err != nil {
			return nil, err
		}
		c.protos[v.Kind()] = proto
	}
	o := c.vm.CreateObject(proto)
	return o, c.adopt(o, v)
}

// adopt makes an object stand for a value, and shows the parts of it.
func (c *call) adopt(o *goja.Object, v value.Value) error {
	c.hosted[o] = v
	var parts []value.Field
	switch v.Kind() {
	case value.KindRecord:
		parts = []value.Field{{Name: "tb", Value: value.Str(v.Record().Table)}, {Name: "id", Value: v.Record().Key}}
	case value.KindGeometry:
		parts = v.Geometry().Object().Fields()
	case value.KindFile:
		parts = []value.Field{{Name: "bucket", Value: value.Str(v.File().Bucket)},
			{Name: "key", Value: value.Str(v.File().Key)}}
	}
	for _, p := range parts {
		x, err := c.in(p.Value, 1)
		if err != nil {
			return err
		}
		if err := o.DefineDataProperty(p.Name, x, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_TRUE); err != nil {
			return err
		}
	}
	return nil
}

// methods gives a class toString and toJSON, and decimals a value as numbers.
func (c *call) methods(proto *goja.Object, kind value.Kind) error {
	text := func(call goja.FunctionCall) goja.Value { return c.vm.ToValue(c.text(call.This)) }
	for _, name := range []string{"toString", "toJSON"} {
		if err := proto.DefineDataProperty(name, c.vm.ToValue(text), goja.FLAG_TRUE, goja.FLAG_TRUE,
			goja.FLAG_FALSE); err != nil {
			return err
		}
	}
	if kind != value.KindDecimal {
		return nil
	}
	number := func(call goja.FunctionCall) goja.Value {
		f, err := value.Cast(c.standsFor(call.This), value.Simple(value.TypeFloat), nil)
		if err != nil {
			panic(c.vm.NewTypeError(err.Error()))
		}
		return c.vm.ToValue(f.Float())
	}
	return proto.DefineDataProperty("valueOf", c.vm.ToValue(number), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

func (c *call) standsFor(this goja.Value) value.Value {
	if o, ok := this.(*goja.Object); ok {
		return c.hosted[o]
	}
	return value.None
}

// text returns the result of <string> for a value.
func (c *call) text(this goja.Value) string {
	v := c.standsFor(this)
	if s, err := value.Cast(v, value.Simple(value.TypeString), nil); err == nil {
		return s.Str()
	}
	return v.Text()
}
