package api

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"reflect"
	"sort"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/config"
	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/ingest"
	"github.com/nacredb/nacre/memsvc/model"
	"github.com/nacredb/nacre/memsvc/place"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/retrieve"
	"github.com/nacredb/nacre/memsvc/store"
	words "github.com/nacredb/nacre/memsvc/text"
)

func unescaped(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

type documentBody struct {
	ID          string       `json:"id"`
	Title       string       `json:"title"`
	Source      string       `json:"source,omitempty"`
	Filename    string       `json:"filename,omitempty"`
	MimeType    string       `json:"mimeType"`
	Hash        string       `json:"contentHash"`
	HashOld     string       `json:"content_hash"`
	Size        int64        `json:"sizeBytes"`
	Observed    *time.Time   `json:"observedAt,omitempty"`
	Labels      []string     `json:"labels,omitempty"`
	Version     int          `json:"version"`
	Status      string       `json:"status"`
	Error       string       `json:"error,omitempty"`
	Notes       []string     `json:"notes,omitempty"`
	Chunks      int          `json:"chunks"`
	CreatedAt   time.Time    `json:"createdAt"`
	UpdatedAt   time.Time    `json:"updatedAt"`
	Deduplicate bool         `json:"deduplicated"`
	Location    *place.Point `json:"location,omitempty"`
}

func documentBodyOf(d store.Document) documentBody {
	return documentBody{ID: d.ID, Title: d.Title, Source: d.Source, Filename: d.Filename, MimeType: d.MimeType,
		Hash: d.Hash, HashOld: d.Hash,
		Size: d.Size, Observed: stamp(d.ObservedAt), Labels: d.Labels, Version: d.Version, Status: d.Status,
		Error: d.Error, Notes: d.Notes,
		Chunks: d.Chunks, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt, Location: d.Location}
}

type uploadMeta struct {
	Title    string  `json:"title"`
	Source   string  `json:"source"`
	Mime     string  `json:"mime_type"`
	Filename string  `json:"filename"`
	Scopes   *Scopes `json:"scopes"`
	Scope    *Scopes `json:"scope"`
	Labels   Labels  `json:"labels"`
	Observed Time    `json:"observed_at"`
	Profile  string  `json:"profile"`
	Location *Place  `json:"location"`
}

func (m *uploadMeta) upload() (ingest.Upload, error) {
	if len(m.Title)+len(m.Source)+len(m.Filename) > 4096 || strings.ContainsAny(m.Title+m.Source+m.Filename, "\x00") {
		return ingest.Upload{}, problem.Invalid("title", "title, source, filename: too long")
	}
	switch m.Profile {
	case "", "TextOnly", "TextPlusKeyword", "StandardMultimodal", "MultimodalFull":
	default:
		return ingest.Upload{}, problem.Invalid("profile", "profile: there is no such profile")
	}
	// A file name is a label here: it never becomes a path.
	name := m.Filename[strings.LastIndexAny(m.Filename, `/\`)+1:]
	return ingest.Upload{Title: m.Title, Source: m.Source, Filename: name, Mime: m.Mime, Profile: m.Profile,
		Scopes: named(m.Scopes, m.Scope),
		Labels: m.Labels, Observed: m.Observed.Time, Location: m.Location.point()}, nil
}

// readUpload reads a multipart form with a file, or the bytes of a body as they are.
func (c *call) readUpload() (u ingest.Upload, err error) {
	kind, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil {
		return u, problem.Invalid("Content-Type", "Content-Type: want multipart/form-data")
	}
	b, err := c.body(c.s.cfg.MaxUpload + 1<<20)
	if err != nil {
		return u, err
	}
	var meta uploadMeta
	var file []byte
	found := kind != "multipart/form-data"
	if found {
		file, meta.Mime, meta.Title = b, kind, c.r.URL.Query().Get("title")
		meta.Filename = c.r.URL.Query().Get("filename")
	} else if file, found, err = readForm(b, params["boundary"], &meta); err != nil {
		return u, err
	}
	if !found {
		return u, problem.Invalid("file", "file: required")
	}
	if int64(len(file)) > c.s.cfg.MaxUpload {
		return u, problem.Of(http.StatusRequestEntityTooLarge, "payload-too-large",
			"The document is larger than %d bytes", c.s.cfg.MaxUpload)
	}
	if len(file) == 0 {
		return u, problem.Invalid("file", "file: it is empty")
	}
	u, err = meta.upload()
	u.Bytes = file
	return u, err
}

// metadataOnly reads a JSON body that holds fields of the metadata of an upload and nothing else: it changes them and
// reads the document again, and is not the new document.
func (c *call) metadataOnly() (u ingest.Upload, ok bool, err error) {
	if kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return u, false, nil //nolint:nilerr // it is no JSON
	}
	b, err := c.body(c.s.cfg.MaxUpload + 1<<20)
	if err != nil {
		return u, false, err
	}
	fields, err := members(b)
	if err != nil || tooDeep(b) {
		return u, false, nil //nolint:nilerr // a document of any kind of JSON
	}
	known := schemaOf(reflect.TypeFor[uploadMeta](), 0)["properties"].(map[string]any)
	for _, f := range fields {
		if known[snake(f.key)] == nil {
			return u, false, nil
		}
	}
	var meta uploadMeta
	if err := decodeJSON(b, &meta); err != nil {
		return u, false, err
	}
	u, err = meta.upload()
	return u, true, err
}

func readForm(b []byte, boundary string, meta *uploadMeta) (file []byte, found bool, err error) {
	mr := multipart.NewReader(strings.NewReader(string(b)), boundary)
	for range 32 {
		p, err := mr.NextPart()
		if errors.Is(err, io.EOF) {
			return file, found, nil
		}
		if err != nil {
			return nil, false, problem.Invalid("", "The form cannot be read")
		}
		part, err := io.ReadAll(p)
		if err != nil {
			return nil, false, problem.Invalid("", "The form cannot be read")
		}
		switch p.FormName() {
		case "file":
			file, found = part, true
			if meta.Filename == "" {
				meta.Filename = p.FileName()
			}
			if t := p.Header.Get("Content-Type"); meta.Mime == "" && t != "" {
				meta.Mime = t
			}
		case "metadata":
			if err := decodeJSON(part, meta); err != nil {
				return nil, false, err
			}
		case "title":
			meta.Title = string(part)
		case "source":
			meta.Source = string(part)
		}
	}
	return nil, false, problem.Invalid("", "The form has too many parts")
}

func (s *Server) uploadDocument(c *call) (any, error) {
	u, err := c.readUpload()
	if err != nil {
		return nil, err
	}
	d, same, err := s.ingest.Upload(c.ctx(), c.tenant, c.who, u)
	if err != nil {
		return nil, c.noteDenied(err, grant.Write)
	}
	if same {
		c.audit("document.scope_widen", grant.Write, d.ID, "ok", 1)
	}
	out := documentBodyOf(*d)
	out.Deduplicate = same
	return out, nil
}

// document is a document that the caller may see.
func (c *call) document(id string) (*store.Document, error) {
	d, err := store.Get[store.Document](c.ctx(), c.tenant.DB, "document", id)
	if err != nil {
		return nil, err
	}
	if d == nil || !c.sees(d.Clauses) {
		return nil, problem.NotFound("There is no such document")
	}
	return d, nil
}

func (s *Server) getDocument(c *call) (any, error) {
	d, err := c.document(c.param("did"))
	if err != nil {
		return nil, err
	}
	return documentBodyOf(*d), nil
}

func (s *Server) replaceDocument(c *call) (any, error) {
	d, err := c.document(c.param("did"))
	if err != nil {
		return nil, err
	}
	if !c.who.Region.Writable(grant.Write, d.Clauses) {
		return nil, s.denied(c, grant.Write, "document")
	}
	u, meta, err := c.metadataOnly()
	if err == nil && !meta && c.r.Header.Get("Content-Type") != "" && c.r.ContentLength != 0 {
		u, err = c.readUpload()
	}
	if err != nil {
		return nil, err
	}
	if u.Scopes != nil {
		return nil, problem.Invalid("scopes", "scopes: the scopes of a document do not change")
	}
	if d, err = s.ingest.Replace(c.ctx(), c.tenant, d.ID, u); err != nil {
		return nil, err
	}
	return documentBodyOf(*d), nil
}

func (s *Server) deleteDocument(c *call) (any, error) {
	d, err := c.document(c.param("did"))
	if err != nil {
		return nil, err
	}
	if !c.who.Region.Writable(grant.Write, d.Clauses) && !c.who.Region.Writable(grant.Forget, d.Clauses) {
		return nil, s.denied(c, grant.Write, "document")
	}
	s.notes.flush(c.ctx())
	err = s.ingest.DeleteDocument(c.ctx(), c.tenant, d.ID)
	s.retrieve.Forget(c.tenant.Context)
	c.audit("document.delete", grant.Write, d.ID, "ok", 1)
	return nil, err
}

func (s *Server) rawDocument(c *call) (any, error) {
	d, err := c.document(c.param("did"))
	if err != nil {
		return nil, err
	}
	b, err := s.blob.Get(c.ctx(), d.StorageKey)
	if err != nil {
		return nil, err
	}
	// The bytes come from somebody else: a browser must not run them.
	c.w.Header().Set("Content-Type", "application/octet-stream")
	c.w.Header().Set("Content-Disposition", "attachment")
	c.w.Header().Set("X-Document-Type", d.MimeType)
	c.done = true
	_, err = c.w.Write(b)
	return nil, err
}

// pages reads page and pageSize.
func (c *call) pages() (page, size int, err error) {
	if page, err = c.number("page", 0, 0); err != nil {
		return
	}
	if size, err = c.number("pageSize", c.s.cfg.PageSize, 1); err == nil && size > c.s.cfg.MaxList {
		err = problem.Ceiling("pageSize", size, c.s.cfg.MaxList)
	}
	return min(page, 1<<30), size, err
}

func (s *Server) listDocuments(c *call) (any, error) {
	page, size, err := c.pages()
	if err != nil {
		return nil, err
	}
	q := c.r.URL.Query()
	all, err := store.Rows[store.Document](c.ctx(), c.tenant.DB,
		"SELECT * FROM document WHERE ($s = '' OR status = $s) AND ($m = '' OR mime_type = $m) ORDER BY id DESC",
		store.Var{Name: "s", Value: q.Get("status")}, store.Var{Name: "m", Value: q.Get("mimeType")})
	if err != nil {
		return nil, err
	}
	out := []documentBody{}
	for _, d := range all {
		if c.sees(d.Clauses) {
			out = append(out, documentBodyOf(d))
		}
	}
	return map[string]any{"documents": window(out, size, page*size), "page": page, "pageSize": size,
		"total": len(out)}, nil
}

func (s *Server) documentChunks(c *call) (any, error) {
	page, size, err := c.pages()
	if err != nil {
		return nil, err
	}
	d, err := c.document(c.param("did"))
	if err != nil {
		return nil, err
	}
	all, err := store.Rows[store.Chunk](c.ctx(), c.tenant.DB, "SELECT * FROM $span",
		store.Var{Name: "span", Value: store.Span("chunk", d.ID+"-", d.ID+".")})
	out := []chunkBody{}
	for _, ch := range all {
		if c.sees(ch.Clauses) {
			out = append(out, chunkBody{"chunk:" + ch.ID, ch.Text, ch.Section, ch.Position, ch.Document, ch.Start,
				ch.End})
		}
	}
	return map[string]any{"chunks": window(out, size, page*size), "page": page, "pageSize": size,
		"total": len(out)}, err
}

func (s *Server) documentKeywords(c *call) (any, error) {
	d, err := c.document(c.param("did"))
	if err != nil {
		return nil, err
	}
	all, err := store.Rows[store.Keyword](c.ctx(), c.tenant.DB, "SELECT * FROM keyword WHERE document = $d ORDER BY id",
		store.Var{Name: "d", Value: d.ID})
	type keyword struct {
		Text       string  `json:"text"`
		Normalised string  `json:"normalised"`
		Score      float64 `json:"score"`
	}
	out := []keyword{}
	for _, k := range all {
		out = append(out, keyword{k.Text, k.Normalised, k.Score})
	}
	return map[string]any{"keywords": out}, err
}

type documentQuery struct {
	Query      string   `json:"query"`
	K          *int     `json:"k"`
	Limit      *int     `json:"limit"`
	Mode       string   `json:"mode"`
	Duplicates bool     `json:"include_duplicates"`
	Reranker   bool     `json:"use_reranker"`
	Hyde       bool     `json:"use_hyde"`
	Decompose  bool     `json:"decompose_query"`
	Threshold  float64  `json:"threshold"`
	Vector     *float64 `json:"vector_weight"`
	RRF        *float64 `json:"rrf_k"`
	GraphAlpha *float64 `json:"graph_alpha"`
	GraphDepth *int     `json:"graph_depth"`
	Expand     bool     `json:"expand_graph"`
	GraphEdges []string `json:"graph_edges"`
	Graph      bool     `json:"-"` // the graph is asked for
	Lens       *Scopes  `json:"lens"`
	Labels     Labels   `json:"labels"`
	Location   *Area    `json:"location"`
	Filter     struct {
		Documents []string `json:"document_ids"`
		Mime      string   `json:"mime_type"`
	} `json:"filter"`
}

type chunkBody struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Section  string `json:"section,omitempty"`
	Position int    `json:"position"`
	Document string `json:"document"`
	Start    int    `json:"charStart"`
	End      int    `json:"charEnd"`
}

type documentHit struct {
	Chunk    chunkBody         `json:"chunk"`
	Score    float64           `json:"score"`
	Document map[string]string `json:"document"`
	Evidence []graphEvidence   `json:"graphEvidence,omitempty"`
}

type documentAnswer struct {
	QueryMS  float64       `json:"queryMs"`
	Results  []documentHit `json:"results"`
	Warnings []string      `json:"warnings,omitempty"`
	TraceID  string        `json:"traceId"`
}

var graphEdges = map[string]bool{"knowledge_has_keyword": true, "section_match": true, "document_link": true,
	"document_summary": true}

// check reads what does not depend on the Context.
func (in *documentQuery) check(c *call) (k int, err error) {
	if err := text("query", in.Query, maxQuery); err != nil {
		return 0, err
	}
	in.Graph = in.Mode == "hybrid_graph" || in.Expand
	if in.Mode == "" || in.Mode == "hybrid_graph" {
		in.Mode = retrieve.Hybrid
	}
	if !modes[in.Mode] || in.Mode == retrieve.Graph {
		return 0, problem.Invalid("mode", "mode: want hybrid, vector, bm25 or hybrid_graph")
	}
	for _, e := range in.GraphEdges {
		if !graphEdges[e] {
			return 0, problem.Invalid("graphEdges", "graphEdges: there is no such edge")
		}
	}
	for _, f := range []struct {
		name      string
		at        **float64
		def, most float64
	}{{"vectorWeight", &in.Vector, 0.5, 1}, {"rrfK", &in.RRF, 60, 1e6}, {"graphAlpha", &in.GraphAlpha, 0.3, 1}} {
		if *f.at == nil {
			*f.at = &f.def
		}
		if v := **f.at; v < 0 || v > f.most {
			return 0, problem.Invalid(f.name, "%s: want a number from 0 to %g", f.name, f.most)
		}
	}
	if in.GraphDepth != nil && (*in.GraphDepth < 0 || *in.GraphDepth > 2) {
		return 0, problem.Invalid("graphDepth", "graphDepth: want 0, 1 or 2")
	}
	q := c.r.URL.Query()
	in.Reranker = in.Reranker || q.Get("use_reranker") == "true" || q.Get("useReranker") == "true"
	return c.k(in.K, in.Limit)
}

func (in *documentQuery) search(c *call) retrieve.Query {
	q := retrieve.Query{Text: in.Query, Mode: in.Mode, Now: time.Now().UTC(), Pool: c.s.cfg.Pool,
		Region: c.who.Region, Twins: in.Duplicates, Labels: in.Labels, Lens: named(in.Lens, nil), Mime: in.Filter.Mime,
		Kinds: map[string]bool{retrieve.KindChunk: true}, Where: in.Location.area()}
	if q.VectorShare = float32(2 * *in.Vector); q.VectorShare == 0 {
		q.VectorShare = -1
	}
	if len(in.Filter.Documents) > 0 {
		q.Groups = map[string]bool{}
		for _, d := range in.Filter.Documents {
			q.Groups["document/"+d] = true
		}
	}
	return q
}

func (s *Server) queryDocuments(c *call) (any, error) {
	start := time.Now()
	var in documentQuery
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	k, err := in.check(c)
	if err != nil {
		return nil, err
	}
	forms, warnings, err := s.rewrite(c, &in)
	if err != nil {
		return nil, err
	}
	pool := k
	if in.Reranker || in.Graph {
		pool = config.MaxQueryK
	}
	found, err := s.searchForms(c, in.search(c), forms, pool, *in.RRF)
	if err != nil {
		return nil, err
	}
	out := &documentAnswer{Results: []documentHit{}, Warnings: warnings}
	evidence := map[string][]graphEvidence{}
	if in.Graph {
		if evidence, err = s.expandGraph(c, &in, found); err != nil {
			return nil, err
		}
	}
	if in.Reranker {
		out.Warnings = append(out.Warnings, s.rerank(c, in.Query, found)...)
	}
	found.Hits = found.Hits[:min(k, len(found.Hits))]
	sources, err := c.sourcesOf(found.Hits)
	if err != nil {
		return nil, err
	}
	for _, h := range found.Hits {
		if h.Score < in.Threshold {
			continue
		}
		out.Results = append(out.Results, documentHit{Score: h.Score, Evidence: evidence[h.ID],
			Document: map[string]string{"id": h.Document, "title": h.Title, "source": sources[h.Document]},
			Chunk:    chunkBody{h.ID, h.Text, h.Section, h.Position, h.Document, h.Span[0], h.Span[1]}})
	}
	out.TraceID = s.trace(c, in.Query, "", in.Mode, found, start).ID
	out.QueryMS = ms(start)
	return out, nil
}

// sourcesOf are the sources of the documents of hits.
func (c *call) sourcesOf(hits []retrieve.Hit) (map[string]string, error) {
	seen, ids := map[string]string{}, []string{}
	for _, h := range hits {
		if _, ok := seen[h.Document]; !ok {
			seen[h.Document] = ""
			ids = append(ids, h.Document)
		}
	}
	docs, err := store.Lookup[store.Document](c.ctx(), c.tenant.DB, "document", ids...)
	for _, d := range docs {
		seen[d.ID] = d.Source
	}
	return seen, err
}

func (s *Server) listKeywords(c *call) (any, error) {
	page, size, err := c.pages()
	if err != nil {
		return nil, err
	}
	least, err := c.number("minDocumentCount", 1, 1)
	if err != nil {
		return nil, err
	}
	counts, texts, err := c.keywords()
	if err != nil {
		return nil, err
	}
	type keyword struct {
		Text       string `json:"text"`
		Normalised string `json:"normalised"`
		Count      int    `json:"documentCount"`
	}
	out := []keyword{}
	for _, n := range keysOf(counts) {
		if q := words.Normal(c.r.URL.Query().Get("q")); len(counts[n]) >= least && strings.Contains(n, q) {
			out = append(out, keyword{texts[n], n, len(counts[n])})
		}
	}
	return map[string]any{"keywords": window(out, size, page*size), "page": page, "pageSize": size,
		"total": len(out)}, nil
}

// keywords are the documents of every phrase that the caller may see.
func (c *call) keywords() (map[string][]string, map[string]string, error) {
	all, err := store.Rows[store.Keyword](c.ctx(), c.tenant.DB, "SELECT * FROM keyword ORDER BY id")
	docs, texts := map[string][]string{}, map[string]string{}
	for _, k := range all {
		if c.sees(k.Clauses) {
			docs[k.Normalised] = append(docs[k.Normalised], k.Document)
			texts[k.Normalised] = k.Text
		}
	}
	return docs, texts, err
}

func (s *Server) getKeyword(c *call) (any, error) {
	docs, texts, err := c.keywords()
	if err != nil {
		return nil, err
	}
	n := words.Normal(unescaped(c.param("word")))
	if docs[n] == nil {
		return nil, problem.NotFound("There is no such keyword")
	}
	return map[string]any{"text": texts[n], "normalised": n, "documentIds": docs[n]}, nil
}

func (s *Server) jobsOf(c *call) (any, error) {
	if _, err := s.managed(c); err != nil {
		return nil, err
	}
	jobs, err := s.store.Jobs(c.ctx(), c.tenant.Context, c.r.URL.Query().Get("status"))
	if jobs == nil {
		jobs = []store.Job{}
	}
	return map[string]any{"jobs": jobs}, err
}

// retryJob queues a dead job again; its document waits again, too.
func (s *Server) retryJob(c *call) (any, error) {
	j, err := s.store.Job(c.ctx(), c.param("jid"))
	if err != nil {
		return nil, err
	}
	if j == nil {
		return nil, problem.NotFound("There is no such job")
	}
	if err := s.ingest.Requeue(c.ctx(), *j); err != nil {
		return nil, err
	}
	return map[string]any{"id": j.ID, "state": store.JobQueued}, nil
}

func (s *Server) deleteJob(c *call) (any, error) {
	j, err := s.store.Job(c.ctx(), c.param("jid"))
	if err != nil {
		return nil, err
	}
	if j == nil {
		return nil, problem.NotFound("There is no such job")
	}
	return nil, s.store.DeleteJob(c.ctx(), j.ID)
}

// exportContext writes every row of memory as a line of JSON, without secrets.
func (s *Server) exportContext(c *call) (any, error) {
	if _, err := s.managed(c); err != nil {
		return nil, err
	}
	c.done = true
	c.w.Header().Set("Content-Type", "application/x-ndjson")
	enc := json.NewEncoder(c.w)
	for _, table := range []string{"principal", "scope", "session", "turn", "document", "chunk", "entity",
		"attribute", "relation", "instruction",
		"uncertainty"} {
		v, err := c.tenant.DB.Query(c.ctx(), "SELECT * FROM "+table+" ORDER BY id")
		if err != nil {
			return nil, err
		}
		for _, row := range v.Elems() {
			if err := enc.Encode(map[string]any{"table": table, "row": store.Plain(row)}); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

func (s *Server) documentRoutes() []route {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	return of([]route{
		{method: post, path: "/documents", verb: grant.Write, summary: "Upload a document",
			handle: s.uploadDocument, out: documentBody{},
			status: http.StatusAccepted},
		{method: get, path: "/documents", verb: grant.Read, summary: "List documents", handle: s.listDocuments},
		{method: post, path: "/documents/query", verb: grant.Read, summary: "Search documents",
			handle: s.queryDocuments, in: documentQuery{},
			out: documentAnswer{}},
		{method: get, path: "/documents/keywords", verb: grant.Read, summary: "List keywords", handle: s.listKeywords},
		{method: get, path: "/documents/keywords/{word}", verb: grant.Read, summary: "The documents of a keyword",
			handle: s.getKeyword},
		{method: get, path: "/documents/{did}", verb: grant.Read, summary: "A document", handle: s.getDocument,
			out: documentBody{}},
		{method: put, path: "/documents/{did}", verb: grant.Write, summary: "Replace or reprocess a document",
			handle: s.replaceDocument,
			out:    documentBody{}, status: http.StatusAccepted},
		{method: del, path: "/documents/{did}", verb: grant.Read, summary: "Delete a document",
			handle: s.deleteDocument, status: http.StatusNoContent},
		{method: get, path: "/documents/{did}/raw", verb: grant.Read, summary: "The bytes of a document",
			handle: s.rawDocument},
		{method: get, path: "/documents/{did}/chunks", verb: grant.Read, summary: "The passages of a document",
			handle: s.documentChunks},
		{method: get, path: "/documents/{did}/keywords", verb: grant.Read, summary: "The keywords of a document",
			handle: s.documentKeywords},
	})
}

func (s *Server) jobRoutes() []route {
	const one = "/api/v1/contexts/{id}"
	t := []route{
		{method: http.MethodGet, path: one + "/jobs", summary: "List jobs, the newest first", handle: s.jobsOf},
		{method: http.MethodGet, path: one + "/export", summary: "Every row of memory as lines of JSON",
			handle: s.exportContext},
		{method: http.MethodPost, path: "/api/v1/jobs/{jid}/retry", summary: "Queue a dead job again",
			handle: s.retryJob},
		{method: http.MethodDelete, path: "/api/v1/jobs/{jid}", summary: "Delete a job", handle: s.deleteJob,
			status: http.StatusNoContent},
	}
	for i := range t {
		t[i].plane = management
	}
	return t
}

// rerank orders hits by the reranker. Without one, and when it fails, they stay as they are.
func (s *Server) rerank(c *call, query string, found *retrieve.Found) []string {
	if s.cfg.Reranker.URL == "" || len(found.Hits) == 0 {
		return []string{"reranker_unavailable"}
	}
	texts := make([]string, len(found.Hits))
	for i, h := range found.Hits {
		texts[i] = h.Text
	}
	ranks, err := s.models.Client.Rerank(c.ctx(), model.Endpoint(s.cfg.Reranker), query, texts)
	if err != nil {
		s.log.Warn("rerank", "context", c.tenant.Context, "error", err)
		return []string{"reranker_failed"}
	}
	sort.SliceStable(ranks, func(i, j int) bool { return ranks[i].Score > ranks[j].Score })
	first, named := make([]retrieve.Hit, 0, len(texts)), map[int]bool{}
	for _, r := range ranks {
		h := found.Hits[r.Index]
		h.Score = min(max(r.Score, 0), 1)
		first, named[r.Index] = append(first, h), true
	}
	for i, h := range found.Hits {
		if !named[i] {
			h.Score = 0
			first = append(first, h)
		}
	}
	found.Hits = first
	return nil
}
