package script

import (
	"fmt"
	"math/big"
	"strconv"
	"time"

	"github.com/dop251/goja"
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

// maxSafe is the greatest whole number that JavaScript's numbers hold exactly; ints beyond it are BigInts.
const maxSafe = 1<<53 - 1

// date remembers what a Date was made of: as long as the script leaves it alone it comes back with its nanoseconds.
type date struct {
	v  value.Value
	ms int64
}

// spend counts bytes against the bound of what is converted.
func (c *call) spend(n int) error {
	if c.left -= n; c.left < 0 {
		return failed("The values of the script are larger than %d bytes", c.e.limits.Data)
	}
	return nil
}

func (c *call) tooDeep(depth int) error {
	if depth > c.e.limits.Depth {
		return failed("The values of the script are nested deeper than %d", c.e.limits.Depth)
	}
	return nil
}

// in makes JavaScript's form of a value.
func (c *call) in(v value.Value, depth int) (goja.Value, error) {
	if err := c.tooDeep(depth); err != nil {
		return nil, err
	}
	if err := c.spend(8); err != nil {
		return nil, err
	}
	switch v.Kind() {
	case value.KindNone:
		return goja.Undefined(), nil
	case value.KindNull:
		return goja.Null(), nil
	case value.KindBool:
		return c.vm.ToValue(v.Bool()), nil
	case value.KindInt:
		if n := v.Int(); n > maxSafe || n < -maxSafe {
			if c.plain { // what calculates with BigInts is guarded by then, or not
				return c.standIn(value.DecimalOf(decimal.FromInt(n)))
			}
			c.big = true
			return c.vm.ToValue(big.NewInt(n)), nil
		}
		return c.vm.ToValue(v.Int()), nil
	case value.KindFloat:
		return c.vm.ToValue(v.Float()), nil
	case value.KindString:
		return c.vm.ToValue(v.Str()), c.spend(v.Len())
	case value.KindBytes:
		if err := c.spend(v.Len()); err != nil {
			return nil, err
		}
		buf := c.vm.NewArrayBuffer(append([]byte{}, v.Bytes()...))
		return c.vm.New(c.vm.Get("Uint8Array"), c.vm.ToValue(buf))
	case value.KindDatetime:
		return c.dateIn(v)
	case value.KindArray:
		items, err := c.allIn(v.Elems(), depth)
		return c.vm.NewArray(items...), err
	case value.KindSet:
		items, err := c.allIn(v.Elems(), depth)
		if err != nil {
			return nil, err
		}
		return c.vm.New(c.sets, c.vm.NewArray(items...))
	case value.KindObject:
		return c.objectIn(v.Object(), depth)
	}
	return c.standIn(v)
}

func (c *call) allIn(vs []value.Value, depth int) ([]any, error) {
	out := make([]any, len(vs))
	for i, e := range vs {
		x, err := c.in(e, depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return out, nil
}

func (c *call) objectIn(o *value.Object, depth int) (goja.Value, error) {
	out := c.vm.NewObject()
	for _, f := range o.Fields() {
		if err := c.spend(len(f.Name)); err != nil {
			return nil, err
		}
		x, err := c.in(f.Value, depth+1)
		if err != nil {
			return nil, err
		}
		// Defined, not set: a field may be called __proto__.
		if err := out.DefineDataProperty(f.Name, x, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *call) dateIn(v value.Value) (goja.Value, error) {
	ms := v.Datetime().Secs*1000 + int64(v.Datetime().Nanos/1e6)
	d, err := c.vm.New(c.vm.Get("Date"), c.vm.ToValue(ms))
	if err != nil {
		return nil, err
	}
	c.dates[d] = date{v, ms}
	return d, nil
}

// out makes a value of JavaScript's. Getters of the script may run, and throw.
func (c *call) out(x goja.Value, depth int) (value.Value, error) {
	if err := c.tooDeep(depth); err != nil {
		return value.None, err
	}
	if err := c.spend(8); err != nil {
		return value.None, err
	}
	if x == nil || goja.IsUndefined(x) {
		return value.None, nil
	}
	if goja.IsNull(x) {
		return value.Null, nil
	}
	if o, ok := x.(*goja.Object); ok {
		return c.objectOut(o, depth)
	}
	if _, ok := x.(*goja.Symbol); ok {
		return value.None, noValue("Symbol")
	}
	switch p := x.Export().(type) {
	case bool:
		return value.Bool(p), nil
	case int64:
		return value.Int(p), nil
	case float64:
		return value.Float(p), nil
	case string:
		return value.Str(p), c.spend(len(p))
	case *big.Int:
		return bigOut(p)
	}
	return value.None, noValue(x.ExportType().String())
}

func noValue(what string) error { return failed("A script cannot return a %s", what) }

// bigOut makes an int of a BigInt, or a decimal where it is too large for one.
func bigOut(n *big.Int) (value.Value, error) {
	if n.IsInt64() {
		return value.Int(n.Int64()), nil
	}
	if n.BitLen() > 512 {
		return value.None, noValue(fmt.Sprintf("BigInt of %d bits", n.BitLen()))
	}
	return value.Cast(value.Str(n.String()), value.Simple(value.TypeDecimal), nil)
}

func (c *call) objectOut(o *goja.Object, depth int) (value.Value, error) {
	if v, ok := c.hosted[o]; ok {
		return v, nil
	}
	switch class := o.ClassName(); class {
	case "Array":
		return c.arrayOut(o, depth)
	case "Date":
		return c.dateOut(o)
	case "Error":
		s := o.String()
		return value.Str(s), c.spend(len(s))
	case "Boolean", "Number":
		return c.out(c.vm.ToValue(o.Export()), depth)
	case "String":
		return value.Str(o.String()), c.spend(len(o.String()))
	case "Function", "Promise", "RegExp", "Symbol":
		return value.None, noValue(class)
	}
	switch {
	case c.vm.InstanceOf(o, c.sets):
		return c.setOut(o, depth)
	case c.vm.InstanceOf(o, c.maps):
		return c.mapOut(o, depth)
	}
	switch b := o.Export().(type) {
	case goja.ArrayBuffer:
		return c.bytesOut(b.Bytes())
	case []byte:
		return c.bytesOut(b)
	}
	if n := o.Get("BYTES_PER_ELEMENT"); n != nil && !goja.IsUndefined(n) {
		return c.arrayOut(o, depth)
	}
	return c.plainOut(o, depth)
}

func (c *call) bytesOut(b []byte) (value.Value, error) {
	if err := c.spend(len(b)); err != nil {
		return value.None, err
	}
	return value.BytesOf(append([]byte{}, b...)), nil
}

func (c *call) arrayOut(o *goja.Object, depth int) (value.Value, error) {
	n := int(o.Get("length").ToInteger())
	if err := c.spend(8 * n); err != nil {
		return value.None, err
	}
	out := make([]value.Value, n)
	for i := range out {
		var err error
		if out[i], err = c.out(o.Get(strconv.Itoa(i)), depth+1); err != nil {
			return value.None, err
		}
	}
	return value.ArrayOf(out), nil
}

func (c *call) plainOut(o *goja.Object, depth int) (value.Value, error) {
	keys := o.Keys()
	fields := make([]value.Field, 0, len(keys))
	for _, k := range keys {
		if err := c.spend(len(k)); err != nil {
			return value.None, err
		}
		v, err := c.out(o.Get(k), depth+1)
		if err != nil {
			return value.None, err
		}
		fields = append(fields, value.Field{Name: k, Value: v})
	}
	v := value.ObjectOf(value.NewObject(fields...))
	if g, ok := value.GeometryFromObject(v.Object()); ok {
		return value.GeometryOf(g), nil
	}
	return v, nil
}

// setOut makes a set of a Set. ForOf walks it as JavaScript would.
func (c *call) setOut(o *goja.Object, depth int) (v value.Value, err error) {
	var out []value.Value
	c.vm.ForOf(o, func(x goja.Value) bool {
		var e value.Value
		e, err = c.out(x, depth+1)
		out = append(out, e)
		return err == nil
	})
	if err != nil {
		return value.None, err
	}
	return value.SetOf(out), nil
}

// mapOut makes an object of a Map: its keys are taken as texts.
func (c *call) mapOut(o *goja.Object, depth int) (v value.Value, err error) {
	var fields []value.Field
	c.vm.ForOf(o, func(x goja.Value) bool {
		pair := x.ToObject(c.vm)
		k := pair.Get("0").String()
		if err = c.spend(len(k)); err != nil {
			return false
		}
		var e value.Value
		e, err = c.out(pair.Get("1"), depth+1)
		fields = append(fields, value.Field{Name: k, Value: e})
		return err == nil
	})
	if err != nil {
		return value.None, err
	}
	return value.ObjectOf(value.NewObject(fields...)), nil
}

func (c *call) dateOut(o *goja.Object) (value.Value, error) {
	t, ok := o.Export().(time.Time)
	d, known := c.dates[o]
	if known && (!ok || t.UnixMilli() == d.ms) {
		return d.v, nil
	}
	if !ok || t.IsZero() {
		return value.None, noValue("Date that is not valid")
	}
	return value.DatetimeOf(value.Datetime{Secs: t.Unix(), Nanos: uint32(t.Nanosecond())}), nil
}
