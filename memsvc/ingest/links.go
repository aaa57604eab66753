package ingest

import (
	"context"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
)

var (
	markdownLink = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\]\(([^()\s]{1,500})\)`) })
	bareLink     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://[^\s<>()"']{1,500}`) })
)

// Links finds the links between documents again: where one names the file, the source or the title of another one.
func (s *Service) Links(ctx context.Context, t *settings.Tenant, sees, may May) (n int, err error) {
	err = t.DB.Update(ctx, func(tx *store.Tx) error {
		n = 0
		docs, err := store.Rows[store.Document](ctx, t.DB, "SELECT * FROM document WHERE status = 'ready' ORDER BY id")
		if err != nil {
			return err
		}
		named := map[string]store.Document{}
		for _, d := range docs {
			if !sees(d.Clauses) {
				continue
			}
			for _, name := range []string{d.Filename, d.Source, d.Title} {
				if name = target(name); name != "" {
					named[name] = d
				}
			}
		}
		for _, d := range docs {
			if !sees(d.Clauses) || !may(d.Clauses) {
				continue
			}
			if err := s.linksOf(ctx, t, tx, d, named, &n); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

func (s *Service) linksOf(ctx context.Context, t *settings.Tenant, tx *store.Tx, d store.Document,
	named map[string]store.Document, n *int) error {
	chunks, err := store.Rows[store.Chunk](ctx, t.DB, "SELECT * FROM $span",
		store.Var{Name: "span", Value: store.Span("chunk", d.ID+"-", d.ID+".")})
	if err != nil {
		return err
	}
	seen := map[string]bool{d.ID: true}
	for _, c := range chunks {
		var names []string
		for _, m := range markdownLink().FindAllStringSubmatch(c.Text, 200) {
			names = append(names, m[1])
		}
		names = append(names, bareLink().FindAllString(c.Text, 200)...)
		for _, name := range names {
			if to, ok := named[target(name)]; ok && !seen[to.ID] {
				seen[to.ID] = true
				*n++
				tx.Put("link", store.Link{ID: d.ID + "-" + to.ID, From: d.ID, To: to.ID, Kind: "markdown_link",
					Clauses: both(d.Clauses, to.Clauses)})
			}
		}
	}
	return nil
}

// both are the clauses of a link: those who see both documents see it.
func both(a, b grant.Clauses) (out grant.Clauses) {
	if a.Key() == b.Key() {
		return a
	}
	for _, x := range a {
		for _, y := range b {
			out = append(out, append(append([]string{}, x...), y...))
		}
	}
	return out
}

// target returns the part of the name of a document or link that is compared: an address as it is, else the name of the
// file.
func target(name string) string {
	name, _, _ = strings.Cut(strings.TrimSpace(strings.ToLower(name)), "#")
	if u, err := url.PathUnescape(name); err == nil {
		name = u
	}
	if strings.Contains(name, "://") {
		return strings.TrimSuffix(name, "/")
	}
	if name = path.Base(name); name == "." || name == "/" {
		return ""
	}
	return name
}
