package ingest

import (
	"context"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
)

// Erased counts what a forget touched.
type Erased struct {
	Turns      int `json:"turns"`
	Chunks     int `json:"chunks"`
	Documents  int `json:"documents"`
	Attributes int `json:"attributes"`
	Entities   int `json:"entities"`
	Relations  int `json:"relations"`
	Traces     int `json:"traces"`
	Answers    int `json:"cachedAnswers"`
}

// Total is the number of rows of memory.
func (e Erased) Total() int {
	return e.Turns + e.Chunks + e.Documents + e.Attributes + e.Entities + e.Relations
}

// Marked are rows to be forgotten, by their keys.
type Marked struct {
	Turns, Chunks, Documents, Attributes, Entities, Relations []string
}

// Forget forgets rows. Soft: they hold no longer from now on, history and asOf still tell. Purge: they are gone,
// with facts that came from them, their vectors, and the traces and cached answers that showed them.
func (s *Service) Forget(ctx context.Context, t *settings.Tenant, m Marked, purge bool) (Erased, error) {
	var out Erased
	err := t.DB.Update(ctx, func(tx *store.Tx) error {
		out = Erased{}
		if purge {
			return s.erase(ctx, t, tx, m, &out)
		}
		return s.retire(ctx, t, tx, m, &out)
	})
	if err != nil {
		return out, err
	}
	out.Traces, out.Answers, err = scrub(ctx, t.DB, m, purge)
	return out, err
}

// retire ends rows now.
func (s *Service) retire(ctx context.Context, t *settings.Tenant, tx *store.Tx, m Marked, out *Erased) error {
	now := time.Now().UTC()
	turns, err := store.Lookup[store.Turn](ctx, t.DB, "turn", m.Turns...)
	if err != nil {
		return err
	}
	for _, r := range turns {
		if r.ValidUntil == nil {
			r.ValidUntil = &now
			tx.Put("turn", r)
			out.Turns++
		}
	}
	attributes, err := s.withTheirs(ctx, t, m)
	if err != nil {
		return err
	}
	for _, r := range attributes {
		if r.ClosedAt == nil {
			r.ValidUntil, r.ClosedAt, r.RetiredAt = &now, &now, &now
			tx.Put("attribute", r)
			out.Attributes++
		}
	}
	entities, err := store.Lookup[store.Entity](ctx, t.DB, "entity", m.Entities...)
	if err != nil {
		return err
	}
	for _, r := range entities {
		r.ValidUntil = &now
		tx.Put("entity", r)
		out.Entities++
	}
	relations, err := s.relationsOf(ctx, t, m)
	for _, r := range relations {
		if r.ClosedAt == nil {
			r.ValidUntil, r.ClosedAt, r.RetiredAt = &now, &now, &now
			tx.Put("relation", r)
			out.Relations++
		}
	}
	return err
}

// withTheirs are the marked attributes, those of marked entities, and those that marked turns and documents state.
func (s *Service) withTheirs(ctx context.Context, t *settings.Tenant, m Marked) ([]store.Attribute, error) {
	return store.Rows[store.Attribute](ctx, t.DB, "SELECT * FROM attribute WHERE id IN $ids OR entity IN $entities OR source.ref IN $refs",
		store.Var{Name: "ids", Value: records("attribute", m.Attributes)}, store.Var{Name: "entities",
			Value: strs(m.Entities)}, store.Var{Name: "refs", Value: m.refs()})
}

func (s *Service) relationsOf(ctx context.Context, t *settings.Tenant, m Marked) ([]store.Relation, error) {
	return store.Rows[store.Relation](ctx, t.DB, "SELECT * FROM relation WHERE id IN $ids OR subject IN $entities OR object IN $entities OR source.ref IN $refs",
		store.Var{Name: "ids", Value: records("relation", m.Relations)}, store.Var{Name: "entities",
			Value: strs(m.Entities)}, store.Var{Name: "refs", Value: m.refs()})
}

func strs(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}

func records(table string, keys []string) []any {
	out := make([]any, len(keys))
	for i, k := range keys {
		out[i] = store.ID(table, k)
	}
	return out
}

func (m Marked) refs() []string {
	out := []string{}
	for _, t := range m.Turns {
		out = append(out, "turn:"+t)
	}
	for _, d := range m.Documents {
		out = append(out, "doc:"+d)
	}
	return out
}

// erase deletes rows. An entity that nothing tells of any more goes too.
func (s *Service) erase(ctx context.Context, t *settings.Tenant, tx *store.Tx, m Marked, out *Erased) error {
	attributes, err := s.withTheirs(ctx, t, m)
	if err != nil {
		return err
	}
	gone, touched := map[string]bool{}, map[string]bool{}
	for _, a := range attributes {
		gone[a.ID], touched[a.Entity] = true, true
		tx.Delete("attribute", a.ID)
	}
	relations, err := s.relationsOf(ctx, t, m)
	if err != nil {
		return err
	}
	for _, r := range relations {
		gone[r.ID], touched[r.Subject], touched[r.Object] = true, true, true
		tx.Delete("relation", r.ID)
	}
	if err := s.orphans(ctx, t, &m, touched, gone); err != nil {
		return err
	}
	tx.Delete("turn", m.Turns...)
	tx.Delete("chunk", m.Chunks...)
	tx.Delete("entity", m.Entities...)
	for table, keys := range map[string][]string{"turn": m.Turns, "chunk": m.Chunks, "attribute": m.Attributes} {
		for _, k := range keys {
			tx.Delete("vector", table+"/"+k)
			if table == "chunk" {
				tx.Delete("vector", store.VisualID(k))
			}
		}
	}
	*out = Erased{Turns: len(m.Turns), Chunks: len(m.Chunks), Attributes: len(attributes),
		Relations: len(relations), Entities: len(m.Entities)}
	return nil
}

// orphans adds the entities that keep no attribute and no relation.
func (s *Service) orphans(ctx context.Context, t *settings.Tenant, m *Marked, touched, gone map[string]bool) error {
	for _, e := range m.Entities {
		delete(touched, e)
	}
	for e := range touched {
		type key struct {
			ID string `db:"id"`
		}
		left, err := store.Rows[key](ctx, t.DB, "RETURN array::concat((SELECT id FROM attribute WHERE entity = $e), (SELECT id FROM relation WHERE subject = $e OR object = $e))",
			store.Var{Name: "e", Value: e})
		if err != nil {
			return err
		}
		kept := false
		for _, l := range left {
			kept = kept || !gone[l.ID]
		}
		if !kept {
			m.Entities = append(m.Entities, e)
		}
	}
	return nil
}

// scrub removes cached answers that cite what was forgotten, and after a purge the traces that show it, what was
// uncertain about it, and stored answers to writes.
func scrub(ctx context.Context, db *store.DB, m Marked, purge bool) (traces, answers int, err error) {
	v, err := db.Query(ctx, "RETURN count(DELETE response_cache RETURN BEFORE)")
	if err != nil {
		return 0, 0, err
	}
	answers = int(v.Int())
	if !purge {
		return 0, answers, nil
	}
	v, err = db.Query(ctx, "LET $n = count(DELETE trace RETURN BEFORE); DELETE idempotency RETURN NONE; "+
		"DELETE uncertainty WHERE rows CONTAINSANY $refs OR source.ref IN $refs RETURN NONE; DELETE instruction WHERE source.ref IN $refs RETURN NONE; RETURN $n",
		store.Var{Name: "refs", Value: append(m.refs(), prefixed("attribute:", m.Attributes)...)})
	if err != nil {
		return 0, answers, err
	}
	return int(v.Int()), answers, nil
}

func prefixed(p string, list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = p + s
	}
	return out
}

// PurgeSession deletes a session with its turns and what is known from them alone.
func (s *Service) PurgeSession(ctx context.Context, t *settings.Tenant, id string) (int, error) {
	turns, err := store.Rows[store.Turn](ctx, t.DB, "SELECT id FROM $span",
		store.Var{Name: "span", Value: store.Span("turn", id+"-", id+".")})
	if err != nil {
		return 0, err
	}
	var m Marked
	for _, r := range turns {
		m.Turns = append(m.Turns, r.ID)
	}
	out, err := s.Forget(ctx, t, m, true)
	if err != nil {
		return 0, err
	}
	return out.Total(), t.DB.Update(ctx, func(tx *store.Tx) error { tx.Delete("session", id); return nil })
}

// ForgetScope deletes what belongs to a scope or to one below; a memory that others share loses only these clauses.
func (s *Service) ForgetScope(ctx context.Context, t *settings.Tenant, path string) (Erased, error) {
	var m Marked
	err := t.DB.Update(ctx, func(tx *store.Tx) error {
		m = Marked{}
		if err := strip(ctx, t, tx, "turn", path, &m.Turns,
			func(r *store.Turn) (string, *grant.Clauses) { return r.ID, &r.Clauses }); err != nil {
			return err
		}
		if err := strip(ctx, t, tx, "chunk", path, &m.Chunks,
			func(r *store.Chunk) (string, *grant.Clauses) { return r.ID, &r.Clauses }); err != nil {
			return err
		}
		if err := strip(ctx, t, tx, "document", path, &m.Documents,
			func(r *store.Document) (string, *grant.Clauses) { return r.ID, &r.Clauses }); err != nil {
			return err
		}
		if err := strip(ctx, t, tx, "attribute", path, &m.Attributes,
			func(r *store.Attribute) (string, *grant.Clauses) { return r.ID, &r.Clauses }); err != nil {
			return err
		}
		if err := strip(ctx, t, tx, "relation", path, &m.Relations,
			func(r *store.Relation) (string, *grant.Clauses) { return r.ID, &r.Clauses }); err != nil {
			return err
		}
		var sessions []string
		if err := strip(ctx, t, tx, "session", path, &sessions,
			func(r *store.Session) (string, *grant.Clauses) { return r.ID, &r.Clauses }); err != nil {
			return err
		}
		tx.Delete("session", sessions...)
		return strip(ctx, t, tx, "entity", path, &m.Entities,
			func(r *store.Entity) (string, *grant.Clauses) { return r.ID, &r.Clauses })
	})
	if err != nil {
		return Erased{}, err
	}
	docs := m.Documents
	out, err := s.Forget(ctx, t, m, true)
	if err != nil {
		return out, err
	}
	for _, d := range docs {
		if err := s.DeleteDocument(ctx, t, d); err != nil {
			return out, err
		}
		out.Documents++
	}
	return out, nil
}

// strip takes the clauses of a scope off the rows of a table and collects those that keep none.
func strip[T any](ctx context.Context, t *settings.Tenant, tx *store.Tx, table, path string, gone *[]string,
	of func(*T) (string, *grant.Clauses)) error {
	all, err := store.Rows[T](ctx, t.DB, "SELECT * FROM "+table)
	if err != nil {
		return err
	}
	for i := range all {
		id, clauses := of(&all[i])
		left := clauses.Without(path)
		switch {
		case len(left) == len(*clauses):
		case len(left) == 0:
			*gone = append(*gone, id)
		default:
			*clauses = left
			tx.Put(table, all[i])
		}
	}
	return nil
}

// ByID sorts the ids of hits into what is to be forgotten.
func ByID(ids []string) Marked {
	var m Marked
	for _, id := range ids {
		kind, key, _ := strings.Cut(id, ":")
		key, _, _ = strings.Cut(key, "/")
		switch kind {
		case "memory_chunk":
			m.Turns = append(m.Turns, key)
		case "chunk":
			m.Chunks = append(m.Chunks, key)
		case "attribute":
			m.Attributes = append(m.Attributes, key)
		}
	}
	return m
}
