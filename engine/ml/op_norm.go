package ml

import (
	"errors"
	"fmt"
	"math"
)

// norms are the operators that bring numbers to a common scale.
var norms = map[string]operator{
	"BatchNormalization":        {5, 5, buildBatchNorm, rowsFirst, false},
	"LayerNormalization":        {2, 3, buildLayerNorm, rowsAxisFirst, false},
	"InstanceNormalization":     {3, 3, buildInstanceNorm, rowsFirst, false},
	"GroupNormalization":        {3, 3, buildGroupNorm, rowsFirst, false},
	"LRN":                       {1, 1, buildLRN, rowsFirst, false},
	"LpNormalization":           {1, 1, buildLpNorm, rowsAxis, false},
	"MeanVarianceNormalization": {1, 1, buildMVN, rowsNever, false},
}

// floatsOf checks that tensors are floating point numbers of one type.
func floatsOf(list ...*Tensor) error {
	for _, t := range list {
		if t == nil {
			continue
		}
		if !isFloat(t.Type) {
			return notFor(t.Type)
		}
		if t.Type != list[0].Type {
			return errTypes
		}
	}
	return nil
}

// perChannel checks that tensors have one number for each channel, axis 1 of t.
func perChannel(t *Tensor, list ...*Tensor) error {
	if len(t.Dims) < 2 {
		return errors.New("its input has fewer than two axes")
	}
	for _, c := range list {
		if c.Len() != t.Dims[1] {
			return fmt.Errorf("it needs %d numbers, one for each channel, and has %d", t.Dims[1], c.Len())
		}
	}
	return floatsOf(append([]*Tensor{t}, list...)...)
}

func buildBatchNorm(n *node) (kernel, error) {
	epsilon := float64(n.float("epsilon", 1e-5))
	if n.int("training_mode", 0) != 0 {
		return nil, errors.New("training mode is not supported")
	}
	return func(r *run, in, out []*Tensor) (err error) {
		t := in[0]
		if err := perChannel(t, in[1:]...); err != nil {
			return err
		}
		if out[0], err = r.reuse(in, 0); err != nil {
			return err
		}
		o, inner := out[0], product(t.Dims[2:])
		for a := range t.Dims[0] {
			for c := range t.Dims[1] {
				scale := in[1].float(c) / math.Sqrt(in[4].float(c)+epsilon)
				shift, mean := in[2].float(c), in[3].float(c)
				at := (a*t.Dims[1] + c) * inner
				for i := at; i < at+inner; i++ {
					o.setFloat(i, (t.float(i)-mean)*scale+shift)
				}
				if err := r.tick(2 * inner); err != nil {
					return err
				}
			}
		}
		for i := 1; i < len(out); i++ { // what older versions keep for training
			out[i] = r.view(in[min(i+2, 4)], in[min(i+2, 4)].Dims)
		}
		return nil
	}, nil
}

// meanAndSpread are the mean and the inverse deviation of n elements of t.
func meanAndSpread(t *Tensor, at, n int, epsilon float64) (float64, float64) {
	sum := 0.0
	for i := at; i < at+n; i++ {
		sum += t.float(i)
	}
	mean, square := sum/float64(n), 0.0
	for i := at; i < at+n; i++ {
		d := t.float(i) - mean
		square += d * d
	}
	return mean, 1 / math.Sqrt(square/float64(n)+epsilon)
}

func buildLayerNorm(n *node) (kernel, error) {
	axis, epsilon := int(n.int("axis", -1)), float64(n.float("epsilon", 1e-5))
	return func(r *run, in, out []*Tensor) error {
		t := in[0]
		var shift *Tensor
		if len(in) > 2 {
			shift = in[2]
		}
		if err := floatsOf(t, in[1], shift); err != nil {
			return err
		}
		a, err := axisOf(axis, len(t.Dims))
		if err != nil {
			return err
		}
		inner := product(t.Dims[a:])
		if in[1].Len() != inner || shift != nil && shift.Len() != inner {
			return fmt.Errorf("its scale and shift need %d numbers", inner)
		}
		if out[0], err = r.alloc(t.Type, t.Dims); err != nil {
			return err
		}
		rest := append(append([]int{}, t.Dims[:a]...), make([]int, len(t.Dims)-a)...)
		fill(rest[a:], 1)
		for i := 1; i < len(out) && i < 3; i++ {
			if out[i], err = r.alloc(t.Type, rest); err != nil {
				return err
			}
		}
		for row := range product(t.Dims[:a]) {
			if err := r.tick(4 * inner); err != nil {
				return err
			}
			mean, spread := meanAndSpread(t, row*inner, inner, epsilon)
			for i := range inner {
				v := (t.float(row*inner+i) - mean) * spread * in[1].float(i)
				if shift != nil {
					v += shift.float(i)
				}
				out[0].setFloat(row*inner+i, v)
			}
			if len(out) > 1 {
				out[1].setFloat(row, mean)
			}
			if len(out) > 2 {
				out[2].setFloat(row, spread)
			}
		}
		return nil
	}, nil
}

func buildInstanceNorm(n *node) (kernel, error) {
	epsilon := float64(n.float("epsilon", 1e-5))
	return func(r *run, in, out []*Tensor) error {
		if err := perChannel(in[0], in[1], in[2]); err != nil {
			return err
		}
		return r.groupNorm(in, out, in[0].Dims[1], epsilon, true)
	}, nil
}

func buildGroupNorm(n *node) (kernel, error) {
	epsilon, groups := float64(n.float("epsilon", 1e-5)), int(n.int("num_groups", 0))
	return func(r *run, in, out []*Tensor) error {
		t := in[0]
		if len(t.Dims) < 2 || groups < 1 || t.Dims[1]%groups != 0 {
			return errors.New("its channels cannot be divided into its groups")
		}
		if err := floatsOf(t, in[1], in[2]); err != nil {
			return err
		}
		// Version 18 has a scale for each group, version 21 for each channel.
		k := in[1].Len()
		if k != in[2].Len() || k != groups && k != t.Dims[1] {
			return errors.New("its scale has neither one number for each group nor for each channel")
		}
		return r.groupNorm(in, out, groups, epsilon, k == t.Dims[1])
	}, nil
}

// groupNorm scales each group of channels to mean 0 and deviation 1.
func (r *run) groupNorm(in, out []*Tensor, groups int, epsilon float64, byChannel bool) error {
	t := in[0]
	o, err := r.alloc(t.Type, t.Dims)
	if err != nil {
		return err
	}
	out[0] = o
	inner := product(t.Dims[2:])
	channels := t.Dims[1] / max(groups, 1)
	for a := range t.Dims[0] * groups {
		if err := r.tick(4 * channels * inner); err != nil {
			return err
		}
		at := a * channels * inner
		mean, spread := meanAndSpread(t, at, channels*inner, epsilon)
		for c := range channels {
			k := a % groups
			if byChannel {
				k = k*channels + c
			}
			scale, shift := in[1].float(k)*spread, in[2].float(k)
			for i := range inner {
				j := at + c*inner + i
				o.setFloat(j, (t.float(j)-mean)*scale+shift)
			}
		}
	}
	return nil
}

func buildLRN(n *node) (kernel, error) {
	alpha, beta := float64(n.float("alpha", 1e-4)), float64(n.float("beta", 0.75))
	bias, window := float64(n.float("bias", 1)), int(n.int("size", 0))
	if window < 1 {
		return nil, errors.New("its size is not positive")
	}
	return func(r *run, in, out []*Tensor) (err error) {
		t := in[0]
		if err := perChannel(t); err != nil {
			return err
		}
		if out[0], err = r.alloc(t.Type, t.Dims); err != nil {
			return err
		}
		inner, channels := product(t.Dims[2:]), t.Dims[1]
		for a := range t.Dims[0] {
			for c := range channels {
				first, last := max(c-(window-1)/2, 0), min(c+window/2, channels-1)
				if err := r.tick(inner * (last - first + 8)); err != nil {
					return err
				}
				for i := range inner {
					sum := 0.0
					for k := first; k <= last; k++ {
						v := t.float((a*channels+k)*inner + i)
						sum += v * v
					}
					j := (a*channels+c)*inner + i
					out[0].setFloat(j, t.float(j)/math.Pow(bias+alpha/float64(window)*sum, beta))
				}
			}
		}
		return nil
	}, nil
}

func buildLpNorm(n *node) (kernel, error) {
	axis, p := int(n.int("axis", -1)), n.int("p", 2)
	if p != 1 && p != 2 {
		return nil, errors.New("p is neither 1 nor 2")
	}
	return func(r *run, in, out []*Tensor) (err error) {
		t := in[0]
		if err := floatsOf(t); err != nil {
			return err
		}
		l, err := linesOf(t.Dims, axis, false)
		if err != nil {
			return err
		}
		if out[0], err = r.reuse(in, 0); err != nil {
			return err
		}
		return l.apply(r, t, out[0], func(line []float64) {
			sum := 0.0
			for _, v := range line {
				if p == 1 {
					sum += math.Abs(v)
				} else {
					sum += v * v
				}
			}
			if p == 2 {
				sum = math.Sqrt(sum)
			}
			for i := range line {
				if sum != 0 {
					line[i] /= sum
				}
			}
		})
	}, nil
}

func buildMVN(n *node) (kernel, error) {
	axes := n.ints("axes")
	if axes == nil {
		axes = []int{0, 2, 3}
	}
	return func(r *run, in, out []*Tensor) error {
		t := in[0]
		if err := floatsOf(t); err != nil {
			return err
		}
		g, err := groupsOf(t.Dims, axes)
		if err != nil {
			return err
		}
		o, err := r.alloc(t.Type, t.Dims)
		if err != nil {
			return err
		}
		out[0] = o
		return g.each(r, func(_ int, at []int) error {
			sum, square := 0.0, 0.0
			for _, i := range at {
				sum += t.float(i)
			}
			mean := sum / float64(len(at))
			for _, i := range at {
				d := t.float(i) - mean
				square += d * d
			}
			spread := math.Sqrt(square/float64(len(at))) + 1e-9
			for _, i := range at {
				o.setFloat(i, (t.float(i)-mean)/spread)
			}
			return nil
		})
	}, nil
}
