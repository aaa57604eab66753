package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
)

var kinds = map[string]bool{"human": true, "agent": true, "service": true, "supervisor": true, "unknown": true}

type principalRequest struct {
	DisplayName string       `json:"display_name"`
	Kind        string       `json:"kind"`
	ExternalID  string       `json:"external_id"`
	Grants      grant.Grants `json:"grants"`
}

func (in *principalRequest) check() error {
	if in.Kind == "" {
		in.Kind = "unknown"
	}
	if !kinds[in.Kind] {
		return problem.Invalid("kind", "kind: want human, agent, service, supervisor or unknown")
	}
	if len(in.DisplayName) > 256 || len(in.ExternalID) > 256 {
		return problem.Invalid("display_name", "display_name, external_id: at most 256 bytes")
	}
	if err := in.Grants.Check(); err != nil {
		return problem.Invalid("grants", "grants: %v", err)
	}
	return nil
}

// ensurePrincipal makes a principal, or gives the one with this external id.
func (s *Server) ensurePrincipal(ctx context.Context, db *store.DB, in principalRequest) (*store.Principal, bool,
	error) {
	var out *store.Principal
	made := false
	err := db.Update(ctx, func(tx *store.Tx) error {
		made = false
		if in.ExternalID != "" {
			p, err := store.One[store.Principal](ctx, db, "SELECT * FROM principal WHERE external_id = $e",
				store.Var{Name: "e", Value: in.ExternalID})
			if err != nil || p != nil {
				out = p
				return err
			}
		}
		if in.DisplayName == "" {
			in.DisplayName = in.ExternalID
		}
		if in.DisplayName == "" {
			return problem.Invalid("display_name", "display_name: required")
		}
		same, err := store.One[store.Principal](ctx, db, "SELECT * FROM principal WHERE display_name = $n",
			store.Var{Name: "n", Value: in.DisplayName})
		if err != nil {
			return err
		}
		if same != nil {
			return problem.Conflict("There is a principal named %.80q already", in.DisplayName)
		}
		out = &store.Principal{ID: store.NewID(), DisplayName: in.DisplayName, Kind: in.Kind, ExternalID: in.ExternalID,
			Grants: in.Grants, CreatedAt: time.Now().UTC()}
		made = true
		tx.Insert("principal", *out)
		tx.Insert("grant_history", store.GrantHistory{ID: store.NewID(), Principal: out.ID, Grants: out.Grants,
			From: out.CreatedAt})
		return nil
	})
	return out, made, err
}

func (s *Server) createPrincipal(c *call) (any, error) {
	var in principalRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	if _, err := s.managed(c); err != nil {
		return nil, err
	}
	p, made, err := s.ensurePrincipal(c.ctx(), c.tenant.DB, in)
	if err != nil {
		return nil, err
	}
	if !made {
		c.status = http.StatusOK
	}
	c.audit("principal.create", "", p.ID, "ok", 1)
	return p, nil
}

func (s *Server) principals(c *call) (any, error) {
	if c.who == nil {
		if _, err := s.managed(c); err != nil {
			return nil, err
		}
	}
	all, err := store.Rows[store.Principal](c.ctx(), c.tenant.DB, "SELECT * FROM principal ORDER BY created_at, id")
	if all == nil {
		all = []store.Principal{}
	}
	return map[string]any{"principals": all}, err
}

// principal is the principal that the path names.
func (c *call) principal() (*store.Principal, error) {
	if c.who == nil {
		if _, err := c.s.managed(c); err != nil {
			return nil, err
		}
	}
	p, err := store.Get[store.Principal](c.ctx(), c.tenant.DB, "principal", c.param("pid"))
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, problem.NotFound("There is no such principal")
	}
	return p, nil
}

func (s *Server) getPrincipal(c *call) (any, error) { return c.principal() }

// changePrincipal rewrites a principal; system never changes.
func (s *Server) changePrincipal(c *call, kind string, change func(*store.Principal) error) (*store.Principal, error) {
	p, err := c.principal()
	if err != nil {
		return nil, err
	}
	if p.ID == "system" {
		return nil, problem.Forbidden("The principal system cannot be changed")
	}
	err = c.tenant.DB.Update(c.ctx(), func(tx *store.Tx) error {
		if p, err = store.Get[store.Principal](c.ctx(), c.tenant.DB, "principal", p.ID); err != nil {
			return err
		}
		if p == nil {
			return problem.NotFound("There is no such principal")
		}
		if err := change(p); err != nil {
			return err
		}
		tx.Put("principal", *p)
		tx.Insert("grant_history", store.GrantHistory{ID: store.NewID(), Principal: p.ID, Grants: p.Grants,
			From: time.Now().UTC()})
		return nil
	})
	if err == nil {
		c.audit(kind, grant.Manage, p.ID, "ok", 1)
	}
	return p, err
}

func (s *Server) patchPrincipal(c *call) (any, error) {
	var in struct {
		DisplayName *string       `json:"display_name"`
		Kind        *string       `json:"kind"`
		Grants      *grant.Grants `json:"grants"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	return s.changePrincipal(c, "principal.update", func(p *store.Principal) error {
		if in.DisplayName != nil {
			p.DisplayName = *in.DisplayName
		}
		if in.Kind != nil {
			p.Kind = *in.Kind
		}
		if in.Grants != nil {
			p.Grants = *in.Grants
		}
		return (&principalRequest{DisplayName: p.DisplayName, Kind: p.Kind, Grants: p.Grants}).check()
	})
}

func (s *Server) deletePrincipal(c *call) (any, error) {
	p, err := c.principal()
	if err != nil {
		return nil, err
	}
	if p.ID == "system" || p.ID == "admin" {
		return nil, problem.Forbidden("The principal %s cannot be deleted", p.ID)
	}
	keys, err := s.store.Keys(c.ctx(), c.tenant.Context, p.ID)
	if err != nil {
		return nil, err
	}
	if err := s.store.DeleteKeys(c.ctx(), keys...); err != nil {
		return nil, err
	}
	s.ring.drop(func(k store.Key) bool { return k.Context == c.tenant.Context && k.Principal == p.ID })
	err = c.tenant.DB.Update(c.ctx(), func(tx *store.Tx) error { tx.Delete("principal", p.ID); return nil })
	c.audit("principal.delete", grant.Manage, p.ID, "ok", 1)
	return nil, err
}

type grantRequest struct {
	Path   grant.PatternText `json:"path"`
	Verbs  []string          `json:"verbs"`
	Grants grant.Grants      `json:"grants"`
}

// grants reads what a call gives or takes: a grants map, or a path with verbs.
func (c *call) grants() (grant.Grants, error) {
	var in grantRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	g := grant.Grants{}
	for v, ps := range in.Grants {
		g[v] = append(g[v], ps...)
	}
	for _, v := range in.Verbs {
		g[v] = append(g[v], string(in.Path))
	}
	if err := g.Check(); err != nil {
		return nil, problem.Invalid("verbs", "grants: %v", err)
	}
	if len(g) == 0 {
		return nil, problem.Invalid("verbs", "verbs: required")
	}
	return g, nil
}

// mayConvey refuses to give on what the caller does not hold.
func (c *call) mayConvey(g grant.Grants) error {
	if c.who == nil {
		return nil
	}
	held := c.who.Region.Grants()
	if !g.Within(held) {
		return c.s.denied(c, grant.Manage, "grants")
	}
	for _, ps := range g {
		if !(grant.Grants{string(grant.Manage): ps}).Within(held) {
			return c.s.denied(c, grant.Manage, "grants")
		}
	}
	return nil
}

func (s *Server) addGrants(c *call) (any, error) {
	g, err := c.grants()
	if err != nil {
		return nil, err
	}
	if err := c.mayConvey(g); err != nil {
		return nil, err
	}
	return s.changePrincipal(c, "grant.add", func(p *store.Principal) error {
		if p.Grants == nil {
			p.Grants = grant.Grants{}
		}
		for v, ps := range g {
			p.Grants[v] = union(p.Grants[v], ps)
		}
		return (&principalRequest{Grants: p.Grants}).check()
	})
}

func (s *Server) removeGrants(c *call) (any, error) {
	g, err := c.grants()
	if err != nil {
		return nil, err
	}
	if err := c.mayConvey(g); err != nil {
		return nil, err
	}
	return s.changePrincipal(c, "grant.remove", func(p *store.Principal) error {
		for v, ps := range g {
			if left := without(p.Grants[v], ps); len(left) > 0 {
				p.Grants[v] = left
			} else {
				delete(p.Grants, v)
			}
		}
		return nil
	})
}

func union(a, b []string) []string {
	out := append([]string(nil), a...)
	for _, s := range b {
		if len(without([]string{s}, out)) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func without(a, b []string) []string {
	var out []string
	for _, s := range a {
		gone := false
		for _, t := range b {
			gone = gone || s == t
		}
		if !gone {
			out = append(out, s)
		}
	}
	return out
}

// effective returns the rights of a principal, now or at a time.
func (s *Server) effective(c *call) (any, error) {
	p, err := c.principal()
	if err != nil {
		return nil, err
	}
	if c.who.Principal != p.ID && !c.who.Region.Any(grant.Manage) {
		return nil, s.denied(c, grant.Manage, "principals")
	}
	g := p.Grants
	if text := c.r.URL.Query().Get("asOf"); text != "" {
		var at Time
		if err := at.UnmarshalJSON([]byte(`"` + strings.ReplaceAll(text, `"`, "") + `"`)); err != nil {
			return nil, problem.Invalid("asOf", "asOf: want a time")
		}
		h, err := store.One[store.GrantHistory](c.ctx(), c.tenant.DB, "SELECT * FROM grant_history WHERE principal = $p AND from <= $t ORDER BY from DESC, id DESC LIMIT 1",
			store.Var{Name: "p", Value: p.ID}, store.Var{Name: "t", Value: at.Time})
		if err != nil {
			return nil, err
		}
		g = nil
		if h != nil {
			g = h.Grants
		}
	}
	out := map[string]any{"principalId": p.ID, "grants": g}
	if path := c.r.URL.Query().Get("path"); path != "" {
		path, err := grant.Path(path)
		if err != nil {
			return nil, problem.Invalid("path", "path: %v", err)
		}
		verbs := []grant.Verb{}
		r := grant.Intersect(g)
		for _, v := range grant.Verbs {
			if r.May(v, path) {
				verbs = append(verbs, v)
			}
		}
		out["path"], out["verbs"] = path, verbs
	}
	return out, nil
}

func (s *Server) me(c *call) (any, error) {
	p, err := store.Get[store.Principal](c.ctx(), c.tenant.DB, "principal", c.who.Principal)
	if err != nil || p == nil {
		return nil, err
	}
	out := map[string]any{"principalId": p.ID, "displayName": p.DisplayName, "kind": p.Kind, "grants": p.Grants,
		"effectiveGrants": c.who.Region.Grants(), "contextId": c.who.Context}
	if c.who.OnBehalfOf != "" {
		out["delegatedPrincipalId"] = c.who.OnBehalfOf
	}
	k, err := s.store.Key(c.ctx(), c.who.Key)
	if err == nil && k != nil && k.Grants != nil {
		out["tokenGrants"] = k.Grants
	}
	return out, err
}

// keyBody is a key without its secret.
type keyBody struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"`
	Principal  string       `json:"principalId"`
	Grants     grant.Grants `json:"grants,omitempty"`
	CreatedAt  time.Time    `json:"createdAt"`
	ValidUntil *time.Time   `json:"validUntil,omitempty"`
	LastUsedAt *time.Time   `json:"lastUsedAt,omitempty"`
}

func (s *Server) keyBodies(ctx context.Context, keys []store.Key) ([]keyBody, error) {
	uses, err := s.store.KeyUses(ctx, keys)
	out := make([]keyBody, len(keys))
	for i, k := range keys {
		out[i] = keyBody{k.ID, k.Name, k.Principal, k.Grants, k.CreatedAt, stamp(k.Expires), stamp(uses[k.ID])}
	}
	return out, err
}

type mintRequest struct {
	Name        string       `json:"name"`
	TTL         *int64       `json:"ttl_seconds"`
	Grants      grant.Grants `json:"grants"`
	ExternalID  string       `json:"external_id"`
	DisplayName string       `json:"display_name"`
	Principal   string       `json:"principal_id"`
}

// mintOf reads a mint request: a time to live may also stand in the query.
func (c *call) mintOf() (in mintRequest, ttl int64, err error) {
	if err = c.decode(&in); err != nil {
		return
	}
	if err = in.Grants.Check(); err != nil {
		return in, 0, problem.Invalid("grants", "grants: %v", err)
	}
	if in.Grants != nil && len(in.Grants) == 0 {
		return in, 0, problem.Invalid("grants", "grants: a key without any grant is of no use")
	}
	n, err := c.number("ttl_seconds", 0, 0)
	if err != nil {
		return in, 0, err
	}
	if ttl = int64(n); in.TTL != nil {
		ttl = *in.TTL
	}
	return in, ttl, nil
}

// mintManaged mints a key under a principal, by the management API.
func (s *Server) mintManaged(c *call) (any, error) {
	in, ttl, err := c.mintOf()
	if err != nil {
		return nil, err
	}
	p, err := c.principal()
	if err != nil {
		return nil, err
	}
	return s.mintFor(c, p, c.param("name"), ttl, in.Grants)
}

func (s *Server) mintFor(c *call, p *store.Principal, name string, ttl int64, g grant.Grants) (any, error) {
	if g != nil && !g.Within(p.Grants) {
		return nil, problem.Invalid("grants", "grants: a key cannot hold more than its principal")
	}
	m, err := s.mint(c.ctx(), c.tenant.Settings, p.ID, name, ttl, g)
	if err == nil {
		c.audit("key.mint", grant.Manage, name, "ok", 1)
	}
	return m, err
}

// broker makes a principal for an identity of the caller's own system, and a key for it.
func (s *Server) broker(c *call) (any, error) {
	in, ttl, err := c.mintOf()
	if err != nil {
		return nil, err
	}
	if in.ExternalID == "" || ttl <= 0 {
		return nil, problem.Invalid("ttl_seconds", "external_id and ttl_seconds are required")
	}
	if _, err := s.managed(c); err != nil {
		return nil, err
	}
	p, made, err := s.ensurePrincipal(c.ctx(), c.tenant.DB,
		principalRequest{DisplayName: in.DisplayName, Kind: "human", ExternalID: in.ExternalID, Grants: in.Grants})
	if err != nil {
		return nil, err
	}
	if p.ID == "system" {
		return nil, problem.Forbidden("The principal system has no keys")
	}
	if !made && in.Grants != nil {
		err = c.tenant.DB.Update(c.ctx(), func(tx *store.Tx) error {
			p.Grants = in.Grants
			tx.Put("principal", *p)
			tx.Insert("grant_history", store.GrantHistory{ID: store.NewID(), Principal: p.ID, Grants: p.Grants,
				From: time.Now().UTC()})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return s.mintFor(c, p, "token "+store.NewID(), ttl, nil)
}

// mintSelf mints a key for the caller, where the Context lets members do that.
func (s *Server) mintSelf(c *call) (any, error) {
	in, ttl, err := c.mintOf()
	if err != nil {
		return nil, err
	}
	if err := s.selfService(c); err != nil {
		return nil, err
	}
	held := c.who.Region.Grants()
	if in.Principal != "" && in.Principal != c.who.Principal {
		return nil, problem.Forbidden("A key is minted for the caller only")
	}
	g := in.Grants
	if g == nil {
		g = held
	}
	if len(g) == 0 || !g.Within(held) {
		return nil, problem.Invalid("grants", "grants: a key cannot hold more than the caller")
	}
	name := in.Name
	if name == "" {
		name = "key " + store.NewID()
	}
	m, err := s.mint(c.ctx(), c.tenant.Settings, c.who.Principal, name, ttl, g)
	if err == nil {
		c.audit("key.mint", "", name, "ok", 1)
	}
	return m, err
}

func (s *Server) selfService(c *call) error {
	switch {
	case !c.tenant.SelfService:
		return problem.Forbidden("This Context does not let members manage keys")
	case c.who.OnBehalfOf != "":
		return problem.Forbidden("A caller that acts for another does not manage keys")
	case c.who.Kind == "agent":
		return problem.Forbidden("An agent does not manage keys")
	}
	return nil
}

// ownKeys are the keys that the caller may see: its own, or all for who manages grants everywhere.
func (s *Server) ownKeys(c *call) ([]store.Key, error) {
	principal := c.who.Principal
	if c.who.Region.Everywhere(grant.Manage) {
		principal = ""
	}
	return s.store.Keys(c.ctx(), c.tenant.Context, principal)
}

func (s *Server) listSelf(c *call) (any, error) {
	keys, err := s.ownKeys(c)
	if err != nil {
		return nil, err
	}
	out, err := s.keyBodies(c.ctx(), keys)
	return map[string]any{"keys": out}, err
}

// namedKey is the key that the path names, among those that the call may see.
func (s *Server) namedKey(c *call) (*store.Key, error) {
	var keys []store.Key
	var err error
	switch {
	case c.who != nil:
		if err = s.selfService(c); err == nil {
			keys, err = s.ownKeys(c)
		}
	case c.param("pid") != "":
		var p *store.Principal
		if p, err = c.principal(); err == nil {
			keys, err = s.store.Keys(c.ctx(), c.tenant.Context, p.ID)
		}
	default:
		if _, err = s.managed(c); err == nil {
			keys, err = s.store.Keys(c.ctx(), c.tenant.Context, "")
		}
	}
	if err != nil {
		return nil, err
	}
	for i := range keys {
		if keys[i].Name == c.param("name") {
			return &keys[i], nil
		}
	}
	return nil, problem.NotFound("There is no such key")
}

func (s *Server) rotateKey(c *call) (any, error) {
	in, ttl, err := c.mintOf()
	if err != nil {
		return nil, err
	}
	k, err := s.namedKey(c)
	if err != nil {
		return nil, err
	}
	asked := in.TTL
	if asked == nil && ttl > 0 {
		asked = &ttl
	}
	m, err := s.rotate(c.ctx(), c.tenant.Settings, *k, asked)
	if err == nil {
		c.audit("key.rotate", "", k.Name, "ok", 1)
	}
	return m, err
}

func (s *Server) deleteKey(c *call) (any, error) {
	k, err := s.namedKey(c)
	if err != nil {
		return nil, err
	}
	if err := s.store.DeleteKeys(c.ctx(), *k); err != nil {
		return nil, err
	}
	s.ring.drop(func(o store.Key) bool { return o.ID == k.ID })
	c.audit("key.delete", "", k.Name, "ok", 1)
	return nil, nil
}

// listManaged lists the keys of a principal, or, as a plain list, of the Context.
func (s *Server) listManaged(c *call) (any, error) {
	pid := c.param("pid")
	if pid != "" {
		if _, err := c.principal(); err != nil {
			return nil, err
		}
	} else if _, err := s.managed(c); err != nil {
		return nil, err
	}
	keys, err := s.store.Keys(c.ctx(), c.tenant.Context, pid)
	if err != nil {
		return nil, err
	}
	out, err := s.keyBodies(c.ctx(), keys)
	if pid == "" {
		return out, err
	}
	return map[string]any{"keys": out}, err
}

// Bootstrapped are the first keys of a service, printed once.
type Bootstrapped struct{ ManagementKey, Context, Key string }

// Bootstrap makes the first management key and the first Context with a key for its administrator.
func (s *Server) Bootstrap(ctx context.Context, contextID, mgmt, key string) (*Bootstrapped, error) {
	if done, err := s.store.HasManagementKey(ctx); err != nil || done {
		if err == nil {
			err = problem.Conflict("The service is bootstrapped already")
		}
		return nil, err
	}
	row, p, err := s.store.CreateContext(ctx, store.Context{ID: contextID}, store.Principal{})
	if err != nil {
		return nil, err
	}
	t := &settings.Settings{Context: row.ID}
	out := &Bootstrapped{ManagementKey: mgmt, Context: row.ID, Key: key}
	if key == "" {
		m, err := s.mint(ctx, t, p.ID, "bootstrap", 0, nil)
		if err != nil {
			return nil, err
		}
		out.Key = m.Key
	} else if err := s.store.CreateKey(ctx, store.Key{ID: keyID(key, keyPrefix), Context: row.ID, Principal: p.ID,
		Name: "bootstrap",
		Hash: hashKey(key), CreatedAt: time.Now().UTC()}); err != nil {
		return nil, err
	}
	if mgmt == "" {
		out.ManagementKey = mgmtPrefix + store.NewID() + "-" + newSecret()
	}
	return out, s.store.CreateManagementKey(ctx, store.ManagementKey{ID: keyID(out.ManagementKey, mgmtPrefix),
		Hash: hashKey(out.ManagementKey), CreatedAt: time.Now().UTC()})
}
