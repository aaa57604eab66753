package ml

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

func infoOf(p *onnx.Model, used map[string]bool) Info {
	i := Info{Producer: p.Producer, Opsets: p.Opsets, Nodes: len(p.Graph.Nodes),
		Operators: slices.Sorted(maps.Keys(used))}
	for _, v := range p.Graph.Inputs {
		i.Inputs = append(i.Inputs, declared(v))
	}
	for _, v := range p.Graph.Outputs {
		i.Outputs = append(i.Outputs, declared(v))
	}
	return i
}

// declared is a declared value as text: its name, type and shape.
func declared(v *onnx.ValueInfo) string {
	if v.Type == onnx.Undefined {
		return v.Name
	}
	s := v.Name + ": " + v.Type.String()
	if !v.Shaped {
		return s
	}
	dims := make([]string, len(v.Dims))
	for i, d := range v.Dims {
		switch {
		case d.Value >= 0:
			dims[i] = strconv.FormatInt(d.Value, 10)
		case d.Param != "":
			dims[i] = d.Param
		default:
			dims[i] = "?"
		}
	}
	return s + "[" + strings.Join(dims, ",") + "]"
}

// unknown lists the operators of nodes, and of the graphs that they hold, that are not known.
func (c *compiler) unknown(nodes []*onnx.Node, to map[string]bool) {
	for _, n := range nodes {
		c.used[fullName(n)] = true
		_, ok := lookup(n.Domain, n.Op)
		_, control := c.control(n.Op)
		ok = ok || n.Domain == "" && control != nil || c.functions[n.Domain+":"+n.Op] != nil
		if !ok {
			to[fullName(n)] = true
		}
		for _, a := range n.Attrs {
			if a.G != nil {
				c.unknown(a.G.Nodes, to)
			}
		}
	}
}
