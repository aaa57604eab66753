package retrieve

import (
	"context"
	"slices"
	"strings"

	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
	"github.com/nacredb/nacre/memsvc/text"
)

// Images are found by what they show: their vectors and that of the question are in one space, that of the model of
// visual embeddings. They are few, so a search compares all of them.

const (
	// leastVisual is the similarity of a question and an image below which the image is no answer. Texts and images
	// that belong together are less similar than texts are.
	leastVisual = 0.18
	// visualShare is the score of the most similar image, as a share of that of the best hit.
	visualShare = 0.9
	// maxVisual is how many images one search brings in.
	maxVisual = 10
)

// Visual embeds questions into the space of images. Vectors of other models are not compared.
type Visual struct {
	Model string
	Embed func(ctx context.Context, question string) ([]float32, error)
}

// SetVisual gives the passage of an image its vector.
func (x *Index) SetVisual(chunk string, v []int8) {
	if d, ok := x.byID["chunk/"+chunk]; ok && len(v) > 0 {
		if x.visual == nil {
			x.visual = map[int32][]int8{}
		}
		x.visual[d] = v
		x.bytes += int64(len(v))
	}
}

// see adds the images that show what the question asks for.
func (se *search) see() {
	if len(se.q.Visual) == 0 || len(se.x.visual) == 0 {
		return
	}
	type match struct {
		doc int32
		sim float32
	}
	var found []match
	for d, v := range se.x.visual {
		if len(v) != len(se.q.Visual) || !se.allowed(d) {
			continue
		}
		if sim := text.Similarity(se.q.Visual, v) * 127 * 127 / (fine * fine); sim >= leastVisual {
			found = append(found, match{d, sim})
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		switch {
		case a.sim > b.sim:
			return -1
		case a.sim < b.sim:
			return 1
		}
		return strings.Compare(se.x.units[a.doc].id, se.x.units[b.doc].id)
	})
	best := float32(1)
	for _, d := range se.s.touched {
		best = max(best, se.s.score[d])
	}
	for _, m := range found[:min(len(found), maxVisual)] {
		se.add(m.doc, visualShare*best*m.sim/found[0].sim)
	}
	se.legs["visual"] = len(found)
}

// hasVisual reports whether the index has images to compare.
func (h *held) hasVisual() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.x != nil && len(h.x.visual) > 0
}

// look embeds a question for a Context with images. Without an answer the search does without.
func (s *Service) look(ctx context.Context, t *settings.Tenant, h *held, q *Query) {
	if s.Visual == nil || q.Visual != nil || (q.Mode != Hybrid && q.Mode != Vector && q.Mode != "") || !h.hasVisual() {
		return
	}
	v, err := s.Visual.Embed(ctx, q.Text)
	if err != nil {
		s.Log.Warn("embed a question for images", "context", t.Context, "error", err)
		return
	}
	q.Visual = quantised(v)
}

// setVisual puts a row of the table of vectors that belongs to an image into the index.
func (s *Service) setVisual(x *Index, v store.Vector) bool {
	chunk, ok := strings.CutPrefix(v.ID, store.VisualID(""))
	if ok && s.Visual != nil && v.Model == s.Visual.Model {
		x.SetVisual(chunk, unpacked(v.Data))
	}
	return ok
}
