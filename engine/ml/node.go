package ml

import (
	"fmt"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// kernel computes the outputs of a node. An input that the node leaves out is nil. It sets those of out that it has;
// all that the node wants must be set.
type kernel func(r *run, in, out []*Tensor) error

// builder makes the kernel of a node.
type builder func(n *node) (kernel, error)

// operator is an operator of ONNX: how a node of it becomes a kernel.
type operator struct {
	least, most int // inputs; the first least ones must be there
	build       builder
	rows        rowRule // how it treats a batch of rows
	costly      bool    // not worth computing when the model is loaded
}

const anyInputs = 1 << 30

// node is a node while its kernel is built: its attributes with their defaults.
type node struct {
	*onnx.Node
	opset int
	attrs map[string]*onnx.Attribute
	err   error // the first attribute of a wrong type
}

func newNode(n *onnx.Node, opset int) *node {
	out := &node{Node: n, opset: opset, attrs: make(map[string]*onnx.Attribute, len(n.Attrs))}
	for _, a := range n.Attrs {
		out.attrs[a.Name] = a
	}
	return out
}

// attr is the attribute name, or nil if the node has none. It notes an error if its type is another than want.
func (n *node) attr(name string, want onnx.AttrType) *onnx.Attribute {
	a := n.attrs[name]
	if a == nil {
		return nil
	}
	if a.Type != want {
		if n.err == nil {
			n.err = fmt.Errorf("attribute %q has the type %d instead of %d", name, a.Type, want)
		}
		return nil
	}
	return a
}

func (n *node) has(name string) bool { return n.attrs[name] != nil }

func (n *node) int(name string, def int64) int64 {
	if a := n.attr(name, onnx.AttrInt); a != nil {
		return a.I
	}
	return def
}

func (n *node) float(name string, def float32) float32 {
	if a := n.attr(name, onnx.AttrFloat); a != nil {
		return a.F
	}
	return def
}

func (n *node) text(name, def string) string {
	if a := n.attr(name, onnx.AttrString); a != nil {
		return string(a.S)
	}
	return def
}

func (n *node) floats(name string) []float32 {
	if a := n.attr(name, onnx.AttrFloats); a != nil {
		return a.Floats
	}
	return nil
}

func (n *node) ints64(name string) []int64 {
	if a := n.attr(name, onnx.AttrInts); a != nil {
		return a.Ints
	}
	return nil
}

// ints is a list of axes, sizes or counts.
func (n *node) ints(name string) []int {
	list := n.ints64(name)
	if list == nil {
		return nil
	}
	out := make([]int, len(list))
	for i, v := range list {
		out[i] = int(v)
	}
	return out
}

func (n *node) strings(name string) []string {
	if a := n.attr(name, onnx.AttrStrings); a != nil {
		return a.Strings
	}
	return nil
}

// tensor is a tensor attribute, or nil if the node has none.
func (n *node) tensor(name string) *Tensor {
	a := n.attr(name, onnx.AttrTensor)
	if a == nil || a.T == nil {
		return nil
	}
	t, err := constant(a.T)
	if err != nil && n.err == nil {
		n.err = err
	}
	return t
}

// one of the given texts must be s.
func oneOf(what, s string, all ...string) error {
	for _, a := range all {
		if s == a {
			return nil
		}
	}
	return fmt.Errorf("%s %q is not supported", what, s)
}
