package onnxtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// Random are n numbers around zero, the same for each seed.
func Random(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64()) / 4
	}
	return out
}

// Linear is a linear model of so many columns.
func Linear(columns int) []byte {
	return Bytes(Model(columns, []*onnx.Node{Node("LinearRegressor", "y", []string{"x"},
		FloatList("coefficients", Random(1, columns)...), FloatList("intercepts", 0.5))}, nil, "y"))
}

// Perceptron is a chain of layers of these widths, with Relu between them: widths[0] columns, the last one results.
func Perceptron(widths ...int) []byte {
	var nodes []*onnx.Node
	var weights []*onnx.Tensor
	at := "x"
	for i := range len(widths) - 1 {
		in, out := int64(widths[i]), int64(widths[i+1])
		w, b, y := fmt.Sprint("w", i), fmt.Sprint("b", i), fmt.Sprint("y", i)
		weights = append(weights, Floats(w, Random(uint64(i), int(in*out)), out, in),
			Floats(b, Random(uint64(i), int(out)), out))
		nodes = append(nodes, Node("Gemm", y, []string{at, w, b}, Int("transB", 1)))
		if at = y; i < len(widths)-2 {
			at = "r" + y
			nodes = append(nodes, Node("Relu", at, []string{y}))
		}
	}
	return Bytes(Model(widths[0], nodes, weights, at))
}

// Forest are trees of a depth that compare random columns.
func Forest(columns, trees, depth int) []byte {
	r := rand.New(rand.NewPCG(7, 7))
	var tree, id, feature, yes, no, leafTree, leafID, target []int64
	var values, weights []float32
	var modes []string
	inner := int64(1)<<depth - 1
	for t := range int64(trees) {
		for i := range 2*inner + 1 {
			tree, id = append(tree, t), append(id, i)
			if i >= inner {
				feature, yes, no, values = append(feature, 0), append(yes, 0), append(no, 0), append(values, 0)
				modes = append(modes, "LEAF")
				leafTree, leafID, target = append(leafTree, t), append(leafID, i), append(target, 0)
				weights = append(weights, float32(r.NormFloat64()))
				continue
			}
			feature = append(feature, r.Int64N(int64(columns)))
			values = append(values, float32(r.NormFloat64())/4)
			yes, no, modes = append(yes, 2*i+1), append(no, 2*i+2), append(modes, "BRANCH_LEQ")
		}
	}
	return Bytes(Model(columns, []*onnx.Node{Node("TreeEnsembleRegressor", "y", []string{"x"}, Int("n_targets", 1),
		IntList("nodes_treeids", tree...), IntList("nodes_nodeids", id...),
		IntList("nodes_featureids", feature...), FloatList("nodes_values", values...),
		TextList("nodes_modes", modes...), IntList("nodes_truenodeids", yes...),
		IntList("nodes_falsenodeids", no...), IntList("target_treeids", leafTree...),
		IntList("target_nodeids", leafID...), IntList("target_ids", target...),
		FloatList("target_weights", weights...))}, nil, "y"))
}
