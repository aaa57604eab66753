package model

import (
	"context"
	"errors"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Bound is a model that a call is bound to.
type Bound struct {
	title  string // ml::name<version>, as errors call it
	def    *catalog.Def
	file   *catalog.ModelFile
	header *ml.Header
	model  *ml.Model // once it is loaded
	cache  *Cache
}

// Calls are the models that a statement calls. A nil Calls has none.
type Calls struct {
	cache *Cache
	bound map[*ast.Call]*Bound
	ahead []callResult // for the row of the projection, see Ahead
}

// callResult is the result of a call; NONE once it was taken.
type callResult struct {
	call *ast.Call
	v    value.Value
}

// NewCalls makes an empty Calls.
func (c *Cache) NewCalls() *Calls { return &Calls{cache: c, bound: map[*ast.Call]*Bound{}} }

// Take gives the result of a call that was computed together with those of other rows, once.
func (c *Calls) Take(x *ast.Call) (value.Value, bool) {
	if c == nil {
		return value.None, false
	}
	for i := range c.ahead {
		if r := &c.ahead[i]; r.call == x && !r.v.IsNone() {
			v := r.v
			r.v = value.None
			return v, true
		}
	}
	return value.None, false
}

// put sets what Take gives.
func (c *Calls) put(x *ast.Call, v value.Value) { c.ahead = append(c.ahead, callResult{x, v}) }

// Bind binds a call of a statement to the model that d defines. The caller has made sure that it may be called. known
// are the calls of the statement; they are made here if there are none yet.
func (c *Cache) Bind(known **Calls, x *ast.Call, d *catalog.Def) (*Bound, error) {
	if *known == nil {
		*known = c.NewCalls()
	}
	return (*known).bind(x, d)
}

func (c *Calls) bind(x *ast.Call, d *catalog.Def) (*Bound, error) {
	if m := c.bound[x]; m != nil && m.def == d {
		return m, nil
	}
	m := &Bound{title: "ml::" + d.Name, def: d, file: catalog.FileOf(d), cache: c.cache}
	if m.file == nil {
		return nil, errs.Internal("Failed to load model: no file for '%s'. Import one with /ml/import", m.title)
	}
	var err error
	if m.header, err = ml.ParseHeader([]byte(m.file.Header)); err != nil {
		return nil, err
	}
	c.bound[x] = m
	return m, nil
}

// load reads the file of the model, unless it is in memory.
func (m *Bound) load(ctx context.Context, tx *txn.Tx) (err error) {
	if m.model == nil {
		m.model, err = m.cache.Get(ctx, tx, m.def.Scope, m.file)
	}
	return err
}

// Call computes the model for the arguments of one call.
func (m *Bound) Call(env ml.Call, tx *txn.Tx, args []value.Value) (value.Value, error) {
	row, buffered, err := m.row(args, nil)
	if err != nil {
		return value.None, err
	}
	if err := m.load(env.Ctx, tx); err != nil {
		return value.None, err
	}
	out, err := m.model.Compute(env, row)
	if err != nil {
		return value.None, computation(err)
	}
	return m.result(out, buffered, make([]value.Value, len(out))), nil
}

// row appends the numbers of a call's argument to x. buffered: they came from an object, through normalisers.
func (m *Bound) row(args []value.Value, x []float32) (row []float32, buffered bool, err error) {
	if len(args) != 1 {
		return nil, false, m.badArgument()
	}
	switch a := args[0]; a.Kind() {
	case value.KindInt, value.KindFloat, value.KindDecimal:
		return append(x, float32(a.AsFloat())), false, nil
	case value.KindArray:
		return m.rawRow(a.Elems(), x)
	case value.KindObject:
		row, err = m.objectRow(a.Object(), x)
		return row, true, err
	}
	return nil, false, m.badArgument()
}

// rawRow is an array of numbers. Arrays in it must have the same shape, and count as their elements.
func (m *Bound) rawRow(list []value.Value, x []float32) ([]float32, bool, error) {
	numbers, each := 0, -1
	for _, v := range list {
		switch v.Kind() {
		case value.KindInt, value.KindFloat, value.KindDecimal:
			x = append(x, float32(v.AsFloat()))
			numbers++
		case value.KindArray:
			before := len(x)
			var err error
			if x, _, err = m.rawRow(v.Elems(), x); err != nil {
				return nil, false, err
			}
			if each >= 0 && len(x)-before != each {
				return nil, false, m.badArgument()
			}
			each = len(x) - before
		default:
			return nil, false, m.badArgument()
		}
	}
	if numbers > 0 && each >= 0 {
		return nil, false, m.badArgument()
	}
	return x, false, nil
}

func (m *Bound) objectRow(o *value.Object, x []float32) ([]float32, error) {
	used := 0
	x, err := m.header.Row(func(key string) (float64, bool, error) {
		v, ok := o.Get(key)
		if !ok {
			return 0, false, nil
		}
		used++
		switch v.Kind() {
		case value.KindInt, value.KindFloat, value.KindDecimal:
			return v.AsFloat(), true, nil
		}
		return 0, true, m.badArgument()
	}, x)
	if err == nil && used < o.Len() {
		for _, f := range o.Fields() {
			if !m.header.HasKey(f.Name) {
				return nil, errs.Internal("Key %s is not a column of the model", errs.Brief(f.Name, 64))
			}
		}
	}
	return x, err
}

func (m *Bound) badArgument() error {
	return errs.Internal("Incorrect arguments for function %s(). The model expects 1 argument. The argument can be either a "+
		"number, an object, or an array of numbers.", m.title)
}

// result returns the result of a call, an array of floats, made in list.
func (m *Bound) result(out []float64, buffered bool, list []value.Value) value.Value {
	if buffered {
		m.header.Restore(out)
	}
	for i, v := range out {
		list[i] = value.Float(v)
	}
	return value.ArrayOf(list)
}

// computation is the error of a model at work; what ends a statement stays what it is.
func computation(err error) error {
	if known, ok := errors.AsType[*errs.Error](err); ok {
		return known
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, ml.ErrShape) {
		return errs.Internal("%s", err)
	}
	return errs.Internal("Model computation failed: %s", err)
}
