package api

import (
	"sort"

	"github.com/nacredb/nacre/memsvc/retrieve"
	"github.com/nacredb/nacre/memsvc/store"
	words "github.com/nacredb/nacre/memsvc/text"
)

// graphEvidence is an edge of the graph of documents that speaks for a hit.
type graphEvidence struct {
	Kind   string  `json:"edgeKind"`
	Label  string  `json:"neighbourLabel"`
	Weight float64 `json:"weight"`
}

// expandGraph looks for edges that lead from the question, and from the documents of other hits, to each hit:
// keywords, headings and titles that share words with the question, and links. The hits are ordered anew by their
// score and, for the share graphAlpha, the best of their edges.
func (s *Server) expandGraph(c *call, in *documentQuery, found *retrieve.Found) (map[string][]graphEvidence, error) {
	out := map[string][]graphEvidence{}
	if len(found.Hits) == 0 || (in.GraphDepth != nil && *in.GraphDepth == 0) {
		return out, nil
	}
	wanted := map[string]bool{}
	for _, e := range in.GraphEdges {
		wanted[e] = true
	}
	asked := map[string]bool{}
	for _, t := range words.Terms(in.Query) {
		asked[t] = true
	}
	byDoc, err := c.keywordsByDocument(found.Hits)
	if err != nil {
		return nil, err
	}
	links, err := c.linksAmong(found.Hits)
	if err != nil {
		return nil, err
	}
	for i := range found.Hits {
		h := &found.Hits[i]
		add := func(kind, label string, weight float64) {
			if weight > 0 && (len(wanted) == 0 || wanted[kind]) {
				out[h.ID] = append(out[h.ID], graphEvidence{kind, label, float64(int(weight*1e4)) / 1e4})
			}
		}
		for _, k := range byDoc[h.Document] {
			add("knowledge_has_keyword", k.Text, k.Score*shared(asked, k.Text))
		}
		add("section_match", h.Section, shared(asked, h.Section))
		add("document_summary", h.Title, shared(asked, h.Title))
		for _, title := range links[h.Document] {
			add("document_link", title, 0.5)
		}
		best := 0.0
		for _, e := range out[h.ID] {
			best = max(best, e.Weight)
		}
		h.Score = float64(int(((1-*in.GraphAlpha)*h.Score+*in.GraphAlpha*best)*1e4)) / 1e4
	}
	sort.SliceStable(found.Hits, func(i, j int) bool { return found.Hits[i].Score > found.Hits[j].Score })
	return out, nil
}

// shared is the share of the words of a label that the question holds.
func shared(asked map[string]bool, label string) float64 {
	terms := words.Terms(label)
	n := 0
	for _, t := range terms {
		if asked[t] {
			n++
		}
	}
	return float64(n) / float64(max(len(terms), 1))
}

func (c *call) keywordsByDocument(hits []retrieve.Hit) (map[string][]store.Keyword, error) {
	out, ids := map[string][]store.Keyword{}, []string{}
	for _, h := range hits {
		if _, ok := out[h.Document]; !ok {
			out[h.Document] = nil
			ids = append(ids, h.Document)
		}
	}
	all, err := store.Rows[store.Keyword](c.ctx(), c.tenant.DB, "SELECT * FROM keyword WHERE document IN $ids ORDER BY id",
		store.Var{Name: "ids", Value: ids})
	for _, k := range all {
		if c.sees(k.Clauses) {
			out[k.Document] = append(out[k.Document], k)
		}
	}
	return out, err
}

// linksAmong are, for each document of the hits, the titles of the other ones that it links to or that link to it.
func (c *call) linksAmong(hits []retrieve.Hit) (map[string][]string, error) {
	titles := map[string]string{}
	for _, h := range hits {
		titles[h.Document] = h.Title
	}
	all, err := store.Rows[store.Link](c.ctx(), c.tenant.DB, "SELECT * FROM link WHERE from_document IN $ids AND to_document IN $ids ORDER BY id",
		store.Var{Name: "ids", Value: keysOf(titles)})
	out := map[string][]string{}
	for _, l := range all {
		if c.sees(l.Clauses) {
			out[l.From] = append(out[l.From], titles[l.To])
			out[l.To] = append(out[l.To], titles[l.From])
		}
	}
	return out, err
}
