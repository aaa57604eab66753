package cli

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// plainCall is a command that is one call: its arguments fill the path and the query in order.
type plainCall struct {
	group, use, short string
	method, path      string // {} in the path is the next argument
	query             []string
	body              []string // names of the fields that arguments fill
	list              bool     // --limit and --offset
}

var plainCalls = []plainCall{
	{"", "profile", "Show facts by how long they last, and instructions", http.MethodGet, "/profile", nil, nil, false},
	{"", "state", "Show everything that holds now", http.MethodGet, "/state", nil, nil, false},
	{"", "me", "Show who the key is, and what it may", http.MethodGet, "/me", nil, nil, false},
	{"", "providers", "List the providers of language models", http.MethodGet, "/providers", nil, nil, false},
	{"", "audit", "List audit events", http.MethodGet, "/audit", nil, nil, true},
	{"", "fsck", "Find duplicates, contradictions, injections and rows without scopes", http.MethodPost, "/fsck",
		nil, nil, false},
	{"", "inspect REF", "Show what a reference stands for", http.MethodGet, "/inspect", []string{"ref"}, nil, false},
	{"sessions", "list", "List sessions", http.MethodGet, "/sessions", nil, nil, true},
	{"sessions", "show ID", "Show the turns of a session", http.MethodGet, "/sessions/{}/turns", nil, nil, true},
	{"sessions", "delete ID", "End a session", http.MethodDelete, "/sessions/{}", nil, nil, false},
	{"documents", "list", "List documents", http.MethodGet, "/documents", nil, nil, false},
	{"documents", "get ID", "Show a document", http.MethodGet, "/documents/{}", nil, nil, false},
	{"documents", "delete ID", "Delete a document", http.MethodDelete, "/documents/{}", nil, nil, false},
	{"documents", "query QUESTION", "Search documents", http.MethodPost, "/documents/query", nil,
		[]string{"query"}, false},
	{"entities", "list", "List entities", http.MethodGet, "/entities", nil, nil, true},
	{"entities", "show TYPE NAME", "Show an entity with its facts", http.MethodGet, "/entities/{}/{}", nil, nil, false},
	{"entities", "history TYPE NAME KEY", "Show every value of a key", http.MethodGet,
		"/entities/{}/{}/history/{}", nil, nil,
		false},
	{"traces", "list", "List traces", http.MethodGet, "/traces", nil, nil, true},
	{"traces", "show ID", "Show a trace", http.MethodGet, "/traces/{}", nil, nil, false},
	{"scopes", "list", "List scopes", http.MethodGet, "/scopes", nil, nil, true},
	{"scopes", "create PATH", "Register a scope", http.MethodPost, "/scopes", nil, []string{"path"}, false},
	{"scopes", "delete PATH", "Retire a scope", http.MethodDelete, "/scopes", []string{"path"}, nil, false},
	{"scopes", "forget PATH", "Delete everything of a scope", http.MethodPost, "/scopes/forget", nil,
		[]string{"path"}, false},
	{"keys", "list", "List own keys", http.MethodGet, "/keys", nil, nil, false},
	{"keys", "mint NAME", "Mint a key; it is shown once", http.MethodPost, "/keys", nil, []string{"name"}, false},
	{"keys", "rotate NAME", "Give a key a new secret; it is shown once", http.MethodPost, "/keys/{}/rotate",
		nil, nil, false},
	{"keys", "delete NAME", "Revoke a key", http.MethodDelete, "/keys/{}", nil, nil, false},
}

// plainCommands are the commands of plainCalls, and health.
func (f *memFlags) plainCommands() []*cobra.Command {
	groups := map[string]*cobra.Command{}
	out := []*cobra.Command{f.health()}
	for _, p := range plainCalls {
		cmd := f.plain(p)
		if p.group == "" {
			out = append(out, cmd)
			continue
		}
		g := groups[p.group]
		if g == nil {
			g = &cobra.Command{Use: p.group, Short: "Work with " + p.group, Args: exactArgs(0, "a command of "+p.group),
				RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
			groups[p.group] = g
			out = append(out, g)
		}
		g.AddCommand(cmd)
	}
	groups["documents"].AddCommand(f.upload())
	return out
}

func (f *memFlags) plain(p plainCall) *cobra.Command {
	var limit, offset int
	want := len(p.query) + len(p.body) + strings.Count(p.path, "{}")
	cmd := &cobra.Command{Use: p.use, Short: p.short, Args: exactArgs(want, strings.TrimSpace(p.use)),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := p.path
			for strings.Contains(path, "{}") {
				path = strings.Replace(path, "{}", url.PathEscape(args[0]), 1)
				args = args[1:]
			}
			q := url.Values{}
			for _, name := range p.query {
				q.Set(name, args[0])
				args = args[1:]
			}
			if limit > 0 {
				q.Set("limit", strconv.Itoa(limit))
			}
			if offset > 0 {
				q.Set("offset", strconv.Itoa(offset))
			}
			if len(q) > 0 {
				path += "?" + q.Encode()
			}
			var body any
			if p.method == http.MethodPost {
				in := map[string]string{}
				for i, name := range p.body {
					in[name] = args[i]
				}
				body = in
			}
			return f.call(cmd.Context(), p.method, path, body)
		}}
	if p.list {
		cmd.Flags().IntVar(&limit, "limit", 0, "most rows")
		cmd.Flags().IntVar(&offset, "offset", 0, "rows to leave out")
	}
	return cmd
}
