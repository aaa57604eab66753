package ml

import (
	"errors"
	"slices"
)

func buildPad(n *node) (kernel, error) {
	mode := n.text("mode", "constant")
	if err := oneOf("mode", mode, "constant", "reflect", "edge", "wrap"); err != nil {
		return nil, err
	}
	fixed, value, asInput := n.ints("pads"), n.float("value", 0), n.opset >= 11
	return func(r *run, in, out []*Tensor) error {
		t, pads := in[0], fixed
		var filler *Tensor
		if asInput {
			if len(in) < 2 {
				return errors.New("it lacks how much to add")
			}
			var err error
			if pads, err = in[1].ints(); err != nil {
				return err
			}
			if len(in) > 3 && in[3] != nil {
				if pads, err = spreadPads(pads, in[3], len(t.Dims)); err != nil {
					return err
				}
			}
			if len(in) > 2 {
				filler = in[2]
			}
		} else if isFloat(t.Type) {
			filler = real1(t.Type, float64(value))
		}
		if len(pads) != 2*len(t.Dims) {
			return errors.New("it needs two numbers for each axis")
		}
		if filler != nil && (filler.Type != t.Type || filler.Len() != 1) {
			return errTypes
		}
		o, err := r.pad(t, pads, mode, filler)
		out[0] = o
		return err
	}, nil
}

// spreadPads gives the numbers for some axes their places among those of all axes.
func spreadPads(pads []int, axes *Tensor, rank int) ([]int, error) {
	list, err := axes.ints()
	if err != nil {
		return nil, err
	}
	if len(pads) != 2*len(list) {
		return nil, errors.New("it needs two numbers for each axis")
	}
	all := make([]int, 2*rank)
	for i, a := range list {
		a, err := axisOf(a, rank)
		if err != nil {
			return nil, err
		}
		all[a], all[rank+a] = pads[i], pads[len(list)+i]
	}
	return all, nil
}

// pad adds to each end of each axis, or cuts where a number is negative.
func (r *run) pad(t *Tensor, pads []int, mode string, filler *Tensor) (*Tensor, error) {
	rank := len(t.Dims)
	dims := make([]int, rank)
	sources := make([][]int, rank) // by axis and place: where the element comes from, -1 for the filler
	for i, d := range t.Dims {
		before, after := pads[i], pads[rank+i]
		if before > maxElems || after > maxElems || before < -maxElems || after < -maxElems || d+before+after < 0 {
			return nil, errors.New("it adds or cuts too much")
		}
		dims[i] = d + before + after
	}
	if _, err := size(dims); err != nil {
		return nil, err
	}
	o, err := r.zeros(t.Type, dims)
	if err != nil {
		return nil, err
	}
	if o.Len() == 0 {
		return o, nil
	}
	if filler != nil {
		o.fillFrom(filler, 0)
	}
	for i, d := range t.Dims {
		sources[i] = make([]int, dims[i])
		for k := range sources[i] {
			if sources[i][k], err = padSource(k-pads[i], d, mode); err != nil {
				return nil, err
			}
		}
	}
	return o, r.padFill(t, o, sources)
}

// padSource is where place k of an axis of length d comes from: -1 for the filler.
func padSource(k, d int, mode string) (int, error) {
	if k >= 0 && k < d {
		return k, nil
	}
	if mode == "constant" {
		return -1, nil
	}
	if d == 0 {
		return 0, errors.New("it repeats the elements of an empty axis")
	}
	switch mode {
	case "edge":
		return min(max(k, 0), d-1), nil
	case "wrap":
		return (k%d + d) % d, nil
	}
	if d == 1 {
		return 0, nil
	}
	period := 2 * (d - 1)
	k = (k%period + period) % period
	return min(k, period-k), nil
}

func (r *run) padFill(t, o *Tensor, sources [][]int) error {
	steps, count := strides(t.Dims), make([]int, len(o.Dims))
	for at := range o.Len() {
		from := 0
		for i, k := range count {
			s := sources[i][k]
			if s < 0 {
				from = -1
				break
			}
			from += s * steps[i]
		}
		if from >= 0 {
			t.copyTo(o, at, from, 1)
		}
		for i := len(count) - 1; i >= 0; i-- {
			if count[i]++; count[i] < o.Dims[i] {
				break
			}
			count[i] = 0
		}
		if err := r.tick(2); err != nil {
			return err
		}
	}
	return nil
}

// blocksOf checks a tensor of images and the block size of a node.
func blocksOf(n *node) (int, func(t *Tensor) error) {
	b := int(n.int("blocksize", 0))
	return b, func(t *Tensor) error {
		if b < 1 || b > 1<<16 || len(t.Dims) != 4 {
			return errors.New("it needs images of four axes and a positive block size")
		}
		return nil
	}
}

// rearrange views t in the shape split, orders the axes and views the result as dims.
func (r *run) rearrange(t *Tensor, split, perm, dims []int) (*Tensor, error) {
	apart := r.view(t, split)
	o, err := r.transpose(apart, perm)
	r.release(apart)
	if err != nil {
		return nil, err
	}
	o.Dims = dims
	return o, nil
}

func buildDepthToSpace(n *node) (kernel, error) {
	b, check := blocksOf(n)
	crd := n.text("mode", "DCR") == "CRD"
	return func(r *run, in, out []*Tensor) (err error) {
		t := in[0]
		if err := check(t); err != nil {
			return err
		}
		d := t.Dims
		if d[1]%(b*b) != 0 {
			return errors.New("its channels cannot be divided into blocks")
		}
		c := d[1] / (b * b)
		split, perm := []int{d[0], b, b, c, d[2], d[3]}, []int{0, 3, 4, 1, 5, 2}
		if crd {
			split, perm = []int{d[0], c, b, b, d[2], d[3]}, []int{0, 1, 4, 2, 5, 3}
		}
		out[0], err = r.rearrange(t, split, perm, []int{d[0], c, d[2] * b, d[3] * b})
		return err
	}, nil
}

func buildSpaceToDepth(n *node) (kernel, error) {
	b, check := blocksOf(n)
	return func(r *run, in, out []*Tensor) (err error) {
		t := in[0]
		if err := check(t); err != nil {
			return err
		}
		d := slices.Clone(t.Dims)
		if d[2]%b != 0 || d[3]%b != 0 {
			return errors.New("its images cannot be divided into blocks")
		}
		out[0], err = r.rearrange(t, []int{d[0], d[1], d[2] / b, b, d[3] / b, b}, []int{0, 3, 5, 1, 2, 4},
			[]int{d[0], d[1] * b * b, d[2] / b, d[3] / b})
		return err
	}, nil
}
