package ml

import (
	"errors"
	"math"
	"slices"
)

// resize is a Resize: each element of the result from its place in the input.
type resize struct {
	mode, coords, round string
	cubic               float64
	axes                []int
	old                 bool // version 10: scales are the second input
}

func buildResize(n *node) (kernel, error) {
	z := &resize{mode: n.text("mode", "nearest"), coords: n.text("coordinate_transformation_mode", "half_pixel"),
		round: n.text("nearest_mode", "round_prefer_floor"), cubic: float64(n.float("cubic_coeff_a", -0.75)),
		axes: n.ints("axes"), old: n.opset < 11 || n.Op == "Upsample"}
	if z.old {
		z.coords, z.round = "asymmetric", "floor"
	}
	if z.mode == "bilinear" || z.mode == "trilinear" {
		z.mode = "linear"
	}
	if n.int("antialias", 0) != 0 || n.int("exclude_outside", 0) != 0 ||
		n.text("keep_aspect_ratio_policy", "stretch") != "stretch" {
		return nil, errors.New("antialias, exclude_outside and keep_aspect_ratio_policy are not supported")
	}
	for _, check := range []error{oneOf("mode", z.mode, "nearest", "linear", "cubic"),
		oneOf("coordinate_transformation_mode", z.coords, "half_pixel", "asymmetric", "align_corners",
			"pytorch_half_pixel", "half_pixel_symmetric"),
		oneOf("nearest_mode", z.round, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")} {
		if check != nil {
			return nil, check
		}
	}
	return z.run, nil
}

// scaled are the shape of the result and how much larger it is on each axis.
func (z *resize) scaled(in []*Tensor) ([]int, []float64, error) {
	t := in[0]
	dims, scales := slices.Clone(t.Dims), make([]float64, len(t.Dims))
	fill(scales, 1)
	axes := z.axes
	if axes == nil {
		axes = allAxes(len(t.Dims))
	}
	at := func(i int) *Tensor {
		if i < len(in) && in[i] != nil && in[i].Len() > 0 {
			return in[i]
		}
		return nil
	}
	given, sizes := at(2), at(3)
	if z.old {
		given, sizes = at(1), nil
	}
	list := given
	if list == nil {
		list = sizes
	}
	if list == nil || list.Len() != len(axes) || list.Str != nil {
		return nil, nil, errors.New("it needs scales or sizes, one for each axis")
	}
	for i, a := range axes {
		a, err := axisOf(a, len(dims))
		if err != nil {
			return nil, nil, err
		}
		v := list.float(i)
		if !(v > 0) || v*float64(dims[a]) > maxElems {
			return nil, nil, errors.New("a scale or a size cannot be what it is")
		}
		if given != nil {
			scales[a], dims[a] = v, int(math.Floor(float64(dims[a])*v))
			continue
		}
		scales[a], dims[a] = v/float64(dims[a]), int(v)
	}
	_, err := size(dims)
	return dims, scales, err
}

func (z *resize) run(r *run, in, out []*Tensor) error {
	t := in[0]
	dims, scales, err := z.scaled(in)
	if err != nil {
		return err
	}
	if z.mode != "nearest" {
		if err := floatsOf(t); err != nil {
			return err
		}
	}
	// One axis after the other: each pass is a weighted sum of a few places of that axis.
	cur := r.view(t, t.Dims)
	for a := range dims {
		if dims[a] == cur.Dims[a] && scales[a] == 1 {
			continue
		}
		next, err := z.axis(r, cur, a, dims[a], scales[a])
		if err != nil {
			return err
		}
		r.release(cur)
		cur = next
	}
	out[0] = cur
	return nil
}

// axis resizes one axis to n places.
func (z *resize) axis(r *run, t *Tensor, axis, n int, scale float64) (*Tensor, error) {
	dims := slices.Clone(t.Dims)
	d := dims[axis]
	dims[axis] = n
	o, err := r.alloc(t.Type, dims)
	if err != nil {
		return nil, err
	}
	if d == 0 {
		if o.Len() > 0 {
			return nil, errors.New("its input is empty")
		}
		return o, nil
	}
	outer, inner := product(dims[:axis]), product(dims[axis+1:])
	for i := range n {
		places, weights := z.sources(z.where(i, d, n, scale), d)
		for x := range outer {
			at := (x*n + i) * inner
			for j := range inner {
				if z.mode == "nearest" {
					t.copyTo(o, at, (x*d+places[0])*inner, inner)
					break
				}
				sum := 0.0
				for k, p := range places {
					sum += weights[k] * t.float((x*d+p)*inner+j)
				}
				o.setFloat(at+j, sum)
			}
			if err := r.tick(4 * (inner + 1)); err != nil {
				return nil, err
			}
		}
	}
	return o, nil
}

// where is the place in the input of place i of the result.
func (z *resize) where(i, d, n int, scale float64) float64 {
	x := float64(i)
	switch z.coords {
	case "asymmetric":
		return x / scale
	case "align_corners":
		if n == 1 {
			return 0
		}
		return x * float64(d-1) / float64(n-1)
	case "pytorch_half_pixel":
		if n == 1 {
			return 0
		}
	case "half_pixel_symmetric":
		adjust := float64(n) / (scale * float64(d))
		center := float64(d) / 2
		return center*(1-adjust) + (x+0.5)/scale - 0.5
	}
	return (x+0.5)/scale - 0.5
}

// sources are the places of the input that make up place x, and their weights.
func (z *resize) sources(x float64, d int) ([]int, []float64) {
	inside := func(v float64) int { return int(min(max(v, 0), float64(d-1))) }
	floor := math.Floor(x)
	switch z.mode {
	case "nearest":
		switch z.round {
		case "floor":
			x = floor
		case "ceil":
			x = math.Ceil(x)
		case "round_prefer_ceil":
			x = math.Floor(x + 0.5)
		default:
			x = math.Ceil(x - 0.5)
		}
		return []int{inside(x)}, nil
	case "linear":
		x = min(max(x, 0), float64(d-1))
		floor = math.Floor(x)
		f := x - floor
		return []int{inside(floor), inside(floor + 1)}, []float64{1 - f, f}
	}
	f, a := x-floor, z.cubic
	weight := func(s float64) float64 {
		if s = math.Abs(s); s <= 1 {
			return ((a+2)*s-(a+3))*s*s + 1
		}
		return ((a*s-5*a)*s+8*a)*s - 4*a
	}
	return []int{inside(floor - 1), inside(floor), inside(floor + 1), inside(floor + 2)},
		[]float64{weight(f + 1), weight(f), weight(1 - f), weight(2 - f)}
}
