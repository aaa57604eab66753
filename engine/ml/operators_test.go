package ml

import (
	"slices"
	"testing"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

type opCase struct {
	Name    string
	Model   []byte
	Inputs  map[string]jsonTensor
	Outputs map[string]jsonTensor
}

func opCases(t testing.TB) []opCase {
	var out []opCase
	decode(t, readData(t, "ops.json"), &out)
	if len(out) < 300 {
		t.Fatalf("only %d cases", len(out))
	}
	return out
}

// graphOf compiles a graph of any inputs and outputs.
func graphOf(t testing.TB, b []byte) (*program, *onnx.Graph) {
	t.Helper()
	m, err := onnx.Read(b, onnx.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	c := &compiler{opsets: m.Opsets, limits: DefaultLimits, foldable: DefaultLimits.Fold}
	if err := c.checkOpsets(); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, o := range m.Graph.Outputs {
		want = append(want, o.Name)
	}
	p, err := c.compile(m.Graph, want, false)
	if err != nil {
		t.Fatal(err)
	}
	return p, m.Graph
}

func TestOperators(t *testing.T) {
	for _, tc := range opCases(t) {
		t.Run(tc.Name, func(t *testing.T) {
			p, g := graphOf(t, tc.Model)
			var args []*Tensor
			for _, in := range g.Inputs {
				if !slices.ContainsFunc(g.Initializers, func(x *onnx.Tensor) bool { return x.Name == in.Name }) {
					args = append(args, tc.Inputs[in.Name].tensor(t))
				}
			}
			r := &run{ctx: t.Context(), limits: DefaultLimits}
			for turn := range 2 { // the second one works on tensors that the first one left
				out, err := r.exec(p, args, nil)
				if err != nil {
					t.Fatal(err)
				}
				for i, o := range g.Outputs {
					if d := tc.Outputs[o.Name].differs(t, out[i]); d != "" {
						t.Errorf("turn %d, output %s: %s", turn, o.Name, d)
					}
					r.release(out[i])
				}
			}
			if r.held != r.saved {
				t.Errorf("%d bytes of tensors are lost", r.held-r.saved)
			}
		})
	}
}
