package ml

import (
	"errors"
	"fmt"
	"math"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// vectorMachines are the support vector machines of ai.onnx.ml.
var vectorMachines = map[string]operator{
	"SVMRegressor":  {1, 1, buildSVMRegressor, rowsTable, true},
	"SVMClassifier": {1, 1, buildSVMClassifier, rowsTable, true},
}

// svm is the common part of both machines: a kernel function, support vectors and coefficients.
type svm struct {
	kind                 string
	gamma, coef0, degree float64
	coefs, vectors       []float32
	supports             int
	rho                  []float32
}

func svmOf(n *node, supports int) (*svm, error) {
	s := &svm{kind: n.text("kernel_type", "LINEAR"), coefs: n.floats("coefficients"),
		vectors: n.floats("support_vectors"), supports: supports, rho: n.floats("rho")}
	if err := oneOf("kernel_type", s.kind, "LINEAR", "POLY", "RBF", "SIGMOID"); err != nil {
		return nil, err
	}
	if p := n.floats("kernel_params"); len(p) > 2 {
		s.gamma, s.coef0, s.degree = float64(p[0]), float64(p[1]), float64(p[2])
	}
	if supports < 0 || supports > 0 && (len(s.vectors)%supports != 0 || len(s.coefs)%supports != 0) {
		return nil, errors.New("its support vectors and coefficients do not fit together")
	}
	return s, nil
}

// width is how many columns a row needs.
func (s *svm) width(cols int) error {
	want := 0
	if s.supports > 0 {
		want = len(s.vectors) / s.supports
	}
	if want != cols {
		return fmt.Errorf("it needs %d columns and has %d", want, cols)
	}
	return nil
}

// like is the kernel function of a row and a support vector.
func (s *svm) like(x, v []float32) float64 {
	sum := 0.0
	if s.kind == "RBF" {
		for i, a := range x {
			d := float64(a) - float64(v[i])
			sum += d * d
		}
		return math.Exp(-s.gamma * sum)
	}
	for i, a := range x {
		sum += float64(a) * float64(v[i])
	}
	switch s.kind {
	case "POLY":
		return math.Pow(s.gamma*sum+s.coef0, s.degree)
	case "SIGMOID":
		return math.Tanh(s.gamma*sum + s.coef0)
	}
	return sum
}

// all computes the kernel function of a row and each support vector.
func (s *svm) all(r *run, x []float32, to []float64) error {
	for i := range to {
		to[i] = s.like(x, s.vectors[i*len(x):(i+1)*len(x)])
	}
	return r.tick(2 * len(s.vectors))
}

func buildSVMRegressor(n *node) (kernel, error) {
	s, err := svmOf(n, int(n.int("n_supports", 0)))
	if err != nil {
		return nil, err
	}
	post, err := postTransform(n)
	if err != nil {
		return nil, err
	}
	if len(s.rho) < 1 || s.supports > 0 && len(s.coefs) != s.supports {
		return nil, errors.New("its coefficients do not fit its support vectors")
	}
	one := n.int("one_class", 0) != 0
	return func(r *run, in, out []*Tensor) error {
		rows, cols, err := table(in[0])
		if err != nil {
			return err
		}
		if s.supports == 0 && len(s.coefs) != cols {
			return fmt.Errorf("it needs %d columns and has %d", len(s.coefs), cols)
		}
		if s.supports > 0 {
			if err := s.width(cols); err != nil {
				return err
			}
		}
		x, err := r.rowsOf(in[0])
		if err != nil {
			return err
		}
		o, err := r.alloc(onnx.Float, []int{rows, 1})
		if err != nil {
			return err
		}
		out[0] = o
		k := make([]float64, s.supports)
		for i := range rows {
			row, sum := x[i*cols:(i+1)*cols], float64(s.rho[0])
			if s.supports == 0 {
				sum += s.like(row, s.coefs)
			} else if err := s.all(r, row, k); err != nil {
				return err
			}
			for j, v := range k {
				sum += v * float64(s.coefs[j])
			}
			if one {
				sum = 2*float64(truth(sum > 0)) - 1
			}
			o.F32[i] = float32(sum)
		}
		return post.rows(r, o)
	}, nil
}

// svmClassifier votes between each two classes.
type svmClassifier struct {
	*svm
	l            labels
	per          []int // support vectors of each class
	first        []int // where they start
	probA, probB []float32
	post         transform
}

func buildSVMClassifier(n *node) (kernel, error) {
	l, err := labelsOf(n, "classlabels_ints", "classlabels_strings")
	if err != nil {
		return nil, err
	}
	c := &svmClassifier{l: l, per: n.ints("vectors_per_class"), probA: n.floats("prob_a"), probB: n.floats("prob_b")}
	all := 0
	for _, k := range c.per {
		if k < 0 || k > 1<<30 {
			return nil, errors.New("its support vectors do not fit its classes")
		}
		c.first = append(c.first, all)
		all += k
	}
	if c.svm, err = svmOf(n, all); err != nil {
		return nil, err
	}
	if c.post, err = postTransform(n); err != nil {
		return nil, err
	}
	k := l.len()
	pairs := k * (k - 1) / 2
	if all == 0 {
		return nil, errors.New("a classifier without support vectors is not supported")
	}
	if k < 2 || k > 1<<12 || len(c.per) != k || len(c.coefs) != (k-1)*all || len(c.rho) != pairs ||
		len(c.probA) != len(c.probB) || len(c.probA) > 0 && len(c.probA) != pairs {
		return nil, errors.New("its support vectors, coefficients and classes do not fit together")
	}
	return c.run, nil
}

func (c *svmClassifier) run(r *run, in, out []*Tensor) error {
	rows, cols, err := table(in[0])
	if err != nil {
		return err
	}
	if err := c.width(cols); err != nil {
		return err
	}
	x, err := r.rowsOf(in[0])
	if err != nil {
		return err
	}
	k := c.l.len()
	wide := k * (k - 1) / 2
	if len(c.probA) > 0 {
		wide = k
	} else if k == 2 {
		wide = 2
	}
	if out[0], err = c.l.alloc(r, rows); err != nil {
		return err
	}
	scores, err := r.alloc(onnx.Float, []int{rows, wide})
	if err != nil {
		return err
	}
	like, pair := make([]float64, c.supports), make([]float64, k*(k-1)/2)
	for i := range rows {
		if err := c.all(r, x[i*cols:(i+1)*cols], like); err != nil {
			return err
		}
		votes := c.pairs(like, pair)
		c.l.set(out[0], i, c.row(pair, votes, scores.F32[i*wide:(i+1)*wide]))
		if err := r.tick(100 * k * k); err != nil && len(c.probA) > 0 {
			return err
		}
	}
	if len(out) < 2 {
		r.release(scores)
		return nil
	}
	out[1] = scores
	return c.post.rows(r, scores)
}

// pairs decides between each two classes, and counts the votes.
func (c *svmClassifier) pairs(like, pair []float64) []int {
	k, at := c.l.len(), 0
	votes := make([]int, k)
	for i := range k {
		for j := i + 1; j < k; j++ {
			sum := float64(c.rho[at])
			for s := c.first[i]; s < c.first[i]+c.per[i]; s++ {
				sum += float64(c.coefs[(j-1)*c.supports+s]) * like[s]
			}
			for s := c.first[j]; s < c.first[j]+c.per[j]; s++ {
				sum += float64(c.coefs[i*c.supports+s]) * like[s]
			}
			pair[at] = sum
			if sum > 0 {
				votes[i]++
			} else {
				votes[j]++
			}
			at++
		}
	}
	return votes
}

// row gives the class of a row, and its scores.
func (c *svmClassifier) row(pair []float64, votes []int, scores []float32) int {
	k := len(votes)
	if len(c.probA) > 0 {
		p := c.probabilities(pair, k)
		for i, v := range p {
			scores[i] = float32(v)
		}
		return best(scores)
	}
	class := 0
	for i, v := range votes {
		if v > votes[class] {
			class = i
		}
	}
	if k == 2 {
		scores[0], scores[1] = float32(-pair[0]), float32(pair[0])
		return class
	}
	for i, v := range pair {
		scores[i] = float32(v)
	}
	return class
}

// probabilities couples the probabilities between each two classes to one for each class: the method of Wu, Lin and
// Weng that libsvm uses.
func (c *svmClassifier) probabilities(pair []float64, k int) []float64 {
	const least = 1e-7
	q, at := make([][]float64, k), 0
	between := make([][]float64, k)
	for i := range k {
		q[i], between[i] = make([]float64, k), make([]float64, k)
	}
	for i := range k {
		for j := i + 1; j < k; j++ {
			p := clamp(1/(1+math.Exp(pair[at]*float64(c.probA[at])+float64(c.probB[at]))), least, 1-least)
			between[i][j], between[j][i] = p, 1-p
			at++
		}
	}
	for i := range k {
		for j := range k {
			if i != j {
				q[i][i] += between[j][i] * between[j][i]
				q[i][j] = -between[j][i] * between[i][j]
			}
		}
	}
	return couple(q, k)
}

func couple(q [][]float64, k int) []float64 {
	p, qp := make([]float64, k), make([]float64, k)
	fill(p, 1/float64(k))
	for range 100 {
		pqp := 0.0
		for i := range k {
			qp[i] = 0
			for j := range k {
				qp[i] += q[i][j] * p[j]
			}
			pqp += p[i] * qp[i]
		}
		worst := 0.0
		for i := range k {
			worst = max(worst, math.Abs(qp[i]-pqp))
		}
		if worst < 0.005/float64(k) {
			break
		}
		for i := range k {
			diff := (pqp - qp[i]) / q[i][i]
			p[i] += diff
			pqp = (pqp + diff*(diff*q[i][i]+2*qp[i])) / (1 + diff) / (1 + diff)
			for j := range k {
				qp[j] = (qp[j] + diff*q[i][j]) / (1 + diff)
				p[j] /= 1 + diff
			}
		}
	}
	return p
}
