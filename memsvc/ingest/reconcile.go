package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sort"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
	"github.com/nacredb/nacre/memsvc/text"
)

// Extraction reports the knowledge that a write added.
type Extraction struct {
	Turn          string          `json:"turnId,omitempty"`
	Entities      []EntityDiff    `json:"entities"`
	Attributes    []AttributeDiff `json:"attributes"`
	Relations     []RelationDiff  `json:"relations"`
	Instructions  []Rule          `json:"instructions"`
	Uncertainties []Doubt         `json:"uncertainties"`
	Corrections   []Correction    `json:"corrections"`
}

// EntityDiff is an entity that a write touched.
type EntityDiff struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Type     string `json:"entityType"`
	Category string `json:"memoryCategory"`
	New      bool   `json:"isNew"`
}

// AttributeDiff is an attribute that a write stored or strengthened.
type AttributeDiff struct {
	ID       string `json:"id"`
	Entity   string `json:"entityId"`
	Key      string `json:"key"`
	Value    string `json:"value"`
	Category string `json:"memoryCategory"`
}

// RelationDiff is a relation that a write stored or strengthened.
type RelationDiff struct {
	Subject  string `json:"subject"`
	Label    string `json:"label"`
	Object   string `json:"object"`
	Category string `json:"memoryCategory"`
}

// Correction is a value that another one took the place of.
type Correction struct {
	Entity string `json:"entityId"`
	Key    string `json:"key"`
	Old    string `json:"oldValue"`
	New    string `json:"newValue"`
}

// NewExtraction is an extraction of nothing.
func NewExtraction(turn string) *Extraction {
	return &Extraction{Turn: turn, Entities: []EntityDiff{}, Attributes: []AttributeDiff{},
		Relations: []RelationDiff{}, Instructions: []Rule{},
		Uncertainties: []Doubt{}, Corrections: []Correction{}}
}

// Triple is a fact that a caller states.
type Triple struct {
	Entity   Thing  `json:"entity"`
	Key      string `json:"key"`
	Value    string `json:"value"`
	Target   *Thing `json:"target"`
	Category string `json:"memory_category"`
}

// EntityTypes are the types of entities; everything else is folded into one of them.
var EntityTypes = []string{"person", "organisation", "project", "location", "topic", "product", "policy", "concept",
	"event", "agent", "service", "other"}

var typeWords = map[string]string{"organization": "organisation", "company": "organisation", "org": "organisation",
	"business": "organisation", "team": "organisation",
	"place": "location", "city": "location", "country": "location", "human": "person", "user": "person",
	"people": "person", "tool": "product", "unknown": "unknown"}

// EntityType folds a type into the closed list.
func EntityType(s string) string {
	s = text.Normal(s)
	for _, t := range EntityTypes {
		if s == t {
			return t
		}
	}
	if t, ok := typeWords[s]; ok {
		return t
	}
	return "other"
}

// EntityKey is the key of an entity.
func EntityKey(kind, name string) string { return EntityType(kind) + "/" + text.Normal(name) }

var importance = map[string]float64{"identity": 1, "knowledge": 0.8, "context": 0.5}

// multiValued are keys that may have several values at once.
var multiValued = map[string]bool{"likes": true, "dislikes": true, "has_pet": true, "speaks": true, "knows": true,
	"hobby": true, "hobbies": true,
	"allergic_to": true, "visited": true, "friend": true, "sister": true, "brother": true, "son": true,
	"daughter": true, "child": true, "skill": true, "owns": true}

// Origin is where facts come from and who may see them.
type Origin struct {
	Source   store.Source
	Clauses  grant.Clauses
	Labels   []string
	Observed time.Time // when it was said
	Category string
}

// change is one reconciliation under way: rows that it read, and those that it has changed.
type change struct {
	ctx      context.Context
	t        *settings.Tenant
	tx       *store.Tx
	o        Origin
	now      time.Time
	out      *Extraction
	entities map[string]*store.Entity
	chains   map[string][]*store.Attribute // by entity
	dirty    map[string]*store.Attribute
}

// Reconcile merges facts into what is known, in the transaction of the caller.
func (s *Service) Reconcile(ctx context.Context, t *settings.Tenant, found Facts, o Origin,
	turn string) (*Extraction, error) {
	var out *Extraction
	err := t.DB.Update(ctx, func(tx *store.Tx) error {
		var err error
		out, err = work(ctx, t, tx, found, o, turn)
		return err
	})
	return out, err
}

// Preview works facts out and writes nothing.
func (s *Service) Preview(ctx context.Context, t *settings.Tenant, found Facts, o Origin) (*Extraction, error) {
	return work(ctx, t, store.NewTx(), found, o, "")
}

func work(ctx context.Context, t *settings.Tenant, tx *store.Tx, found Facts, o Origin, turn string) (*Extraction,
	error) {
	c := &change{ctx: ctx, t: t, tx: tx, o: o, now: time.Now().UTC(), out: NewExtraction(turn),
		entities: map[string]*store.Entity{},
		chains:   map[string][]*store.Attribute{}, dirty: map[string]*store.Attribute{}}
	if c.o.Observed.IsZero() {
		c.o.Observed = c.now
	}
	for _, f := range found.Facts {
		if err := c.fact(f); err != nil {
			return nil, err
		}
	}
	for _, r := range found.Instructions {
		r.ID = store.NewID()
		tx.Put("instruction", store.Instruction{ID: r.ID, Label: r.Label, Description: r.Description,
			Source: o.Source, Clauses: o.Clauses, CreatedAt: c.o.Observed, RecordedAt: c.now})
		c.out.Instructions = append(c.out.Instructions, r)
	}
	for _, d := range found.Doubts {
		c.doubt(d.About, d.Reason)
	}
	for _, e := range sortedEntities(c.entities) {
		tx.Put("entity", *e)
	}
	for _, a := range sortedAttributes(c.dirty) {
		tx.Put("attribute", *a)
	}
	return c.out, nil
}

func sortedEntities(m map[string]*store.Entity) []*store.Entity {
	var out []*store.Entity
	for _, e := range m {
		out = append(out, e)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

func sortedAttributes(m map[string]*store.Attribute) []*store.Attribute {
	var out []*store.Attribute
	for _, a := range m {
		out = append(out, a)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

func (c *change) doubt(about, reason string, rows ...string) {
	c.out.Uncertainties = append(c.out.Uncertainties, Doubt{about, reason})
	c.tx.Put("uncertainty", store.Uncertainty{ID: store.NewID(), About: about, Reason: reason, Rows: rows,
		Source: c.o.Source, Clauses: c.o.Clauses, CreatedAt: c.now})
}

// entity finds or makes an entity. It carries the clauses of everything that is known of it.
func (c *change) entity(kind, name, category string) (*store.Entity, error) {
	id := EntityKey(kind, name)
	if e, ok := c.entities[id]; ok {
		return e, nil
	}
	e, err := store.Get[store.Entity](c.ctx, c.t.DB, "entity", id)
	if err != nil {
		return nil, err
	}
	fresh := e == nil
	if fresh {
		e = &store.Entity{ID: id, Type: EntityType(kind), Name: text.Clip(name, 256), Category: category,
			Importance: importance[category], CreatedAt: c.o.Observed, RecordedAt: c.now}
	}
	e.Clauses, e.UpdatedAt, e.ValidUntil = e.Clauses.Join(c.o.Clauses), c.now, nil
	c.entities[id] = e
	c.out.Entities = append(c.out.Entities, EntityDiff{id, e.Name, e.Type, e.Category, fresh})
	return e, nil
}

// known are the attributes of an entity.
func (c *change) known(entity string) ([]*store.Attribute, error) {
	if all, ok := c.chains[entity]; ok {
		return all, nil
	}
	rows, err := store.Rows[store.Attribute](c.ctx, c.t.DB, "SELECT * FROM attribute WHERE entity = $e",
		store.Var{Name: "e", Value: entity})
	if err != nil {
		return nil, err
	}
	all := make([]*store.Attribute, len(rows))
	for i := range rows {
		all[i] = &rows[i]
	}
	c.chains[entity] = all
	return all, nil
}

func (c *change) fact(f Fact) error {
	if f.Category = category(f.Category, c.o.Category); text.Normal(f.Name) == "" || f.Key == "" {
		return nil
	}
	f.Key = text.Normal(f.Key)
	e, err := c.entity(f.Type, f.Name, f.Category)
	if err != nil {
		return err
	}
	if f.Target != nil {
		return c.relation(e, f)
	}
	all, err := c.known(e.ID)
	if err != nil {
		return err
	}
	if f.From.IsZero() {
		f.From = c.o.Observed
	}
	var chain []*store.Attribute
	for _, a := range all {
		if a.Key == f.Key && a.Clauses.Key() == c.o.Clauses.Key() {
			chain = append(chain, a)
		}
	}
	sort.SliceStable(chain, func(i, j int) bool { return chain[i].ValidFrom.Before(chain[j].ValidFrom) })
	if f.Negated {
		c.close(chain, f)
		return nil
	}
	c.assert(e, chain, f)
	return nil
}

func category(s, def string) string {
	if def != "" {
		s = def
	}
	if _, ok := importance[s]; !ok {
		return "context"
	}
	return s
}

// current reports whether nothing took the place of a.
func current(a *store.Attribute) bool { return a.SupersededBy == "" && a.ClosedAt == nil }

// assert stores a value: it strengthens the same one, takes the place of another, goes into the past, or stands beside
// what it contradicts with a note that says so.
func (c *change) assert(e *store.Entity, chain []*store.Attribute, f Fact) {
	var head *store.Attribute
	for _, a := range chain {
		if !current(a) {
			continue
		}
		if strings.EqualFold(strings.TrimSpace(a.Value), strings.TrimSpace(f.Value)) {
			c.strengthen(e, a, f)
			return
		}
		head = a
	}
	n := c.attribute(e, f)
	single := !multiValued[f.Key]
	if f.Single != nil {
		single = *f.Single
	}
	if head == nil || !single {
		if single {
			c.insertPast(chain, n)
		}
		return
	}
	if n.ValidFrom.Before(head.ValidFrom) {
		c.insertPast(chain, n)
		return
	}
	if why := c.contradicts(head, n); why != "" {
		c.doubt(e.ID+" "+f.Key, why, "attribute:"+head.ID, "attribute:"+n.ID)
		return
	}
	c.supersede(head, n)
	c.out.Corrections = append(c.out.Corrections, Correction{e.ID, f.Key, head.Value, n.Value})
}

// class is the kind of evidence: what a person curated, or what was said.
func class(s store.Source) string {
	switch s.Kind {
	case "upsert":
		return "upsert"
	case "document":
		return "document " + s.Ref
	}
	return "turn"
}

// contradicts says why n may not take the place of head; "" if it may.
func (c *change) contradicts(head, n *store.Attribute) string {
	switch from, to := class(n.Source), class(head.Source); {
	case from == "upsert":
		return ""
	case from != to:
		return "sources of different kinds say different things"
	case n.Confidence < c.t.ConfidenceFloor:
		return "the new value is below the confidence floor"
	case n.Confidence < head.Confidence:
		return "the new value is less certain than the old one"
	}
	return ""
}

func (c *change) strengthen(e *store.Entity, a *store.Attribute, f Fact) {
	a.Importance = min(1, a.Importance*1.1)
	a.Confidence = max(a.Confidence, f.Confidence)
	a.LastUsed = c.now
	if len(a.Proofs) < 50 {
		a.Proofs = append(a.Proofs, c.source(f))
	}
	c.dirty[a.ID] = a
	c.out.Attributes = append(c.out.Attributes, AttributeDiff{a.ID, e.ID, a.Key, a.Value, a.Category})
}

func (c *change) source(f Fact) store.Source {
	s := c.o.Source
	s.Start, s.End = f.Start, f.End
	return s
}

func (c *change) attribute(e *store.Entity, f Fact) *store.Attribute {
	a := &store.Attribute{ID: store.NewID(), Entity: e.ID, Key: text.Clip(f.Key, 128),
		Value: text.Clip(f.Value, 4096), Category: f.Category, Importance: importance[f.Category],
		Confidence: f.Confidence, ValidFrom: f.From, Source: c.source(f), Clauses: c.o.Clauses, Labels: c.o.Labels,
		CreatedAt: c.o.Observed, RecordedAt: c.now, LastUsed: c.now}
	c.dirty[a.ID] = a
	c.chains[e.ID] = append(c.chains[e.ID], a)
	c.out.Attributes = append(c.out.Attributes, AttributeDiff{a.ID, e.ID, a.Key, a.Value, a.Category})
	return a
}

func (c *change) supersede(old, n *store.Attribute) {
	old.SupersededBy, n.Supersedes = n.ID, old.ID
	old.ValidUntil, old.ClosedAt = &n.ValidFrom, &n.CreatedAt
	if old.RetiredAt == nil {
		old.RetiredAt = &c.now
	}
	c.dirty[old.ID] = old
}

// insertPast puts a fact that arrives late where it belongs in its chain.
func (c *change) insertPast(chain []*store.Attribute, n *store.Attribute) {
	var before, after *store.Attribute
	for _, a := range chain {
		if a.ValidFrom.After(n.ValidFrom) {
			after = a
			break
		}
		before = a
	}
	if before != nil && (before.ValidUntil == nil || before.ValidUntil.After(n.ValidFrom)) && after != nil {
		c.supersede(before, n)
	}
	if after != nil {
		c.supersede(n, after)
	}
}

// close ends what holds no longer.
func (c *change) close(chain []*store.Attribute, f Fact) {
	for _, a := range chain {
		if current(a) && strings.EqualFold(a.Value, f.Value) {
			until, known := f.From, c.o.Observed
			a.ValidUntil, a.ClosedAt, a.RetiredAt = &until, &known, &c.now
			c.dirty[a.ID] = a
			c.out.Corrections = append(c.out.Corrections, Correction{a.Entity, a.Key, a.Value, ""})
		}
	}
}

func (c *change) relation(e *store.Entity, f Fact) error {
	o, err := c.entity(f.Target.Type, f.Target.Name, f.Category)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(e.ID + "\x00" + f.Key + "\x00" + o.ID + "\x00" + c.o.Clauses.Key()))
	id := hex.EncodeToString(sum[:12])
	r, err := store.Get[store.Relation](c.ctx, c.t.DB, "relation", id)
	if err != nil {
		return err
	}
	if r != nil && r.ClosedAt != nil {
		if !f.Negated { // it holds again: the time that it held before stays as a row of its own
			old := *r
			old.ID = store.NewID()
			c.tx.Put("relation", old)
		}
		r = nil
	}
	if r == nil {
		if f.Negated {
			return nil
		}
		r = &store.Relation{ID: id, Subject: e.ID, Label: f.Key, Object: o.ID, Category: f.Category,
			Importance: importance[f.Category], Confidence: f.Confidence,
			ValidFrom: f.From, Source: c.source(f), Clauses: c.o.Clauses, CreatedAt: c.o.Observed, RecordedAt: c.now}
		if f.From.IsZero() {
			r.ValidFrom = c.o.Observed
		}
	}
	if f.Negated {
		until, known := c.o.Observed, c.o.Observed
		r.ValidUntil, r.ClosedAt, r.RetiredAt = &until, &known, &c.now
	} else {
		r.Importance = min(1, r.Importance*1.1)
	}
	c.tx.Put("relation", *r)
	c.out.Relations = append(c.out.Relations, RelationDiff{e.ID, r.Label, o.ID, r.Category})
	return nil
}

// Triples stores facts that a caller states. They settle what was uncertain about their entity and key.
func (s *Service) Triples(ctx context.Context, t *settings.Tenant, who *grant.Caller, triples []Triple, w TurnWrite,
	turn string) (*Extraction, error) {
	clauses, err := Target(ctx, t, who, w.Scopes)
	if err != nil {
		return nil, err
	}
	found, err := factsOf(triples)
	if err != nil {
		return nil, err
	}
	o := Origin{Clauses: clauses, Labels: w.Labels, Observed: w.Observed, Category: w.Category,
		Source: store.Source{Kind: "upsert", Trust: 0.9, Session: w.Session, TurnAt: w.Observed}}
	if len(w.Messages) > 0 {
		o.Source.Location = w.Messages[0].Location
	}
	if turn != "" {
		o.Source.Ref = "turn:" + turn
	}
	var out *Extraction
	err = t.DB.Update(ctx, func(tx *store.Tx) error {
		if out, err = work(ctx, t, tx, *found, o, turn); err != nil {
			return err
		}
		return settle(ctx, t, tx, clauses, out)
	})
	return out, err
}

func factsOf(triples []Triple) (*Facts, error) {
	var found Facts
	for i, tr := range triples {
		if text.Normal(tr.Entity.Name) == "" || text.Normal(tr.Key) == "" || (tr.Value == "") == (tr.Target == nil) {
			return nil, problem.Invalid("triples", "triples.%d: want entity, key and one of value and target", i)
		}
		if len(tr.Value) > 4096 || len(tr.Entity.Name) > 256 || len(tr.Key) > 128 {
			return nil, problem.Invalid("triples", "triples.%d: a text is too long", i)
		}
		if _, ok := importance[tr.Category]; tr.Category != "" && !ok {
			return nil, problem.Invalid("memory_category", "triples.%d.memory_category: want identity, knowledge or context", i)
		}
		if tr.Category == "" {
			tr.Category = "knowledge"
		}
		found.Facts = append(found.Facts, Fact{Type: tr.Entity.Type, Name: tr.Entity.Name, Key: tr.Key,
			Value: tr.Value, Target: tr.Target, Category: tr.Category, Confidence: 1})
	}
	return &found, nil
}

// settle resolves uncertainties about what was just stated.
func settle(ctx context.Context, t *settings.Tenant, tx *store.Tx, clauses grant.Clauses, out *Extraction) error {
	open, err := store.Rows[store.Uncertainty](ctx, t.DB, "SELECT * FROM uncertainty WHERE resolved = false")
	if err != nil {
		return err
	}
	for _, u := range open {
		for _, a := range out.Attributes {
			if u.About == a.Entity+" "+a.Key && u.Clauses.Key() == clauses.Key() {
				now := time.Now().UTC()
				u.Resolved, u.ResolvedBy, u.ResolvedAt = true, "attribute:"+a.ID, &now
				tx.Put("uncertainty", u)
			}
		}
	}
	return nil
}

var trust = map[string]float64{"user": 0.7, "tool": 0.6, "system": 0.8, "assistant": 0.4}

// PassageOf is a turn as a text to read facts out of.
func PassageOf(t store.Turn) Passage { return Passage{t.Content, t.Speaker, t.TS, t.Clauses} }

// OfTurn is the origin of facts that a turn states.
func OfTurn(t store.Turn, category string) Origin {
	return Origin{Clauses: t.Clauses, Labels: t.Labels, Observed: t.TS, Category: category,
		Source: store.Source{Kind: "turn", Ref: "turn:" + t.ID, Session: t.Session, TurnAt: t.TS,
			Trust: trust[t.Role], End: len(t.Content), Location: t.Location}}
}
