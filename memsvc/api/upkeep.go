package api

import (
	"bufio"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/gateway"
	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/ingest"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/store"
	words "github.com/nacredb/nacre/memsvc/text"
)

// may reports whether the caller may use a verb on what carries these clauses.
func (c *call) may(verb grant.Verb) ingest.May {
	return func(clauses grant.Clauses) bool { return c.who.Region.Writable(verb, clauses) }
}

func (s *Server) decay(c *call) (any, error) {
	n, err := s.ingest.Decay(c.ctx(), c.tenant, time.Now().UTC(), c.may(grant.Write))
	return map[string]any{"affected": n}, err
}

func (s *Server) expire(c *call) (any, error) {
	n, err := s.ingest.Expire(c.ctx(), c.tenant, time.Now().UTC(), c.may(grant.Write))
	return map[string]any{"affected": n}, err
}

func (s *Server) decayManaged(c *call) (any, error) {
	if _, err := s.managed(c); err != nil {
		return nil, err
	}
	n, err := s.ingest.Decay(c.ctx(), c.tenant, time.Now().UTC(), ingest.Everything)
	return map[string]any{"affected": n}, err
}

func (s *Server) expireManaged(c *call) (any, error) {
	if _, err := s.managed(c); err != nil {
		return nil, err
	}
	n, err := s.ingest.Expire(c.ctx(), c.tenant, time.Now().UTC(), ingest.Everything)
	return map[string]any{"affected": n}, err
}

type checkRequest struct {
	Check     string   `json:"check"`
	Threshold *float64 `json:"duplicate_threshold"`
	Most      *int     `json:"max_results"`
}

func (s *Server) fsck(c *call) (any, error) {
	var in checkRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if in.Check != "" && !slices.Contains(ingest.Checks, in.Check) {
		return nil, problem.Invalid("check", "check: want one of %s", strings.Join(ingest.Checks, ", "))
	}
	threshold, most := 0.95, s.cfg.PageSize
	if in.Threshold != nil {
		if threshold = *in.Threshold; threshold <= 0 || threshold > 1 {
			return nil, problem.Invalid("duplicateThreshold", "duplicateThreshold: want a number above 0, at most 1")
		}
	}
	if in.Most != nil {
		if most = *in.Most; most < 1 || most > s.cfg.MaxList {
			return nil, problem.Invalid("maxResults", "maxResults: want from 1 to %d", s.cfg.MaxList)
		}
	}
	if in.Check == "unscoped" && !c.who.Region.Everywhere(grant.Manage) {
		return nil, s.denied(c, grant.Manage, "fsck")
	}
	if in.Check == "" && !c.who.Region.Everywhere(grant.Manage) {
		in.Check = "duplicates"
	}
	found, err := s.ingest.Check(c.ctx(), c.tenant, in.Check, threshold, most, c.sees)
	return map[string]any{"findings": found}, err
}

type consolidateRequest struct {
	DryRun       bool `json:"dry_run"`
	Facts        *int `json:"fact_limit"`
	Observations *int `json:"observation_limit"`
}

// Limits of one consolidation.
const (
	maxFacts        = 10_000
	maxObservations = 1_000
)

func bounded(name string, n *int, most int) (int, error) {
	if n == nil {
		return most, nil
	}
	if *n < 1 || *n > most {
		return 0, problem.Invalid(name, "%s: want from 1 to %d", name, most)
	}
	return *n, nil
}

func (s *Server) consolidate(c *call) (any, error) {
	var in consolidateRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := c.blocked(); err != nil {
		return nil, err
	}
	facts, err := bounded("factLimit", in.Facts, maxFacts)
	if err != nil {
		return nil, err
	}
	most, err := bounded("observationLimit", in.Observations, maxObservations)
	if err != nil {
		return nil, err
	}
	all, err := s.ingest.Consolidate(c.ctx(), c.tenant, facts, most, in.DryRun, c.sees, c.may(grant.Write))
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	row := store.Trace{ID: store.NewID(), Kind: "decision", Tier: "consolidation", Principal: c.who.Principal,
		Region: c.who.Region.Key(), Clauses: c.readHome(), CreatedAt: time.Now().UTC()}
	for _, o := range all {
		counts[o.Kind]++
		row.Returned = append(row.Returned, o.ID)
	}
	if !in.DryRun {
		s.notes.add(c.tenant.DB, "trace", row)
	}
	return map[string]any{"created": counts["created"], "updated": counts["updated"],
		"superseded": counts["superseded"], "dryRun": in.DryRun, "outcomes": all, "traceId": row.ID}, nil
}

type elaborateRequest struct {
	Entity string `json:"entity_ref"`
	Sweep  bool   `json:"sweep"`
	Budget *int   `json:"budget"`
	DryRun bool   `json:"dry_run"`
}

// maxElaborate is how many entities one call reads again.
const maxElaborate = 100

func (s *Server) elaborate(c *call) (any, error) {
	var in elaborateRequest
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := c.blocked(); err != nil {
		return nil, err
	}
	budget, err := bounded("budget", in.Budget, maxElaborate)
	if err != nil {
		return nil, err
	}
	if _, err := s.models.Choose(c.tenant.Settings, gateway.Elaboration, ""); err != nil {
		return nil, err
	}
	if err := s.tellUsage(c); err != nil {
		return nil, err
	}
	var entities []store.Entity
	switch key, ok := strings.CutPrefix(in.Entity, "entity:"); {
	case ok:
		kind, name, _ := strings.Cut(key, "/")
		e, err := store.Get[store.Entity](c.ctx(), c.tenant.DB, "entity", ingest.EntityKey(kind, name))
		if err != nil {
			return nil, err
		}
		if e == nil || !c.sees(e.Clauses) {
			return nil, problem.NotFound("There is no such entity")
		}
		entities = []store.Entity{*e}
	case in.Sweep && in.Entity == "":
		if entities, err = s.ingest.Newest(c.ctx(), c.tenant, budget, time.Time{}); err != nil {
			return nil, err
		}
	default:
		return nil, problem.Invalid("entityRef", "entityRef: want entity:TYPE/NAME, or sweep")
	}
	n, outcomes := 0, []*ingest.Elaborated{}
	for _, e := range entities[:min(len(entities), budget)] {
		if !c.sees(e.Clauses) || !c.who.Region.Writable(grant.Write, e.Clauses) {
			continue
		}
		one, err := s.ingest.Elaborate(c.ctx(), c.tenant, e, in.DryRun, c.sees)
		if err != nil {
			one = &ingest.Elaborated{Entity: "entity:" + e.ID, Relations: []ingest.RelationDiff{},
				Error: "the provider failed"}
			s.log.Warn("elaborate", "context", c.tenant.Context, "error", err)
		}
		n, outcomes = n+len(one.Relations), append(outcomes, one)
	}
	return map[string]any{"relationsEmitted": n, "outcomes": outcomes, "dryRun": in.DryRun}, nil
}

// observations returns the conclusions of consolidation that the caller may see.
func (s *Server) observations(c *call) (any, error) {
	limit, offset, err := c.page()
	if err != nil {
		return nil, err
	}
	all, err := store.Rows[store.Observation](c.ctx(), c.tenant.DB, "SELECT * FROM observation ORDER BY id")
	out := []store.Observation{}
	for _, o := range all {
		if c.sees(o.Clauses) {
			out = append(out, o)
		}
	}
	return map[string]any{"observations": window(out, limit, offset), "total": len(out)}, err
}

type keywordQuery struct {
	Query     string  `json:"query"`
	K         *int    `json:"k"`
	Limit     *int    `json:"limit"`
	Threshold float64 `json:"threshold"`
}

type keywordHit struct {
	Text       string  `json:"text"`
	Normalised string  `json:"normalised"`
	Count      int     `json:"documentCount"`
	Score      float64 `json:"score"`
}

// searchKeywords finds the phrases of documents that mean something similar to a query.
func (s *Server) searchKeywords(c *call) (any, error) {
	var in keywordQuery
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := text("query", in.Query, maxQuery); err != nil {
		return nil, err
	}
	k, err := c.k(in.K, in.Limit)
	if err != nil {
		return nil, err
	}
	docs, texts, err := c.keywords()
	if err != nil {
		return nil, err
	}
	asked := words.Embed(in.Query)
	out := []keywordHit{}
	for _, n := range keysOf(docs) {
		if score := words.Cosine(asked, words.Embed(texts[n])); score > 0 && score >= in.Threshold {
			out = append(out, keywordHit{texts[n], n, len(docs[n]), float64(int(score*1e4)) / 1e4})
		}
	}
	slices.SortStableFunc(out, func(a, b keywordHit) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return strings.Compare(a.Normalised, b.Normalised)
	})
	return map[string]any{"keywords": out[:min(len(out), k)]}, nil
}

func (s *Server) recomputeLinks(c *call) (any, error) {
	n, err := s.ingest.Links(c.ctx(), c.tenant, c.sees, c.may(grant.Write))
	return map[string]any{"linksEmitted": n}, err
}

// migrations tells which version of tables Contexts have, and how many jobs are dead.
func (s *Server) migrations(c *call) (any, error) {
	versions, behind, err := s.store.SchemaVersions(c.ctx())
	if err != nil {
		return nil, err
	}
	dead, err := s.store.Jobs(c.ctx(), "", store.JobDead)
	if err != nil {
		return nil, err
	}
	return map[string]any{"current": store.SchemaVersion, "versions": versions, "contextsBehind": behind,
		"deadLetters": len(dead)}, nil
}

func (s *Server) reindex(c *call) (any, error) {
	row, err := s.managed(c)
	if err != nil {
		return nil, err
	}
	id, err := s.ingest.QueueReindex(c.ctx(), row.ID)
	if err != nil {
		return nil, err
	}
	s.retrieve.Forget(row.ID)
	c.audit("context.reindex", "", row.ID, "ok", 1)
	return map[string]any{"jobId": id}, nil
}

// imported are the tables that an import may write, and exports hold.
var imported = []string{"scope", "session", "turn", "document", "chunk", "keyword", "entity", "attribute", "relation",
	"instruction", "uncertainty"}

const (
	importStep = 500
	maxLine    = 8 << 20
)

// importContext writes the lines of an export. Principals stay those of the Context; a row with a known key is
// replaced.
func (s *Server) importContext(c *call) (any, error) {
	row, err := s.managed(c)
	if err != nil {
		return nil, err
	}
	in := bufio.NewScanner(http.MaxBytesReader(c.w, c.r.Body, 1<<30))
	in.Buffer(nil, maxLine)
	type line struct {
		Table string         `json:"table"`
		Row   map[string]any `json:"row"`
	}
	var batch []line
	n, skipped := 0, 0
	flush := func() error {
		err := c.tenant.DB.Update(c.ctx(), func(tx *store.Tx) error {
			for _, l := range batch {
				key, _ := l.Row["id"].(string)
				delete(l.Row, "id")
				tx.PutRow(l.Table, key, l.Row)
				l.Row["id"] = key // the change may be worked out again
			}
			return nil
		})
		n, batch = n+len(batch), batch[:0]
		return err
	}
	for number := 1; in.Scan(); number++ {
		if strings.TrimSpace(in.Text()) == "" {
			continue
		}
		var l line
		if tooDeep(in.Bytes()) || json.Unmarshal(in.Bytes(), &l) != nil {
			return nil, problem.Invalid("body", "line %d is no row of an export", number)
		}
		key, _ := l.Row["id"].(string)
		if !slices.Contains(imported, l.Table) || key == "" || len(key) > 1024 {
			skipped++
			continue
		}
		if batch = append(batch, l); len(batch) == importStep {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if err := in.Err(); err != nil {
		return nil, problem.Invalid("body", "the lines cannot be read: %.200s", err)
	}
	if err := flush(); err != nil {
		return nil, err
	}
	s.retrieve.Forget(row.ID)
	c.audit("context.import", "", row.ID, "ok", n)
	return map[string]any{"imported": n, "skipped": skipped}, nil
}

func (s *Server) upkeepRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	t := of([]route{
		{method: post, path: "/elaborate", verb: grant.Write, handle: s.elaborate, in: elaborateRequest{},
			summary: "Let a model find relations in what was said of an entity"},
		{method: post, path: "/consolidate", verb: grant.Write, handle: s.consolidate, in: consolidateRequest{},
			summary: "Draw what several sources say of a key together"},
		{method: get, path: "/observations", verb: grant.Read, handle: s.observations,
			summary: "List what consolidation found"},
		{method: post, path: "/lifecycle/decay", verb: grant.Write, handle: s.decay,
			summary: "Lower the importance of facts by the days since the last time"},
		{method: post, path: "/lifecycle/expire", verb: grant.Write, handle: s.expire,
			summary: "End facts of the category context that nothing strengthened for a week"},
		{method: post, path: "/fsck", verb: grant.Read, handle: s.fsck, in: checkRequest{},
			summary: "Find duplicates, contradictions, injections and rows without scopes"},
		{method: post, path: "/documents/keywords/search", verb: grant.Read, handle: s.searchKeywords,
			in: keywordQuery{}, summary: "Find keywords of similar meaning"},
		{method: post, path: "/documents/recompute-links", verb: grant.Write, handle: s.recomputeLinks,
			summary: "Find the links between documents again"},
	})
	const one = "/api/v1/contexts/{id}"
	for _, r := range []route{
		{method: get, path: "/api/v1/migrations", handle: s.migrations,
			summary: "Versions of the tables of Contexts, and dead jobs"},
		{method: post, path: one + "/lifecycle/decay", handle: s.decayManaged,
			summary: "Lower the importance of facts by the days since the last time"},
		{method: post, path: one + "/lifecycle/expire", handle: s.expireManaged,
			summary: "End facts of the category context that nothing strengthened for a week"},
		{method: post, path: one + "/reindex", handle: s.reindex, status: http.StatusAccepted,
			summary: "Embed everything anew and build the index again"},
		{method: post, path: one + "/import", handle: s.importContext, summary: "Write the rows of an export"},
	} {
		r.plane = management
		t = append(t, r)
	}
	return t
}
