package retrieve

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
)

// Embedder embeds questions by the model of a provider. Vectors of other models are not compared.
type Embedder struct {
	Model string
	Embed func(ctx context.Context, t *settings.Tenant, question string) ([]float32, error)
}

// fine is how a vector of length 1 becomes bytes: a direction of many dimensions has small parts only.
const fine = 4 * 127

// quantised makes bytes of a vector of length 1.
func quantised(v []float32) []int8 {
	out := make([]int8, len(v))
	for i, x := range v {
		out[i] = int8(math.Round(float64(max(-127, min(127, x*fine)))))
	}
	return out
}

// unpacked makes bytes of a stored vector.
func unpacked(b []byte) []int8 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return quantised(v)
}

// SetVector gives a unit the vector of a provider. The first one decides how wide vectors are; others are left out.
func (x *Index) SetVector(id string, v []int8) {
	d, ok := x.byID[id]
	if !ok || len(v) == 0 {
		return
	}
	if x.width == 0 {
		x.width = len(v)
		x.vectors = make([]int8, x.width*len(x.units))
	}
	if len(v) == x.width {
		copy(x.vectors[int(d)*x.width:], v)
	}
}

// vector is the embedding of a question, nil when there is none: then the search does without.
func (s *Service) vector(ctx context.Context, t *settings.Tenant, q *Query) {
	if s.Embedder == nil || q.Mode == BM25 || q.Mode == Graph || q.Vector != nil {
		return
	}
	v, err := s.Embedder.Embed(ctx, t, q.Text)
	if err != nil {
		s.Log.Warn("embed a question", "context", t.Context, "error", err)
		return
	}
	q.Vector = quantised(v)
}

// addVectors gives the units of an index their vectors.
func (s *Service) addVectors(ctx context.Context, db *store.DB, x *Index) error {
	if s.Embedder == nil && s.Visual == nil {
		return nil
	}
	return scan(ctx, db, "vector", func(v store.Vector) { s.setVector(x, v) },
		func(v store.Vector) string { return v.ID })
}

func (s *Service) setVector(x *Index, v store.Vector) {
	if s.setVisual(x, v) {
		return
	}
	if s.Embedder != nil && v.Model == s.Embedder.Model {
		x.SetVector(v.ID, unpacked(v.Data))
	}
}

// changedVectors are the vectors of rows that changed.
func (s *Service) changedVectors(ctx context.Context, db *store.DB, changed []store.Change) ([]store.Vector, error) {
	if s.Embedder == nil && s.Visual == nil {
		return nil, nil
	}
	seen := map[string]bool{}
	var keys []string
	for _, c := range changed {
		id := c.Table + "/" + c.Key
		if c.Table == "vector" {
			id = c.Key
		}
		if !seen[id] && (c.Table == "vector" || c.Table == "turn" || c.Table == "chunk") {
			seen[id] = true
			keys = append(keys, id)
			if c.Table == "chunk" {
				keys = append(keys, store.VisualID(c.Key))
			}
		}
	}
	return lookup[store.Vector](ctx, db, "vector", keys)
}
