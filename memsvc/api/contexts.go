package api

import (
	"net/http"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
)

// contextBody is a Context as the management API shows it.
type contextBody struct {
	ID          string         `json:"id"`
	Namespace   string         `json:"namespace"`
	Database    string         `json:"database"`
	Description string         `json:"description,omitempty"`
	Config      map[string]any `json:"config"`
	Blocked     bool           `json:"enforcement_blocked"`
	State       string         `json:"state"`
	CreatedAt   time.Time      `json:"created_at"`
}

func (s *Server) contextBody(c *store.Context) contextBody {
	return contextBody{ID: c.ID, Namespace: c.Namespace, Database: c.Database, Description: c.Description,
		Config: s.schema.Read(c), Blocked: c.Blocked, State: c.State, CreatedAt: c.CreatedAt}
}

type createContext struct {
	ID          string         `json:"id"`
	Namespace   string         `json:"namespace"`
	Database    string         `json:"database"`
	Description string         `json:"description"`
	Config      map[string]any `json:"config"`
	Blocked     bool           `json:"enforcement_blocked"`
	ExternalID  string         `json:"admin_external_id"`
	DisplayName string         `json:"admin_display_name"`
}

func (s *Server) createContext(c *call) (any, error) {
	var in createContext
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if id := c.param("id"); id != "" {
		in.ID = id
	}
	if len(in.Description) > 4096 || len(in.ExternalID) > 256 || len(in.DisplayName) > 256 {
		return nil, problem.Invalid("description", "A text is too long")
	}
	row := store.Context{ID: in.ID, Namespace: in.Namespace, Database: in.Database, Description: in.Description,
		Blocked: in.Blocked}
	if err := s.schema.Patch(&row, in.Config); err != nil {
		return nil, err
	}
	made, _, err := s.store.CreateContext(c.ctx(), row,
		store.Principal{ExternalID: in.ExternalID, DisplayName: in.DisplayName})
	if err != nil {
		return nil, err
	}
	return s.contextBody(made), s.noteManagement(c, made, "context.create")
}

// noteManagement writes an audit event of the management API into the Context.
func (s *Server) noteManagement(c *call, row *store.Context, kind string) error {
	db, err := s.store.DB(c.ctx(), row)
	if err != nil {
		return err
	}
	c.tenant = &settings.Tenant{DB: db, Settings: s.schema.Effective(row)}
	c.audit(kind, "", row.ID, "ok", 1)
	return nil
}

func (s *Server) listContexts(c *call) (any, error) {
	all, err := s.store.Contexts(c.ctx())
	if err != nil {
		return nil, err
	}
	out := make([]contextBody, len(all))
	for i := range all {
		out[i] = s.contextBody(&all[i])
	}
	return map[string]any{"contexts": out}, nil
}

// managed is the Context of a management call.
func (s *Server) managed(c *call) (*store.Context, error) {
	row, err := s.store.Context(c.ctx(), c.param("id"))
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, problem.NotFound("There is no Context %.63q", c.param("id"))
	}
	db, err := s.store.DB(c.ctx(), row)
	if err != nil {
		return nil, err
	}
	c.tenant = &settings.Tenant{DB: db, Settings: s.schema.Effective(row)}
	return row, nil
}

func (s *Server) getContext(c *call) (any, error) {
	row, err := s.managed(c)
	if err != nil {
		return nil, err
	}
	return s.contextBody(row), nil
}

type patchContext struct {
	Config      map[string]any `json:"config"`
	Blocked     *bool          `json:"enforcement_blocked"`
	Description *string        `json:"description"`
}

func (s *Server) patchContext(c *call) (any, error) {
	var in patchContext
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	row, err := s.store.PatchContext(c.ctx(), c.param("id"), func(row *store.Context) error {
		if in.Blocked != nil {
			row.Blocked = *in.Blocked
		}
		if in.Description != nil {
			row.Description = *in.Description
		}
		return s.schema.Patch(row, in.Config)
	})
	if err != nil {
		return nil, err
	}
	return s.contextBody(row), s.noteManagement(c, row, "context.patch")
}

func (s *Server) deleteContext(c *call) (any, error) {
	id := c.param("id")
	if err := s.store.DeleteContext(c.ctx(), id); err != nil {
		return nil, err
	}
	s.ring.drop(func(k store.Key) bool { return k.Context == id })
	s.retrieve.Forget(id)
	s.features.drop(id)
	return nil, s.blob.DeleteAll(c.ctx(), "ctx/"+id)
}

func (s *Server) listVerbs(*call) (any, error) {
	return map[string]any{"verbs": grant.Verbs}, nil
}

func (s *Server) listProviders(c *call) (any, error) {
	type provider struct {
		Name    string   `json:"name"`
		Via     string   `json:"reachable_via"`
		Models  []string `json:"models"`
		Default bool     `json:"default"`
	}
	out := []provider{}
	def := s.schema.Stage(c.tenant.Settings, "synthesis").Provider
	for _, name := range []string{"alpha", "beta", "gamma"} {
		p := provider{Name: name, Models: s.schema.Selectable(c.tenant.Settings, name), Default: name == def}
		if _, own := c.tenant.Keys[name]; own {
			p.Via = "context"
		} else if s.cfg.Providers[name].Reachable() {
			p.Via = "deployment"
		} else {
			continue
		}
		out = append(out, p)
	}
	return map[string]any{"providers": out}, nil
}

func (s *Server) status(*call) (any, error) {
	return map[string]any{"status": "ok", "version": s.version}, nil
}

func (s *Server) ready(c *call) (any, error) {
	if err := s.store.Ping(c.ctx()); err != nil {
		return nil, problem.Unavailable(err)
	}
	return map[string]any{"status": "ready", "roles": s.cfg.Roles}, nil
}

func (s *Server) writeMetrics(c *call) (any, error) {
	c.done = true
	c.w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	return nil, s.metrics.Write(c.w)
}

func (s *Server) health(c *call) (any, error) {
	if err := s.store.Ping(c.ctx()); err != nil {
		return nil, problem.Unavailable(err)
	}
	return map[string]any{"status": "ok"}, nil
}

// created is the status of most calls that make something.
const created = http.StatusCreated
