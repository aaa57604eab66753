package ml

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nacredb/nacre/engine/ml/onnx"
	"github.com/nacredb/nacre/internal/onnxtest"
)

// randomGraphs are how many graphs TestOnnxRuntime compares.
const randomGraphs = 2000

// TestOnnxRuntime asks onnxruntime-web for a second opinion on random graphs of supported operators.
func TestOnnxRuntime(t *testing.T) {
	type question struct {
		Model []byte    `json:"model"`
		X     []float32 `json:"x"`
		Dims  []int     `json:"dims"`
	}
	var list []question
	var ops [][]string
	for i := range randomGraphs {
		g := &growing{r: rand.New(rand.NewPCG(uint64(i), 42)), rows: 3}
		columns := 2 + g.r.IntN(5)
		at, width := "x", columns
		for range 1 + g.r.IntN(6) {
			at, width = g.grow(at, width)
		}
		model := onnxtest.Bytes(onnxtest.Model(columns, g.nodes, g.weights, at))
		list = append(list, question{model, onnxtest.Random(uint64(i), g.rows*columns), []int{g.rows, columns}})
		ops = append(ops, g.ops)
	}
	for i, want := range ask(t, list) {
		m, err := LoadONNX(list[i].Model, DefaultLimits)
		if err != nil {
			t.Errorf("graph %d %v: %v", i, ops[i], err)
			continue
		}
		env := Call{Ctx: t.Context(), Limits: DefaultLimits}
		r := m.run(env)
		out, err := r.exec(m.program, []*Tensor{{Type: onnx.Float, Dims: list[i].Dims, F32: list[i].X}}, nil)
		if err != nil {
			t.Errorf("graph %d %v: %v", i, ops[i], err)
			continue
		}
		got, err := numbers(out[0])
		if err != nil {
			t.Fatal(err)
		}
		if problem := differs(got, want); problem != "" && !ordersNaN(t, m, env, list[i].X, list[i].Dims) {
			t.Errorf("graph %d %v: %s", i, ops[i], problem)
		}
	}
}

// ordersNaN reports whether the order of numbers that are none decides: Hardmax takes one of them for the largest or
// not, and ReduceMin and ReduceMax give it or leave it out. ONNX leaves that open; here NaN wins, as in numpy.
func ordersNaN(t *testing.T, m *Model, env Call, x []float32, dims []int) bool {
	t.Helper()
	vals, err := m.run(env).trace(m.program, &Tensor{Type: onnx.Float, Dims: dims, F32: x})
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range m.program.steps {
		switch st.node.Op {
		case "Hardmax", "ReduceMin", "ReduceMax":
			for _, v := range vals[st.in[0]].F32 {
				if v != v {
					return true
				}
			}
		}
	}
	return false
}

// ask runs the models with onnxruntime-web.
func ask(t *testing.T, list any) []any {
	t.Helper()
	dir := t.TempDir()
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	in, out := filepath.Join(dir, "in.json"), filepath.Join(dir, "out.json")
	if err := os.WriteFile(in, b, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "check.mjs", in, out)
	cmd.Dir = "../../testdata/onnxruntime"
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s (npm ci in testdata/onnxruntime installs what it needs)", err, text)
	}
	var answers []any
	if b, err = os.ReadFile(out); err == nil {
		err = json.Unmarshal(b, &answers)
	}
	if err != nil || len(answers) != randomGraphs {
		t.Fatal(len(answers), err)
	}
	return answers
}

// differs says how results differ by more than rounding.
func differs(got []float64, want any) string {
	list, ok := want.([]any)
	if !ok || len(list) != len(got) {
		return fmt.Sprintf("%d results, want %.300v", len(got), want)
	}
	for i, w := range list {
		v, ok := w.(float64)
		if !ok {
			text := "NaN"
			if math.IsInf(got[i], 0) {
				text = map[bool]string{true: "Infinity", false: "-Infinity"}[got[i] > 0]
			}
			if w != text || got[i]-got[i] == 0 {
				return fmt.Sprintf("result %d is %v, want %v", i, got[i], w)
			}
			continue
		}
		if !(math.Abs(got[i]-v) <= 1e-4*max(1, math.Abs(v))) {
			return fmt.Sprintf("result %d is %v, want %v", i, got[i], v)
		}
	}
	return ""
}

// growing is a graph that grows by operators on a table of float32.
type growing struct {
	r       *rand.Rand
	rows    int
	nodes   []*onnx.Node
	weights []*onnx.Tensor
	ops     []string
}

// add appends a node with one output.
func (g *growing) add(op string, inputs []string, attrs ...*onnx.Attribute) string {
	name := fmt.Sprint("v", len(g.nodes))
	g.nodes = append(g.nodes, onnxtest.Node(op, name, inputs, attrs...))
	g.ops = append(g.ops, op)
	return name
}

// weight appends an initializer of random numbers.
func (g *growing) weight(dims ...int64) string {
	name, n := fmt.Sprint("w", len(g.weights)), 1
	for _, d := range dims {
		n *= int(d)
	}
	g.weights = append(g.weights, onnxtest.Floats(name, onnxtest.Random(g.r.Uint64(), n), dims...))
	return name
}

func (g *growing) ints(list ...int64) string {
	name := fmt.Sprint("w", len(g.weights))
	g.weights = append(g.weights, onnxtest.Ints(name, list, int64(len(list))))
	return name
}

// The operators of one input and of two, element by element, that have a result for every number near zero.
var (
	oneInput = []string{"Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Exp", "Erf", "Sin", "Cos", "Atan", "Sinh", "Asinh",
		"Softplus", "Softsign", "Elu", "Selu", "Celu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid",
		"HardSwish", "Identity",
		"Floor", "Ceil", "Round", "Sign", "Softmax", "LogSoftmax", "Sqrt", "Log", "Reciprocal", "Hardmax"}
	twoInputs = []string{"Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu", "Sum", "Mean"}
	reducers  = []string{"ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceProd",
		"ReduceSumSquare"}
)

// grow appends an operator, or two, and gives the name and the columns of the result.
func (g *growing) grow(at string, width int) (string, int) {
	w := int64(width)
	switch g.r.IntN(12) {
	case 0, 1, 2:
		return g.add(oneInput[g.r.IntN(len(oneInput))], []string{at}), width
	case 3, 4:
		return g.add(twoInputs[g.r.IntN(len(twoInputs))], []string{at, g.weight(w)}), width
	case 5:
		n := int64(1 + g.r.IntN(12))
		return g.add("Gemm", []string{at, g.weight(n, w), g.weight(n)}, onnxtest.Int("transB", 1),
			onnxtest.Float("alpha", 0.5)), int(n)
	case 6:
		n := int64(1 + g.r.IntN(12))
		return g.add("MatMul", []string{at, g.weight(w, n)}), int(n)
	case 7:
		other := g.add(oneInput[g.r.IntN(8)], []string{at})
		return g.add("Concat", []string{at, other}, onnxtest.Int("axis", 1)), 2 * width
	case 8:
		from, to := int64(0), 1+g.r.Int64N(w)
		return g.add("Slice", []string{at, g.ints(from), g.ints(to), g.ints(1)}), int(to)
	case 9:
		sum := g.add(reducers[g.r.IntN(len(reducers))], []string{at}, onnxtest.IntList("axes", 1))
		return g.add("Sub", []string{at, sum}), width
	case 10:
		turned := g.add("Transpose", []string{at}, onnxtest.IntList("perm", 1, 0))
		return g.add("Reshape", []string{turned, g.ints(int64(g.rows), w)}), width
	}
	list := []int64{g.r.Int64N(w), -1, g.r.Int64N(w)}
	return g.add("Gather", []string{at, g.ints(list...)}, onnxtest.Int("axis", 1)), len(list)
}
