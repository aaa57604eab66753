package ingest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
)

// kept is the share of the importance of a fact that remains after a day, by its category.
var kept = map[string]float64{"context": 0.95, "knowledge": 0.995, "identity": 1}

// leastImportance is where decay ends.
const leastImportance = 0.05

// contextLife is how long a fact of the category context holds that nothing strengthens.
const contextLife = 7 * 24 * time.Hour

// May reports whether a call may change what carries these clauses.
type May func(grant.Clauses) bool

// Everything is the May of the service itself.
func Everything(grant.Clauses) bool { return true }

// Decay lowers the importance of facts by the whole days since it was lowered last; a second call on a day changes
// nothing.
func (s *Service) Decay(ctx context.Context, t *settings.Tenant, now time.Time, may May) (n int, err error) {
	return s.eachOpen(ctx, t, may, func(a *store.Attribute) bool {
		since := a.DecayedAt
		if since.IsZero() {
			since = a.RecordedAt
		}
		days := math.Floor(now.Sub(since).Hours() / 24)
		rate := kept[a.Category]
		if days < 1 || rate == 1 || a.Importance <= leastImportance {
			return false
		}
		a.Importance = max(leastImportance, a.Importance*math.Pow(rate, days))
		a.DecayedAt = since.Add(time.Duration(days) * 24 * time.Hour)
		return true
	})
}

// Expire ends facts of the category context that nothing strengthened for a week.
func (s *Service) Expire(ctx context.Context, t *settings.Tenant, now time.Time, may May) (n int, err error) {
	return s.eachOpen(ctx, t, may, func(a *store.Attribute) bool {
		used := a.RecordedAt
		if a.LastUsed.After(used) {
			used = a.LastUsed
		}
		if a.Category != "context" || now.Sub(used) < contextLife {
			return false
		}
		a.ValidUntil, a.ClosedAt, a.RetiredAt = &now, &now, &now
		return true
	})
}

// eachOpen changes the facts that hold, in one transaction, and counts those that f changed.
func (s *Service) eachOpen(ctx context.Context, t *settings.Tenant, may May, f func(*store.Attribute) bool) (n int,
	err error) {
	err = t.DB.Update(ctx, func(tx *store.Tx) error {
		n = 0
		all, err := store.Rows[store.Attribute](ctx, t.DB, "SELECT * FROM attribute WHERE closed_at = NONE")
		for i := range all {
			if may(all[i].Clauses) && f(&all[i]) {
				tx.Put("attribute", all[i])
				n++
			}
		}
		return err
	})
	return n, err
}

// Prune deletes traces that are older than the Context keeps them, answers to writes that may not be repeated any more,
// and the part of the log that no index needs.
func (s *Service) Prune(ctx context.Context, t *settings.Tenant, now time.Time) error {
	for kind, days := range t.TraceDays {
		if _, err := t.DB.Query(ctx, "DELETE trace WHERE kind = $kind AND created_at < $old RETURN NONE",
			store.Var{Name: "kind", Value: kind},
			store.Var{Name: "old", Value: now.Add(-time.Duration(days) * 24 * time.Hour)}); err != nil {
			return err
		}
	}
	if _, err := t.DB.Query(ctx, "DELETE idempotency WHERE expires < $now RETURN NONE",
		store.Var{Name: "now", Value: now}); err != nil {
		return err
	}
	return t.DB.TrimLog(ctx)
}

// orphanAge is how old an object is that no document names before it is deleted: an upload may be under way.
const orphanAge = 24 * time.Hour

// Orphans deletes objects that no document of their Context names.
func (s *Service) Orphans(ctx context.Context, now time.Time) (n int, err error) {
	named := map[string]map[string]bool{} // by Context
	var gone []string
	err = s.Blob.Each(ctx, "ctx/", func(key string, at time.Time) error {
		part := strings.SplitN(key, "/", 3)
		if len(part) != 3 || now.Sub(at) < orphanAge {
			return nil
		}
		if named[part[1]] == nil {
			keys, err := s.objects(ctx, part[1])
			if err != nil {
				return err
			}
			named[part[1]] = keys
		}
		if !named[part[1]][key] {
			gone = append(gone, key)
		}
		return nil
	})
	for _, key := range gone {
		if bad := s.Blob.Delete(ctx, key); bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		n++
	}
	return n, err
}

// objects are the keys that the documents of a Context name; none when there is no such Context.
func (s *Service) objects(ctx context.Context, contextID string) (map[string]bool, error) {
	out := map[string]bool{}
	c, err := s.Store.Context(ctx, contextID)
	if err != nil || c == nil {
		return out, err
	}
	db, err := s.Store.DB(ctx, c)
	if err != nil {
		return nil, err
	}
	type row struct {
		Key string `db:"storage_key"`
	}
	all, err := store.Rows[row](ctx, db, "SELECT storage_key FROM document")
	for _, r := range all {
		out[r.Key] = true
	}
	return out, err
}

// Consolidated is the result of Consolidate for one key of an entity.
type Consolidated struct {
	Entity string `json:"entityName"`
	Key    string `json:"key"`
	Value  string `json:"value"`
	Kind   string `json:"kind"` // created, updated or superseded
	Proofs int    `json:"proofCount"`
	ID     string `json:"observationId,omitempty"`
}

// Consolidate draws what several sources say of one key of an entity together into an observation: the value that
// holds, those that held before, and what they come from.
func (s *Service) Consolidate(ctx context.Context, t *settings.Tenant, facts, observations int, dry bool, sees,
	may May) ([]Consolidated, error) {
	var out []Consolidated
	err := t.DB.Update(ctx, func(tx *store.Tx) error {
		out = []Consolidated{}
		all, err := store.Rows[store.Attribute](ctx, t.DB, "SELECT * FROM attribute ORDER BY valid_from, id")
		if err != nil {
			return err
		}
		var order []string
		chains := map[string][]store.Attribute{}
		for _, a := range all[:min(len(all), facts)] {
			if !sees(a.Clauses) || !may(a.Clauses) {
				continue
			}
			k := a.Entity + "/" + a.Key + "\x00" + a.Clauses.Key()
			if chains[k] == nil {
				order = append(order, k)
			}
			chains[k] = append(chains[k], a)
		}
		for _, k := range order {
			if len(out) == observations {
				break
			}
			if err := consolidate(ctx, t, tx, chains[k], dry, &out); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func consolidate(ctx context.Context, t *settings.Tenant, tx *store.Tx, chain []store.Attribute, dry bool,
	out *[]Consolidated) error {
	var head *store.Attribute
	o := store.Observation{Clauses: chain[0].Clauses, Entity: chain[0].Entity, Key: chain[0].Key}
	for i := range chain {
		a := &chain[i]
		o.Proofs += 1 + len(a.Proofs)
		o.Derived = append(o.Derived, "attribute:"+a.ID)
		if current(a) {
			head = a
		} else {
			o.History = append(o.History, a.Value)
		}
	}
	if head == nil || o.Proofs < 2 {
		return nil
	}
	o.Value = head.Value
	o.ID = hash([]byte(o.Entity + "\x00" + o.Key + "\x00" + o.Clauses.Key()))[len("blake3:"):][:32]
	old, err := store.Get[store.Observation](ctx, t.DB, "observation", o.ID)
	if err != nil {
		return err
	}
	c := Consolidated{o.Entity, o.Key, o.Value, "created", o.Proofs, o.ID}
	switch {
	case old == nil:
	case old.Value != o.Value:
		c.Kind = "superseded"
	case old.Proofs != o.Proofs:
		c.Kind = "updated"
	default:
		return nil
	}
	*out = append(*out, c)
	if !dry {
		o.UpdatedAt = time.Now().UTC()
		tx.Put("observation", o)
	}
	return nil
}

// Finding is something that Check looked for.
type Finding struct {
	Check  string   `json:"check"`
	Refs   []string `json:"refs"`
	Detail string   `json:"detail"`
}

// Schedule runs what is due by the clock until ctx ends. Each task of a Context is claimed for its period, so that one
// process does it.
func (s *Service) Schedule(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if err := s.Due(ctx, now.UTC()); err != nil && ctx.Err() == nil {
				s.Log.Warn("scheduled work", "error", err)
			}
		}
	}
}

// Due does what is due now.
func (s *Service) Due(ctx context.Context, now time.Time) error {
	all, err := s.Store.Contexts(ctx)
	if err != nil {
		return err
	}
	var bad []error
	hour, day := now.Format("2006-01-02T15"), now.Format("2006-01-02")
	for i := range all {
		bad = append(bad, s.dueOf(ctx, all[i].ID, hour, day, now))
	}
	first, err := s.Store.Claim(ctx, "", "orphans/"+day, now)
	if err == nil && first {
		_, err = s.Orphans(ctx, now)
		err = errors.Join(err, s.Store.Tidy(ctx, now))
	}
	return errors.Join(append(bad, err)...)
}

func (s *Service) dueOf(ctx context.Context, contextID, hour, day string, now time.Time) error {
	var t *settings.Tenant
	for _, task := range []struct {
		name string
		do   func() error
	}{
		{"expire/" + hour, func() error { _, err := s.Expire(ctx, t, now, Everything); return err }},
		{"decay/" + day, func() error { _, err := s.Decay(ctx, t, now, Everything); return err }},
		{"prune/" + day, func() error { return s.Prune(ctx, t, now) }},
	} {
		first, err := s.Store.Claim(ctx, contextID, task.name, now)
		if err != nil {
			return err
		}
		if !first {
			continue
		}
		if t == nil {
			if t, err = s.tenant(ctx, contextID); err != nil {
				return err
			}
		}
		if err := task.do(); err != nil {
			return fmt.Errorf("%s of %s: %w", task.name, contextID, err)
		}
	}
	return nil
}
