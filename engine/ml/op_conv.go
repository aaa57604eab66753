package ml

import (
	"errors"
	"fmt"
	"slices"
)

// windows are the operators that slide a window over images, texts and signals.
var windows = map[string]operator{
	"Conv":              {2, 3, buildConv, rowsFirst, true},
	"ConvTranspose":     {2, 3, buildConvTranspose, rowsFirst, true},
	"MaxPool":           {1, 1, buildPool(true, false), rowsFirst, true},
	"AveragePool":       {1, 1, buildPool(false, false), rowsFirst, true},
	"GlobalMaxPool":     {1, 1, buildPool(true, true), rowsFirst, true},
	"GlobalAveragePool": {1, 1, buildPool(false, true), rowsFirst, true},
	"Resize":            {1, 4, buildResize, rowsNever, true},
	"Upsample":          {1, 2, buildResize, rowsNever, true},
}

// maxSpatial bounds the axes of a window.
const maxSpatial = 3

// window is how a window slides: by axis, its size, steps, distances and what is added at both ends.
type window struct {
	auto                   string
	kernel, stride, spread []int
	pads                   []int // those at the starts, then those at the ends
	ceil                   bool
}

func windowOf(n *node) (*window, error) {
	w := &window{auto: n.text("auto_pad", "NOTSET"), kernel: n.ints("kernel_shape"), stride: n.ints("strides"),
		spread: n.ints("dilations"), pads: n.ints("pads"), ceil: n.int("ceil_mode", 0) != 0}
	return w, oneOf("auto_pad", w.auto, "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
}

// maxWindow bounds each number of a window, so that sums and products of them do not overflow.
const maxWindow = 1 << 24

// fit completes a copy of w for images of the given spatial shape, and checks it.
func (w *window) fit(spatial, kernel []int) (*window, error) {
	rank := len(spatial)
	if rank < 1 || rank > maxSpatial {
		return nil, fmt.Errorf("windows over %d axes are not supported", rank)
	}
	c := *w
	if c.kernel == nil {
		c.kernel = kernel
	}
	ones := make([]int, rank)
	fill(ones, 1)
	if c.stride == nil {
		c.stride = ones
	}
	if c.spread == nil {
		c.spread = ones
	}
	if c.pads = slices.Clone(w.pads); c.pads == nil || c.auto != "NOTSET" {
		c.pads = make([]int, 2*rank)
	}
	if len(c.kernel) != rank || len(c.stride) != rank || len(c.spread) != rank || len(c.pads) != 2*rank {
		return nil, errors.New("its window has another number of axes than its input")
	}
	for i := range rank {
		for _, v := range []int{c.kernel[i], c.stride[i], c.spread[i]} {
			if v < 1 || v > maxWindow {
				return nil, errors.New("its window has a size or step that it cannot have")
			}
		}
		if p := c.pads; p[i] < 0 || p[rank+i] < 0 || p[i] > maxWindow || p[rank+i] > maxWindow {
			return nil, errors.New("its window has a margin that it cannot have")
		}
	}
	return &c, nil
}

// reach is how far a window reaches along axis i.
func (w *window) reach(i int) int { return (w.kernel[i]-1)*w.spread[i] + 1 }

// slide gives the shape of the result, and sets the margins that auto_pad asks for.
func (w *window) slide(spatial []int) ([]int, error) {
	rank, out := len(spatial), make([]int, len(spatial))
	for i, d := range spatial {
		if w.auto == "SAME_UPPER" || w.auto == "SAME_LOWER" {
			out[i] = (d + w.stride[i] - 1) / w.stride[i]
			all := max((out[i]-1)*w.stride[i]+w.reach(i)-d, 0)
			w.pads[i], w.pads[rank+i] = all/2, all-all/2
			if w.auto == "SAME_LOWER" {
				w.pads[i], w.pads[rank+i] = w.pads[rank+i], w.pads[i]
			}
			continue
		}
		room := d + w.pads[i] + w.pads[rank+i] - w.reach(i)
		if room < 0 {
			return nil, errors.New("its window is larger than its input")
		}
		out[i] = room/w.stride[i] + 1
		if w.ceil && room%w.stride[i] != 0 && out[i]*w.stride[i] < d+w.pads[i] {
			out[i]++
		}
	}
	return out, nil
}

// three gives up to three axes as three: missing ones in front are def.
func three(list []int, def int) [3]int {
	out := [3]int{def, def, def}
	copy(out[3-len(list):], list)
	return out
}

func buildConv(n *node) (kernel, error) {
	w, err := windowOf(n)
	if err != nil {
		return nil, err
	}
	group := int(n.int("group", 1))
	return func(r *run, in, out []*Tensor) error {
		x, weight := in[0], in[1]
		var bias *Tensor
		if len(in) > 2 {
			bias = in[2]
		}
		if err := checkConv(x, weight, bias, group, 1); err != nil {
			return err
		}
		v, err := w.fit(x.Dims[2:], weight.Dims[2:])
		if err != nil {
			return err
		}
		if !sameDims(v.kernel, weight.Dims[2:]) {
			return errors.New("its weight has another shape than its window")
		}
		spatial, err := v.slide(x.Dims[2:])
		if err != nil {
			return err
		}
		if bias != nil && bias.Len() != weight.Dims[0] {
			return errors.New("its bias needs one number for each channel")
		}
		o, err := r.zeros(x.Type, append([]int{x.Dims[0], weight.Dims[0]}, spatial...))
		if err != nil {
			return err
		}
		out[0] = o
		if x.F32 != nil {
			return convolve(r, v, x, weight, bias, o, group, x.F32, weight.F32, o.F32)
		}
		return convolve(r, v, x, weight, bias, o, group, x.F64, weight.F64, o.F64)
	}, nil
}

// checkConv checks the shapes of a convolution; channels is the axis of the weight for the channels of x.
func checkConv(x, weight, bias *Tensor, group, channels int) error {
	if err := floatsOf(x, weight, bias); err != nil {
		return err
	}
	if len(x.Dims) < 3 || len(x.Dims) != len(weight.Dims) {
		return errors.New("its input and its weight have shapes of different lengths")
	}
	if group < 1 || x.Dims[1]%group != 0 || weight.Dims[0]%group != 0 {
		return errors.New("its channels cannot be divided into its groups")
	}
	want := x.Dims[1]
	if channels == 1 {
		want /= group
	}
	if weight.Dims[channels] != want {
		return errors.New("its weight has another number of channels than its input")
	}
	return nil
}

// convolve lays out the windows of each image as the columns of a matrix and multiplies the weights by it.
func convolve[T real](r *run, w *window, x, weight, bias, o *Tensor, group int, xs, ws, to []T) error {
	in, outC := x.Dims[1]/group, weight.Dims[0]/group
	places, depth := product(o.Dims[2:]), in*product(weight.Dims[2:])
	plane := product(x.Dims[2:])
	cols, err := r.alloc(x.Type, []int{depth, places})
	if err != nil {
		return err
	}
	defer r.release(cols)
	var matrixOf []T
	if x.F32 != nil {
		matrixOf = any(cols.F32).([]T)
	} else {
		matrixOf = any(cols.F64).([]T)
	}
	for image := range x.Dims[0] {
		for g := range group {
			if err := unroll(r, w, xs[(image*group+g)*in*plane:], matrixOf, in, x.Dims[2:], o.Dims[2:]); err != nil {
				return err
			}
			c := to[(image*group+g)*outC*places:][:outC*places]
			if bias != nil {
				for k := range outC {
					fill(c[k*places:(k+1)*places], T(bias.float(g*outC+k)))
				}
			}
			err := gemm(r, c, outC, places, depth, matrix[T]{ws[g*outC*depth:], depth, 1},
				matrix[T]{matrixOf, places, 1})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// unroll fills a matrix: a row for each channel and place in the window, a column for each place of the window.
func unroll[T real](r *run, w *window, x, to []T, channels int, spatial, out []int) error {
	d, o, k := three(spatial, 1), three(out, 1), three(w.kernel, 1)
	s, e, p := three(w.stride, 1), three(w.spread, 1), three(w.pads[:len(spatial)], 0)
	at := 0
	for c := range channels {
		base := c * d[0] * d[1] * d[2]
		for ka := range k[0] {
			for kb := range k[1] {
				for kc := range k[2] {
					for oa := range o[0] {
						a := oa*s[0] + ka*e[0] - p[0]
						for ob := range o[1] {
							b := ob*s[1] + kb*e[1] - p[1]
							row := to[at : at+o[2]]
							at += o[2]
							if a < 0 || a >= d[0] || b < 0 || b >= d[1] {
								clear(row)
								continue
							}
							line := x[base+(a*d[1]+b)*d[2]:][:d[2]]
							for i := range row {
								row[i] = 0
								if c := i*s[2] + kc*e[2] - p[2]; c >= 0 && c < d[2] {
									row[i] = line[c]
								}
							}
						}
					}
					if err := r.tick(o[0] * o[1] * o[2]); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func buildConvTranspose(n *node) (kernel, error) {
	w, err := windowOf(n)
	if err != nil {
		return nil, err
	}
	group := int(n.int("group", 1))
	extra, want := n.ints("output_padding"), n.ints("output_shape")
	return func(r *run, in, out []*Tensor) error {
		x, weight := in[0], in[1]
		var bias *Tensor
		if len(in) > 2 {
			bias = in[2]
		}
		if err := checkConv(x, weight, bias, group, 0); err != nil {
			return err
		}
		v, err := w.fit(x.Dims[2:], weight.Dims[2:])
		if err != nil {
			return err
		}
		if !sameDims(v.kernel, weight.Dims[2:]) {
			return errors.New("its weight has another shape than its window")
		}
		spatial, err := v.unslide(x.Dims[2:], extra, want)
		if err != nil {
			return err
		}
		channels := weight.Dims[1] * group
		if bias != nil && bias.Len() != channels {
			return errors.New("its bias needs one number for each channel")
		}
		o, err := r.zeros(x.Type, append([]int{x.Dims[0], channels}, spatial...))
		if err != nil {
			return err
		}
		out[0] = o
		if err := spreadOut(r, v, x, weight, o, group); err != nil || bias == nil {
			return err
		}
		plane := product(spatial)
		for i := range o.Len() {
			o.setFloat(i, o.float(i)+bias.float(i/plane%channels))
		}
		return nil
	}, nil
}

// unslide gives the shape of the result of a transposed window, and the margins that output_shape asks for.
func (w *window) unslide(spatial, extra, want []int) ([]int, error) {
	rank := len(spatial)
	if extra == nil {
		extra = make([]int, rank)
	}
	if len(extra) != rank || want != nil && len(want) < rank {
		return nil, errors.New("its output has another number of axes than its input")
	}
	if len(want) > rank {
		want = want[len(want)-rank:]
	}
	out := make([]int, rank)
	for i, d := range spatial {
		if extra[i] < 0 || extra[i] > maxWindow || d > maxElems/w.stride[i] {
			return nil, errors.New("its output has a size that it cannot have")
		}
		full := (d-1)*w.stride[i] + extra[i] + w.reach(i)
		switch {
		case want != nil:
			out[i] = want[i]
		case w.auto == "SAME_UPPER" || w.auto == "SAME_LOWER":
			out[i] = d * w.stride[i]
		default:
			out[i] = full - w.pads[i] - w.pads[rank+i]
			continue
		}
		all := max(full-out[i], 0)
		w.pads[i], w.pads[rank+i] = all-all/2, all/2
		if w.auto == "SAME_UPPER" {
			w.pads[i], w.pads[rank+i] = all/2, all-all/2
		}
	}
	for _, d := range out {
		if d < 0 {
			return nil, errors.New("its output has a size that it cannot have")
		}
	}
	return out, nil
}

// spreadOut adds each element of x, times the weights, to the places of o that its window covers.
func spreadOut(r *run, w *window, x, weight, o *Tensor, group int) error {
	in, outC := x.Dims[1]/group, weight.Dims[1]
	d, od, k := three(x.Dims[2:], 1), three(o.Dims[2:], 1), three(w.kernel, 1)
	s, e, p := three(w.stride, 1), three(w.spread, 1), three(w.pads[:len(w.kernel)], 0)
	plane, oplane, cells := product(d[:]), product(od[:]), product(k[:])
	for ic := range x.Dims[0] * x.Dims[1] {
		image, c := ic/x.Dims[1], ic%x.Dims[1]
		for oc := range outC {
			to := (image*group*outC + c/in*outC + oc) * oplane
			wt := (c*outC + oc) * cells
			for i := range plane {
				v := x.float(ic*plane + i)
				a, b, l := i/(d[1]*d[2])*s[0]-p[0], i/d[2]%d[1]*s[1]-p[1], i%d[2]*s[2]-p[2]
				for j := range cells {
					y, z, q := a+j/(k[1]*k[2])*e[0], b+j/k[2]%k[1]*e[1], l+j%k[2]*e[2]
					if y < 0 || y >= od[0] || z < 0 || z >= od[1] || q < 0 || q >= od[2] {
						continue
					}
					at := to + (y*od[1]+z)*od[2] + q
					o.setFloat(at, o.float(at)+v*weight.float(wt+j))
				}
				if err := r.tick(4 * cells); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
