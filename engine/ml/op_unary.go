package ml

import (
	"fmt"
	"math"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// unary are the operators of each element for itself.
var unary = map[string]operator{
	"Abs":   {1, 1, eachNumber(math.Abs, func(v int64) int64 { return max(v, -v) }), rowsEach, false},
	"Neg":   {1, 1, eachNumber(minus, minus), rowsEach, false},
	"Sign":  {1, 1, eachNumber(sign, signInt), rowsEach, false},
	"Ceil":  {1, 1, eachNumber(math.Ceil, nil), rowsEach, false},
	"Floor": {1, 1, eachNumber(math.Floor, nil), rowsEach, false},
	"Round": {1, 1, eachNumber(math.RoundToEven, nil), rowsEach, false},

	"Exp":        {1, 1, eachNumber(math.Exp, nil), rowsEach, false},
	"Log":        {1, 1, eachNumber(math.Log, nil), rowsEach, false},
	"Sqrt":       {1, 1, eachNumber(math.Sqrt, nil), rowsEach, false},
	"Reciprocal": {1, 1, eachNumber(func(v float64) float64 { return 1 / v }, nil), rowsEach, false},
	"Erf":        {1, 1, eachNumber(math.Erf, nil), rowsEach, false},

	"Sin":   {1, 1, eachNumber(math.Sin, nil), rowsEach, false},
	"Cos":   {1, 1, eachNumber(math.Cos, nil), rowsEach, false},
	"Tan":   {1, 1, eachNumber(math.Tan, nil), rowsEach, false},
	"Asin":  {1, 1, eachNumber(math.Asin, nil), rowsEach, false},
	"Acos":  {1, 1, eachNumber(math.Acos, nil), rowsEach, false},
	"Atan":  {1, 1, eachNumber(math.Atan, nil), rowsEach, false},
	"Sinh":  {1, 1, eachNumber(math.Sinh, nil), rowsEach, false},
	"Cosh":  {1, 1, eachNumber(math.Cosh, nil), rowsEach, false},
	"Asinh": {1, 1, eachNumber(math.Asinh, nil), rowsEach, false},
	"Acosh": {1, 1, eachNumber(math.Acosh, nil), rowsEach, false},
	"Atanh": {1, 1, eachNumber(math.Atanh, nil), rowsEach, false},

	"IsNaN": {1, 1, buildIsNaN, rowsEach, false},
	"IsInf": {1, 1, buildIsInf, rowsEach, false},
}

func minus[T float64 | int64](v T) T { return -v }

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return v + 0 // zero loses its sign, NaN stays
}

func signInt(v int64) int64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// eachNumber builds an operator of each element; whole is nil if it takes no integers.
func eachNumber(f func(float64) float64, whole func(int64) int64) builder {
	return func(*node) (kernel, error) { return eachKernel(f, whole), nil }
}

func eachKernel(f func(float64) float64, whole func(int64) int64) kernel {
	return func(r *run, in, out []*Tensor) error {
		t := in[0]
		if !isFloat(t.Type) && (whole == nil || !isInt(t.Type)) {
			return notFor(t.Type)
		}
		o, err := r.reuse(in, 0)
		if err != nil {
			return err
		}
		out[0] = o
		n := t.Len()
		for from := 0; from < n; from += eachBlock {
			to := min(from+eachBlock, n)
			if err := r.tick(8 * (to - from)); err != nil {
				return err
			}
			switch {
			case t.F32 != nil:
				d := o.F32[from:to]
				for i, v := range t.F32[from:to] {
					d[i] = float32(f(float64(v)))
				}
			case t.F64 != nil:
				d := o.F64[from:to]
				for i, v := range t.F64[from:to] {
					d[i] = f(v)
				}
			default:
				for i := from; i < to; i++ {
					o.setInt(i, whole(t.int(i)))
				}
			}
		}
		return nil
	}
}

// eachBlock is how many elements are computed between looks at the clock.
const eachBlock = 1 << 14

func buildIsNaN(*node) (kernel, error) {
	return eachBool(func(v float64) bool { return v != v }), nil
}

func buildIsInf(n *node) (kernel, error) {
	pos, neg := n.int("detect_positive", 1) != 0, n.int("detect_negative", 1) != 0
	return eachBool(func(v float64) bool { return pos && math.IsInf(v, 1) || neg && math.IsInf(v, -1) }), nil
}

func eachBool(f func(float64) bool) kernel {
	return func(r *run, in, out []*Tensor) (err error) {
		t := in[0]
		if !isFloat(t.Type) {
			return notFor(t.Type)
		}
		if out[0], err = r.alloc(onnx.Bool, t.Dims); err != nil {
			return err
		}
		for i := range out[0].U8 {
			out[0].U8[i] = truth(f(t.float(i)))
		}
		return r.tick(t.Len())
	}
}

// activations are the functions between the layers of networks.
var activations = map[string]operator{
	"Relu":            {1, 1, buildRelu, rowsEach, false},
	"Sigmoid":         {1, 1, eachNumber(sigmoid, nil), rowsEach, false},
	"Tanh":            {1, 1, eachNumber(math.Tanh, nil), rowsEach, false},
	"Softplus":        {1, 1, eachNumber(softplus, nil), rowsEach, false},
	"Softsign":        {1, 1, eachNumber(softsign, nil), rowsEach, false},
	"Mish":            {1, 1, eachNumber(mish, nil), rowsEach, false},
	"LeakyRelu":       {1, 1, withAttrs(leakyRelu), rowsEach, false},
	"Elu":             {1, 1, withAttrs(elu), rowsEach, false},
	"Selu":            {1, 1, withAttrs(selu), rowsEach, false},
	"Celu":            {1, 1, withAttrs(celu), rowsEach, false},
	"HardSigmoid":     {1, 1, withAttrs(hardSigmoid), rowsEach, false},
	"HardSwish":       {1, 1, eachNumber(func(v float64) float64 { return v * clamp(v/6+0.5, 0, 1) }, nil), rowsEach, false},
	"ThresholdedRelu": {1, 1, withAttrs(thresholdedRelu), rowsEach, false},
	"Shrink":          {1, 1, withAttrs(shrink), rowsEach, false},
	"Gelu":            {1, 1, buildGelu, rowsEach, false},
	"PRelu":           {2, 2, buildPRelu, rowsAligned, false},
	"Clip":            {1, 3, buildClip, rowsFirst, false},
	"Dropout":         {1, 3, buildDropout, rowsFirst, false},
}

func sigmoid(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

func softplus(v float64) float64 { return math.Max(v, 0) + math.Log1p(math.Exp(-math.Abs(v))) }

func mish(v float64) float64 { return v * math.Tanh(softplus(v)) }

func softsign(v float64) float64 { return v / (1 + math.Abs(v)) }

func clamp(v, least, most float64) float64 { return min(max(v, least), most) }

// activation makes a function of an operator's attributes.
type activation func(alpha, beta *float64) func(float64) float64

// attribute is p, or def if there is none.
func or(p *float64, def float64) float64 {
	if p == nil {
		return def
	}
	return *p
}

func leakyRelu(alpha, _ *float64) func(float64) float64 {
	a := or(alpha, float64(float32(0.01)))
	return func(v float64) float64 {
		if v < 0 {
			return a * v
		}
		return v
	}
}

func elu(alpha, _ *float64) func(float64) float64 {
	a := or(alpha, 1)
	return func(v float64) float64 {
		if v < 0 {
			return a * math.Expm1(v)
		}
		return v
	}
}

func celu(alpha, _ *float64) func(float64) float64 {
	a := or(alpha, 1)
	return func(v float64) float64 { return math.Max(v, 0) + math.Min(0, a*math.Expm1(v/a)) }
}

func selu(alpha, gamma *float64) func(float64) float64 {
	a, g := or(alpha, 1.67326319217681884765625), or(gamma, 1.05070102214813232421875)
	return func(v float64) float64 {
		if v <= 0 {
			return g * a * math.Expm1(v)
		}
		return g * v
	}
}

func hardSigmoid(alpha, beta *float64) func(float64) float64 {
	a, b := or(alpha, float64(float32(0.2))), or(beta, 0.5)
	return func(v float64) float64 { return clamp(a*v+b, 0, 1) }
}

func thresholdedRelu(alpha, _ *float64) func(float64) float64 {
	a := or(alpha, 1)
	return func(v float64) float64 {
		if v > a {
			return v
		}
		return 0
	}
}

func shrink(lambd, bias *float64) func(float64) float64 {
	l, b := or(lambd, 0.5), or(bias, 0)
	return func(v float64) float64 {
		switch {
		case v < -l:
			return v + b
		case v > l:
			return v - b
		}
		return 0
	}
}

// withAttrs builds an activation of one or two attributes.
func withAttrs(make activation) builder {
	return func(n *node) (kernel, error) {
		first, second := "alpha", "beta"
		switch n.Op {
		case "Selu":
			second = "gamma"
		case "Shrink":
			first, second = "lambd", "bias"
		}
		var alpha, beta *float64
		for name, p := range map[string]**float64{first: &alpha, second: &beta} {
			if n.has(name) {
				v := float64(n.float(name, 0))
				*p = &v
			}
		}
		return eachKernel(make(alpha, beta), nil), nil
	}
}

// rectified keeps NaN and a negative zero.
func rectified[T real](v T) T {
	if v < 0 {
		return 0
	}
	return v
}

func buildRelu(*node) (kernel, error) {
	slow := eachKernel(func(v float64) float64 { return rectified(v) }, func(v int64) int64 { return max(v, 0) })
	return func(r *run, in, out []*Tensor) error {
		if in[0].Type != onnx.Float {
			return slow(r, in, out)
		}
		o, err := r.reuse(in, 0)
		if err != nil {
			return err
		}
		out[0] = o
		to := o.F32[:len(in[0].F32)]
		for i, v := range in[0].F32 {
			bits := math.Float32bits(v)
			if v < 0 { // a conditional move: signs are as good as random, and a branch would be guessed wrong
				bits = 0
			}
			to[i] = math.Float32frombits(bits)
		}
		return r.tick(len(o.F32))
	}, nil
}

func buildGelu(n *node) (kernel, error) {
	switch how := n.text("approximate", "none"); how {
	case "none":
		return eachKernel(func(v float64) float64 { return 0.5 * v * (1 + math.Erf(v/math.Sqrt2)) }, nil), nil
	case "tanh":
		return eachKernel(func(v float64) float64 {
			return 0.5 * v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
		}, nil), nil
	default:
		return nil, fmt.Errorf("approximate %q is not supported", how)
	}
}

func buildPRelu(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) (err error) {
		if !isFloat(in[0].Type) {
			return notFor(in[0].Type)
		}
		out[0], err = r.pairwise(in[0], in[1], preluRow, preluRow, nil)
		return err
	}, nil
}

func preluRow[T real](out, a, b []T) {
	zip(out, a, b, func(x, slope T) T {
		if x < 0 {
			return x * slope
		}
		return x
	})
}

func buildClip(n *node) (kernel, error) {
	least, most := float64(n.float("min", -math.MaxFloat32)), float64(n.float("max", math.MaxFloat32))
	attrs := n.opset < 11
	return func(r *run, in, out []*Tensor) error {
		t := in[0]
		if attrs {
			return eachKernel(func(v float64) float64 { return min(max(v, least), most) }, nil)(r, in, out)
		}
		lo, hi, err := clipBounds(t, in)
		if err != nil {
			return err
		}
		f := func(v float64) float64 { return min(max(v, lo), hi) }
		return eachKernel(f, func(v int64) int64 {
			for i, bound := range in[1:] {
				if bound == nil {
					continue
				}
				if b := bound.int(0); i == 0 {
					v = max(v, b)
				} else {
					v = min(v, b)
				}
			}
			return v
		})(r, in, out)
	}, nil
}

// clipBounds are the optional bounds of Clip: scalars of the type of t.
func clipBounds(t *Tensor, in []*Tensor) (float64, float64, error) {
	bounds := [2]float64{math.Inf(-1), math.Inf(1)}
	for i, b := range in[1:] {
		if b == nil {
			continue
		}
		if b.Type != t.Type || b.Len() != 1 || b.Str != nil {
			return 0, 0, fmt.Errorf("a bound is no single %s", t.Type)
		}
		bounds[i] = b.float(0)
	}
	return bounds[0], bounds[1], nil
}

func buildDropout(n *node) (kernel, error) {
	return func(r *run, in, out []*Tensor) (err error) {
		out[0] = r.view(in[0], in[0].Dims)
		if len(out) > 1 {
			if out[1], err = r.alloc(onnx.Bool, in[0].Dims); err != nil {
				return err
			}
			fill(out[1].U8, 1)
		}
		return nil
	}, nil
}
