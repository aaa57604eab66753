package ml

import (
	"errors"
	"math"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// buildPool builds a pool of maxima or of averages; global ones take a whole image as one window.
func buildPool(largest, global bool) builder {
	return func(n *node) (kernel, error) {
		w, err := windowOf(n)
		if err != nil {
			return nil, err
		}
		if !global && w.kernel == nil {
			return nil, errors.New("attribute \"kernel_shape\" is missing")
		}
		if n.int("storage_order", 0) != 0 {
			return nil, errors.New("indices in column order are not supported")
		}
		all := n.int("count_include_pad", 0) != 0
		return func(r *run, in, out []*Tensor) error {
			x := in[0]
			if err := floatsOf(x); err != nil {
				return err
			}
			if len(x.Dims) < 3 {
				return errors.New("its input has fewer than three axes")
			}
			v := w
			if global {
				if product(x.Dims[2:]) == 0 {
					return errors.New("its input is empty")
				}
				if len(x.Dims) > 2+maxSpatial { // one axis is as good as many
					flat := *x
					flat.Dims = []int{x.Dims[0], x.Dims[1], product(x.Dims[2:])}
					x = &flat
				}
				v = &window{auto: "NOTSET", kernel: x.Dims[2:]}
			}
			if v, err = v.fit(x.Dims[2:], nil); err != nil {
				return err
			}
			spatial, err := v.slide(x.Dims[2:])
			if err != nil {
				return err
			}
			dims := append([]int{x.Dims[0], x.Dims[1]}, spatial...)
			if out[0], err = r.alloc(x.Type, dims); err != nil {
				return err
			}
			if len(out) > 1 {
				if out[1], err = r.alloc(onnx.Int64, dims); err != nil {
					return err
				}
			}
			if err := v.pool(r, x, out, largest, all); err != nil {
				return err
			}
			for len(out[0].Dims) < len(in[0].Dims) {
				out[0].Dims = append(out[0].Dims, 1)
			}
			return nil
		}, nil
	}
}

// pool computes all windows of x.
func (w *window) pool(r *run, x *Tensor, out []*Tensor, largest, all bool) error {
	spatial := x.Dims[2:]
	o := three(out[0].Dims[2:], 1)
	p := &pooling{d: three(spatial, 1), k: three(w.kernel, 1), e: three(w.spread, 1),
		before: three(w.pads[:len(spatial)], 0), after: three(w.pads[len(spatial):], 0)}
	s := three(w.stride, 1)
	plane, places := product(p.d[:]), product(o[:])
	for c := range x.Dims[0] * x.Dims[1] {
		for i := range places {
			at := [3]int{i/(o[1]*o[2])*s[0] - p.before[0], i/o[2]%o[1]*s[1] - p.before[1], i%o[2]*s[2] - p.before[2]}
			var v float64
			var best int
			if largest {
				v, best = p.max(x, c*plane, at)
			} else {
				v = p.mean(x, c*plane, at, all)
			}
			out[0].setFloat(c*places+i, v)
			if len(out) > 1 {
				out[1].I64[c*places+i] = int64(best)
			}
			if err := r.tick(2 * product(p.k[:])); err != nil {
				return err
			}
		}
	}
	return nil
}

type pooling struct{ d, k, e, before, after [3]int }

// each calls fn for each place of a window that lies in the image.
func (p *pooling) each(at [3]int, fn func(i int)) {
	for a := range p.k[0] {
		y := at[0] + a*p.e[0]
		if y < 0 || y >= p.d[0] {
			continue
		}
		for b := range p.k[1] {
			z := at[1] + b*p.e[1]
			if z < 0 || z >= p.d[1] {
				continue
			}
			for c := range p.k[2] {
				if q := at[2] + c*p.e[2]; q >= 0 && q < p.d[2] {
					fn((y*p.d[1]+z)*p.d[2] + q)
				}
			}
		}
	}
}

func (p *pooling) max(x *Tensor, base int, at [3]int) (float64, int) {
	best, where := math.Inf(-1), base
	p.each(at, func(i int) {
		if v := x.float(base + i); v > best || v != v {
			best, where = v, base+i
		}
	})
	return best, where
}

// mean divides by the cells of the image in the window; with all also by those in the margins.
func (p *pooling) mean(x *Tensor, base int, at [3]int, all bool) float64 {
	sum, n := 0.0, 0
	p.each(at, func(i int) {
		sum += x.float(base + i)
		n++
	})
	if all {
		n = 1
		for i := range at {
			inside := 0
			for a := range p.k[i] {
				if v := at[i] + a*p.e[i]; v >= -p.before[i] && v < p.d[i]+p.after[i] {
					inside++
				}
			}
			n *= inside
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}
