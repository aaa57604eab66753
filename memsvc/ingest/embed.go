package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/nacredb/nacre/memsvc/model"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
	"github.com/nacredb/nacre/memsvc/text"
)

// Where the deployment has an embedding model of a provider, each turn and passage has a row of its vector. A turn is
// stored before it is embedded: a provider that is down costs no turn, a job embeds what has no vector later.

// JobReindex is the kind of the job that embeds everything that has no vector of the current model.
const JobReindex = "reindex"

const (
	embedStep = 64      // texts of one call
	embedMost = 8 << 10 // bytes of a text that are embedded
)

// embedded is a text to be embedded: the id of its unit, table/key.
type embedded struct{ id, text string }

// vectors embeds texts.
func (s *Service) vectors(ctx context.Context, t *settings.Tenant, list []embedded) ([]store.Vector, error) {
	var out []store.Vector
	for len(list) > 0 {
		n := min(len(list), embedStep)
		texts := make([]string, n)
		for i := range texts {
			texts[i] = text.Clip(list[i].text, embedMost)
		}
		vs, err := s.Models.Embed(ctx, t, texts, false)
		if err != nil {
			return nil, err
		}
		for i, v := range vs {
			out = append(out, store.Vector{ID: list[i].id, Model: s.Schema.Server.Embedding, Data: packed(v)})
		}
		list = list[n:]
	}
	return out, nil
}

func packed(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// embedTurns gives turns that are stored their vectors. When that fails a job does it later.
func (s *Service) embedTurns(ctx context.Context, t *settings.Tenant, turns []store.Turn) {
	if !s.Models.Embeds() {
		return
	}
	list := make([]embedded, len(turns))
	for i, r := range turns {
		list[i] = embedded{"turn/" + r.ID, r.Content}
	}
	vs, err := s.vectors(ctx, t, list)
	if err == nil {
		err = s.putVectors(ctx, t, vs)
	}
	if err == nil {
		return
	}
	s.Log.Warn("embed turns", "context", t.Context, "error", err)
	if _, err := s.QueueReindex(context.WithoutCancel(ctx), t.Context); err != nil {
		s.Log.Warn("queue the embedding of turns", "context", t.Context, "error", err)
	}
}

// putVectors writes vectors of rows that are still there.
func (s *Service) putVectors(ctx context.Context, t *settings.Tenant, vs []store.Vector) error {
	return t.DB.Update(ctx, func(tx *store.Tx) error {
		keys := map[string][]string{}
		for _, v := range vs {
			table, key, _ := cutID(v.ID)
			keys[table] = append(keys[table], key)
		}
		type row struct {
			ID string `db:"id"`
		}
		there := map[string]bool{}
		for table, list := range keys {
			rows, err := store.Lookup[row](ctx, t.DB, table, list...)
			if err != nil {
				return err
			}
			for _, r := range rows {
				there[table+"/"+r.ID] = true
			}
		}
		for _, v := range vs {
			if there[v.ID] {
				tx.Put("vector", v)
			}
		}
		return nil
	})
}

func cutID(id string) (table, key string, ok bool) {
	for i := range id {
		if id[i] == '/' {
			return id[:i], id[i+1:], true
		}
	}
	return id, "", false
}

// QueueReindex queues the job that embeds what has no vector, unless it waits already.
func (s *Service) QueueReindex(ctx context.Context, contextID string) (string, error) {
	waiting, err := s.Store.Jobs(ctx, contextID, store.JobQueued)
	if err != nil {
		return "", err
	}
	for _, j := range waiting {
		if j.Kind == JobReindex {
			return j.ID, nil
		}
	}
	now := time.Now().UTC()
	j := store.Job{ID: store.NewID(), Context: contextID, Kind: JobReindex, Target: contextID, State: store.JobQueued,
		CreatedAt: now, RunAfter: now}
	defer s.Wake()
	return j.ID, s.Store.AddJob(ctx, j)
}

// reindex embeds every turn and passage that has no vector of the current model, step by step, then deletes the vectors
// of other models: until then searches go on with those that they know.
func (s *Service) reindex(ctx context.Context, t *settings.Tenant, stage func(string)) error {
	if s.Models.Embeds() {
		for _, table := range []string{"turn", "chunk"} {
			stage("embedding " + table)
			if err := s.embedTable(ctx, t, table); err != nil {
				var failed *model.Error
				if errors.As(err, &failed) && !failed.Temporary {
					return Permanent{err}
				}
				return err
			}
		}
	}
	stage("dropping old vectors")
	_, err := t.DB.Query(ctx, "DELETE vector WHERE model != $model RETURN NONE",
		store.Var{Name: "model", Value: s.Schema.Server.Embedding})
	return err
}

func (s *Service) embedTable(ctx context.Context, t *settings.Tenant, table string) error {
	type row struct {
		ID      string `db:"id"`
		Content string `db:"content"`
		Text    string `db:"text"`
		Title   string `db:"title"`
	}
	for low := ""; ; {
		rows, err := store.Rows[row](ctx, t.DB, "SELECT id, content, text, title FROM $span LIMIT 512",
			store.Var{Name: "span", Value: store.From(table, low)})
		if err != nil || len(rows) == 0 {
			return err
		}
		var ids []string
		for _, r := range rows {
			ids = append(ids, table+"/"+r.ID)
		}
		have, err := store.Lookup[store.Vector](ctx, t.DB, "vector", ids...)
		if err != nil {
			return err
		}
		done := map[string]bool{}
		for _, v := range have {
			done[v.ID] = v.Model == s.Schema.Server.Embedding
		}
		var list []embedded
		for _, r := range rows {
			if id := table + "/" + r.ID; !done[id] {
				list = append(list, embedded{id, r.Content + r.Title + "\n" + r.Text})
			}
		}
		vs, err := s.vectors(ctx, t, list)
		if err == nil {
			err = s.putVectors(ctx, t, vs)
		}
		if err != nil {
			return err
		}
		low = rows[len(rows)-1].ID + "\x00"
	}
}
