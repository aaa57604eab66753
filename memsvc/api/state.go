package api

import (
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/ingest"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/retrieve"
	"github.com/nacredb/nacre/memsvc/store"
	words "github.com/nacredb/nacre/memsvc/text"
)

func tokens(s string) int { return words.Tokens(s) }

// extract reads facts out of turns that are stored, when the Context wants that. A failure leaves the turns as they
// are.
func (s *Server) extract(c *call, turns []store.Turn, out *factResponse) {
	out.Extraction = ingest.NewExtraction(out.Turn)
	if !c.tenant.Extraction {
		out.Warnings = append(out.Warnings, "extraction_disabled")
		return
	}
	facts, err := s.ingest.Extract(c.ctx(), c.tenant, ingest.PassageOf(turns[0]))
	if err != nil {
		s.log.Warn("extraction", "context", c.tenant.Context, "error", err)
		out.Warnings = append(out.Warnings, "extraction_failed")
	}
	found, err := s.ingest.Reconcile(c.ctx(), c.tenant, facts, ingest.OfTurn(turns[0], ""), out.Turn)
	if err != nil {
		s.log.Warn("extraction", "context", c.tenant.Context, "error", err)
		out.Warnings = append(out.Warnings, "extraction_failed")
		return
	}
	out.Extraction = found
}

// extractBatch reads facts out of each turn, so that every fact has the time and the source of its own turn.
func (s *Server) extractBatch(c *call, turns []store.Turn, _ bool, out *batchResponse) {
	if !c.tenant.Extraction {
		out.Warnings = append(out.Warnings, "extraction_disabled")
		return
	}
	for _, t := range turns {
		one := &factResponse{Turn: t.ID}
		s.extract(c, []store.Turn{t}, one)
		out.Extractions = append(out.Extractions, one.Extraction)
		if len(one.Warnings) > 0 && len(out.Warnings) == 0 {
			out.Warnings = one.Warnings
		}
	}
}

// preview says what a fact would add, and writes nothing.
func (s *Server) preview(c *call, w *ingest.TurnWrite, out *factResponse) (any, error) {
	clauses, err := ingest.Target(c.ctx(), c.tenant, c.who, w.Scopes)
	if err != nil {
		return nil, c.noteDenied(err, grant.Write)
	}
	m := w.Messages[0]
	turn := store.Turn{Role: m.Role, Content: m.Content, Speaker: m.Speaker, TS: m.TS, Clauses: clauses}
	if turn.TS.IsZero() {
		turn.TS = time.Now().UTC()
	}
	facts, err := s.ingest.Extract(c.ctx(), c.tenant, ingest.PassageOf(turn))
	if err != nil {
		s.log.Warn("extraction", "context", c.tenant.Context, "error", err)
		out.Warnings = append(out.Warnings, "extraction_failed")
	}
	out.Extraction, err = s.ingest.Preview(c.ctx(), c.tenant, facts, ingest.OfTurn(turn, w.Category))
	return out, err
}

// when is the instants that a read asks for, one for each clock: what was known then, what held then, and what the
// database held then. until, where it is set, makes an interval of the second one.
type when struct{ known, valid, held, until time.Time }

// endless is later than any time of a request.
var endless = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)

// present is the when of a read that asks for none.
func present() when {
	now := time.Now().UTC()
	return when{known: now, valid: now, held: now}
}

func (c *call) when() (w when, err error) {
	in := queryRequest{}
	for name, at := range map[string]*time.Time{"asOf": &in.AsOf.Time, "atInstant": &in.AtInstant.Time,
		"validFrom": &in.ValidFrom.Time, "validUntil": &in.ValidUntil.Time} {
		if *at, err = c.moment(name); err != nil {
			return w, err
		}
	}
	w = in.when()
	if err := in.order(); err != nil {
		return w, err
	}
	if in.ValidFrom.IsZero() && in.ValidUntil.IsZero() {
		return w, nil
	}
	if w.valid, w.until = in.ValidFrom.Time, in.ValidUntil.Time; w.until.IsZero() {
		w.until = endless
	}
	return w, nil
}

// holds reports whether a fact was known and held at w: that its time overlaps the interval that is asked for. An end
// that became known later does not count.
func (w when) holds(created, from time.Time, until, closed *time.Time) bool {
	if closed != nil && closed.After(w.known) {
		until = nil
	}
	return !created.After(w.known) && !from.After(w.last()) && (until == nil || until.After(w.valid))
}

// last is the end of the interval in which a fact holds that is asked for.
func (w when) last() time.Time {
	if w.until.IsZero() {
		return w.valid
	}
	return w.until
}

type attributeBody struct {
	ID           string        `json:"id"`
	Entity       string        `json:"entityId"`
	Key          string        `json:"key"`
	Value        string        `json:"value"`
	Category     string        `json:"memoryCategory"`
	Confidence   float64       `json:"confidence"`
	Importance   float64       `json:"importance"`
	ValidFrom    time.Time     `json:"validFrom"`
	ValidUntil   *time.Time    `json:"validUntil,omitempty"`
	CreatedAt    time.Time     `json:"createdAt"`
	RecordedAt   time.Time     `json:"recordedAt"`
	Supersedes   string        `json:"supersedes,omitempty"`
	SupersededBy string        `json:"supersededBy,omitempty"`
	Source       store.Source  `json:"source"`
	Scopes       grant.Clauses `json:"scopes"`
}

func attributeBodyOf(a store.Attribute) attributeBody {
	return attributeBody{a.ID, a.Entity, a.Key, a.Value, a.Category, a.Confidence, a.Importance, a.ValidFrom,
		a.ValidUntil,
		a.CreatedAt, a.RecordedAt, a.Supersedes, a.SupersededBy, a.Source, a.Clauses}
}

type relationBody struct {
	Subject    string       `json:"subject"`
	Label      string       `json:"label"`
	Object     string       `json:"object"`
	Category   string       `json:"memoryCategory"`
	ValidFrom  time.Time    `json:"validFrom"`
	ValidUntil *time.Time   `json:"validUntil,omitempty"`
	Source     store.Source `json:"source"`
}

type entityBody struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Type      string    `json:"entityType"`
	Category  string    `json:"memoryCategory"`
	CreatedAt time.Time `json:"createdAt"`
}

// facts are the attributes and relations that the caller may see and that hold at w, of one entity or ("") of all.
func (c *call) facts(w when, entity string) ([]store.Attribute, []store.Relation, error) {
	v := store.Var{Name: "e", Value: entity}
	all, err := store.Rows[store.Attribute](c.ctx(), c.tenant.DB,
		"SELECT * FROM attribute WHERE $e = '' OR entity = $e", v)
	if err != nil {
		return nil, nil, err
	}
	var attributes []store.Attribute
	for _, a := range all {
		if a.HeldAt(w.held) && c.sees(a.Clauses) && w.holds(a.CreatedAt, a.ValidFrom, a.ValidUntil, a.ClosedAt) {
			attributes = append(attributes, a)
		}
	}
	sort.Slice(attributes, func(i, j int) bool {
		a, b := &attributes[i], &attributes[j]
		if a.Entity+a.Key != b.Entity+b.Key {
			return a.Entity+"\x00"+a.Key < b.Entity+"\x00"+b.Key
		}
		return a.ID < b.ID
	})
	rels, err := store.Rows[store.Relation](c.ctx(), c.tenant.DB,
		"SELECT * FROM relation WHERE $e = '' OR subject = $e OR object = $e ORDER BY id", v)
	var relations []store.Relation
	for _, r := range rels {
		if r.HeldAt(w.held) && c.sees(r.Clauses) && w.holds(r.CreatedAt, r.ValidFrom, r.ValidUntil, r.ClosedAt) {
			relations = append(relations, r)
		}
	}
	return attributes, relations, err
}

func relationBodyOf(r store.Relation) relationBody {
	return relationBody{r.Subject, r.Label, r.Object, r.Category, r.ValidFrom, r.ValidUntil, r.Source}
}

// entities are those that the database held then and whose clauses the caller sees.
func (c *call) entities(w when, kind string) ([]entityBody, error) {
	all, err := store.Rows[store.Entity](c.ctx(), c.tenant.DB,
		"SELECT * FROM entity WHERE ($t = '' OR type = $t) AND (valid_until = NONE OR valid_until > $held) ORDER BY id",
		store.Var{Name: "t", Value: kind}, store.Var{Name: "held", Value: w.held})
	out := []entityBody{}
	for _, e := range all {
		if e.HeldAt(w.held) && e.ValidUntil == nil && c.sees(e.Clauses) {
			out = append(out, entityBody{e.ID, e.Name, e.Type, e.Category, e.CreatedAt})
		}
	}
	return out, err
}

func (s *Server) listEntities(c *call) (any, error) {
	limit, offset, err := c.page()
	if err != nil {
		return nil, err
	}
	if c.r.URL.Query().Get("limit") == "" {
		limit = s.cfg.MaxList
	}
	w, err := c.when()
	if err != nil {
		return nil, err
	}
	all, err := c.entities(w, c.r.URL.Query().Get("type"))
	return map[string]any{"entities": window(all, limit, offset), "total": len(all)}, err
}

// entityKey is the key of the entity in the path.
func (c *call) entityKey() string {
	return ingest.EntityKey(c.param("type"), unescaped(c.param("name")))
}

// entity is the entity in the path, if the database held it then and the caller may see it.
func (c *call) entity(held time.Time) (*store.Entity, error) {
	e, err := store.Get[store.Entity](c.ctx(), c.tenant.DB, "entity", c.entityKey())
	if err != nil {
		return nil, err
	}
	if e == nil || !e.HeldAt(held) || !c.sees(e.Clauses) {
		return nil, problem.NotFound("There is no such entity")
	}
	return e, nil
}

func (s *Server) getEntity(c *call) (any, error) {
	w, err := c.when()
	if err != nil {
		return nil, err
	}
	e, err := c.entity(w.held)
	if err != nil {
		return nil, err
	}
	as, rs, err := c.facts(w, e.ID)
	if err != nil {
		return nil, err
	}
	attributes, relations := []attributeBody{}, []relationBody{}
	for _, a := range as {
		attributes = append(attributes, attributeBodyOf(a))
	}
	for _, r := range rs {
		relations = append(relations, relationBodyOf(r))
	}
	return map[string]any{"entity": entityBody{e.ID, e.Name, e.Type, e.Category, e.CreatedAt}, "attributes": attributes,
		"relations": relations}, nil
}

func (s *Server) entityHistory(c *call) (any, error) {
	w, err := c.when()
	if err != nil {
		return nil, err
	}
	all, err := store.Rows[store.Attribute](c.ctx(), c.tenant.DB,
		"SELECT * FROM attribute WHERE entity = $e AND key = $k ORDER BY valid_from, id",
		store.Var{Name: "e", Value: c.entityKey()}, store.Var{Name: "k",
			Value: words.Normal(unescaped(c.param("key")))})
	out := []attributeBody{}
	for _, a := range all {
		if a.HeldAt(w.held) && c.sees(a.Clauses) && !a.CreatedAt.After(w.known) {
			out = append(out, attributeBodyOf(a))
		}
	}
	return map[string]any{"history": out}, err
}

func (s *Server) deleteEntity(c *call) (any, error) {
	e, err := c.entity(time.Now())
	if err != nil {
		return nil, err
	}
	as, err := store.Rows[store.Attribute](c.ctx(), c.tenant.DB, "SELECT * FROM attribute WHERE entity = $e",
		store.Var{Name: "e", Value: e.ID})
	if err != nil {
		return nil, err
	}
	m := ingest.Marked{}
	all := c.who.Region.Writable(grant.Forget, e.Clauses)
	for _, a := range as {
		if c.who.Region.Writable(grant.Forget, a.Clauses) && c.sees(a.Clauses) {
			m.Attributes = append(m.Attributes, a.ID)
		}
	}
	if all {
		m.Entities = []string{e.ID}
	}
	if !all && len(m.Attributes) == 0 {
		return nil, s.denied(c, grant.Forget, "entity")
	}
	purge := c.r.URL.Query().Get("purge") == "true"
	_, err = s.forget(c, m, purge)
	return nil, err
}

type stateBody struct {
	Attributes []attributeBody `json:"attributes"`
	Entities   []entityBody    `json:"entities"`
	Relations  []relationBody  `json:"relations"`
}

func (s *Server) state(c *call) (any, error) {
	w, err := c.when()
	if err != nil {
		return nil, err
	}
	as, rs, err := c.facts(w, "")
	if err != nil {
		return nil, err
	}
	entities, err := c.entities(w, "")
	if err != nil {
		return nil, err
	}
	parts := map[string]*stateBody{}
	out := map[string]any{}
	for _, name := range []string{"identity", "knowledge", "context"} {
		parts[name] = &stateBody{[]attributeBody{}, []entityBody{}, []relationBody{}}
		out[name] = parts[name]
	}
	for _, a := range as {
		p := parts[a.Category]
		p.Attributes = append(p.Attributes, attributeBodyOf(a))
	}
	for _, e := range entities {
		p := parts[e.Category]
		p.Entities = append(p.Entities, e)
	}
	for _, r := range rs {
		p := parts[r.Category]
		p.Relations = append(p.Relations, relationBodyOf(r))
	}
	if out["instructions"], err = c.instructions(w.held); err != nil {
		return nil, err
	}
	out["unknowns"], err = c.uncertainties(w.held)
	return out, err
}

func (c *call) instructions(held time.Time) ([]store.Instruction, error) {
	all, err := store.Rows[store.Instruction](c.ctx(), c.tenant.DB, "SELECT * FROM instruction WHERE "+
		"revoked_at = NONE OR revoked_at > $held ORDER BY id", store.Var{Name: "held", Value: held})
	out := []store.Instruction{}
	for _, i := range all {
		if i.HeldAt(held) && i.RevokedAt == nil && c.sees(i.Clauses) {
			out = append(out, i)
		}
	}
	return out, err
}

func (c *call) uncertainties(held time.Time) ([]store.Uncertainty, error) {
	all, err := store.Rows[store.Uncertainty](c.ctx(), c.tenant.DB, "SELECT * FROM uncertainty WHERE "+
		"resolved = false OR resolved_at > $held ORDER BY id", store.Var{Name: "held", Value: held})
	out := []store.Uncertainty{}
	for _, u := range all {
		if u.HeldAt(held) && !u.Resolved && c.sees(u.Clauses) {
			out = append(out, u)
		}
	}
	return out, err
}

type keyValue struct {
	Entity string `json:"entityId"`
	Key    string `json:"key"`
	Value  string `json:"value"`
}

func (s *Server) profile(c *call) (any, error) {
	w, err := c.when()
	if err != nil {
		return nil, err
	}
	as, _, err := c.facts(w, "")
	if err != nil {
		return nil, err
	}
	parts := map[string][]keyValue{"identity": {}, "context": {}, "knowledge": {}}
	for _, a := range as {
		parts[a.Category] = append(parts[a.Category], keyValue{a.Entity, a.Key, a.Value})
	}
	rules, err := c.instructions(w.held)
	return map[string]any{"static": parts["identity"], "dynamic": parts["context"],
		"preferences": parts["knowledge"], "instructions": rules}, err
}

// contextHead is the part of a context that does not depend on the question: rules and who people are.
func (s *Server) contextHead(c *call, w when, budget int) (string, error) {
	rules, err := c.instructions(w.held)
	if err != nil {
		return "", err
	}
	as, _, err := c.facts(w, "")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	section := func(title string, lines []string) {
		open := false
		for _, l := range lines {
			if words.Tokens(b.String()+title+l)+3 > budget {
				return
			}
			if !open {
				b.WriteString("### " + title + "\n")
				open = true
			}
			b.WriteString("- " + l + "\n")
		}
		if open {
			b.WriteString("\n")
		}
	}
	var lines []string
	for _, r := range rules {
		lines = append(lines, oneLine(r.Description))
	}
	section("Instructions", lines)
	lines = nil
	for _, a := range as {
		if a.Category == "identity" {
			_, name, _ := strings.Cut(a.Entity, "/")
			lines = append(lines, oneLine(strings.ReplaceAll(name+" · "+a.Key, "_", " ")+": "+a.Value))
		}
	}
	section("Profile", lines)
	return b.String(), nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

type forgetRequest struct {
	Query  string `json:"query"`
	DryRun bool   `json:"dry_run"`
	Purge  bool   `json:"purge"`
	Path   string `json:"path"`
}

type forgetMatch struct {
	Ref     string  `json:"ref"`
	ID      string  `json:"id"`
	Snippet string  `json:"snippet"`
	Score   float64 `json:"score"`
}

type forgetResponse struct {
	Deleted int            `json:"deleted"`
	Matches []forgetMatch  `json:"matches,omitempty"`
	Proof   *ingest.Erased `json:"proof,omitempty"`
}

// maxForget is how many rows one call forgets.
const maxForget = 1000

func (s *Server) forgetQuery(c *call) (any, error) {
	var in forgetRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := text("query", in.Query, maxQuery); err != nil {
		return nil, err
	}
	return s.runForget(c, in)
}

func (s *Server) runForget(c *call, in forgetRequest) (*forgetResponse, error) {
	q := retrieve.Query{Text: in.Query, Mode: retrieve.BM25, Now: time.Now().UTC(), Pool: maxForget,
		Region: c.who.Region, Twins: true, Past: in.Purge}
	found, err := s.retrieve.Search(c.ctx(), c.tenant, q, maxForget)
	if err != nil {
		return nil, err
	}
	var ids []string
	out := &forgetResponse{}
	for _, h := range found.Hits {
		if !matches(in.Query, h.Text, h.Score, found.Hits[0].Score) || !c.who.Region.Writable(grant.Forget, h.Clauses) {
			continue
		}
		ids = append(ids, h.ID)
		out.Matches = append(out.Matches, forgetMatch{h.Ref, h.ID, words.Clip(h.Text, 160), h.Score})
	}
	out.Deleted = len(ids)
	if in.DryRun {
		return out, nil
	}
	out.Matches = nil
	if len(ids) == 0 {
		return out, nil
	}
	proof, err := s.forget(c, ingest.ByID(ids), in.Purge)
	out.Proof = &proof
	out.Deleted = proof.Total()
	return out, err
}

// matches is the rule of what a forget reaches: near the best hit, with at least 60 % of the words of the query.
func matches(query, s string, score, best float64) bool {
	want := words.Terms(query)
	have := map[string]bool{}
	for _, t := range words.Terms(s) {
		have[t] = true
	}
	n := 0
	for _, t := range want {
		if have[t] {
			n++
		}
	}
	return len(want) > 0 && score >= 0.5*best && float64(n) >= 0.6*float64(len(want))
}

// forget forgets rows and everything this process keeps of them.
func (s *Server) forget(c *call, m ingest.Marked, purge bool) (ingest.Erased, error) {
	s.notes.flush(c.ctx())
	out, err := s.ingest.Forget(c.ctx(), c.tenant, m, purge)
	if err != nil {
		return out, err
	}
	if purge {
		s.retrieve.Forget(c.tenant.Context)
		s.features.drop(c.tenant.Context)
	}
	kind := "memory.forget"
	if purge {
		kind = "memory.purge"
	}
	c.audit(kind, grant.Forget, "", "ok", out.Total())
	return out, nil
}

func (s *Server) forgetScope(c *call) (any, error) {
	var in forgetRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	path, err := grant.Path(in.Path)
	if err != nil {
		return nil, problem.Invalid("path", "path: want a scope such as org/acme")
	}
	if !grantsBelow(c.who.Region, path) {
		return nil, s.denied(c, grant.Forget, path)
	}
	s.notes.flush(c.ctx())
	out, err := s.ingest.ForgetScope(c.ctx(), c.tenant, path)
	s.retrieve.Forget(c.tenant.Context)
	s.features.drop(c.tenant.Context)
	if err == nil {
		c.audit("scope.forget", grant.Forget, path, "ok", out.Total())
	}
	return map[string]any{"forgotten": out.Total(), "proof": out}, err
}

// grantsBelow reports whether the region may forget a scope and everything below.
func grantsBelow(r grant.Region, path string) bool {
	deep := path + "/*"
	if path == grant.Root {
		deep = "*"
	}
	return grant.Grants{string(grant.Forget): {deep}}.Within(r.Grants())
}

func (s *Server) inspect(c *call) (any, error) { return s.runInspect(c, c.r.URL.Query().Get("ref")) }

func (s *Server) runInspect(c *call, ref string) (any, error) {
	kind, key, ok := strings.Cut(ref, ":")
	if !ok || key == "" {
		return nil, problem.Invalid("ref", "ref: want kind:key, such as entity:person/ada")
	}
	w, err := c.when()
	if err != nil {
		return nil, err
	}
	switch kind {
	case "turn", "memory_chunk":
		t, err := store.Get[store.Turn](c.ctx(), c.tenant.DB, "turn", key)
		if err == nil && (t == nil || !t.HeldAt(w.held) || !c.sees(t.Clauses)) {
			err = errNothing
		}
		if err != nil {
			return nil, err
		}
		return turnBodyOf(*t), nil
	case "attribute":
		return c.inspectAttribute(w, key)
	case "relation":
		return c.inspectRelation(w, key)
	case "chunk", "passage":
		return c.inspectPassage(w, kind, key)
	case "entity":
		typ, name, ok := strings.Cut(key, "/")
		if !ok {
			return nil, problem.Invalid("ref", "ref: want entity:TYPE/NAME")
		}
		return s.inspectEntity(c, w, typ, name)
	case "document", "doc":
		d, err := c.document(key)
		if err != nil {
			return nil, err
		}
		return documentBodyOf(*d), nil
	case "trace":
		t, err := store.Get[store.Trace](c.ctx(), c.tenant.DB, "trace", key)
		if err == nil && (t == nil || !c.mayTrace(*t)) {
			err = errNothing
		}
		if err != nil {
			return nil, err
		}
		return traceRowOf(*t), nil
	}
	return nil, problem.Of(http.StatusNotImplemented, "not-supported", "ref: this kind of reference cannot be inspected")
}

var errNothing = problem.NotFound("There is nothing at this reference")

// inspectAttribute is an attribute by its id, or the value that holds now of TYPE/NAME/KEY.
func (c *call) inspectAttribute(w when, key string) (any, error) {
	parts := strings.Split(key, "/")
	if len(parts) == 1 {
		a, err := store.Get[store.Attribute](c.ctx(), c.tenant.DB, "attribute", key)
		if err == nil && (a == nil || !a.HeldAt(w.held) || !c.sees(a.Clauses)) {
			err = errNothing
		}
		if err != nil {
			return nil, err
		}
		return attributeBodyOf(*a), nil
	}
	if len(parts) < 3 {
		return nil, problem.Invalid("ref", "ref: want attribute:TYPE/NAME/KEY")
	}
	name := strings.Join(parts[1:len(parts)-1], "/")
	as, _, err := c.facts(w, ingest.EntityKey(parts[0], name))
	if err != nil {
		return nil, err
	}
	out := []attributeBody{}
	for _, a := range as {
		if a.Key == words.Normal(parts[len(parts)-1]) {
			out = append(out, attributeBodyOf(a))
		}
	}
	switch len(out) {
	case 0:
		return nil, errNothing
	case 1:
		return out[0], nil
	}
	return map[string]any{"attributes": out}, nil
}

// inspectRelation is the relation that holds now of TYPE/NAME-[LABEL]->TYPE/NAME.
func (c *call) inspectRelation(w when, key string) (any, error) {
	subject, rest, ok := strings.Cut(key, "-[")
	label, object, ok2 := strings.Cut(rest, "]->")
	stype, sname, ok3 := strings.Cut(subject, "/")
	otype, oname, ok4 := strings.Cut(object, "/")
	if !ok || !ok2 || !ok3 || !ok4 {
		return nil, problem.Invalid("ref", "ref: want relation:TYPE/NAME-[LABEL]->TYPE/NAME")
	}
	_, rs, err := c.facts(w, ingest.EntityKey(stype, sname))
	if err != nil {
		return nil, err
	}
	for _, r := range rs {
		if r.Subject == ingest.EntityKey(stype, sname) && r.Object == ingest.EntityKey(otype, oname) &&
			words.Normal(r.Label) == words.Normal(label) {
			return relationBodyOf(r), nil
		}
	}
	return nil, errNothing
}

// inspectPassage is a passage by its id (chunk:ID) or by its document and place (passage:DOCUMENT/PLACE).
func (c *call) inspectPassage(w when, kind, key string) (any, error) {
	if kind == "passage" {
		did, place, ok := strings.Cut(key, "/")
		n, err := strconv.Atoi(place)
		if !ok || err != nil || n < 0 {
			return nil, problem.Invalid("ref", "ref: want passage:DOCUMENT/PLACE")
		}
		d, err := c.document(did)
		if err != nil {
			return nil, err
		}
		key = ingest.ChunkKey(d.ID, d.Version, n)
	}
	ch, err := store.Get[store.Chunk](c.ctx(), c.tenant.DB, "chunk", key)
	if err == nil && (ch == nil || !ch.HeldAt(w.held) || !c.sees(ch.Clauses)) {
		err = errNothing
	}
	if err != nil {
		return nil, err
	}
	return chunkBody{"chunk:" + ch.ID, ch.Text, ch.Section, ch.Position, ch.Document, ch.Start, ch.End}, nil
}

func (s *Server) inspectEntity(c *call, w when, typ, name string) (any, error) {
	e, err := store.Get[store.Entity](c.ctx(), c.tenant.DB, "entity", ingest.EntityKey(typ, name))
	if err != nil {
		return nil, err
	}
	if e == nil || !e.HeldAt(w.held) || !c.sees(e.Clauses) {
		return nil, errNothing
	}
	as, _, err := c.facts(w, e.ID)
	out := []attributeBody{}
	for _, a := range as {
		out = append(out, attributeBodyOf(a))
	}
	return map[string]any{"entity": entityBody{e.ID, e.Name, e.Type, e.Category, e.CreatedAt}, "attributes": out}, err
}

func (s *Server) stateRoutes() []route {
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	return of([]route{
		{method: get, path: "/state", verb: grant.Read, summary: "Everything that holds now", handle: s.state},
		{method: post, path: "/state", verb: grant.Read, summary: "Everything that holds now", handle: s.state},
		{method: get, path: "/profile", verb: grant.Read, summary: "Facts by how long they last, and instructions",
			handle: s.profile},
		{method: get, path: "/entities", verb: grant.Read, summary: "List entities", handle: s.listEntities},
		{method: get, path: "/entities/{type}/{name}", verb: grant.Read, summary: "An entity with its facts",
			handle: s.getEntity},
		{method: get, path: "/entities/{type}/{name}/history/{key}", verb: grant.Read,
			summary: "Every value of a key, the oldest first",
			handle:  s.entityHistory},
		{method: del, path: "/entities/{type}/{name}", verb: grant.Forget, summary: "Forget an entity",
			handle: s.deleteEntity,
			status: http.StatusNoContent},
		{method: get, path: "/inspect", verb: grant.Read, summary: "What a reference stands for", handle: s.inspect},
		{method: post, path: "/forget", verb: grant.Forget, summary: "Forget what a query finds",
			handle: s.forgetQuery, in: forgetRequest{},
			out: forgetResponse{}},
		{method: post, path: "/scopes/forget", verb: grant.Forget, summary: "Delete everything of a scope",
			handle: s.forgetScope, in: forgetRequest{}},
	})
}
