package api

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/ingest"
	"github.com/nacredb/nacre/memsvc/place"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/store"
)

// Ways of storing a fact.
const (
	inferFull    = "full"
	inferTriples = "triples"
	inferPreview = "preview"
	inferNone    = "none"
)

type factRequest struct {
	Text     string          `json:"text"`
	Infer    string          `json:"infer"`
	Triples  []ingest.Triple `json:"triples"`
	Scopes   *Scopes         `json:"scopes"`
	Scope    *Scopes         `json:"scope"`
	Session  string          `json:"session_id"`
	Role     string          `json:"role"`
	Speaker  string          `json:"name"`
	Labels   Labels          `json:"labels"`
	Category string          `json:"memory_category"`
	Observed Time            `json:"observed_at"`
	TS       Time            `json:"ts"`
	Location *Place          `json:"location"`
	Metadata map[string]any  `json:"metadata"`
}

type factResponse struct {
	Mode       string             `json:"mode"`
	Session    string             `json:"sessionId,omitempty"`
	Turn       string             `json:"turnId,omitempty"`
	Chunk      string             `json:"chunkId,omitempty"`
	Preview    bool               `json:"preview,omitempty"`
	Extraction *ingest.Extraction `json:"extraction,omitempty"`
	Warnings   []string           `json:"warnings,omitempty"`
}

var roles = map[string]bool{"user": true, "assistant": true, "system": true, "tool": true}

// named are the scopes of a request under either of its two names; nil when it gives none.
func named(a, b *Scopes) grant.Clauses {
	for _, s := range []*Scopes{a, b} {
		if s != nil && s.Clauses != nil {
			return s.Clauses
		}
	}
	return nil
}

// infer is how a fact is stored: by the body, else by the query, else full.
func (c *call) infer(body string) (string, error) {
	mode := body
	if mode == "" {
		mode = c.r.URL.Query().Get("infer")
	}
	switch mode {
	case "":
		return inferFull, nil
	case inferFull, inferTriples, inferPreview, inferNone:
		return mode, nil
	}
	return "", problem.Invalid("infer", "infer: want full, triples, preview or none")
}

// blocked refuses calls to language models where the Context is blocked.
func (c *call) blocked() error {
	if c.tenant.Blocked {
		return problem.Blocked()
	}
	return nil
}

func (s *Server) addFact(c *call) (any, error) {
	var in factRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	mode, err := c.infer(in.Infer)
	if err != nil {
		return nil, err
	}
	if len(in.Triples) > 0 && in.Infer == "" && c.r.URL.Query().Get("infer") == "" {
		mode = inferTriples
	}
	if mode == inferFull || mode == inferPreview {
		if err := c.blocked(); err != nil {
			return nil, err
		}
	}
	if mode != inferTriples || in.Text != "" {
		if err := text("text", in.Text, maxText); err != nil {
			return nil, err
		}
	}
	if mode == inferTriples && len(in.Triples) == 0 {
		return nil, problem.Invalid("triples", "triples: required")
	}
	w, err := in.write()
	if err != nil {
		return nil, err
	}
	if err := s.tellModelUse(c, mode == inferFull || mode == inferPreview); err != nil {
		return nil, err
	}
	out := &factResponse{Mode: mode}
	if mode == inferPreview {
		out.Preview = true
		return s.preview(c, w, out)
	}
	if in.Text != "" {
		a, err := s.ingest.Append(c.ctx(), c.tenant, c.who, *w)
		if err != nil {
			return nil, c.noteDenied(err, grant.Write)
		}
		s.retrieve.Warm(c.tenant)
		out.Session, out.Turn = a.Session, a.Turns[0].ID
		out.Chunk = "memory_chunk:" + out.Turn
		if mode == inferFull {
			s.extract(c, a.Turns, out)
		}
	}
	if mode == inferTriples {
		ext, err := s.ingest.Triples(c.ctx(), c.tenant, c.who, in.Triples, *w, out.Turn)
		if err != nil {
			return nil, c.noteDenied(err, grant.Write)
		}
		out.Extraction = ext
	}
	return out, nil
}

func (in *factRequest) write() (*ingest.TurnWrite, error) {
	if in.Role == "" {
		in.Role = "user"
	}
	if !roles[in.Role] {
		return nil, problem.Invalid("role", "role: want user, assistant, system or tool")
	}
	switch in.Category {
	case "", "identity", "knowledge", "context":
	default:
		return nil, problem.Invalid("memory_category", "memory_category: want identity, knowledge or context")
	}
	if len(in.Triples) > maxBatch {
		return nil, problem.Invalid("triples", "triples: at most %d", maxBatch)
	}
	ts := in.TS.Time
	if ts.IsZero() {
		ts = in.Observed.Time
	}
	return &ingest.TurnWrite{Session: in.Session, Scopes: named(in.Scopes, in.Scope), Labels: in.Labels,
		Observed: in.Observed.Time,
		Metadata: in.Metadata, Category: in.Category, Messages: []ingest.Message{{Role: in.Role, Content: in.Text,
			Speaker: in.Speaker, TS: ts, Location: in.Location.point()}}}, nil
}

// noteDenied writes a refusal down.
func (c *call) noteDenied(err error, verb grant.Verb) error {
	if p := problem.As(err); p != nil && p.Status == http.StatusForbidden {
		c.s.metrics.Add("memsvc_authz_denied_total", 1, "verb", string(verb))
		c.audit("authz.denied", verb, c.r.URL.Path, "denied", 0)
	}
	return err
}

type message struct {
	Role     string `json:"role"`
	Content  string `json:"content"`
	TS       Time   `json:"ts"`
	At       Time   `json:"timestamp"`
	Name     string `json:"name"`
	Location *Place `json:"location"`
}

type batchRequest struct {
	Messages []message      `json:"messages"`
	Extract  string         `json:"extract"`
	Infer    string         `json:"infer"`
	Scopes   *Scopes        `json:"scopes"`
	Scope    *Scopes        `json:"scope"`
	Session  string         `json:"session_id"`
	Labels   Labels         `json:"labels"`
	Observed Time           `json:"observed_at"`
	Location *Place         `json:"location"`
	Metadata map[string]any `json:"metadata"`
}

type batchResponse struct {
	Extractions []*ingest.Extraction `json:"extractions"`
	Session     string               `json:"sessionId"`
	Turns       []string             `json:"turnIds"`
	Warnings    []string             `json:"warnings,omitempty"`
}

func (s *Server) addBatch(c *call) (any, error) {
	var in batchRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	mode, err := c.infer(in.Infer)
	if err != nil {
		return nil, err
	}
	if mode == inferTriples || mode == inferPreview {
		return nil, problem.Invalid("infer", "infer: want full or none for a batch")
	}
	switch in.Extract {
	case "", "whole_conversation", "per_message":
	default:
		return nil, problem.Invalid("extract", "extract: want whole_conversation or per_message")
	}
	if mode == inferFull && c.tenant.Extraction {
		if err := c.blocked(); err != nil {
			return nil, err
		}
	}
	if err := s.tellModelUse(c, mode == inferFull); err != nil {
		return nil, err
	}
	if len(in.Messages) == 0 || len(in.Messages) > maxBatch {
		return nil, problem.Invalid("messages", "messages: want from 1 to %d", maxBatch)
	}
	w := ingest.TurnWrite{Session: in.Session, Scopes: named(in.Scopes, in.Scope), Labels: in.Labels,
		Observed: in.Observed.Time, Metadata: in.Metadata}
	for i, m := range in.Messages {
		if m.Role == "" {
			m.Role = "user"
		}
		if !roles[m.Role] {
			return nil, problem.Invalid(fmt.Sprintf("messages.%d.role", i), "messages.%d.role: want user, assistant, system or tool", i)
		}
		if err := text(fmt.Sprintf("messages.%d.content", i), m.Content, maxText); err != nil {
			return nil, err
		}
		ts := m.TS.Time
		if ts.IsZero() {
			ts = m.At.Time
		}
		where := cmp.Or(m.Location, in.Location).point()
		w.Messages = append(w.Messages, ingest.Message{Role: m.Role, Content: m.Content, Speaker: m.Name, TS: ts,
			Location: where})
	}
	a, err := s.ingest.Append(c.ctx(), c.tenant, c.who, w)
	if err != nil {
		return nil, c.noteDenied(err, grant.Write)
	}
	s.retrieve.Warm(c.tenant)
	out := &batchResponse{Session: a.Session, Extractions: []*ingest.Extraction{}}
	for _, t := range a.Turns {
		out.Turns = append(out.Turns, t.ID)
	}
	if mode == inferFull {
		s.extractBatch(c, a.Turns, in.Extract == "per_message", out)
	}
	return out, nil
}

type sessionRequest struct {
	Scopes   *Scopes        `json:"scopes"`
	Scope    *Scopes        `json:"scope"`
	Metadata map[string]any `json:"metadata"`
}

func (s *Server) createSession(c *call) (any, error) {
	var in sessionRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	ses, err := s.ingest.Session(c.ctx(), c.tenant, c.who, named(in.Scopes, in.Scope), in.Metadata)
	return ses, c.noteDenied(err, grant.Write)
}

func (s *Server) listSessions(c *call) (any, error) {
	limit, offset, err := c.page()
	if err != nil {
		return nil, err
	}
	all, err := store.Rows[store.Session](c.ctx(), c.tenant.DB, "SELECT * FROM session ORDER BY id DESC")
	if err != nil {
		return nil, err
	}
	seen := []store.Session{}
	for _, ses := range all {
		if c.sees(ses.Clauses) {
			seen = append(seen, ses)
		}
	}
	return map[string]any{"sessions": window(seen, limit, offset), "total": len(seen)}, nil
}

// sees reports whether the caller may read a record with these clauses.
func (c *call) sees(clauses grant.Clauses) bool { return c.who.Region.Visible(grant.Read, clauses) }

func window[T any](all []T, limit, offset int) []T {
	all = all[min(offset, len(all)):]
	return all[:min(limit, len(all))]
}

// session is the session that the path names, if the caller may see it.
func (c *call) session() (*store.Session, error) {
	ses, err := store.Get[store.Session](c.ctx(), c.tenant.DB, "session", c.param("sid"))
	if err != nil {
		return nil, err
	}
	if ses == nil || !c.sees(ses.Clauses) {
		return nil, problem.NotFound("There is no such session")
	}
	return ses, nil
}

func (s *Server) getSession(c *call) (any, error) { return c.session() }

func (s *Server) deleteSession(c *call) (any, error) {
	ses, err := c.session()
	if err != nil {
		return nil, err
	}
	purge := c.r.URL.Query().Get("purge") == "true"
	verb := grant.Write
	if purge {
		verb = grant.Forget
	}
	if !c.who.Region.Writable(verb, ses.Clauses) {
		return nil, s.denied(c, verb, "session")
	}
	if purge {
		n, err := s.ingest.PurgeSession(c.ctx(), c.tenant, ses.ID)
		c.audit("session.purge", verb, ses.ID, "ok", n)
		s.retrieve.Forget(c.tenant.Context)
		s.features.drop(c.tenant.Context)
		return nil, err
	}
	now := time.Now().UTC()
	return nil, c.tenant.DB.Update(c.ctx(), func(tx *store.Tx) error {
		if ses, err = c.session(); err != nil {
			return err
		}
		ses.EndedAt = &now
		tx.Put("session", *ses)
		return nil
	})
}

type turnBody struct {
	ID        string       `json:"id"`
	Session   string       `json:"session"`
	Role      string       `json:"role"`
	Speaker   string       `json:"speaker,omitempty"`
	Content   string       `json:"content"`
	Seq       int          `json:"seq"`
	TS        time.Time    `json:"ts"`
	CreatedAt time.Time    `json:"createdAt"`
	Location  *place.Point `json:"location,omitempty"`
}

func turnBodyOf(t store.Turn) turnBody {
	return turnBody{t.ID, t.Session, t.Role, t.Speaker, t.Content, t.Seq, t.TS, t.CreatedAt, t.Location}
}

func (s *Server) listTurns(c *call) (any, error) {
	limit, offset, err := c.page()
	if err != nil {
		return nil, err
	}
	ses, err := c.session()
	if err != nil {
		return nil, err
	}
	all, err := store.Rows[store.Turn](c.ctx(), c.tenant.DB, "SELECT * FROM $span WHERE valid_until = NONE",
		store.Var{Name: "span", Value: store.Span("turn", ses.ID+"-", ses.ID+".")})
	if err != nil {
		return nil, err
	}
	out := []turnBody{}
	for _, t := range all {
		if c.sees(t.Clauses) {
			out = append(out, turnBodyOf(t))
		}
	}
	return map[string]any{"turns": window(out, limit, offset)}, nil
}

type turnRequest struct {
	Role     string         `json:"role"`
	Content  string         `json:"content"`
	Name     string         `json:"name"`
	TS       Time           `json:"ts"`
	Location *Place         `json:"location"`
	Metadata map[string]any `json:"metadata"`
}

// addTurn is the older way to store one turn of a session.
func (s *Server) addTurn(c *call) (any, error) {
	var in turnRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := text("content", in.Content, maxText); err != nil {
		return nil, err
	}
	if err := c.blocked(); err != nil {
		return nil, err
	}
	f := factRequest{Text: in.Content, Role: in.Role, Speaker: in.Name, TS: in.TS, Session: c.param("sid"),
		Location: in.Location,
		Metadata: in.Metadata}
	w, err := f.write()
	if err != nil {
		return nil, err
	}
	a, err := s.ingest.Append(c.ctx(), c.tenant, c.who, *w)
	if err != nil {
		return nil, c.noteDenied(err, grant.Write)
	}
	out := &factResponse{Mode: inferFull, Session: a.Session, Turn: a.Turns[0].ID, Chunk: "memory_chunk:" +
		a.Turns[0].ID}
	s.extract(c, a.Turns, out)
	return out, nil
}

type scopeRequest struct {
	Path        string `json:"path"`
	DisplayName string `json:"display_name"`
	Description string `json:"description"`
}

func (s *Server) createScope(c *call) (any, error) {
	var in scopeRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	path, err := grant.Path(in.Path)
	if err != nil || path == grant.Root || len(in.DisplayName) > 256 || len(in.Description) > 4096 {
		return nil, problem.Invalid("path", "path: want a scope such as org/acme")
	}
	if !c.who.Region.May(grant.ScopeCreate, path) {
		return nil, s.denied(c, grant.ScopeCreate, path)
	}
	sc, err := s.ingest.RegisterScope(c.ctx(), c.tenant,
		store.Scope{Path: path, DisplayName: in.DisplayName, Description: in.Description})
	if err == nil {
		c.audit("scope.create", grant.ScopeCreate, path, "ok", 1)
	}
	return sc, err
}

func (s *Server) listScopes(c *call) (any, error) {
	all, err := store.Rows[store.Scope](c.ctx(), c.tenant.DB, "SELECT * FROM scope WHERE tombstoned_at = NONE ORDER BY id")
	if err != nil {
		return nil, err
	}
	out := []store.Scope{}
	for _, sc := range all {
		if c.who.Region.May(grant.ScopeRead, sc.Path) {
			out = append(out, sc)
		}
	}
	limit, offset, err := c.page()
	return map[string]any{"scopes": window(out, limit, offset), "total": len(out)}, err
}

func (s *Server) deleteScope(c *call) (any, error) {
	path, err := grant.Path(c.r.URL.Query().Get("path"))
	if err != nil {
		return nil, problem.Invalid("path", "path: want a scope such as org/acme")
	}
	if !c.who.Region.May(grant.ScopeDelete, path) {
		return nil, s.denied(c, grant.ScopeDelete, path)
	}
	err = s.ingest.TombstoneScope(c.ctx(), c.tenant, path)
	if err == nil {
		c.audit("scope.delete", grant.ScopeDelete, path, "ok", 1)
	}
	return nil, err
}

func (s *Server) locked(*call) (any, error) {
	return nil, problem.Of(http.StatusNotImplemented, "locked", "Grants are given to principals, not to scopes")
}

func (s *Server) memoryRoutes() []route {
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	return of([]route{
		{method: post, path: "/facts", verb: grant.Write, summary: "Store a text or triples as memory",
			handle: s.addFact, in: factRequest{}, out: factResponse{}},
		{method: post, path: "/facts/batch", verb: grant.Write, summary: "Store messages of a conversation",
			handle: s.addBatch, in: batchRequest{}, out: batchResponse{}},
		{method: post, path: "/sessions", verb: grant.Write, summary: "Begin a session", handle: s.createSession,
			in: sessionRequest{}, out: store.Session{}, status: created},
		{method: get, path: "/sessions", verb: grant.Read, summary: "List sessions, the newest first",
			handle: s.listSessions},
		{method: get, path: "/sessions/{sid}", verb: grant.Read, summary: "A session", handle: s.getSession,
			out: store.Session{}},
		{method: del, path: "/sessions/{sid}", verb: grant.Read, summary: "End a session; purge=true removes its turns",
			handle: s.deleteSession, status: http.StatusNoContent},
		{method: get, path: "/sessions/{sid}/turns", verb: grant.Read,
			summary: "List the turns of a session, the oldest first", handle: s.listTurns},
		{method: post, path: "/sessions/{sid}/turns", verb: grant.Write, summary: "Store a turn of a session",
			handle: s.addTurn, in: turnRequest{}, out: factResponse{}},
		{method: post, path: "/sessions/{sid}/context", verb: grant.Read,
			summary: "Context for a question within a session", handle: s.sessionContext, in: contextRequest{},
			out: contextResponse{}},
		{method: get, path: "/sessions/{sid}/context", verb: grant.Read,
			summary: "Context for a question within a session", handle: s.sessionContext, out: contextResponse{}},
		{method: get, path: "/scopes", verb: grant.ScopeRead, summary: "List scopes", handle: s.listScopes},
		{method: post, path: "/scopes", verb: grant.ScopeCreate, summary: "Register a scope and those above it",
			handle: s.createScope, in: scopeRequest{}, out: store.Scope{}, status: created},
		{method: del, path: "/scopes", verb: grant.ScopeDelete, summary: "Retire a scope", handle: s.deleteScope,
			status: http.StatusNoContent},
		{method: post, path: "/scope-grants", summary: "Not supported", handle: s.locked},
		{method: post, path: "/query", verb: grant.Read, summary: "Search memories", handle: s.query,
			in: queryRequest{}, out: queryResponse{}},
		{method: post, path: "/context", verb: grant.Read, summary: "Memories for a prompt, within a budget of tokens",
			handle: s.context, in: contextRequest{}, out: contextResponse{}},
		{method: get, path: "/traces", verb: grant.Read, summary: "List traces, the newest first",
			handle: s.listTraces},
		{method: get, path: "/traces/stats", verb: grant.Read, summary: "Counts over traces", handle: s.traceStats},
		{method: get, path: "/traces/{tid}", verb: grant.Read, summary: "A trace", handle: s.getTrace},
		{method: get, path: "/audit", verb: grant.Read, summary: "List audit events, the newest first",
			handle: s.listAudit},
	})
}
