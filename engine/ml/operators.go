package ml

// domainML is the domain of the operators for tables.
const domainML = "ai.onnx.ml"

// families are the known operators of a domain. Those that hold graphs are in compiler.control.
func families(domain string) []map[string]operator {
	switch domain {
	case "":
		return []map[string]operator{arithmetic, logic, unary, activations, products, softmaxes, norms, reductions,
			shapes, parts, lookups, makers, windows, recurrents, quantized}
	case domainML:
		return []map[string]operator{linears, scalers, trees, vectorMachines}
	}
	return nil
}

// lookup finds an operator.
func lookup(domain, name string) (operator, bool) {
	for _, f := range families(domain) {
		if op, ok := f[name]; ok {
			return op, true
		}
	}
	return operator{}, false
}
