package ml

import (
	"errors"
	"fmt"
	"math"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// linears are the linear models of ai.onnx.ml.
var linears = map[string]operator{
	"LinearRegressor":  {1, 1, buildLinearRegressor, rowsTable, true},
	"LinearClassifier": {1, 1, buildLinearClassifier, rowsTable, true},
}

// table is a tensor of one or two axes as rows of columns.
func table(t *Tensor) (rows, cols int, err error) {
	switch {
	case t.Str != nil || t.Type == onnx.Bool:
		return 0, 0, notFor(t.Type)
	case len(t.Dims) == 1:
		return 1, t.Dims[0], nil
	case len(t.Dims) == 2:
		return t.Dims[0], t.Dims[1], nil
	}
	return 0, 0, errors.New("its input is not a table")
}

// rowsOf is a table as float32 numbers: t's own or a copy.
func (r *run) rowsOf(t *Tensor) ([]float32, error) {
	if t.F32 != nil {
		return t.F32, nil
	}
	if err := r.tick(2 * t.Len()); err != nil {
		return nil, err
	}
	out := make([]float32, t.Len())
	for i := range out {
		out[i] = float32(t.float(i))
	}
	return out, nil
}

// scorer are the weights of a linear model: a row for each score.
type scorer struct {
	weights, shift []float32
	scores         int
}

func scorerOf(n *node, scores int) (*scorer, error) {
	s := &scorer{weights: n.floats("coefficients"), shift: n.floats("intercepts"), scores: scores}
	if s.scores < 1 || len(s.weights)%s.scores != 0 || s.shift != nil && len(s.shift) != s.scores {
		return nil, errors.New("its coefficients and intercepts do not fit together")
	}
	return s, nil
}

// score computes the scores of all rows of t.
func (s *scorer) score(r *run, t *Tensor) (*Tensor, error) {
	rows, cols, err := table(t)
	if err != nil {
		return nil, err
	}
	if cols*s.scores != len(s.weights) {
		return nil, fmt.Errorf("it needs %d columns and has %d", len(s.weights)/s.scores, cols)
	}
	x, err := r.rowsOf(t)
	if err != nil {
		return nil, err
	}
	o, err := r.zeros(onnx.Float, []int{rows, s.scores})
	if err != nil {
		return nil, err
	}
	if s.shift != nil {
		for i := range rows {
			copy(o.F32[i*s.scores:], s.shift)
		}
	}
	return o, gemm(r, o.F32, rows, s.scores, cols, matrix[float32]{x, cols, 1}, matrix[float32]{s.weights, 1, cols})
}

func buildLinearRegressor(n *node) (kernel, error) {
	s, err := scorerOf(n, int(n.int("targets", 1)))
	if err != nil {
		return nil, err
	}
	post, err := postTransform(n)
	if err != nil {
		return nil, err
	}
	return func(r *run, in, out []*Tensor) error {
		o, err := s.score(r, in[0])
		if err != nil {
			return err
		}
		out[0] = o
		return post.rows(r, o)
	}, nil
}

// transform is applied to the scores of a row at the end; nil leaves them.
type transform func(row []float32)

func postTransform(n *node) (transform, error) {
	switch name := n.text("post_transform", "NONE"); name {
	case "NONE":
		return nil, nil
	case "LOGISTIC":
		return func(row []float32) {
			for i, v := range row {
				row[i] = float32(sigmoid(float64(v)))
			}
		}, nil
	case "SOFTMAX":
		return func(row []float32) { softmaxRow(row, false) }, nil
	case "SOFTMAX_ZERO":
		return func(row []float32) { softmaxRow(row, true) }, nil
	case "PROBIT":
		return func(row []float32) {
			for i, v := range row {
				row[i] = float32(math.Sqrt2 * nearErfinv(2*float64(v)-1))
			}
		}, nil
	default:
		return nil, fmt.Errorf("post_transform %q is not supported", name)
	}
}

// nearErfinv is the approximation of the inverse error function by Winitzki: what other runtimes compute for PROBIT,
// four digits of the exact value.
func nearErfinv(x float64) float64 {
	log := math.Log((1 - x) * (1 + x))
	v := 2/(math.Pi*0.147) + 0.5*log
	return math.Copysign(math.Sqrt(math.Sqrt(v*v-log/0.147)-v), x)
}

// softmaxRow turns scores into shares; with zeros, scores of zero stay zero and do not count.
func softmaxRow(row []float32, zeros bool) {
	top, sum := float32(math.Inf(-1)), 0.0
	for _, v := range row {
		top = max(top, v)
	}
	for i, v := range row {
		if zeros && v > -1e-7 && v < 1e-7 {
			row[i] = 0
			continue
		}
		e := math.Exp(float64(v - top))
		row[i] = float32(e)
		sum += e
	}
	for i, v := range row {
		if v != 0 {
			row[i] = float32(float64(v) / sum)
		}
	}
}

func (p transform) rows(r *run, o *Tensor) error {
	if p == nil {
		return nil
	}
	n := o.Dims[len(o.Dims)-1]
	if n == 0 {
		return nil
	}
	for i := 0; i < len(o.F32); i += n {
		p(o.F32[i : i+n])
		if err := r.tick(16 * n); err != nil {
			return err
		}
	}
	return nil
}

// labels are the classes of a classifier: numbers or texts.
type labels struct {
	ints  []int64
	texts []string
}

func labelsOf(n *node, ints, texts string) (labels, error) {
	l := labels{ints: n.ints64(ints), texts: n.strings(texts)}
	if len(l.texts) > 0 {
		l.ints = nil
	}
	if l.len() == 0 {
		return l, errors.New("it has no classes")
	}
	return l, nil
}

func (l labels) len() int { return max(len(l.ints), len(l.texts)) }

// alloc makes room for one label of each row.
func (l labels) alloc(r *run, rows int) (*Tensor, error) {
	if l.texts != nil {
		return r.alloc(onnx.String, []int{rows})
	}
	return r.alloc(onnx.Int64, []int{rows})
}

// set stores class k as element i.
func (l labels) set(t *Tensor, i, k int) {
	if l.texts != nil {
		t.Str[i] = l.texts[k]
	} else {
		t.I64[i] = l.ints[k]
	}
}

// best is the place of the first largest element.
func best(row []float32) int {
	k := 0
	for i, v := range row {
		if v > row[k] {
			k = i
		}
	}
	return k
}

func buildLinearClassifier(n *node) (kernel, error) {
	l, err := labelsOf(n, "classlabels_ints", "classlabels_strings")
	if err != nil {
		return nil, err
	}
	scores := max(len(n.floats("intercepts")), 1)
	if !n.has("intercepts") {
		scores = l.len()
	}
	s, err := scorerOf(n, scores)
	if err != nil {
		return nil, err
	}
	post, err := postTransform(n)
	if err != nil {
		return nil, err
	}
	single := scores == 1 && l.len() == 2
	if !single && scores != l.len() {
		return nil, errors.New("it has another number of scores than of classes")
	}
	name := n.text("post_transform", "NONE")
	return func(r *run, in, out []*Tensor) error {
		o, err := s.score(r, in[0])
		if err != nil {
			return err
		}
		label, err := l.alloc(r, o.Dims[0])
		if err != nil {
			return err
		}
		out[0] = label
		if single {
			return r.singleScore(l, label, o, out, name)
		}
		for i := range o.Dims[0] {
			l.set(label, i, best(o.F32[i*scores:(i+1)*scores]))
		}
		if len(out) < 2 {
			r.release(o)
			return nil
		}
		out[1] = o
		return post.rows(r, o)
	}, nil
}

// singleScore gives the labels and the two columns of a classifier with one score: the second class if it is positive.
func (r *run) singleScore(l labels, label, o *Tensor, out []*Tensor, post string) error {
	defer r.release(o)
	for i, v := range o.F32 {
		k := 0
		if v > 0 {
			k = 1
		}
		l.set(label, i, k)
	}
	if len(out) < 2 {
		return nil
	}
	two, err := r.alloc(onnx.Float, []int{o.Dims[0], 2})
	if err != nil {
		return err
	}
	out[1] = two
	for i, v := range o.F32 {
		if post == "LOGISTIC" {
			v = float32(sigmoid(float64(v)))
		}
		two.F32[2*i], two.F32[2*i+1] = 1-v, v
	}
	return r.tick(8 * len(o.F32))
}
