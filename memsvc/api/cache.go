package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/retrieve"
	"github.com/nacredb/nacre/memsvc/store"
	words "github.com/nacredb/nacre/memsvc/text"
)

// Limits of the cache of answers.
const (
	maxAnswers = 5000 // of a Context
	maxLooked  = 500  // the newest ones of a key that a question is compared with
)

// cacheRow is an answer that may be given again.
type cacheRow struct {
	ID        string    `db:"id"`
	Key       string    `db:"key"`
	Question  string    `db:"question"`
	Text      string    `db:"text"`
	Citations []byte    `db:"citations"` // JSON
	Trace     string    `db:"trace"`
	CreatedAt time.Time `db:"created_at"`
}

// key identifies the question of an answer: the kind, the region of the caller, what narrows the search, the model.
func (y *synthesis) key() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{y.kind, y.c.who.Region.Key(), y.lens.Key(),
		strings.Join(y.labels, "\x01"), y.chosen.Provider, y.chosen.Model}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// cached is an answer to a similar question that is fresh and whose sources all hold still, or nil.
func (y *synthesis) cached(s *Server) (*answered, error) {
	c := y.c
	since := time.Now().Add(-time.Duration(c.tenant.CacheFreshness) * time.Second).UTC()
	rows, err := store.Rows[cacheRow](c.ctx(), c.tenant.DB,
		"SELECT * FROM response_cache WHERE key = $key AND created_at >= $since ORDER BY created_at DESC LIMIT $n",
		store.Var{Name: "key", Value: y.key()}, store.Var{Name: "since", Value: since},
		store.Var{Name: "n", Value: maxLooked})
	if err != nil {
		return nil, err
	}
	asked := words.Embed(y.question)
	type near struct {
		row *cacheRow
		sim float64
	}
	var list []near
	for i := range rows {
		if sim := words.Cosine(asked, words.Embed(rows[i].Question)); sim >= c.tenant.CacheSimilarity-1e-6 {
			list = append(list, near{&rows[i], sim})
		}
	}
	slices.SortStableFunc(list, func(a, b near) int {
		switch {
		case a.sim > b.sim:
			return -1
		case a.sim < b.sim:
			return 1
		}
		return 0
	})
	for _, n := range list {
		var cs []citation
		if err := json.Unmarshal(n.row.Citations, &cs); err != nil {
			return nil, err
		}
		ok, err := y.current(cs, n.row.CreatedAt)
		if err != nil {
			return nil, err
		}
		if ok {
			return &answered{text: n.row.Text, citations: cs, trace: n.row.Trace, tier: retrieve.TierCache,
				cached: true}, nil
		}
		if _, err := c.tenant.DB.Query(c.ctx(), "DELETE $id RETURN NONE",
			store.Var{Name: "id", Value: store.ID("response_cache", n.row.ID)}); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// current reports whether every source that an answer cites is there, seen by the caller, and not superseded, and that
// nothing contradicted it since.
func (y *synthesis) current(cs []citation, since time.Time) (bool, error) {
	c := y.c
	var turns, chunks, attributes, refs []string
	for _, ci := range cs {
		kind, key, _ := strings.Cut(ci.ID, ":")
		key, _, _ = strings.Cut(key, "/")
		refs = append(refs, kind+":"+key, ci.Ref)
		switch kind {
		case "memory_chunk":
			turns = append(turns, key)
		case "chunk":
			chunks = append(chunks, key)
		case "attribute":
			attributes = append(attributes, key)
		}
	}
	now, seen := time.Now(), 0
	ts, err := store.Lookup[store.Turn](c.ctx(), c.tenant.DB, "turn", unique(turns)...)
	if err != nil {
		return false, err
	}
	for _, t := range ts {
		if t.ValidUntil == nil && c.sees(t.Clauses) {
			seen++
		}
	}
	ks, err := store.Lookup[store.Chunk](c.ctx(), c.tenant.DB, "chunk", unique(chunks)...)
	if err != nil {
		return false, err
	}
	for _, k := range ks {
		if c.sees(k.Clauses) {
			seen++
		}
	}
	as, err := store.Lookup[store.Attribute](c.ctx(), c.tenant.DB, "attribute", unique(attributes)...)
	if err != nil {
		return false, err
	}
	for _, a := range as {
		if a.SupersededBy == "" && a.ClosedAt == nil && (a.ValidUntil == nil || a.ValidUntil.After(now)) &&
			c.sees(a.Clauses) {
			seen++
		}
	}
	if seen != len(unique(turns))+len(unique(chunks))+len(unique(attributes)) {
		return false, nil
	}
	// A fact that a cited turn stated may have been superseded, and a contradiction may have come up.
	v, err := c.tenant.DB.Query(c.ctx(), "RETURN count(SELECT id FROM uncertainty WHERE resolved = false AND created_at > $since AND rows CONTAINSANY $refs) + "+
		"count(SELECT id FROM attribute WHERE source.ref IN $refs AND superseded_by != '' AND superseded_by != NONE)",
		store.Var{Name: "refs", Value: unique(refs)}, store.Var{Name: "since", Value: since})
	if err != nil {
		return false, err
	}
	return v.Int() == 0, nil
}

func unique(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	if out = slices.Compact(out); out == nil {
		return []string{}
	}
	return out
}

// keep stores an answer; the oldest ones go when there are too many.
func (y *synthesis) keep(s *Server, a *answered) error {
	cs, err := json.Marshal(a.citations)
	if err != nil {
		return err
	}
	db := y.c.tenant.DB
	row := cacheRow{ID: store.NewID(), Key: y.key(), Question: y.question, Text: a.text, Citations: cs,
		Trace: a.trace, CreatedAt: time.Now().UTC()}
	if err := db.Append(y.c.ctx(), "response_cache", row); err != nil {
		return err
	}
	// A source may have been forgotten while the model answered: then nothing of it may stay here.
	if ok, err := y.current(a.citations, row.CreatedAt); err != nil || !ok {
		_, gone := db.Query(context.WithoutCancel(y.c.ctx()), "DELETE $id RETURN NONE",
			store.Var{Name: "id", Value: store.ID("response_cache", row.ID)})
		return errors.Join(err, gone)
	}
	_, err = db.Query(y.c.ctx(), "IF count(SELECT VALUE id FROM response_cache) > $n "+
		"{ DELETE (SELECT VALUE id FROM response_cache ORDER BY id DESC START $n) RETURN NONE }",
		store.Var{Name: "n", Value: maxAnswers})
	return err
}
