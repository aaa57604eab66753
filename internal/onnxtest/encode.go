// Package onnxtest writes ONNX models for tests: the protobuf of what package onnx reads.
package onnxtest

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// Bytes is a ModelProto.
func Bytes(m *onnx.Model) []byte {
	b := number(nil, 1, m.IRVersion)
	b = text(b, 2, m.Producer)
	b = message(b, 7, graph(m.Graph))
	for _, domain := range slices.Sorted(maps.Keys(m.Opsets)) {
		b = message(b, 8, number(text(nil, 1, domain), 2, m.Opsets[domain]))
	}
	return b
}

// Model is a model of one input x, a table of float32 of so many columns whose rows are open, and some outputs.
func Model(columns int, nodes []*onnx.Node, weights []*onnx.Tensor, outputs ...string) *onnx.Model {
	g := &onnx.Graph{Name: "g", Nodes: nodes, Initializers: weights, Inputs: []*onnx.ValueInfo{{Name: "x",
		Type: onnx.Float, Shaped: true, Dims: []onnx.Dim{{Value: -1, Param: "n"}, {Value: int64(columns)}}}}}
	for _, name := range outputs {
		g.Outputs = append(g.Outputs, &onnx.ValueInfo{Name: name, Type: onnx.Float})
	}
	return &onnx.Model{IRVersion: 8, Producer: "onnxtest", Graph: g, Opsets: map[string]int64{"": 17, "ai.onnx.ml": 3}}
}

// Floats is a tensor of float32.
func Floats(name string, list []float32, dims ...int64) *onnx.Tensor {
	raw := make([]byte, 0, 4*len(list))
	for _, v := range list {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return &onnx.Tensor{Name: name, Dims: dims, Type: onnx.Float, Raw: raw}
}

// Ints is a tensor of int64.
func Ints(name string, list []int64, dims ...int64) *onnx.Tensor {
	raw := make([]byte, 0, 8*len(list))
	for _, v := range list {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return &onnx.Tensor{Name: name, Dims: dims, Type: onnx.Int64, Raw: raw}
}

// Node is a node with one output. Domain is "ai.onnx.ml" where op is one of its operators.
func Node(op, output string, inputs []string, attrs ...*onnx.Attribute) *onnx.Node {
	n := &onnx.Node{Op: op, Inputs: inputs, Outputs: []string{output}, Attrs: attrs}
	switch op {
	case "LinearRegressor", "LinearClassifier", "TreeEnsembleRegressor", "TreeEnsembleClassifier", "Scaler",
		"Normalizer", "Imputer", "Binarizer", "SVMRegressor", "ArrayFeatureExtractor":
		n.Domain = "ai.onnx.ml"
	}
	return n
}

// Int is an attribute.
func Int(name string, v int64) *onnx.Attribute {
	return &onnx.Attribute{Name: name, Type: onnx.AttrInt, I: v}
}

// Float is an attribute.
func Float(name string, v float32) *onnx.Attribute {
	return &onnx.Attribute{Name: name, Type: onnx.AttrFloat, F: v}
}

// Text is an attribute.
func Text(name, v string) *onnx.Attribute {
	return &onnx.Attribute{Name: name, Type: onnx.AttrString, S: []byte(v)}
}

// IntList is an attribute.
func IntList(name string, v ...int64) *onnx.Attribute {
	return &onnx.Attribute{Name: name, Type: onnx.AttrInts, Ints: v}
}

// FloatList is an attribute.
func FloatList(name string, v ...float32) *onnx.Attribute {
	return &onnx.Attribute{Name: name, Type: onnx.AttrFloats, Floats: v}
}

// TextList is an attribute.
func TextList(name string, v ...string) *onnx.Attribute {
	return &onnx.Attribute{Name: name, Type: onnx.AttrStrings, Strings: v}
}

func graph(g *onnx.Graph) []byte {
	var b []byte
	for _, n := range g.Nodes {
		b = message(b, 1, node(n))
	}
	b = text(b, 2, g.Name)
	for _, t := range g.Initializers {
		b = message(b, 5, tensor(t))
	}
	for _, v := range g.Inputs {
		b = message(b, 11, declared(v))
	}
	for _, v := range g.Outputs {
		b = message(b, 12, declared(v))
	}
	return b
}

func node(n *onnx.Node) []byte {
	var b []byte
	for _, name := range n.Inputs {
		b = message(b, 1, []byte(name))
	}
	for _, name := range n.Outputs {
		b = message(b, 2, []byte(name))
	}
	b = text(text(b, 3, n.Name), 4, n.Op)
	for _, a := range n.Attrs {
		b = message(b, 5, attribute(a))
	}
	return text(b, 7, n.Domain)
}

func attribute(a *onnx.Attribute) []byte {
	b := text(nil, 1, a.Name)
	switch a.Type {
	case onnx.AttrFloat:
		b = protowire.AppendTag(b, 2, protowire.Fixed32Type)
		b = protowire.AppendFixed32(b, math.Float32bits(a.F))
	case onnx.AttrInt:
		b = number(b, 3, a.I)
	case onnx.AttrString:
		b = message(b, 4, a.S)
	case onnx.AttrTensor:
		b = message(b, 5, tensor(a.T))
	case onnx.AttrGraph:
		b = message(b, 6, graph(a.G))
	case onnx.AttrFloats:
		var list []byte
		for _, v := range a.Floats {
			list = protowire.AppendFixed32(list, math.Float32bits(v))
		}
		b = message(b, 7, list)
	case onnx.AttrInts:
		b = message(b, 8, numbers(a.Ints))
	case onnx.AttrStrings:
		for _, s := range a.Strings {
			b = message(b, 9, []byte(s))
		}
	}
	return number(b, 20, int64(a.Type))
}

func tensor(t *onnx.Tensor) []byte {
	b := message(nil, 1, numbers(t.Dims))
	b = number(b, 2, int64(t.Type))
	return message(text(b, 8, t.Name), 9, t.Raw)
}

func declared(v *onnx.ValueInfo) []byte {
	b := text(nil, 1, v.Name)
	inner := number(nil, 1, int64(v.Type))
	if v.Shaped {
		var shape []byte
		for _, d := range v.Dims {
			if d.Value < 0 {
				shape = message(shape, 1, text(nil, 2, d.Param))
				continue
			}
			shape = message(shape, 1, number(nil, 1, d.Value))
		}
		inner = message(inner, 2, shape)
	}
	return message(b, 2, message(nil, 1, inner))
}

func numbers(list []int64) []byte {
	var b []byte
	for _, v := range list {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return b
}

func number(b []byte, field protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

func message(b []byte, field protowire.Number, inner []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), inner)
}

// text leaves out what is empty.
func text(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return message(b, field, []byte(s))
}
