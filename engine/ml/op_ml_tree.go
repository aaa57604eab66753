package ml

import (
	"errors"
	"fmt"
	"math"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// trees are the tree ensembles of ai.onnx.ml.
var trees = map[string]operator{
	"TreeEnsembleRegressor":  {1, 1, buildTreeRegressor, rowsTable, true},
	"TreeEnsembleClassifier": {1, 1, buildTreeClassifier, rowsTable, true},
	"TreeEnsemble":           {1, 1, buildTreeEnsemble, rowsTable, true},
}

// branch is a node of a tree. A leaf has feature -1 and the weights from yes up to no.
type branch[T real] struct {
	value   T
	feature int32
	yes, no int32
}

// The conditions of a branch: x compared with its value.
const (
	condLEQ = iota
	condLT
	condGTE
	condGT
	condEQ
	condNEQ
)

var conditions = map[string]uint8{"BRANCH_LEQ": condLEQ, "BRANCH_LT": condLT, "BRANCH_GTE": condGTE,
	"BRANCH_GT": condGT, "BRANCH_EQ": condEQ, "BRANCH_NEQ": condNEQ}

// leafWeight is the addition of a leaf to one target.
type leafWeight struct {
	target int32
	weight float64
}

// forest is an ensemble of trees.
type forest[T real] struct {
	nodes    []branch[T]
	conds    []uint8 // by node
	missing  []bool  // by node: a missing value goes to yes
	roots    []int32
	leaves   []leafWeight
	targets  int
	features int  // columns that it needs
	plain    bool // all conditions are LEQ, and missing values go to no
	how      string
	base     []float32
	many     *passage[T] // how many rows pass it; nil if each goes for itself
}

// treeAttrs are the parallel lists of a tree ensemble.
type treeAttrs struct {
	trees, nodes, features, yes, no []int64
	values                          []float64
	modes                           []string
	missing                         []int64
	leafTrees, leafNodes, leafIDs   []int64
	weights                         []float64
	double                          bool
}

// listOrTensor is a list of float32, or of float64 where a tensor stands for it.
func listOrTensor(n *node, name string) ([]float64, bool) {
	if t := n.tensor(name + "_as_tensor"); t != nil {
		out := make([]float64, t.Len())
		for i := range out {
			if isFloat(t.Type) {
				out[i] = t.float(i)
			}
		}
		return out, t.Type == onnx.Double
	}
	list := n.floats(name)
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = float64(v)
	}
	return out, false
}

// readTrees reads the lists; leaf is "target" or "class".
func readTrees(n *node, leaf string) (*treeAttrs, error) {
	a := &treeAttrs{trees: n.ints64("nodes_treeids"), nodes: n.ints64("nodes_nodeids"),
		features: n.ints64("nodes_featureids"), yes: n.ints64("nodes_truenodeids"),
		no: n.ints64("nodes_falsenodeids"), modes: n.strings("nodes_modes"),
		missing: n.ints64("nodes_missing_value_tracks_true"), leafTrees: n.ints64(leaf + "_treeids"),
		leafNodes: n.ints64(leaf + "_nodeids"), leafIDs: n.ints64(leaf + "_ids")}
	var d1, d2 bool
	a.values, d1 = listOrTensor(n, "nodes_values")
	a.weights, d2 = listOrTensor(n, leaf+"_weights")
	a.double = d1 || d2
	k, l := len(a.nodes), len(a.leafIDs)
	if k == 0 || len(a.trees) != k || len(a.features) != k || len(a.yes) != k || len(a.no) != k || len(a.values) != k ||
		len(a.modes) != k || a.missing != nil && len(a.missing) != k {
		return nil, errors.New("the lists of its nodes have different lengths")
	}
	if len(a.leafTrees) != l || len(a.leafNodes) != l || len(a.weights) != l {
		return nil, errors.New("the lists of its leaves have different lengths")
	}
	return a, n.err
}

type nodeKey struct{ tree, node int64 }

// plant makes a forest of the lists, and refuses trees that are none.
func plant[T real](a *treeAttrs, targets int) (*forest[T], error) {
	f := &forest[T]{targets: targets, plain: true, nodes: make([]branch[T], len(a.nodes)),
		conds: make([]uint8, len(a.nodes)), missing: make([]bool, len(a.nodes))}
	index := make(map[nodeKey]int32, len(a.nodes))
	seen := map[int64]bool{}
	for i := range a.nodes {
		key := nodeKey{a.trees[i], a.nodes[i]}
		if _, twice := index[key]; twice {
			return nil, errors.New("a node of a tree stands twice")
		}
		index[key] = int32(i)
		if !seen[key.tree] {
			seen[key.tree] = true
			f.roots = append(f.roots, int32(i))
		}
	}
	weights := make([][]leafWeight, len(a.nodes))
	for i, id := range a.leafIDs {
		at, ok := index[nodeKey{a.leafTrees[i], a.leafNodes[i]}]
		if !ok || id < 0 || id >= int64(targets) {
			return nil, errors.New("a leaf belongs to no node or to no target")
		}
		weights[at] = append(weights[at], leafWeight{int32(id), a.weights[i]})
	}
	for i := range a.nodes {
		if err := f.node(a, i, index, weights[i]); err != nil {
			return nil, err
		}
	}
	return f, f.check()
}

// node sets node i.
func (f *forest[T]) node(a *treeAttrs, i int, index map[nodeKey]int32, weights []leafWeight) error {
	b := &f.nodes[i]
	if a.modes[i] == "LEAF" {
		*b = branch[T]{feature: -1, yes: int32(len(f.leaves))}
		f.leaves = append(f.leaves, weights...)
		b.no = int32(len(f.leaves))
		return nil
	}
	cond, ok := conditions[a.modes[i]]
	if !ok {
		return fmt.Errorf("the mode %q of a node is not supported", a.modes[i])
	}
	yes, ok1 := index[nodeKey{a.trees[i], a.yes[i]}]
	no, ok2 := index[nodeKey{a.trees[i], a.no[i]}]
	if !ok1 || !ok2 || a.features[i] < 0 || a.features[i] > math.MaxInt32-1 {
		return errors.New("a node leads to no node or asks for no column")
	}
	*b = branch[T]{value: T(a.values[i]), feature: int32(a.features[i]), yes: yes, no: no}
	f.conds[i], f.missing[i] = cond, a.missing != nil && a.missing[i] != 0
	f.plain = f.plain && cond == condLEQ && !f.missing[i]
	f.features = max(f.features, int(a.features[i])+1)
	return nil
}

// check refuses nodes that lead in a circle: a row would never reach a leaf.
func (f *forest[T]) check() error {
	const open, done = 1, 2
	state := make([]uint8, len(f.nodes))
	for _, root := range f.roots {
		stack := []int32{root}
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			b := &f.nodes[i]
			if state[i] == done || b.feature < 0 {
				state[i], stack = done, stack[:len(stack)-1]
				continue
			}
			if state[i] == open {
				state[i], stack = done, stack[:len(stack)-1]
				continue
			}
			state[i] = open
			for _, next := range []int32{b.yes, b.no} {
				if state[next] == open {
					return errors.New("the nodes of a tree lead in a circle")
				}
				if state[next] == 0 {
					stack = append(stack, next)
				}
			}
		}
	}
	return nil
}

// leaf is the leaf of a row in the tree of root.
func (f *forest[T]) leaf(root int32, x []T) *branch[T] {
	b := &f.nodes[root]
	if f.plain {
		for b.feature >= 0 {
			if x[b.feature] <= b.value {
				b = &f.nodes[b.yes]
			} else {
				b = &f.nodes[b.no]
			}
		}
		return b
	}
	for i := root; b.feature >= 0; b = &f.nodes[i] {
		v := x[b.feature]
		if holds(f.conds[i], v, b.value) || f.missing[i] && v != v {
			i = b.yes
		} else {
			i = b.no
		}
		if f.nodes[i].feature < 0 {
			return &f.nodes[i]
		}
	}
	return b
}

func holds[T real](cond uint8, v, value T) bool {
	switch cond {
	case condLEQ:
		return v <= value
	case condLT:
		return v < value
	case condGTE:
		return v >= value
	case condGT:
		return v > value
	case condEQ:
		return v == value
	}
	return v != value
}

// scores fills o with the targets of each row of x.
func (f *forest[T]) scores(r *run, x []T, rows, cols int, o []float32) error {
	if cols < f.features {
		return fmt.Errorf("it needs %d columns and has %d", f.features, cols)
	}
	if f.many != nil && rows >= 8 {
		return f.scoresOfMany(r, x, rows, cols, o)
	}
	sums, hit := make([]float64, f.targets), make([]bool, f.targets)
	for i := range rows {
		row := x[i*cols : (i+1)*cols]
		clear(sums)
		clear(hit)
		for _, root := range f.roots {
			b := f.leaf(root, row)
			for _, w := range f.leaves[b.yes:b.no] {
				f.add(sums, hit, w)
			}
		}
		if err := r.tick(16 * len(f.roots)); err != nil {
			return err
		}
		f.finish(sums, o[i*f.targets:(i+1)*f.targets])
	}
	return nil
}

func (f *forest[T]) add(sums []float64, hit []bool, w leafWeight) {
	t := w.target
	switch {
	case f.how == "SUM" || f.how == "AVERAGE":
		sums[t] += w.weight
	case !hit[t]:
		sums[t], hit[t] = w.weight, true
	case f.how == "MIN":
		sums[t] = min(sums[t], w.weight)
	default:
		sums[t] = max(sums[t], w.weight)
	}
}

func (f *forest[T]) finish(sums []float64, o []float32) {
	for k, v := range sums {
		if f.how == "AVERAGE" {
			v /= float64(len(f.roots))
		}
		if len(f.base) > 0 {
			v += float64(f.base[min(k, len(f.base)-1)])
		}
		o[k] = float32(v)
	}
}

// ensemble is a forest that compares in float32 or in float64.
type ensemble struct {
	f32 *forest[float32]
	f64 *forest[float64]
}

func ensembleOf(a *treeAttrs, targets int, how string, base []float32) (*ensemble, error) {
	if err := oneOf("aggregate_function", how, "SUM", "AVERAGE", "MIN", "MAX"); err != nil {
		return nil, err
	}
	if targets < 1 || len(base) > 1 && len(base) != targets {
		return nil, errors.New("its base values do not fit its targets")
	}
	if a.double {
		f, err := plant[float64](a, targets)
		if err != nil {
			return nil, err
		}
		f.how, f.base = how, base
		f.many = passageOf(f)
		return &ensemble{f64: f}, nil
	}
	f, err := plant[float32](a, targets)
	if err != nil {
		return nil, err
	}
	f.how, f.base = how, base
	f.many = passageOf(f)
	return &ensemble{f32: f}, nil
}

// score gives the targets of all rows of t.
func (e *ensemble) score(r *run, t *Tensor, targets int) (*Tensor, error) {
	rows, cols, err := table(t)
	if err != nil {
		return nil, err
	}
	o, err := r.alloc(onnx.Float, []int{rows, targets})
	if err != nil {
		return nil, err
	}
	if e.f64 != nil {
		x := t.F64
		if x == nil {
			x = make([]float64, t.Len())
			for i := range x {
				x[i] = t.float(i)
			}
		}
		return o, e.f64.scores(r, x, rows, cols, o.F32)
	}
	x, err := r.rowsOf(t)
	if err != nil {
		return nil, err
	}
	return o, e.f32.scores(r, x, rows, cols, o.F32)
}

// baseValues are the base values of an ensemble.
func baseValues(n *node) []float32 {
	if t := n.tensor("base_values_as_tensor"); t != nil {
		out := make([]float32, t.Len())
		for i := range out {
			if isFloat(t.Type) {
				out[i] = float32(t.float(i))
			}
		}
		return out
	}
	return n.floats("base_values")
}

func buildTreeRegressor(n *node) (kernel, error) {
	a, err := readTrees(n, "target")
	if err != nil {
		return nil, err
	}
	targets := int(n.int("n_targets", 1))
	if targets < 1 || targets > 1<<20 {
		return nil, errors.New("its number of targets cannot be what it is")
	}
	e, err := ensembleOf(a, targets, n.text("aggregate_function", "SUM"), baseValues(n))
	if err != nil {
		return nil, err
	}
	return ensembleKernel(n, e, targets)
}

func ensembleKernel(n *node, e *ensemble, targets int) (kernel, error) {
	post, err := postTransform(n)
	if err != nil {
		return nil, err
	}
	return func(r *run, in, out []*Tensor) error {
		o, err := e.score(r, in[0], targets)
		if err != nil {
			return err
		}
		out[0] = o
		return post.rows(r, o)
	}, nil
}

func buildTreeClassifier(n *node) (kernel, error) {
	a, err := readTrees(n, "class")
	if err != nil {
		return nil, err
	}
	l, err := labelsOf(n, "classlabels_int64s", "classlabels_strings")
	if err != nil {
		return nil, err
	}
	post, err := postTransform(n)
	if err != nil {
		return nil, err
	}
	base := baseValues(n)
	single := l.len() == 2 && len(a.leafIDs) > 0
	negative := false
	for i, id := range a.leafIDs {
		single = single && id == a.leafIDs[0]
		negative = negative || a.weights[i] < 0
	}
	targets := l.len()
	if single {
		targets = 1
		clear(a.leafIDs)
		base = base[max(len(base)-1, 0):]
	}
	e, err := ensembleOf(a, targets, "SUM", base)
	if err != nil {
		return nil, err
	}
	c := &treeClasses{l: l, post: post, name: n.text("post_transform", "NONE"), negative: negative}
	return func(r *run, in, out []*Tensor) error {
		o, err := e.score(r, in[0], targets)
		if err != nil {
			return err
		}
		if out[0], err = l.alloc(r, o.Dims[0]); err != nil {
			return err
		}
		if single {
			return c.single(r, o, out)
		}
		for i := range o.Dims[0] {
			l.set(out[0], i, best(o.F32[i*targets:(i+1)*targets]))
		}
		if len(out) < 2 {
			r.release(o)
			return nil
		}
		out[1] = o
		return post.rows(r, o)
	}, nil
}

// treeClasses turns one score into the two columns of a classifier of two classes.
type treeClasses struct {
	l        labels
	post     transform
	name     string
	negative bool // some weights are negative: the score is a margin, not a share
}

func (c *treeClasses) single(r *run, o *Tensor, out []*Tensor) error {
	defer r.release(o)
	two, err := r.alloc(onnx.Float, []int{o.Dims[0], 2})
	if err != nil {
		return err
	}
	limit := float32(0)
	if !c.negative && c.name == "NONE" {
		limit = 0.5
	}
	for i, v := range o.F32 {
		k := 0
		if v > limit {
			k = 1
		}
		c.l.set(out[0], i, k)
		pair := two.F32[2*i : 2*i+2]
		switch {
		case c.name == "LOGISTIC":
			p := float32(sigmoid(float64(v)))
			pair[0], pair[1] = 1-p, p
		case limit != 0:
			pair[0], pair[1] = 1-v, v
		default:
			pair[0], pair[1] = -v, v
			if c.post != nil {
				c.post(pair)
			}
		}
	}
	if len(out) < 2 {
		r.release(two)
		return nil
	}
	out[1] = two
	return r.tick(8 * len(o.F32))
}

// buildTreeEnsemble is the newer form: branches and leaves apart. It becomes the older one.
func buildTreeEnsemble(n *node) (kernel, error) {
	yes, no := n.ints64("nodes_truenodeids"), n.ints64("nodes_falsenodeids")
	yesLeaf, noLeaf := n.ints64("nodes_trueleafs"), n.ints64("nodes_falseleafs")
	features, splits, modes := n.ints64("nodes_featureids"), n.tensor("nodes_splits"), n.tensor("nodes_modes")
	missing := n.ints64("nodes_missing_value_tracks_true")
	ids, weights := n.ints64("leaf_targetids"), n.tensor("leaf_weights")
	if n.err != nil {
		return nil, n.err
	}
	k, l := len(features), len(ids)
	if splits == nil || modes == nil || weights == nil || !isFloat(splits.Type) || modes.U8 == nil ||
		!isFloat(weights.Type) || len(yes) != k || len(no) != k || len(yesLeaf) != k || len(noLeaf) != k ||
		splits.Len() != k || modes.Len() != k || weights.Len() != l || missing != nil && len(missing) != k {
		return nil, errors.New("the lists of its nodes have different lengths")
	}
	targets := int(n.int("n_targets", 1))
	how := n.int("aggregate_function", 1)
	post := n.int("post_transform", 0)
	if targets < 1 || targets > 1<<20 || how < 0 || how > 3 || post < 0 || post > 4 {
		return nil, errors.New("one of its numbers cannot be what it is")
	}
	c := &newTrees{yes: yes, no: no, yesLeaf: yesLeaf, noLeaf: noLeaf, features: features, splits: splits, modes: modes,
		missing: missing, ids: ids, weights: weights}
	a, err := c.old(n.ints64("tree_roots"))
	if err != nil {
		return nil, err
	}
	a.double = splits.Type == onnx.Double
	e, err := ensembleOf(a, targets, []string{"AVERAGE", "SUM", "MIN", "MAX"}[how], nil)
	if err != nil {
		return nil, err
	}
	name := []string{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}[post]
	named := *n
	named.attrs = map[string]*onnx.Attribute{
		"post_transform": {Name: "post_transform", Type: onnx.AttrString, S: []byte(name)}}
	return ensembleKernel(&named, e, targets)
}

// newTrees are the lists of a TreeEnsemble.
type newTrees struct {
	yes, no, yesLeaf, noLeaf, features, missing, ids []int64
	splits, modes, weights                           *Tensor
}

var modeNames = []string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"}

// old gives the lists of the older form: a tree for each root, leaves numbered behind the branches.
func (c *newTrees) old(roots []int64) (*treeAttrs, error) {
	a, k := &treeAttrs{}, int64(len(c.features))
	for t, root := range roots {
		seen := map[int64]bool{}
		queue := []int64{root}
		seen[root] = true
		for len(queue) > 0 {
			id := queue[0]
			queue = queue[1:]
			if id < 0 || id >= k+int64(len(c.ids)) {
				return nil, errors.New("a node leads to no node")
			}
			if len(a.nodes) > 8*(len(c.features)+len(c.ids))+8 {
				return nil, errors.New("its trees share too many nodes")
			}
			a.trees, a.nodes = append(a.trees, int64(t)), append(a.nodes, id)
			if id >= k {
				a.leaf(int64(t), id, c.ids[id-k], c.weights.float(int(id-k)))
				continue
			}
			mode := int(c.modes.U8[id])
			if mode >= len(modeNames) {
				return nil, fmt.Errorf("the mode %d of a node is not supported", mode)
			}
			yes, no := c.yes[id], c.no[id]
			if c.yesLeaf[id] != 0 {
				yes += k
			}
			if c.noLeaf[id] != 0 {
				no += k
			}
			miss := int64(0)
			if c.missing != nil {
				miss = c.missing[id]
			}
			a.features, a.yes, a.no = append(a.features, c.features[id]), append(a.yes, yes), append(a.no, no)
			a.values, a.modes = append(a.values, c.splits.float(int(id))), append(a.modes, modeNames[mode])
			a.missing = append(a.missing, miss)
			for _, next := range []int64{yes, no} {
				if !seen[next] {
					seen[next] = true
					queue = append(queue, next)
				}
			}
		}
	}
	if len(a.nodes) == 0 {
		return nil, errors.New("it has no trees")
	}
	return a, nil
}

// leaf adds a leaf.
func (a *treeAttrs) leaf(tree, id, target int64, weight float64) {
	a.features, a.yes, a.no = append(a.features, 0), append(a.yes, 0), append(a.no, 0)
	a.values, a.modes, a.missing = append(a.values, 0), append(a.modes, "LEAF"), append(a.missing, 0)
	a.leafTrees, a.leafNodes = append(a.leafTrees, tree), append(a.leafNodes, id)
	a.leafIDs, a.weights = append(a.leafIDs, target), append(a.weights, weight)
}
