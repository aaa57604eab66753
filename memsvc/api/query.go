package api

import (
	"cmp"
	"context"
	"maps"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/config"
	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/retrieve"
	"github.com/nacredb/nacre/memsvc/store"
)

type queryRequest struct {
	Query      string   `json:"query"`
	K          *int     `json:"k"`
	Limit      *int     `json:"limit"`
	Mode       string   `json:"mode"`
	Lens       *Scopes  `json:"lens"`
	Scope      *Scopes  `json:"scope"`
	Labels     Labels   `json:"labels"`
	ScopeView  string   `json:"scope_view"`
	Include    []string `json:"include"`
	Duplicates bool     `json:"include_duplicates"`
	AsOf       Time     `json:"as_of"`
	AtInstant  Time     `json:"at_instant"`
	ValidFrom  Time     `json:"valid_from"`
	ValidUntil Time     `json:"valid_until"`
	Session    string   `json:"session_id"`
	Source     string   `json:"source"`
	Explain    bool     `json:"explain"`
	Location   *Area    `json:"location"`
}

type traceBody struct {
	ID        string    `json:"traceId"`
	Tier      string    `json:"resolutionTier"`
	Reason    string    `json:"tierReason"`
	Retrieved int       `json:"retrievedCount"`
	TopScores []float64 `json:"topScores"`
	LatencyMS float64   `json:"latencyMs"`
}

type queryResponse struct {
	Tier           string         `json:"tier"`
	Classification string         `json:"classificationKind"`
	SeedEntities   []string       `json:"seedEntities"`
	Hits           []retrieve.Hit `json:"hits"`
	ContextHits    []retrieve.Hit `json:"contextHits"`
	QueryMS        float64        `json:"queryMs"`
	Trace          traceBody      `json:"trace"`
}

var modes = map[string]bool{"": true, retrieve.Hybrid: true, retrieve.Vector: true, retrieve.BM25: true,
	retrieve.Graph: true}

// check reads what does not depend on the Context.
func (in *queryRequest) check(c *call) (k int, err error) {
	if err := text("query", in.Query, maxQuery); err != nil {
		return 0, err
	}
	if !modes[in.Mode] {
		return 0, problem.Invalid("mode", "mode: want hybrid, vector, bm25 or graph")
	}
	switch in.ScopeView {
	case "", "strict", "merged", "crossTeam":
	default:
		return 0, problem.Invalid("scopeView", "scopeView: want strict, merged or crossTeam")
	}
	for _, i := range in.Include {
		if i != "facts" && i != "passages" {
			return 0, problem.Invalid("include", "include: want facts and passages")
		}
	}
	if err := in.order(); err != nil {
		return 0, err
	}
	return c.k(in.K, in.Limit)
}

// order refuses an interval that ends before it begins.
func (in *queryRequest) order() error {
	if !in.ValidFrom.IsZero() && !in.ValidUntil.IsZero() && in.ValidUntil.Before(in.ValidFrom.Time) {
		return problem.Invalid("validUntil", "validUntil: it is before validFrom")
	}
	return nil
}

// when is the times that a request reads at. Those in the future are now.
func (in *queryRequest) when() when {
	now := time.Now().UTC()
	w := when{known: now, held: now}
	if t := in.AtInstant.Time; !t.IsZero() && t.Before(now) {
		w.known, w.held = t, t
	}
	if t := in.AsOf.Time; !t.IsZero() && t.Before(w.known) {
		w.known = t
	}
	w.valid = w.known
	return w
}

// search makes the query of a request.
func (in *queryRequest) search(c *call) retrieve.Query {
	now := in.when().known
	q := retrieve.Query{Text: in.Query, Mode: in.Mode, Now: now, Pool: c.s.cfg.Pool, Region: c.who.Region,
		Lens:   named(in.Lens, in.Scope),
		Labels: in.Labels, Twins: in.Duplicates, From: in.ValidFrom.Time, To: in.ValidUntil.Time,
		Where: in.Location.area()}
	if !in.AtInstant.IsZero() {
		q.Held = in.when().held
	}
	if q.Mode == "" {
		q.Mode = retrieve.Hybrid
	}
	if in.Session != "" {
		q.Group = "session/" + in.Session
	}
	if len(in.Include) == 1 {
		q.Kinds = map[string]bool{retrieve.KindTurn: true, retrieve.KindAttribute: true, retrieve.KindEntity: true}
		if in.Include[0] == "passages" {
			q.Kinds = map[string]bool{retrieve.KindChunk: true}
		}
	}
	return q
}

func (s *Server) query(c *call) (any, error) {
	var in queryRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	k, err := in.check(c)
	if err != nil {
		return nil, err
	}
	return s.runQuery(c, &in, k)
}

func (s *Server) runQuery(c *call, in *queryRequest, k int) (*queryResponse, error) {
	start := time.Now()
	q := in.search(c)
	found, err := s.find(c, in, q, k)
	if err != nil {
		return nil, err
	}
	if q.Mode == retrieve.Hybrid && found.Tier != retrieve.TierDirect {
		s.favour(c, in, found)
	}
	out := &queryResponse{Tier: found.Tier, Classification: found.Tier, SeedEntities: found.Seeds, Hits: found.Hits,
		ContextHits: []retrieve.Hit{}}
	if out.Classification == retrieve.TierDirect {
		out.Classification = "direct_lookup"
	}
	if s.cfg.SectionExpansion {
		if out.ContextHits, err = s.retrieve.Siblings(c.ctx(), c.tenant, c.who.Region, found.Hits,
			in.when().held); err != nil {
			return nil, err
		}
	}
	if in.Explain {
		if err := s.explain(c, q, out.Hits); err != nil {
			return nil, err
		}
	}
	out.QueryMS = ms(start)
	out.Trace = s.trace(c, in.Query, in.Source, q.Mode, found, start)
	return out, nil
}

// find looks for facts that the question asks for by name, then searches.
func (s *Server) find(c *call, in *queryRequest, q retrieve.Query, k int) (*retrieve.Found, error) {
	return s.retrieve.Search(c.ctx(), c.tenant, q, k)
}

// explain notes what each way of retrieval alone gives a hit.
func (s *Server) explain(c *call, q retrieve.Query, hits []retrieve.Hit) error {
	for _, mode := range []string{retrieve.BM25, retrieve.Vector, retrieve.Graph} {
		q.Mode = mode
		found, err := s.retrieve.Search(c.ctx(), c.tenant, q, config.MaxQueryK)
		if err != nil {
			return err
		}
		for i := range hits {
			for _, f := range found.Hits {
				if f.ID == hits[i].ID {
					if hits[i].Signals == nil {
						hits[i].Signals = map[string]float64{}
					}
					hits[i].Signals[mode] = f.Score
				}
			}
		}
	}
	return nil
}

func ms(start time.Time) float64 { return float64(time.Since(start).Microseconds()) / 1000 }

// trace notes a retrieval; it is written behind the answer.
func (s *Server) trace(c *call, query, source, mode string, found *retrieve.Found, start time.Time) traceBody {
	b := traceBody{ID: store.NewID(), Tier: found.Tier, Reason: found.Reason, Retrieved: found.Pool,
		TopScores: []float64{}, LatencyMS: ms(start)}
	row := store.Trace{ID: b.ID, Kind: "retrieval", Query: query, Tier: found.Tier, Reason: found.Reason,
		Mode: mode, Legs: found.Legs, LatencyMS: b.LatencyMS,
		Principal: c.who.Principal, Region: c.who.Region.Key(), Clauses: c.readHome(), Source: source,
		CreatedAt: time.Now().UTC()}
	for _, h := range found.Hits {
		row.Returned = append(row.Returned, h.ID)
		row.Scores = append(row.Scores, h.Score)
		if len(b.TopScores) < 5 {
			b.TopScores = append(b.TopScores, h.Score)
		}
	}
	s.notes.add(c.tenant.DB, "trace", row)
	s.metrics.Observe("memsvc_query_duration_seconds", b.LatencyMS/1000, "tier", found.Tier, "mode", mode)
	return b
}

// readHome is the clauses of what a read leaves behind: those who may read all that the caller may read see it.
func (c *call) readHome() grant.Clauses {
	g := c.who.Region.Grants()[string(grant.Read)]
	var out grant.Clauses
	for _, p := range g {
		if pat, err := grant.ParsePattern(p); err == nil {
			out = append(out, []string{pat.Node})
		}
	}
	return out
}

type contextRequest struct {
	queryRequest
	MaxTokens *int `json:"max_tokens"`
}

type contextResponse struct {
	Context string         `json:"context"`
	Items   []retrieve.Hit `json:"items"`
	Tier    string         `json:"tier"`
	QueryMS float64        `json:"queryMs"`
	TraceID string         `json:"traceId"`
}

// Budgets of /context in tokens.
const (
	defaultBudget = 2000
	maxBudget     = 32000
)

func (s *Server) context(c *call) (any, error) {
	var in contextRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	return s.runContext(c, &in)
}

func (s *Server) sessionContext(c *call) (any, error) {
	var in contextRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if in.Query == "" {
		in.Query = c.r.URL.Query().Get("query")
	}
	ses, err := c.session()
	if err != nil {
		return nil, err
	}
	in.Session = ses.ID
	return s.runContext(c, &in)
}

func (s *Server) runContext(c *call, in *contextRequest) (*contextResponse, error) {
	start := time.Now()
	k, err := in.check(c)
	if err != nil {
		return nil, err
	}
	budget := defaultBudget
	if in.MaxTokens != nil {
		if budget = *in.MaxTokens; budget < 1 || budget > maxBudget {
			return nil, problem.Invalid("maxTokens", "maxTokens: want from 1 to %d", maxBudget)
		}
	}
	if in.K == nil && in.Limit == nil {
		k = s.cfg.MaxK // the budget bounds the answer
	}
	q := in.search(c)
	found, err := s.find(c, &in.queryRequest, q, k)
	if err != nil {
		return nil, err
	}
	w := in.when()
	near, err := s.neighbours(c.ctx(), c, found.Hits, w.held)
	if err != nil {
		return nil, err
	}
	head, err := s.contextHead(c, w, budget/5)
	if err != nil {
		return nil, err
	}
	body, items := retrieve.Pack(found.Hits, near, budget-tokens(head))
	out := &contextResponse{Context: head + body, Items: items, Tier: found.Tier, QueryMS: ms(start)}
	if items == nil {
		out.Items = []retrieve.Hit{}
	}
	out.TraceID = s.trace(c, in.Query, in.Source, q.Mode, found, start).ID
	return out, nil
}

// neighbours are the turns around hits and the passages of their sections.
func (s *Server) neighbours(ctx context.Context, c *call, hits []retrieve.Hit, held time.Time) ([]retrieve.Hit,
	error) {
	near, err := s.retrieve.Around(ctx, c.tenant, c.who.Region, hits, held)
	if err != nil || !s.cfg.SectionExpansion {
		return near, err
	}
	siblings, err := s.retrieve.Siblings(ctx, c.tenant, c.who.Region, hits, held)
	return append(near, siblings...), err
}

type traceRow struct {
	ID        string    `json:"traceId"`
	Kind      string    `json:"kind"`
	Query     string    `json:"query"`
	Tier      string    `json:"tier"`
	Reason    string    `json:"tierReason,omitempty"`
	Mode      string    `json:"mode,omitempty"`
	Legs      any       `json:"candidates,omitempty"`
	Returned  []string  `json:"returned"`
	Scores    []float64 `json:"scores"`
	LatencyMS float64   `json:"latencyMs"`
	Principal string    `json:"principal"`
	Source    string    `json:"source,omitempty"`
	Model     string    `json:"model,omitempty"`
	Tokens    int       `json:"cost,omitempty"`
	Parent    string    `json:"parent,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
}

func traceRowOf(t store.Trace) traceRow {
	if t.Returned == nil {
		t.Returned, t.Scores = []string{}, []float64{}
	}
	if t.Legs == nil {
		t.Legs = map[string]int{}
	}
	return traceRow{t.ID, t.Kind, t.Query, t.Tier, t.Reason, t.Mode, t.Legs, t.Returned, t.Scores, t.LatencyMS,
		t.Principal, t.Source, t.Model, t.Tokens, t.Parent, t.CreatedAt}
}

// mayTrace reports whether the caller may see a trace: its own, or any for who manages grants everywhere. A trace holds
// the question and what was found, so it is shown to those only who see as much as its principal did.
func (c *call) mayTrace(t store.Trace) bool {
	return (t.Principal == c.who.Principal && t.Region == c.who.Region.Key()) ||
		(c.who.Region.Everywhere(grant.Manage) && c.who.Region.Everywhere(grant.Read))
}

func (s *Server) listTraces(c *call) (any, error) {
	limit, offset, err := c.page()
	if err != nil {
		return nil, err
	}
	s.notes.flush(c.ctx())
	all, err := store.Rows[store.Trace](c.ctx(), c.tenant.DB, "SELECT * FROM trace ORDER BY id DESC LIMIT 10000")
	if err != nil {
		return nil, err
	}
	out := []traceRow{}
	for _, t := range all {
		if c.mayTrace(t) {
			out = append(out, traceRowOf(t))
		}
	}
	return map[string]any{"traces": window(out, limit, offset)}, nil
}

func (s *Server) getTrace(c *call) (any, error) {
	s.notes.flush(c.ctx())
	t, err := store.Get[store.Trace](c.ctx(), c.tenant.DB, "trace", c.param("tid"))
	if err != nil {
		return nil, err
	}
	if t == nil || !c.mayTrace(*t) {
		return nil, problem.NotFound("There is no such trace")
	}
	return traceDetailOf(*t), nil
}

// traceDetail is a trace with what it returned.
type traceDetail struct {
	traceRow
	ParentID   *string          `json:"parent"`
	Retrievals []traceRetrieval `json:"retrievals"`
}

type traceRetrieval struct {
	Ref   string  `json:"ref"`
	Rank  int     `json:"rank"`
	Score float64 `json:"score"`
}

func traceDetailOf(t store.Trace) traceDetail {
	d := traceDetail{traceRow: traceRowOf(t), Retrievals: []traceRetrieval{}}
	if t.Parent != "" {
		d.ParentID = &t.Parent
	}
	for i, ref := range t.Returned {
		d.Retrievals = append(d.Retrievals, traceRetrieval{ref, i + 1, t.Scores[i]})
	}
	return d
}

func (s *Server) traceStats(c *call) (any, error) {
	hours, err := c.number("windowHours", 24, 1)
	if err != nil {
		return nil, err
	}
	since, err := c.moment("since")
	if err != nil {
		return nil, err
	}
	if since.IsZero() {
		since = time.Now().Add(-time.Duration(min(hours, 24*3650)) * time.Hour)
	}
	s.notes.flush(c.ctx())
	all, err := store.Rows[store.Trace](c.ctx(), c.tenant.DB, "SELECT * FROM trace WHERE created_at > $since",
		store.Var{Name: "since", Value: since})
	if err != nil {
		return nil, err
	}
	tiers := map[string]int{"direct": 0, "hybrid": 0, "fullContext": 0}
	total, latency, hits, responses, candidates, most := 0, 0.0, 0, 0, 0, 0
	for _, t := range all {
		if !c.mayTrace(t) {
			continue
		}
		if t.Kind == "response" {
			responses++
			if t.Tier == retrieve.TierCache {
				hits++
			}
			continue
		}
		total++
		latency += t.LatencyMS
		n := 0
		for _, v := range t.Legs {
			n += v
		}
		candidates, most = candidates+n, max(most, n)
		switch t.Tier {
		case retrieve.TierFull:
			tiers["fullContext"]++
		default:
			tiers[t.Tier]++
		}
	}
	changes, err := s.changeStats(c, since)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"totalQueries": total, "avgLatencyMs": latency / float64(max(total, 1)),
		"windowHours": hours, "tierCounts": tiers,
		"cacheHits": hits, "cacheHitRate": float64(hits) / float64(max(responses,
			1)), "responseTracesTotal": responses, "responseTracesCached": hits,
		"retrieval": map[string]any{"traces": total,
			"avgCandidateSet": float64(candidates) / float64(max(total, 1)), "maxCandidateSet": most}}
	maps.Copy(out, changes)
	return out, nil
}

// changeStats counts, since a time, the contradictions and the facts that others took the place of, and says where the
// facts that the caller sees come from.
func (s *Server) changeStats(c *call, since time.Time) (map[string]any, error) {
	from := store.Var{Name: "since", Value: since}
	doubts, err := store.Rows[store.Uncertainty](c.ctx(), c.tenant.DB,
		"SELECT * FROM uncertainty WHERE created_at > $since", from)
	if err != nil {
		return nil, err
	}
	facts, err := store.Rows[store.Attribute](c.ctx(), c.tenant.DB, "SELECT * FROM attribute WHERE recorded_at > $since", from)
	if err != nil {
		return nil, err
	}
	contradictions, events, churned, kinds := 0, 0, map[string]bool{}, map[string]int{}
	for _, u := range doubts {
		if c.sees(u.Clauses) {
			contradictions++
		}
	}
	seen := 0
	for _, a := range facts {
		if !c.sees(a.Clauses) {
			continue
		}
		seen++
		kinds[a.Source.Kind]++
		if a.Supersedes != "" {
			events, churned[a.Entity] = events+1, true
		}
	}
	sources := []map[string]any{}
	for _, k := range keysOf(kinds) {
		sources = append(sources, map[string]any{"kind": k, "count": kinds[k]})
	}
	return map[string]any{
		"contradiction": map[string]any{"contradictions": contradictions, "reconciliations": seen,
			"contradictionRate": float64(contradictions) / float64(max(seen, 1))},
		"supersession": map[string]any{"supersessionEvents": events, "entitiesChurned": len(churned),
			"churnPerEntity": float64(events) / float64(max(len(churned), 1))},
		"sourceKindDistribution": sources}, nil
}

// moment reads a time of the query, by its name or that in snake_case; zero when there is none.
func (c *call) moment(name string) (time.Time, error) {
	var t Time
	s := cmp.Or(c.r.URL.Query().Get(name), c.r.URL.Query().Get(snake(name)))
	if s == "" {
		return t.Time, nil
	}
	if err := t.UnmarshalJSON([]byte(`"` + strings.ReplaceAll(s, `"`, "") + `"`)); err != nil {
		return t.Time, problem.Invalid(name, "%s: want a time", name)
	}
	return t.Time, nil
}

func (s *Server) listAudit(c *call) (any, error) {
	limit, offset, err := c.page()
	if err != nil {
		return nil, err
	}
	s.notes.flush(c.ctx())
	q := c.r.URL.Query()
	principal := q.Get("principal")
	if !c.who.Region.Everywhere(grant.Manage) {
		principal = c.who.Principal
	}
	since, err := c.moment("since")
	if err != nil {
		return nil, err
	}
	until, err := c.moment("until")
	if err != nil {
		return nil, err
	}
	rows, err := store.Rows[store.Audit](c.ctx(), c.tenant.DB,
		"SELECT * FROM audit WHERE ($kind = '' OR kind = $kind) AND ($p = '' OR principal = $p) AND "+
			"($key = '' OR key = $key) AND ($since = NONE OR ts >= $since) AND ($until = NONE OR ts < $until) "+
			"ORDER BY id DESC LIMIT $limit START $offset",
		store.Var{Name: "kind", Value: q.Get("kind")}, store.Var{Name: "p", Value: principal},
		store.Var{Name: "key", Value: q.Get("key")}, store.Var{Name: "since", Value: since},
		store.Var{Name: "until", Value: until}, store.Var{Name: "limit", Value: limit},
		store.Var{Name: "offset", Value: offset})
	for i := range rows {
		if rows[i].TraceID == "" {
			rows[i].TraceID = rows[i].ID
		}
	}
	if rows == nil {
		rows = []store.Audit{}
	}
	return map[string]any{"rows": rows}, err
}
