package ml

import (
	"math"
)

// softmaxes turn scores into shares along an axis.
var softmaxes = map[string]operator{
	"Softmax":    {1, 1, lineOperator(softmaxLine), rowsAxis, false},
	"LogSoftmax": {1, 1, lineOperator(logSoftmaxLine), rowsAxis, false},
	"Hardmax":    {1, 1, lineOperator(hardmaxLine), rowsAxis, false},
}

// lineOperator builds an operator that works on each line of numbers along an axis. Before version 13 a line is all
// that lies behind the axis.
func lineOperator(f func(line []float64)) builder {
	return func(n *node) (kernel, error) {
		def := int64(-1)
		if n.opset < 13 {
			def = 1
		}
		axis, flat := int(n.int("axis", def)), n.opset < 13
		return func(r *run, in, out []*Tensor) error {
			t := in[0]
			if !isFloat(t.Type) {
				return notFor(t.Type)
			}
			l, err := linesOf(t.Dims, axis, flat)
			if err != nil {
				return err
			}
			if out[0], err = r.reuse(in, 0); err != nil {
				return err
			}
			return l.apply(r, t, out[0], f)
		}, nil
	}
}

// lines are the lines of a tensor along an axis: element i of line (o, n) is at o*length*inner + i*inner + n.
type lines struct{ outer, length, inner int }

// linesOf are the lines along axis; flat takes all axes from it on as one line.
func linesOf(dims []int, axis int, flat bool) (lines, error) {
	if flat && axis == len(dims) || len(dims) == 0 && (axis == 0 || axis == -1) {
		return lines{product(dims), 1, 1}, nil
	}
	a, err := axisOf(axis, len(dims))
	if err != nil {
		return lines{}, err
	}
	if flat {
		return lines{product(dims[:a]), product(dims[a:]), 1}, nil
	}
	return lines{product(dims[:a]), dims[a], product(dims[a+1:])}, nil
}

// apply calls f for each line of t, as float64, and stores what f makes of it in o.
func (l lines) apply(r *run, t, o *Tensor, f func(line []float64)) error {
	if l.length == 0 {
		return nil
	}
	if err := r.hold(int64(l.length) * 8); err != nil {
		return err
	}
	defer func() { r.held -= int64(l.length) * 8 }()
	line := make([]float64, l.length)
	for a := range l.outer {
		for b := range l.inner {
			at := a*l.length*l.inner + b
			for i := range line {
				line[i] = t.float(at + i*l.inner)
			}
			f(line)
			for i, v := range line {
				o.setFloat(at+i*l.inner, v)
			}
			if err := r.tick(8 * l.length); err != nil {
				return err
			}
		}
	}
	return nil
}

func most(line []float64) float64 {
	m := math.Inf(-1)
	for _, v := range line {
		m = math.Max(m, v)
	}
	return m
}

func softmaxLine(line []float64) {
	m, sum := most(line), 0.0
	for i, v := range line {
		line[i] = math.Exp(v - m)
		sum += line[i]
	}
	for i := range line {
		line[i] /= sum
	}
}

func logSoftmaxLine(line []float64) {
	m, sum := most(line), 0.0
	for _, v := range line {
		sum += math.Exp(v - m)
	}
	log := math.Log(sum)
	for i := range line {
		line[i] -= m + log
	}
}

func hardmaxLine(line []float64) {
	best := 0
	for i, v := range line {
		if v > line[best] {
			best = i
		}
	}
	clear(line)
	line[best] = 1
}
