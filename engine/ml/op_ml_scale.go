package ml

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// scalers are the operators of ai.onnx.ml that prepare columns.
var scalers = map[string]operator{
	"Scaler":                {1, 1, buildScaler, rowsTable, false},
	"Normalizer":            {1, 1, buildNormalizer, rowsTable, false},
	"Imputer":               {1, 1, buildImputer, rowsTable, false},
	"Binarizer":             {1, 1, buildBinarizer, rowsEach, false},
	"ArrayFeatureExtractor": {2, 2, buildArrayFeatureExtractor, rowsNever, false},
	"FeatureVectorizer":     {1, anyInputs, buildFeatureVectorizer, rowsNever, false},
	"OneHotEncoder":         {1, 1, buildOneHotEncoder, rowsEach, false},
	"LabelEncoder":          {1, 1, buildLabelEncoder, rowsEach, false},
}

// lastAxis is the length of the last axis; a scalar has one column.
func lastAxis(t *Tensor) int {
	if len(t.Dims) == 0 {
		return 1
	}
	return t.Dims[len(t.Dims)-1]
}

// number checks that t holds numbers.
func number(t *Tensor) error {
	if t.Str != nil || t.Type == onnx.Bool {
		return notFor(t.Type)
	}
	return nil
}

func buildScaler(n *node) (kernel, error) {
	offset, scale := n.floats("offset"), n.floats("scale")
	if len(offset) == 0 {
		offset = []float32{0}
	}
	if len(scale) == 0 {
		scale = []float32{1}
	}
	return func(r *run, in, out []*Tensor) (err error) {
		t := in[0]
		if err := number(t); err != nil {
			return err
		}
		cols := lastAxis(t)
		if len(offset) != 1 && len(offset) != cols || len(scale) != 1 && len(scale) != cols {
			return fmt.Errorf("it has %d offsets and %d scales for %d columns", len(offset), len(scale), cols)
		}
		if out[0], err = r.alloc(onnx.Float, t.Dims); err != nil {
			return err
		}
		for i := range t.Len() {
			k := i % cols
			a, b := offset[0], scale[0]
			if len(offset) > 1 {
				a = offset[k]
			}
			if len(scale) > 1 {
				b = scale[k]
			}
			out[0].F32[i] = (float32(t.float(i)) - a) * b
		}
		return r.tick(2 * t.Len())
	}, nil
}

func buildNormalizer(n *node) (kernel, error) {
	norm := n.text("norm", "MAX")
	if err := oneOf("norm", norm, "MAX", "L1", "L2"); err != nil {
		return nil, err
	}
	return func(r *run, in, out []*Tensor) (err error) {
		t := in[0]
		_, cols, err := table(t)
		if err != nil {
			return err
		}
		if out[0], err = r.alloc(onnx.Float, t.Dims); err != nil {
			return err
		}
		for i := 0; i < t.Len(); i += cols {
			normalizeRow(t, out[0].F32[i:i+cols], i, norm)
			if err := r.tick(4 * cols); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func normalizeRow(t *Tensor, to []float32, at int, norm string) {
	sum, top := 0.0, math.Inf(-1)
	for i := range to {
		v := t.float(at + i)
		top = max(top, v)
		if norm == "L2" {
			sum += v * v
		} else {
			sum += math.Abs(v)
		}
	}
	switch norm {
	case "L2":
		sum = math.Sqrt(sum)
	case "MAX":
		sum = top
	}
	for i := range to {
		to[i] = float32(t.float(at + i))
		if sum != 0 {
			to[i] = float32(t.float(at+i) / sum)
		}
	}
}

func buildImputer(n *node) (kernel, error) {
	floats, ints := n.floats("imputed_value_floats"), n.ints64("imputed_value_int64s")
	oldFloat, oldInt := n.float("replaced_value_float", 0), n.int("replaced_value_int64", 0)
	return func(r *run, in, out []*Tensor) (err error) {
		t, cols := in[0], lastAxis(in[0])
		k := max(len(floats), len(ints))
		if isFloat(t.Type) && floats == nil || isInt(t.Type) && ints == nil || !isFloat(t.Type) && !isInt(t.Type) {
			return notFor(t.Type)
		}
		if k != 1 && k != cols {
			return fmt.Errorf("it has %d values for %d columns", k, cols)
		}
		if out[0], err = r.alloc(t.Type, t.Dims); err != nil {
			return err
		}
		for i := range t.Len() {
			col := i % cols % k
			if isFloat(t.Type) {
				v := t.float(i)
				if float32(v) == oldFloat || v != v && oldFloat != oldFloat {
					v = float64(floats[col])
				}
				out[0].setFloat(i, v)
				continue
			}
			v := t.int(i)
			if v == oldInt {
				v = ints[col]
			}
			out[0].setInt(i, v)
		}
		return r.tick(2 * t.Len())
	}, nil
}

func buildBinarizer(n *node) (kernel, error) {
	threshold := float64(n.float("threshold", 0))
	return func(r *run, in, out []*Tensor) (err error) {
		t := in[0]
		if err := number(t); err != nil {
			return err
		}
		if out[0], err = r.alloc(t.Type, t.Dims); err != nil {
			return err
		}
		for i := range t.Len() {
			v := 0.0
			if t.float(i) > threshold {
				v = 1
			}
			out[0].setFloat(i, v)
		}
		return r.tick(t.Len())
	}, nil
}

func buildArrayFeatureExtractor(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) error {
		t, idx := in[0], in[1]
		if len(t.Dims) == 0 || idx.Type != onnx.Int64 {
			return errors.New("its input has no columns, or its indices are not int64")
		}
		cols := lastAxis(t)
		n := idx.Len()
		dims := append(slices.Clone(t.Dims[:len(t.Dims)-1]), n)
		if len(t.Dims) == 1 {
			dims = []int{1, n}
		}
		o, err := r.alloc(t.Type, dims)
		if err != nil {
			return err
		}
		out[0] = o
		for x := range product(t.Dims[:len(t.Dims)-1]) {
			for i := range n {
				p, err := place(idx, i, cols)
				if err != nil {
					return err
				}
				t.copyTo(o, x*n+i, x*cols+p, 1)
			}
			if err := r.tick(4 * (n + 1)); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func buildFeatureVectorizer(n *node) (kernel, error) {
	return func(r *run, in, out []*Tensor) error {
		all, rows := 0, -1
		widths := make([]int, len(in))
		for i, t := range in {
			if t == nil {
				return errors.New("one of its inputs is missing")
			}
			n, cols, err := table(t)
			if err != nil {
				return err
			}
			if len(t.Dims) == 1 {
				n, cols = t.Dims[0], 1
			}
			if rows >= 0 && n != rows {
				return errors.New("its inputs have different numbers of rows")
			}
			rows, widths[i] = n, cols
			all += cols
		}
		o, err := r.alloc(onnx.Float, []int{rows, all})
		if err != nil {
			return err
		}
		out[0] = o
		for row := range rows {
			at := row * all
			for i, t := range in {
				for c := range widths[i] {
					o.F32[at] = float32(t.float(row*widths[i] + c))
					at++
				}
			}
			if err := r.tick(2 * all); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func buildOneHotEncoder(n *node) (kernel, error) {
	l, err := labelsOf(n, "cats_int64s", "cats_strings")
	if err != nil {
		return nil, err
	}
	zeros := n.int("zeros", 1) != 0
	ints, texts := map[int64]int{}, map[string]int{}
	for i, v := range l.ints {
		ints[v] = i
	}
	for i, s := range l.texts {
		texts[s] = i
	}
	return func(r *run, in, out []*Tensor) error {
		t := in[0]
		if (t.Str != nil) != (l.texts != nil) || t.Type == onnx.Bool {
			return notFor(t.Type)
		}
		o, err := r.zeros(onnx.Float, append(slices.Clone(t.Dims), l.len()))
		if err != nil {
			return err
		}
		out[0] = o
		for i := range t.Len() {
			var k int
			var ok bool
			if t.Str != nil {
				k, ok = texts[t.Str[i]]
			} else {
				k, ok = ints[saturate(onnx.Int64, t.float(i))]
			}
			if ok {
				o.F32[i*l.len()+k] = 1
			} else if !zeros {
				return errors.New("a value is none of its categories")
			}
		}
		return r.tick(4 * t.Len())
	}, nil
}

// encoder is a LabelEncoder: keys of one type and what they become, of another.
type encoder struct {
	keys, values *Tensor
	missing      *Tensor // one element of the type of values
	byText       map[string]int
	byNumber     map[float64]int
	nan          int // the key NaN; -1 if there is none
}

func buildLabelEncoder(n *node) (kernel, error) {
	e := &encoder{byText: map[string]int{}, byNumber: map[float64]int{}, nan: -1}
	if classes := n.strings("classes_strings"); n.opset < 2 && classes != nil {
		return e.oldKernel(n, classes)
	}
	e.keys, e.values = listAttr(n, "keys"), listAttr(n, "values")
	if n.err != nil {
		return nil, n.err
	}
	if e.keys == nil || e.values == nil || e.keys.Len() != e.values.Len() {
		return nil, errors.New("its keys and values do not fit together")
	}
	switch {
	case n.has("default_tensor"):
		e.missing = n.tensor("default_tensor")
	case e.values.Str != nil:
		e.missing = &Tensor{Type: onnx.String, Str: []string{n.text("default_string", "_Unused")}}
	case isFloat(e.values.Type):
		e.missing = real1(e.values.Type, float64(n.float("default_float", float32(math.Copysign(0, -1)))))
	default:
		e.missing = scalarInt(n.int("default_int64", -1))
	}
	if e.missing == nil || e.missing.Type != e.values.Type || e.missing.Len() != 1 {
		return nil, errors.New("its default is of another type than its values")
	}
	e.index()
	return e.run, nil
}

// listAttr is one of the lists that keys or values can be.
func listAttr(n *node, name string) *Tensor {
	switch {
	case n.has(name + "_strings"):
		return &Tensor{Type: onnx.String, Str: n.strings(name + "_strings")}
	case n.has(name + "_int64s"):
		return &Tensor{Type: onnx.Int64, I64: orEmpty(n.ints64(name + "_int64s"))}
	case n.has(name + "_floats"):
		return &Tensor{Type: onnx.Float, F32: orEmpty(n.floats(name + "_floats"))}
	case n.has(name + "_tensor"):
		return n.tensor(name + "_tensor")
	}
	return nil
}

func (e *encoder) index() {
	for i := e.keys.Len() - 1; i >= 0; i-- { // the first of equal keys counts
		if e.keys.Str != nil {
			e.byText[e.keys.Str[i]] = i
			continue
		}
		v := e.keys.float(i)
		if v != v {
			e.nan = i
			continue
		}
		e.byNumber[v] = i
	}
}

// oldKernel is version 1: a text becomes its number in a list, or a number its text.
func (e *encoder) oldKernel(n *node, classes []string) (kernel, error) {
	numbers := make([]int64, len(classes))
	for i := range numbers {
		numbers[i] = int64(i)
	}
	texts, ints := &Tensor{Type: onnx.String, Str: classes}, &Tensor{Type: onnx.Int64, I64: numbers}
	back := &encoder{keys: ints, values: texts, byText: map[string]int{}, byNumber: map[float64]int{}, nan: -1,
		missing: &Tensor{Type: onnx.String, Str: []string{n.text("default_string", "_Unused")}}}
	e.keys, e.values, e.missing = texts, ints, scalarInt(n.int("default_int64", -1))
	e.index()
	back.index()
	return func(r *run, in, out []*Tensor) error {
		if in[0].Str != nil {
			return e.run(r, in, out)
		}
		return back.run(r, in, out)
	}, nil
}

func (e *encoder) run(r *run, in, out []*Tensor) error {
	t := in[0]
	if t.Type != e.keys.Type {
		return notFor(t.Type)
	}
	o, err := r.alloc(e.values.Type, t.Dims)
	if err != nil {
		return err
	}
	out[0] = o
	for i := range t.Len() {
		k, ok := -1, false
		if t.Str != nil {
			k, ok = e.byText[t.Str[i]]
		} else if v := t.float(i); v != v {
			k, ok = e.nan, e.nan >= 0
		} else {
			k, ok = e.byNumber[v]
		}
		if ok {
			e.values.copyTo(o, i, k, 1)
		} else {
			e.missing.copyTo(o, i, 0, 1)
		}
	}
	return r.tick(4 * t.Len())
}
