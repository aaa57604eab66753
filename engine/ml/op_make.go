package ml

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// makers are the operators that make tensors of nothing or of shapes, and that change types.
var makers = map[string]operator{
	"Constant":        {0, 0, buildConstant, rowsNever, false},
	"ConstantOfShape": {1, 1, buildConstantOfShape, rowsNever, false},
	"Range":           {3, 3, buildRange, rowsNever, false},
	"OneHot":          {3, 3, buildOneHot, rowsNever, false},
	"EyeLike":         {1, 1, buildEyeLike, rowsNever, false},
	"Cast":            {1, 1, buildCast, rowsEach, false},
	"CastLike":        {2, 2, buildCastLike, rowsFirst, false},
}

func buildConstant(n *node) (kernel, error) {
	t, err := constantOf(n)
	if err != nil {
		return nil, err
	}
	return func(_ *run, _, out []*Tensor) error {
		out[0] = t
		return nil
	}, nil
}

func constantOf(n *node) (*Tensor, error) {
	if len(n.Attrs) != 1 {
		return nil, errors.New("it needs one attribute")
	}
	switch name := n.Attrs[0].Name; name {
	case "value":
		if t := n.tensor(name); t != nil {
			return t, nil
		}
	case "value_float":
		return &Tensor{Type: onnx.Float, Dims: []int{}, F32: []float32{n.float(name, 0)}}, nil
	case "value_floats":
		list := orEmpty(n.floats(name))
		return &Tensor{Type: onnx.Float, Dims: []int{len(list)}, F32: list}, nil
	case "value_int":
		return scalarInt(n.int(name, 0)), nil
	case "value_ints":
		list := orEmpty(n.ints64(name))
		return &Tensor{Type: onnx.Int64, Dims: []int{len(list)}, I64: list}, nil
	case "value_string":
		return &Tensor{Type: onnx.String, Dims: []int{}, Str: []string{n.text(name, "")}}, nil
	case "value_strings":
		list := orEmpty(n.strings(name))
		return &Tensor{Type: onnx.String, Dims: []int{len(list)}, Str: list}, nil
	}
	return nil, errors.New("its value is of a kind that is not supported")
}

func buildConstantOfShape(n *node) (kernel, error) {
	value := n.tensor("value")
	if value == nil {
		value = real1(onnx.Float, 0)
	}
	if value.Len() != 1 {
		return nil, errors.New("its value is not a single element")
	}
	return func(r *run, in, out []*Tensor) error {
		dims, err := in[0].ints()
		if err != nil {
			return err
		}
		o, err := r.alloc(value.Type, dims)
		if err != nil {
			return err
		}
		o.fillFrom(value, 0)
		out[0] = o
		return nil
	}, nil
}

func buildRange(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) error {
		for _, t := range in {
			if t.Type != in[0].Type || t.Len() != 1 || !isFloat(t.Type) && !isInt(t.Type) {
				return errTypes
			}
		}
		from, to, step := in[0].float(0), in[1].float(0), in[2].float(0)
		n := math.Ceil((to - from) / step)
		if step == 0 || n != n || n > maxElems {
			return errors.New("it never ends")
		}
		o, err := r.alloc(in[0].Type, []int{int(max(n, 0))})
		if err != nil {
			return err
		}
		out[0] = o
		first, by := int64(0), int64(0)
		if isInt(o.Type) {
			first, by = in[0].int(0), in[2].int(0)
		}
		for i := range o.Len() {
			if isInt(o.Type) {
				o.setInt(i, first+int64(i)*by)
			} else {
				o.setFloat(i, from+float64(i)*step)
			}
		}
		return nil
	}, nil
}

func buildOneHot(n *node) (kernel, error) {
	axis := int(n.int("axis", -1))
	return func(r *run, in, out []*Tensor) error {
		idx, values := in[0], in[2]
		if in[1].Len() != 1 || in[1].Str != nil || values.Len() != 2 || idx.Str != nil {
			return errors.New("its depth is not a single number, or its values are not two")
		}
		depth := int(saturate(onnx.Int64, in[1].float(0)))
		rank := len(idx.Dims) + 1
		a, err := axisOf(axis, rank)
		if err != nil {
			return err
		}
		dims := append(append(append([]int{}, idx.Dims[:a]...), depth), idx.Dims[a:]...)
		o, err := r.alloc(values.Type, dims)
		if err != nil {
			return err
		}
		out[0] = o
		if o.Len() == 0 {
			return nil
		}
		o.fillFrom(values, 0)
		inner := product(idx.Dims[a:])
		for i := range idx.Len() {
			k := saturate(onnx.Int64, idx.float(i))
			if k < 0 {
				k += int64(depth)
			}
			if k >= 0 && k < int64(depth) {
				values.copyTo(o, (i/inner*depth+int(k))*inner+i%inner, 1, 1)
			}
		}
		return r.tick(idx.Len())
	}, nil
}

func buildEyeLike(n *node) (kernel, error) {
	k, typ := n.int("k", 0), onnx.ElemType(n.int("dtype", 0))
	return func(r *run, in, out []*Tensor) error {
		t, want := in[0], typ
		if want == onnx.Undefined {
			want = t.Type
		}
		if len(t.Dims) != 2 || want == onnx.String {
			return errors.New("its input is not a matrix of numbers")
		}
		o, err := r.zeros(want, t.Dims)
		if err != nil {
			return err
		}
		out[0] = o
		rows, cols := int64(t.Dims[0]), int64(t.Dims[1])
		if k < -rows || k > cols {
			return nil
		}
		for i := range rows {
			if j := i + k; j >= 0 && j < cols {
				o.setFloat(int(i*cols+j), 1)
			}
		}
		return r.tick(int(rows))
	}, nil
}

func buildCast(n *node) (kernel, error) {
	to := onnx.ElemType(n.int("to", 0))
	if to == onnx.Float16 || to == onnx.BFloat16 {
		return nil, fmt.Errorf("the type %s is not supported", to)
	}
	if listOf(to) == listNone {
		return nil, fmt.Errorf("the type %s is not supported", to)
	}
	return func(r *run, in, out []*Tensor) (err error) {
		out[0], err = r.cast(in[0], to)
		return err
	}, nil
}

func buildCastLike(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) (err error) {
		out[0], err = r.cast(in[0], in[1].Type)
		return err
	}, nil
}

// cast is t with elements of another type.
func (r *run) cast(t *Tensor, to onnx.ElemType) (*Tensor, error) {
	if t.Type == to {
		return r.view(t, t.Dims), nil
	}
	o, err := r.alloc(to, t.Dims)
	if err != nil {
		return nil, err
	}
	if err := r.tick(2 * t.Len()); err != nil {
		return nil, err
	}
	for i := range t.Len() {
		switch {
		case t.Str != nil && to != onnx.String:
			err = o.setText(i, t.Str[i])
		case to == onnx.String:
			o.Str[i] = t.text(i)
		case isFloat(t.Type) || isFloat(to):
			o.setFloat(i, t.float(i))
		case to == onnx.Bool:
			o.U8[i] = truth(t.int(i) != 0)
		default:
			o.setInt(i, t.int(i))
		}
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}

// text is element i of a tensor of numbers as text.
func (t *Tensor) text(i int) string {
	switch {
	case t.F32 != nil || t.F64 != nil:
		v, bits := t.float(i), 32
		if t.F64 != nil {
			bits = 64
		}
		switch {
		case v != v:
			return "NaN"
		case math.IsInf(v, 1):
			return "INF"
		case math.IsInf(v, -1):
			return "-INF"
		}
		return shortFloat(v, bits)
	case t.Type == onnx.Uint64:
		return strconv.FormatUint(uint64(t.I64[i]), 10)
	}
	return strconv.FormatInt(t.int(i), 10)
}

// shortFloat is v with the eight (float32) or seventeen digits that C's %g keeps.
func shortFloat(v float64, bits int) string {
	digits := 8
	if bits == 64 {
		digits = 17
	}
	s := strconv.FormatFloat(v, 'g', digits, 64)
	return s
}

// setText stores the number that s is.
func (t *Tensor) setText(i int, s string) error {
	s = strings.TrimSpace(s)
	switch strings.ToUpper(s) {
	case "INF", "+INF":
		s = "Inf"
	case "-INF":
		s = "-Inf"
	}
	if isInt(t.Type) {
		if v, err := strconv.ParseInt(s, 10, 64); err == nil {
			t.setInt(i, v)
			return nil
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && v == 0 {
		return errors.New("a text is not a number")
	}
	t.setFloat(i, v)
	return nil
}
