package ingest

import (
	"context"
	"fmt"
	"sort"

	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
	"github.com/nacredb/nacre/memsvc/text"
)

// Checks selects the problems that Check looks for.
var Checks = []string{"duplicates", "contradictions", "injection", "unscoped"}

// maxCompared is how many entities are compared with one another, the newest ones.
const maxCompared = 1000

// Check looks for what somebody should look at: entities with nearly the same name, keys with several values, texts
// that give orders to models, rows that no principal may see. It changes nothing.
func (s *Service) Check(ctx context.Context, t *settings.Tenant, check string, threshold float64, most int,
	sees May) ([]Finding, error) {
	out := []Finding{}
	for _, c := range Checks {
		if check != "" && check != c {
			continue
		}
		found, err := s.check(ctx, t, c, threshold, sees)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out[:min(len(out), most)], nil
}

func (s *Service) check(ctx context.Context, t *settings.Tenant, check string, threshold float64, sees May) ([]Finding,
	error) {
	switch check {
	case "duplicates":
		return duplicates(ctx, t, threshold, sees)
	case "contradictions":
		return contradictions(ctx, t, sees)
	case "injection":
		return injections(ctx, t, sees)
	}
	return unscoped(ctx, t)
}

// duplicates are pairs of entities of a type whose names share most of their letters, three at a time.
func duplicates(ctx context.Context, t *settings.Tenant, threshold float64, sees May) (out []Finding, err error) {
	all, err := store.Rows[store.Entity](ctx, t.DB, "SELECT * FROM entity WHERE valid_until = NONE ORDER BY updated_at DESC LIMIT $n",
		store.Var{Name: "n", Value: maxCompared})
	var seen []store.Entity
	var parts []map[string]bool
	for _, e := range all {
		if sees(e.Clauses) {
			seen, parts = append(seen, e), append(parts, triples(e.Name))
		}
	}
	for i := range seen {
		for j := range i {
			if seen[i].Type != seen[j].Type {
				continue
			}
			if v := shared(parts[i], parts[j]); v >= threshold {
				out = append(out, Finding{"duplicates", []string{"entity:" + seen[j].ID, "entity:" + seen[i].ID},
					fmt.Sprintf("The names are alike by %.2f", v)})
			}
		}
	}
	return out, err
}

func triples(name string) map[string]bool {
	s := "^" + text.Normal(name) + "$"
	out := map[string]bool{}
	for i := 0; i+3 <= len(s); i++ {
		out[s[i:i+3]] = true
	}
	return out
}

func shared(a, b map[string]bool) float64 {
	n := 0
	for k := range a {
		if b[k] {
			n++
		}
	}
	return float64(2*n) / float64(max(1, len(a)+len(b)))
}

func contradictions(ctx context.Context, t *settings.Tenant, sees May) ([]Finding, error) {
	all, err := store.Rows[store.Attribute](ctx, t.DB, "SELECT * FROM attribute WHERE closed_at = NONE ORDER BY id")
	if err != nil {
		return nil, err
	}
	heads := map[string][]store.Attribute{}
	for _, a := range all {
		if current(&a) && sees(a.Clauses) && !multiValued[a.Key] {
			k := a.Entity + "\x00" + a.Key + "\x00" + a.Clauses.Key()
			heads[k] = append(heads[k], a)
		}
	}
	var out []Finding
	for _, list := range heads {
		if len(list) < 2 {
			continue
		}
		f := Finding{Check: "contradictions", Detail: fmt.Sprintf("%s of %s has %d values", list[0].Key, list[0].Entity,
			len(list))}
		for _, a := range list {
			f.Refs = append(f.Refs, "attribute:"+a.ID)
		}
		out = append(out, f)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Refs[0] < out[j].Refs[0] })
	return out, nil
}

func injections(ctx context.Context, t *settings.Tenant, sees May) (out []Finding, err error) {
	const detail = "The text tries to give orders to a language model"
	turns, err := store.Rows[store.Turn](ctx, t.DB, "SELECT * FROM turn WHERE valid_until = NONE ORDER BY id")
	for _, r := range turns {
		if sees(r.Clauses) && text.Injection(r.Content) != "" {
			out = append(out, Finding{"injection", []string{"turn:" + r.ID}, detail})
		}
	}
	if err != nil {
		return nil, err
	}
	chunks, err := store.Rows[store.Chunk](ctx, t.DB, "SELECT * FROM chunk ORDER BY id")
	for _, r := range chunks {
		if sees(r.Clauses) && text.Injection(r.Text) != "" {
			out = append(out, Finding{"injection", []string{"doc:" + r.Document}, detail})
		}
	}
	return out, err
}

// unscoped are rows without clauses, which no principal sees. Only their keys are reported.
func unscoped(ctx context.Context, t *settings.Tenant) (out []Finding, err error) {
	for _, table := range []string{"turn", "chunk", "document", "attribute", "relation", "entity", "session"} {
		type row struct {
			ID string `db:"id"`
		}
		all, err := store.Rows[row](ctx, t.DB, "SELECT id FROM "+table+" WHERE array::len(clauses ?? []) = 0 ORDER BY id")
		if err != nil {
			return nil, err
		}
		for _, r := range all {
			out = append(out, Finding{"unscoped", []string{table + ":" + r.ID}, "The row has no scopes"})
		}
	}
	return out, nil
}
