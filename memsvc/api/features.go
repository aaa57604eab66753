package api

import (
	"context"
	"sort"
	"sync"
	"time"

	"github.com/nacredb/nacre/memsvc/retrieve"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
	words "github.com/nacredb/nacre/memsvc/text"
)

// What traces tell: memories that answered similar questions in the same region of grants stand a little higher. The
// effect is small, so that it orders what is nearly equal and nothing else.

const (
	featureTraces  = 50   // traces of a region that are looked at
	featureLooked  = 500  // newest traces of a Context that they are taken from
	featureRegions = 128  // (Context, region) that are kept at once
	featureBoost   = 0.01 // most that a hit gains
	featureAlike   = 0.5  // share of common words from which questions are similar
)

// asked is a question of the past and what it was answered with.
type asked struct {
	terms    map[string]bool
	returned map[string]bool
}

// features keeps what the traces of a region tell, for a time.
type features struct {
	ttl time.Duration

	mu   sync.Mutex // guards kept; a leaf lock
	kept map[featureKey]featureEntry
}

type featureKey struct{ context, region string }

type featureEntry struct {
	until time.Time
	list  []asked
}

func newFeatures(seconds int) *features {
	return &features{ttl: time.Duration(seconds) * time.Second, kept: map[featureKey]featureEntry{}}
}

// drop forgets what is kept of a Context.
func (f *features) drop(contextID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range f.kept {
		if k.context == contextID {
			delete(f.kept, k)
		}
	}
}

// of gives what the traces of a region tell, read anew after the time that it is kept for.
func (f *features) of(ctx context.Context, t *settings.Tenant, region string) ([]asked, error) {
	key, now := featureKey{t.Context, region}, time.Now()
	f.mu.Lock()
	e, ok := f.kept[key]
	f.mu.Unlock()
	if ok && now.Before(e.until) {
		return e.list, nil
	}
	rows, err := store.Rows[store.Trace](ctx, t.DB, "SELECT * FROM (SELECT id, kind, query, returned, region FROM trace "+
		"ORDER BY id DESC LIMIT $looked) WHERE kind = 'retrieval' AND region = $region LIMIT $n",
		store.Var{Name: "looked", Value: featureLooked}, store.Var{Name: "region", Value: region},
		store.Var{Name: "n", Value: featureTraces})
	if err != nil {
		return nil, err
	}
	e = featureEntry{until: now.Add(f.ttl)}
	for _, r := range rows {
		e.list = append(e.list, asked{set(words.Terms(r.Query)), set(r.Returned)})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.kept) >= featureRegions {
		for k := range f.kept { // any of them: what is missed is read anew
			if len(f.kept) >= featureRegions && k != key {
				delete(f.kept, k)
			}
		}
	}
	f.kept[key] = e
	return e.list, nil
}

func set(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, s := range list {
		out[s] = true
	}
	return out
}

// alike is the share of words that two questions have in common (Jaccard's index).
func alike(a, b map[string]bool) float64 {
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	if both == 0 {
		return 0
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

// favour raises hits that answered similar questions, and notes by how much. Questions about the past are answered as
// they were.
func (s *Server) favour(c *call, in *queryRequest, found *retrieve.Found) {
	if len(found.Hits) < 2 || !in.AsOf.IsZero() || !in.AtInstant.IsZero() {
		return
	}
	list, err := s.features.of(c.ctx(), c.tenant, c.who.Region.Key())
	if err != nil {
		s.log.Warn("read the features of traces", "context", c.tenant.Context, "error", err)
		return
	}
	terms := set(words.Terms(in.Query))
	for i := range found.Hits {
		h, most := &found.Hits[i], 0.0
		for _, a := range list {
			if sim := alike(terms, a.terms); sim >= featureAlike && sim > most && a.returned[h.ID] {
				most = sim
			}
		}
		if most == 0 {
			continue
		}
		h.Score = min(1, h.Score+featureBoost*most)
		if in.Explain {
			h.Signals = map[string]float64{"trace": most}
		}
	}
	sort.SliceStable(found.Hits, func(i, j int) bool { return found.Hits[i].Score > found.Hits[j].Score })
}
