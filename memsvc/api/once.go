package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/store"
)

const (
	replayFor = 24 * time.Hour
	// inFlight is how long a write that has not ended blocks its key: a process that was killed leaves one behind.
	inFlight  = 10 * time.Minute
	maxReplay = 16 << 20 // bytes of an answer that is kept
)

// once runs a write under its idempotency key: the first request runs, the same one again is answered from what was
// stored, another one under the same key is a conflict. A failed request frees the key.
func (s *Server) once(c *call, rt route, key string) {
	row, replay, err := c.claim(key)
	if err != nil {
		s.problem(c.w, c.r, err)
		return
	}
	if replay {
		c.w.Header().Set("Idempotent-Replayed", "true")
		c.w.Header().Set("Content-Type", "application/json")
		if bytes.HasPrefix(row.Body, []byte("data: ")) {
			c.w.Header().Set("Content-Type", "text/event-stream")
		}
		c.w.WriteHeader(row.Status)
		_, _ = c.w.Write(row.Body) // the client may be gone
		return
	}
	rec := &capture{ResponseWriter: c.w}
	c.w = rec
	finished := false
	defer func() {
		// A handler that panicked did not finish: the key is free again.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx()), 10*time.Second)
		defer cancel()
		if err := c.settle(ctx, row, rec, finished); err != nil {
			s.log.Warn("settle an idempotency key", "error", err)
		}
	}()
	out, err := rt.handle(c)
	s.answer(c, out, err)
	finished = true
}

// claim takes the key, or gives the row of the request that has it.
func (c *call) claim(key string) (row *store.Idempotency, replay bool, err error) {
	if len(key) > 255 {
		return nil, false, problem.Invalid("Idempotency-Key", "Idempotency-Key: at most 255 characters")
	}
	limit := int64(maxBody)
	if bytes.HasPrefix([]byte(c.r.Header.Get("Content-Type")), []byte("multipart/")) {
		limit = c.s.cfg.MaxUpload + 1<<20
	}
	b, err := c.body(limit)
	if err != nil {
		return nil, false, err
	}
	name := sha256.Sum256([]byte(c.who.Principal + "\x00" + c.who.OnBehalfOf + "\x00" + key))
	body := sha256.Sum256(append([]byte(c.r.Method+" "+c.r.URL.RequestURI()+"\x00"), b...))
	row = &store.Idempotency{ID: hex.EncodeToString(name[:]), RequestHash: hex.EncodeToString(body[:]),
		Expires: time.Now().Add(inFlight).UTC()}
	for range 3 {
		err = c.tenant.DB.Append(c.ctx(), "idempotency", row)
		if err == nil || !problem.Is(err, "conflict") {
			return row, false, err
		}
		old, err := store.Get[store.Idempotency](c.ctx(), c.tenant.DB, "idempotency", row.ID)
		switch {
		case err != nil:
			return nil, false, err
		case old == nil:
			continue
		case time.Now().After(old.Expires):
			if err := c.free(c.ctx(), old); err != nil {
				return nil, false, err
			}
		case old.RequestHash != row.RequestHash:
			return nil, false, problem.Of(http.StatusConflict, "idempotency-conflict",
				"This Idempotency-Key was used for another request")
		case !old.Done:
			return nil, false, problem.Of(http.StatusConflict, "idempotency-conflict",
				"The request with this Idempotency-Key is still running")
		default:
			return old, true, nil
		}
	}
	return nil, false, problem.Of(http.StatusConflict, "idempotency-conflict", "This Idempotency-Key is in use")
}

// free removes a row if it is still the one that was read.
func (c *call) free(ctx context.Context, row *store.Idempotency) error {
	_, err := c.tenant.DB.Query(ctx, "DELETE $id WHERE expires = $expires RETURN NONE",
		store.Var{Name: "id", Value: store.ID("idempotency", row.ID)}, store.Var{Name: "expires", Value: row.Expires})
	return err
}

func (c *call) settle(ctx context.Context, row *store.Idempotency, rec *capture, finished bool) error {
	silent := rec.status == 0 && rec.body.Len() == 0 // the client went before there was an answer
	if !finished || c.failed || silent || rec.status >= 400 || rec.large {
		return c.free(ctx, row)
	}
	_, err := c.tenant.DB.Query(ctx, "UPDATE $id SET done = true, status = $status, body = $body, expires = $expires RETURN NONE",
		store.Var{Name: "id", Value: store.ID("idempotency", row.ID)}, store.Var{Name: "status",
			Value: max(rec.status, 200)},
		store.Var{Name: "body", Value: rec.body.Bytes()}, store.Var{Name: "expires",
			Value: time.Now().Add(replayFor).UTC()})
	return err
}

// capture keeps a copy of an answer.
type capture struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
	large  bool
}

func (w *capture) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *capture) Write(b []byte) (int, error) {
	if w.body.Len()+len(b) > maxReplay {
		w.large = true
	} else {
		w.body.Write(b)
	}
	return w.ResponseWriter.Write(b)
}

func (w *capture) Unwrap() http.ResponseWriter { return w.ResponseWriter }
