package ingest

import (
	"context"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/gateway"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
)

// Elaborated is the result of Elaborate for one entity.
type Elaborated struct {
	Entity    string         `json:"entityRef"`
	Relations []RelationDiff `json:"relations"`
	Error     string         `json:"error,omitempty"`
}

// maxElaborated bounds the text about one entity that a model reads.
const maxElaborated = 16 << 10

// Elaborate lets the model of its stage read again what was said of an entity, and stores the relations that it finds.
func (s *Service) Elaborate(ctx context.Context, t *settings.Tenant, e store.Entity, dry bool, sees May) (*Elaborated,
	error) {
	out := &Elaborated{Entity: "entity:" + e.ID, Relations: []RelationDiff{}}
	facts, err := store.Rows[store.Attribute](ctx, t.DB, "SELECT * FROM attribute WHERE entity = $e AND closed_at = NONE ORDER BY id",
		store.Var{Name: "e", Value: e.ID})
	if err != nil {
		return nil, err
	}
	var keys []string
	seen := map[string]bool{}
	for _, a := range facts {
		if key, ok := strings.CutPrefix(a.Source.Ref, "turn:"); ok && !seen[key] && sees(a.Clauses) {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	turns, err := store.Lookup[store.Turn](ctx, t.DB, "turn", keys...)
	if err != nil {
		return nil, err
	}
	for _, turn := range turns {
		if !sees(turn.Clauses) || turn.ValidUntil != nil || len(turn.Content) > maxElaborated {
			continue
		}
		found, err := s.extract(ctx, t, gateway.Elaboration, PassageOf(turn))
		if err != nil {
			return nil, err
		}
		var relations Facts
		for _, f := range found.Facts {
			if f.Target != nil {
				relations.Facts = append(relations.Facts, f)
			}
		}
		o := OfTurn(turn, "")
		o.Source.Kind, o.Source.Trust, o.Source.Derived = "elaboration", 0.5, []string{"turn:" + turn.ID}
		var diff *Extraction
		if dry {
			diff, err = s.Preview(ctx, t, relations, o)
		} else {
			diff, err = s.Reconcile(ctx, t, relations, o, "")
		}
		if err != nil {
			return nil, err
		}
		out.Relations = append(out.Relations, diff.Relations...)
	}
	return out, nil
}

// Newest are the entities that changed last.
func (s *Service) Newest(ctx context.Context, t *settings.Tenant, n int, since time.Time) ([]store.Entity, error) {
	return store.Rows[store.Entity](ctx, t.DB,
		"SELECT * FROM entity WHERE valid_until = NONE AND updated_at > $since ORDER BY updated_at DESC LIMIT $n",
		store.Var{Name: "since", Value: since}, store.Var{Name: "n", Value: n})
}
