package ml

import (
	"fmt"
	"maps"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// maxInlined bounds the nodes that calls of a model's own functions expand to.
const maxInlined = 1 << 17

// inline replaces calls of functions of the model by their nodes.
func (c *compiler) inline(nodes []*onnx.Node) ([]*onnx.Node, error) {
	if len(c.functions) == 0 {
		return nodes, nil
	}
	var out []*onnx.Node
	for _, n := range nodes {
		if c.functions[n.Domain+":"+n.Op] == nil {
			out = append(out, n)
			continue
		}
		more, err := c.expand(n, 1)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// expand is the body of the function that n calls, with its names made unique.
func (c *compiler) expand(n *onnx.Node, depth int) ([]*onnx.Node, error) {
	f := c.functions[n.Domain+":"+n.Op]
	if depth > maxFunctionDepth {
		return nil, fmt.Errorf("functions of the model call each other more than %d deep", maxFunctionDepth)
	}
	names := map[string]string{"": ""}
	bind := func(formal, actual []string) {
		for i, name := range formal {
			names[name] = ""
			if i < len(actual) {
				names[name] = actual[i]
			}
		}
	}
	bind(f.Inputs, n.Inputs)
	bind(f.Outputs, n.Outputs)
	prefix := fmt.Sprintf("%s/%d/", n.Op, c.inlined)
	for _, out := range f.Outputs {
		if names[out] == "" { // the caller does not want it, but the body may
			names[out] = prefix + out
		}
	}
	attrs := map[string]*onnx.Attribute{}
	for _, a := range f.Defaults {
		attrs[a.Name] = a
	}
	for _, a := range n.Attrs {
		attrs[a.Name] = a
	}
	var out []*onnx.Node
	for _, b := range f.Nodes {
		if c.inlined++; c.inlined > maxInlined {
			return nil, fmt.Errorf("functions of the model expand to more than %d nodes", maxInlined)
		}
		for _, o := range b.Outputs {
			if _, ok := names[o]; !ok {
				names[o] = prefix + o
			}
		}
		m := renamed(b, names, attrs)
		if c.functions[m.Domain+":"+m.Op] == nil {
			out = append(out, m)
			continue
		}
		more, err := c.expand(m, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// renamed is a copy of n under other names, with the attributes of the call in place of those that stand for them.
func renamed(n *onnx.Node, names map[string]string, attrs map[string]*onnx.Attribute) *onnx.Node {
	m := *n
	m.Inputs, m.Outputs = renameAll(n.Inputs, names), renameAll(n.Outputs, names)
	m.Attrs = nil
	for _, a := range n.Attrs {
		b := *a
		if a.Ref != "" {
			given := attrs[a.Ref]
			if given == nil {
				continue // the operator's default
			}
			b = *given
			b.Name = a.Name
		}
		if b.G != nil {
			b.G = renamedGraph(b.G, names, attrs)
		}
		m.Attrs = append(m.Attrs, &b)
	}
	return &m
}

func renameAll(list []string, names map[string]string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s
		if r, ok := names[s]; ok {
			out[i] = r
		}
	}
	return out
}

// renamedGraph is a copy of an inner graph whose names from outside are others. Its own names stay.
func renamedGraph(g *onnx.Graph, names map[string]string, attrs map[string]*onnx.Attribute) *onnx.Graph {
	h := *g
	inside := maps.Clone(names)
	for _, in := range g.Inputs {
		delete(inside, in.Name)
	}
	for _, t := range g.Initializers {
		delete(inside, t.Name)
	}
	for _, n := range g.Nodes {
		for _, o := range n.Outputs {
			delete(inside, o)
		}
	}
	inside[""] = ""
	h.Nodes = make([]*onnx.Node, len(g.Nodes))
	for i, n := range g.Nodes {
		h.Nodes[i] = renamed(n, inside, attrs)
	}
	h.Outputs = make([]*onnx.ValueInfo, len(g.Outputs))
	for i, o := range g.Outputs {
		v := *o
		if r, ok := inside[o.Name]; ok {
			v.Name = r
		}
		h.Outputs[i] = &v
	}
	return &h
}
