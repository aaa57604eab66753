package compile

import (
	"github.com/nacredb/nacre/engine/index/vector"
	"github.com/nacredb/nacre/engine/value"
)

// Distance is how far the vector at a path is from query: NONE where it has another dimension.
func (s *Set) Distance(path []string, m vector.Metric, query []float64) Expr {
	i, n, packed, far := s.Path(path), len(query), m.Packed(query), m.Floats()
	return func(row *value.Fields) (value.Value, error) {
		if packed != nil {
			if b, ok := row.Packed(i, n); ok {
				if far, ok := packed(b); ok {
					return value.Float(far), nil
				}
			}
		}
		v, ok := row.Floats(i)
		switch {
		case !ok:
			return value.None, ErrOpen
		case len(v) != n:
			return value.None, nil
		}
		return value.Float(far(v, query)), nil
	}
}
