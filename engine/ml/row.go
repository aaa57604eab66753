package ml

import "github.com/nacredb/nacre/engine/errs"

// Row appends the columns of an object argument to x, each through its normaliser. get gives the number under a key.
func (h *Header) Row(get func(key string) (float64, bool, error), x []float32) ([]float32, error) {
	for _, key := range h.Keys {
		v, ok, err := get(key)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, errs.Internal("Key %s not found in input values", errs.Brief(key, 64))
		}
		x = append(x, float32(v))
	}
	h.Normalise(x[len(x)-len(h.Keys):])
	return x, nil
}

// Normalise maps a row, a number for each key, by the normalisers of its columns.
func (h *Header) Normalise(row []float32) {
	at := 0 // most headers have the normalisers in the order of their keys
	for _, c := range h.Normalisers {
		for range h.Keys {
			found := h.Keys[at] == c.Name
			if found {
				row[at] = c.forward(row[at])
			}
			if at++; at == len(h.Keys) {
				at = 0
			}
			if found {
				break
			}
		}
	}
}

// Restore maps the results of a call with an object back by the normaliser of the output.
func (h *Header) Restore(out []float64) {
	if h.Output == nil || h.Output.Norm == nil {
		return
	}
	for i, v := range out {
		out[i] = float64(h.Output.Norm.inverse(float32(v)))
	}
}

// HasKey reports whether key is one of the columns.
func (h *Header) HasKey(key string) bool {
	for _, k := range h.Keys {
		if k == key {
			return true
		}
	}
	return false
}
