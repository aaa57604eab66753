// Package retrieve finds memories: an index in memory for each Context that follows the database by its log of
// revisions, a ranking that needs no model, and the packing of what was found for an agent's prompt. The same
// Context, question and time give the same answer.
package retrieve

import (
	"context"
	"fmt"
	"runtime/debug"
	"sort"
	"strings"
	"time"

	"github.com/nacredb/nacre/internal/span"
	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/place"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
	"github.com/nacredb/nacre/memsvc/text"
)

// Tiers of an answer.
const (
	TierDirect = "direct"
	TierCache  = "cache"
	TierHybrid = "hybrid"
	TierFull   = "full_context"
)

// thin is the score of the best hit below which the search looks further.
const thin = 0.40

// Hit is one answer to a query.
type Hit struct {
	ID       string             `json:"id"`
	Source   string             `json:"source"`
	Text     string             `json:"text"`
	Score    float64            `json:"score"`
	Occurred *time.Time         `json:"occurredAt,omitempty"`
	Ref      string             `json:"ref"`
	Session  string             `json:"sessionId,omitempty"`
	Seq      *int               `json:"seq,omitempty"`
	Document string             `json:"documentId,omitempty"`
	Title    string             `json:"documentTitle,omitempty"`
	Section  string             `json:"section,omitempty"`
	Span     *[2]int            `json:"span,omitempty"`
	Role     string             `json:"role,omitempty"`
	Speaker  string             `json:"speaker,omitempty"`
	Labels   []string           `json:"labels,omitempty"`
	StartMS  *int64             `json:"startMs,omitempty"` // of a recording: when it is spoken
	EndMS    *int64             `json:"endMs,omitempty"`
	Location *place.Point       `json:"location,omitempty"`
	Signals  map[string]float64 `json:"signals,omitempty"`
	Clauses  grant.Clauses      `json:"-"`
	Position int                `json:"-"`
	section  int
}

// Found is the result of a search.
type Found struct {
	Hits   []Hit
	Tier   string
	Reason string
	Legs   map[string]int
	Pool   int
	Seeds  []string // entities that the question names: entity:TYPE/NAME

	candidates []Candidate
}

// Search answers a query with at most k hits.
func (s *Service) Search(ctx context.Context, t *settings.Tenant, q Query, k int) (out *Found, err error) {
	ctx, sp := span.Start(ctx, "search", span.Internal)
	sp.Set("memsvc.mode", q.Mode)
	defer func() { sp.End(err) }()
	h, err := s.caughtUp(ctx, t)
	if err != nil {
		return nil, err
	}
	s.vector(ctx, t, &q)
	s.look(ctx, t, h, &q)
	out = s.rank(ctx, h, q)
	sp.Set("memsvc.tier", out.Tier)
	out.Hits, err = s.hydrate(ctx, t, q.Region, out.candidates, k)
	return out, err
}

// caughtUp is fresh with a span of its own.
func (s *Service) caughtUp(ctx context.Context, t *settings.Tenant) (*held, error) {
	ctx, sp := span.Start(ctx, "index", span.Internal)
	h, err := s.fresh(ctx, t)
	sp.End(err)
	return h, err
}

// rank finds the candidates of a query. The span tells how many each leg gave.
func (s *Service) rank(ctx context.Context, h *held, q Query) *Found {
	_, sp := span.Start(ctx, "rank", span.Internal)
	defer sp.End(nil)
	out := &Found{Tier: TierHybrid, Reason: "ranked over the pool"}
	h.mu.RLock()
	candidates, legs := h.x.Search(q, s.Tuning)
	if len(candidates) == 0 || candidates[0].Score < thin {
		out.Tier, out.Reason = TierFull, "the best score is below 0.40"
		candidates = s.widen(h.x, q, candidates)
	}
	out.Seeds = h.x.seeds(q, candidates)
	h.mu.RUnlock()
	s.first.Do(debug.FreeOSMemory) // the first search has read the tables of words
	if len(candidates) > 0 && legs[TierDirect] > 0 && strings.HasPrefix(candidates[0].ID, "attribute/") {
		out.Tier, out.Reason = TierDirect, "the question asks for a key of an entity"
	}
	out.Legs, out.Pool, out.candidates = legs, len(candidates), candidates
	for name, n := range legs {
		sp.Set("memsvc.leg."+name, n)
	}
	return out
}

// widen looks again over a larger pool with more weight on similar words and names; what it finds stands behind.
func (s *Service) widen(x *Index, q Query, have []Candidate) []Candidate {
	if q.Mode != Hybrid && q.Mode != "" {
		return have
	}
	wide := *s.Tuning
	wide.Near, wide.Hop, wide.NearLeast = wide.Near*1.3, wide.Hop*2, wide.NearLeast-0.05
	q.Pool *= 2
	more, _ := x.Search(q, &wide)
	seen := map[string]bool{}
	for _, c := range have {
		seen[c.ID] = true
	}
	least := 1.0
	if len(have) > 0 {
		least = have[len(have)-1].Score
	}
	for _, c := range more {
		if !seen[c.ID] {
			c.Score = min(c.Score, least)
			have = append(have, c)
		}
	}
	return have
}

// hydrate reads the rows of the best candidates. A row that is gone, or that its own clauses hide, is left out: the
// index may be older than the row.
func (s *Service) hydrate(ctx context.Context, t *settings.Tenant, region grant.Region, cs []Candidate,
	k int) ([]Hit, error) {
	cs = cs[:min(len(cs), k+8)]
	keys := map[string][]string{}
	for _, c := range cs {
		table, key, _ := split(c.ID)
		keys[table] = append(keys[table], key)
	}
	rows := map[string]any{}
	if err := rowsOf(ctx, t.DB, keys, rows); err != nil {
		return nil, err
	}
	out := make([]Hit, 0, k)
	for _, c := range cs {
		table, key, part := split(c.ID)
		hit, clauses, ok := hitOf(rows[table+"/"+key], part)
		if !ok || !region.Visible(grant.Read, clauses) {
			continue
		}
		hit.Clauses = clauses
		hit.Score = float64(int(c.Score*1e4)) / 1e4
		if out = append(out, hit); len(out) == k {
			break
		}
	}
	return out, nil
}

func rowsOf(ctx context.Context, db *store.DB, keys map[string][]string, into map[string]any) error {
	turns, err := store.Lookup[store.Turn](ctx, db, "turn", keys["turn"]...)
	if err != nil {
		return err
	}
	for i := range turns {
		into["turn/"+turns[i].ID] = &turns[i]
	}
	chunks, err := store.Lookup[store.Chunk](ctx, db, "chunk", keys["chunk"]...)
	if err != nil {
		return err
	}
	for i := range chunks {
		into["chunk/"+chunks[i].ID] = &chunks[i]
	}
	attributes, err := store.Lookup[store.Attribute](ctx, db, "attribute", keys["attribute"]...)
	for i := range attributes {
		into["attribute/"+attributes[i].ID] = &attributes[i]
	}
	return err
}

// split takes the id of a unit apart: table, key and part.
func split(id string) (table, key string, part int) {
	table, key, _ = strings.Cut(id, "/")
	if head, tail, ok := strings.Cut(key, "/"); ok {
		key = head
		_, _ = fmt.Sscan(tail, &part) // ids are made by partID
	}
	return
}

func hitOf(row any, part int) (Hit, grant.Clauses, bool) {
	switch r := row.(type) {
	case *store.Turn:
		h := Hit{ID: "memory_chunk:" + r.ID, Source: KindTurn, Text: r.Content, Occurred: &r.TS, Ref: "turn:" +
			r.ID, Session: r.Session, Seq: &r.Seq,
			Role: r.Role, Speaker: r.Speaker, Labels: r.Labels, Span: &[2]int{0, len(r.Content)}, Location: r.Location}
		if text.Tokens(r.Content) > text.TurnTokens {
			parts := text.Window(r.Content, 0, len(r.Content), text.TurnTokens, text.TurnOverlap)
			if part < len(parts) {
				p := parts[part]
				h.ID, h.Text, h.Span = partID(h.ID, part), r.Content[p.Start:p.End], &[2]int{p.Start, p.End}
			}
		}
		return h, r.Clauses, true
	case *store.Chunk:
		h := Hit{ID: "chunk:" + r.ID, Source: KindChunk, Text: r.Text, Ref: "doc:" + r.Document,
			Document: r.Document, Title: r.Title,
			Section: r.Section, Span: &[2]int{r.Start,
				r.End}, Labels: r.Labels, Position: r.Position, section: r.SectionRef, Location: r.Location}
		if !r.ObservedAt.IsZero() {
			h.Occurred = &r.ObservedAt
		}
		if strings.HasPrefix(r.Mime, "audio/") {
			h.Source = KindAudio
		}
		if r.EndMS > 0 {
			h.StartMS, h.EndMS = &r.StartMS, &r.EndMS
		}
		return h, r.Clauses, true
	case *store.Attribute:
		_, name, _ := strings.Cut(r.Entity, "/")
		h := Hit{ID: "attribute:" + r.ID, Source: KindAttribute, Text: strings.ReplaceAll(name, "_", " ") + " · " +
			strings.ReplaceAll(r.Key, "_", " ") + ": " + r.Value,
			Ref: r.Source.Ref, Session: r.Source.Session, Labels: r.Labels, Location: r.Source.Location}
		if !r.ValidFrom.IsZero() {
			h.Occurred = &r.ValidFrom
		}
		return h, r.Clauses, true
	}
	return Hit{}, nil, false
}

// Siblings are passages of the sections of hits that are not hits themselves: at most 10 of a section and 20 in all.
// They are those that the database held at an instant.
func (s *Service) Siblings(ctx context.Context, t *settings.Tenant, region grant.Region, hits []Hit,
	held time.Time) ([]Hit, error) {
	type section struct {
		doc string
		ref int
	}
	have, want, perSection := map[string]bool{}, []section{}, map[section]bool{}
	for _, h := range hits {
		have[h.ID] = true
		if sec := (section{h.Document, h.section}); h.Source == KindChunk && !perSection[sec] {
			perSection[sec] = true
			want = append(want, sec)
		}
	}
	out := []Hit{}
	for _, sec := range want {
		chunks, err := store.Rows[store.Chunk](ctx, t.DB, "SELECT * FROM $span WHERE section_ref = $ref LIMIT 20",
			store.Var{Name: "span", Value: store.Span("chunk", sec.doc+"-", sec.doc+".")}, store.Var{Name: "ref",
				Value: sec.ref})
		if err != nil {
			return nil, err
		}
		n := 0
		for i := range chunks {
			h, clauses, _ := hitOf(&chunks[i], 0)
			if !have[h.ID] && chunks[i].HeldAt(held) && region.Visible(grant.Read, clauses) && n < 10 && len(out) < 20 {
				n++
				out = append(out, h)
			}
		}
	}
	return out, nil
}

// Around are the turns next to hits that the database held at an instant, so that a reader sees what they answer.
func (s *Service) Around(ctx context.Context, t *settings.Tenant, region grant.Region, hits []Hit,
	held time.Time) ([]Hit, error) {
	have := map[string]bool{}
	var keys []string
	for _, h := range hits {
		have[h.Ref] = true
	}
	for _, h := range hits {
		if h.Source != KindTurn {
			continue
		}
		for _, seq := range []int{*h.Seq - 1, *h.Seq + 1} {
			k := fmt.Sprintf("%s-%08d", h.Session, seq)
			if seq >= 0 && !have["turn:"+k] {
				have["turn:"+k] = true
				keys = append(keys, k)
			}
		}
	}
	turns, err := store.Lookup[store.Turn](ctx, t.DB, "turn", keys...)
	var out []Hit
	for i := range turns {
		there := turns[i].HeldAt(held) && turns[i].ValidUntil == nil
		if h, clauses, _ := hitOf(&turns[i], 0); there && region.Visible(grant.Read, clauses) {
			out = append(out, h)
		}
	}
	return out, err
}

// Pack writes hits as Markdown within a budget of tokens: the best ones first come in, then their neighbours; what
// came in is grouped by session and document and ordered by time.
func Pack(hits, neighbours []Hit, budget int) (string, []Hit) {
	used := 0
	var in []Hit
	size := func(h Hit) int { return text.Tokens(h.line()) + 1 }
	for i, list := range [][]Hit{hits, neighbours} {
		for _, h := range list {
			// Half of what the hits leave is for neighbours: more of them say little.
			if n := size(h); used+n <= budget && (i == 0 || len(h.Text) < 600) {
				used += n
				in = append(in, h)
			}
		}
	}
	sort.SliceStable(in, func(i, j int) bool { return before(&in[i], &in[j]) })
	var b strings.Builder
	group := ""
	for _, h := range in {
		if g := h.group(); g != group {
			group = g
			fmt.Fprintf(&b, "\n### %s\n", g)
		}
		b.WriteString(h.line())
		b.WriteByte('\n')
	}
	return strings.TrimPrefix(b.String(), "\n"), in
}

func before(a, b *Hit) bool {
	if a.Source != b.Source && (a.Source == KindAttribute || b.Source == KindAttribute) {
		return a.Source == KindAttribute
	}
	at, bt := when(a), when(b)
	switch {
	case a.group() == b.group() && a.Seq != nil && b.Seq != nil:
		return *a.Seq < *b.Seq
	case !at.Equal(bt):
		return at.Before(bt)
	case a.Session != b.Session:
		return a.Session < b.Session
	}
	return a.ID < b.ID
}

func when(h *Hit) time.Time {
	if h.Occurred == nil {
		return time.Time{}
	}
	return *h.Occurred
}

func (h *Hit) group() string {
	switch {
	case h.Source == KindAttribute:
		return "Facts"
	case h.Session != "":
		return "Conversation of " + when(h).Format("2 January 2006")
	case h.Title != "":
		return "Document " + h.Title
	}
	return "Passages"
}

func (h *Hit) line() string {
	who := h.Speaker
	if who == "" {
		who = h.Role
	}
	switch {
	case h.Source == KindTurn && strings.HasPrefix(h.Text, who+":"):
		return "- " + h.Text
	case h.Source == KindTurn:
		return "- " + who + ": " + h.Text
	case h.Source == KindAttribute && h.Occurred != nil:
		return "- " + h.Text + " (since " + h.Occurred.Format("2006-01-02") + ")"
	}
	return "- " + h.Text
}
