// Package onnx reads the parts of an ONNX ModelProto that running a model needs. It reads protobuf itself, under
// limits, and copies no tensor: the raw bytes of a tensor are a part of the bytes that were read. It checks the form of
// the messages, not their meaning: operators, types and shapes are the business of engine/ml.
package onnx

import (
	"errors"
	"fmt"
)

// ElemType is the type of the elements of a tensor, as ONNX numbers them.
type ElemType int32

// The element types that are read.
const (
	Undefined ElemType = 0
	Float     ElemType = 1
	Uint8     ElemType = 2
	Int8      ElemType = 3
	Uint16    ElemType = 4
	Int16     ElemType = 5
	Int32     ElemType = 6
	Int64     ElemType = 7
	String    ElemType = 8
	Bool      ElemType = 9
	Float16   ElemType = 10
	Double    ElemType = 11
	Uint32    ElemType = 12
	Uint64    ElemType = 13
	BFloat16  ElemType = 16
)

var elemNames = map[ElemType]string{
	Undefined: "undefined", Float: "float32", Uint8: "uint8", Int8: "int8", Uint16: "uint16", Int16: "int16",
	Int32: "int32", Int64: "int64", String: "string", Bool: "bool", Float16: "float16", Double: "float64",
	Uint32: "uint32", Uint64: "uint64", BFloat16: "bfloat16",
}

// String is the name of t as people write it.
func (t ElemType) String() string {
	if s, ok := elemNames[t]; ok {
		return s
	}
	return fmt.Sprintf("type %d", int32(t))
}

// Model is a ModelProto.
type Model struct {
	IRVersion int64
	Producer  string
	Graph     *Graph
	Opsets    map[string]int64 // by domain; "" is the main one
	Functions []*Function
}

// Graph is a GraphProto.
type Graph struct {
	Name         string
	Nodes        []*Node
	Initializers []*Tensor
	Inputs       []*ValueInfo
	Outputs      []*ValueInfo
	Sparse       bool // it has sparse initializers
}

// Node is a NodeProto.
type Node struct {
	Inputs, Outputs []string
	Name, Op        string
	Domain          string // "" for the main one
	Attrs           []*Attribute
}

// AttrType says which field of an Attribute counts.
type AttrType int32

// The types of attributes.
const (
	AttrFloat   AttrType = 1
	AttrInt     AttrType = 2
	AttrString  AttrType = 3
	AttrTensor  AttrType = 4
	AttrGraph   AttrType = 5
	AttrFloats  AttrType = 6
	AttrInts    AttrType = 7
	AttrStrings AttrType = 8
	AttrTensors AttrType = 9
	AttrGraphs  AttrType = 10
)

// Attribute is an AttributeProto.
type Attribute struct {
	Name    string
	Type    AttrType
	F       float32
	I       int64
	S       []byte
	T       *Tensor
	G       *Graph
	Floats  []float32
	Ints    []int64
	Strings []string
	Ref     string // the attribute of the function that this one stands for
}

// Tensor is a TensorProto. Its values are in Raw or in one of the lists.
type Tensor struct {
	Name     string
	Dims     []int64
	Type     ElemType
	Raw      []byte // little endian; a part of the bytes of the model
	Floats   []float32
	Int32s   []int64
	Strings  []string
	Int64s   []int64
	Doubles  []float64
	Uint64s  []int64
	External bool // its values are in another file
}

// Dim is one dimension of a declared shape; Value is -1 where it is open.
type Dim struct {
	Value int64
	Param string
}

// ValueInfo is a declared input or output.
type ValueInfo struct {
	Name   string
	Type   ElemType // Undefined for what is not a tensor
	Dims   []Dim
	Shaped bool // it has a shape, maybe one of no dimensions
}

// Function is a FunctionProto: an operator that the model brings along as nodes.
type Function struct {
	Name, Domain    string
	Inputs, Outputs []string
	Attrs           []string // without defaults
	Defaults        []*Attribute
	Nodes           []*Node
	Opsets          map[string]int64
}

// ReaderLimits bounds what a reader takes.
type ReaderLimits struct {
	Depth int // how deep graphs may be nested
	Nodes int // nodes of the model, in all graphs and functions
	Parts int // attributes, tensors, names and declared values of the model
}

// DefaultLimits are those of reference/models.md.
var DefaultLimits = ReaderLimits{Depth: 16, Nodes: 1 << 17, Parts: 1 << 22}

var errNoGraph = errors.New("the model has no graph")

// Read reads a ModelProto. The tensors of the model share b, which must not change.
func Read(b []byte, limits ReaderLimits) (*Model, error) {
	d := &decoder{limits: limits, nodes: limits.Nodes, parts: limits.Parts}
	m, err := d.model(b)
	if err != nil {
		return nil, err
	}
	if m.Graph == nil {
		return nil, errNoGraph
	}
	return m, nil
}

type decoder struct {
	limits ReaderLimits
	depth  int
	nodes  int // that may still come
	parts  int // that may still come
}

// part counts one thing that takes more memory than bytes.
func (d *decoder) part() error {
	if d.parts--; d.parts < 0 {
		return fmt.Errorf("the model has more than %d attributes, tensors and names", d.limits.Parts)
	}
	return nil
}

func (d *decoder) model(b []byte) (*Model, error) {
	m, r := &Model{Opsets: map[string]int64{}}, &reader{b: b}
	for r.next() {
		err := d.part()
		if err != nil {
			return nil, err
		}
		switch r.field {
		case 1:
			m.IRVersion = r.int()
		case 2:
			m.Producer = r.text()
		case 7:
			m.Graph, err = d.graph(r.bytes())
		case 8:
			r.err = opset(r.bytes(), m.Opsets)
		case 25:
			var f *Function
			f, err = d.function(r.bytes())
			m.Functions = append(m.Functions, f)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, r.err
}

func opset(b []byte, to map[string]int64) error {
	r := &reader{b: b}
	domain, version := "", int64(0)
	for r.next() {
		switch r.field {
		case 1:
			domain = mainDomain(r.text())
		case 2:
			version = r.int()
		}
	}
	to[domain] = version
	return r.err
}

// mainDomain gives the two names of the main domain as one.
func mainDomain(s string) string {
	if s == "ai.onnx" {
		return ""
	}
	return s
}

func (d *decoder) graph(b []byte) (*Graph, error) {
	if d.depth >= d.limits.Depth {
		return nil, fmt.Errorf("graphs are nested more than %d deep", d.limits.Depth)
	}
	d.depth++
	defer func() { d.depth-- }()
	g, r := &Graph{}, &reader{b: b}
	for r.next() {
		err := d.part()
		if err != nil {
			return nil, err
		}
		switch r.field {
		case 1:
			var n *Node
			n, err = d.node(r.bytes())
			g.Nodes = append(g.Nodes, n)
		case 2:
			g.Name = r.text()
		case 5:
			var t *Tensor
			t, err = d.tensor(r.bytes())
			g.Initializers = append(g.Initializers, t)
		case 11:
			var v *ValueInfo
			v, err = d.valueInfo(r.bytes())
			g.Inputs = append(g.Inputs, v)
		case 12:
			var v *ValueInfo
			v, err = d.valueInfo(r.bytes())
			g.Outputs = append(g.Outputs, v)
		case 15:
			g.Sparse = true
		}
		if err != nil {
			return nil, err
		}
	}
	return g, r.err
}

func (d *decoder) node(b []byte) (*Node, error) {
	if d.nodes--; d.nodes < 0 {
		return nil, fmt.Errorf("the model has more than %d nodes", d.limits.Nodes)
	}
	n, r := &Node{}, &reader{b: b}
	for r.next() {
		if err := d.part(); err != nil {
			return nil, err
		}
		switch r.field {
		case 1:
			n.Inputs = append(n.Inputs, r.text())
		case 2:
			n.Outputs = append(n.Outputs, r.text())
		case 3:
			n.Name = r.text()
		case 4:
			n.Op = r.text()
		case 5:
			a, err := d.attribute(r.bytes())
			if err != nil {
				return nil, err
			}
			n.Attrs = append(n.Attrs, a)
		case 7:
			n.Domain = mainDomain(r.text())
		}
	}
	return n, r.err
}

func (d *decoder) attribute(b []byte) (*Attribute, error) {
	a, r := &Attribute{}, &reader{b: b}
	for r.next() {
		err := d.part()
		if err != nil {
			return nil, err
		}
		switch r.field {
		case 1:
			a.Name = r.text()
		case 2:
			a.F = r.float()
		case 3:
			a.I = r.int()
		case 4:
			a.S = r.bytes()
		case 5:
			a.T, err = d.tensor(r.bytes())
		case 6:
			a.G, err = d.graph(r.bytes())
		case 7:
			a.Floats = r.floats(a.Floats)
		case 8:
			a.Ints = r.ints(a.Ints)
		case 9:
			a.Strings = append(a.Strings, r.text())
		case 20:
			a.Type = AttrType(r.int())
		case 21:
			a.Ref = r.text()
		}
		if err != nil {
			return nil, err
		}
	}
	if a.Type == 0 { // older files have none
		a.Type = a.guess()
	}
	return a, r.err
}

// guess is the type of an attribute that tells none.
func (a *Attribute) guess() AttrType {
	switch {
	case a.T != nil:
		return AttrTensor
	case a.G != nil:
		return AttrGraph
	case a.S != nil:
		return AttrString
	case a.Floats != nil:
		return AttrFloats
	case a.Ints != nil:
		return AttrInts
	case a.Strings != nil:
		return AttrStrings
	case a.F != 0:
		return AttrFloat
	}
	return AttrInt
}

func (d *decoder) tensor(b []byte) (*Tensor, error) {
	t, r := &Tensor{}, &reader{b: b}
	for r.next() {
		if err := d.part(); err != nil {
			return nil, err
		}
		switch r.field {
		case 1:
			t.Dims = r.ints(t.Dims)
		case 2:
			t.Type = ElemType(r.int())
		case 3:
			return nil, errors.New("a tensor is stored in segments")
		case 4:
			t.Floats = r.floats(t.Floats)
		case 5:
			t.Int32s = r.ints(t.Int32s)
		case 6:
			t.Strings = append(t.Strings, r.text())
		case 7:
			t.Int64s = r.ints(t.Int64s)
		case 8:
			t.Name = r.text()
		case 9:
			t.Raw = r.bytes()
		case 10:
			t.Doubles = r.doubles(t.Doubles)
		case 11:
			t.Uint64s = r.ints(t.Uint64s)
		case 13:
			t.External = true
		case 14:
			t.External = t.External || r.int() == 1
		}
	}
	return t, r.err
}

func (d *decoder) valueInfo(b []byte) (*ValueInfo, error) {
	v, r := &ValueInfo{}, &reader{b: b}
	for r.next() {
		switch r.field {
		case 1:
			v.Name = r.text()
		case 2:
			if err := v.typ(d, r.bytes()); err != nil {
				return nil, err
			}
		}
	}
	return v, r.err
}

func (v *ValueInfo) typ(d *decoder, b []byte) error {
	r := &reader{b: b}
	for r.next() {
		if r.field != 1 {
			continue
		}
		t := &reader{b: r.bytes()}
		for t.next() {
			switch t.field {
			case 1:
				v.Type = ElemType(t.int())
			case 2:
				v.Shaped = true
				if err := v.shape(d, t.bytes()); err != nil {
					return err
				}
			}
		}
		if t.err != nil {
			return t.err
		}
	}
	return r.err
}

func (v *ValueInfo) shape(d *decoder, b []byte) error {
	r := &reader{b: b}
	for r.next() {
		if err := d.part(); err != nil {
			return err
		}
		if r.field != 1 {
			continue
		}
		dim, in := Dim{Value: -1}, &reader{b: r.bytes()}
		for in.next() {
			switch in.field {
			case 1:
				dim.Value = max(in.int(), -1)
			case 2:
				dim.Param = in.text()
			}
		}
		if in.err != nil {
			return in.err
		}
		v.Dims = append(v.Dims, dim)
	}
	return r.err
}

func (d *decoder) function(b []byte) (*Function, error) {
	f, r := &Function{Opsets: map[string]int64{}}, &reader{b: b}
	for r.next() {
		if err := d.part(); err != nil {
			return nil, err
		}
		switch r.field {
		case 1:
			f.Name = r.text()
		case 4:
			f.Inputs = append(f.Inputs, r.text())
		case 5:
			f.Outputs = append(f.Outputs, r.text())
		case 6:
			f.Attrs = append(f.Attrs, r.text())
		case 7:
			n, err := d.node(r.bytes())
			if err != nil {
				return nil, err
			}
			f.Nodes = append(f.Nodes, n)
		case 9:
			r.err = opset(r.bytes(), f.Opsets)
		case 10:
			f.Domain = mainDomain(r.text())
		case 11:
			a, err := d.attribute(r.bytes())
			if err != nil {
				return nil, err
			}
			f.Defaults = append(f.Defaults, a)
		}
	}
	return f, r.err
}
