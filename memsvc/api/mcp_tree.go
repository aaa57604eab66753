package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sort"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tree of resources shows memory as files, read by calls of the user API with the caller's key:
//
//	memsvc://fs/documents/TITLE.txt
//	memsvc://fs/entities/NAME/KEY.txt
//	memsvc://fs/entities/NAME/relations/LABEL-OBJECT.txt
//	memsvc://fs/sessions/ID/turns/NNN-ROLE.txt
//
// A title that several documents have is followed by ~ID.

const treeRoot = "memsvc://fs/"

// treeSessions is how many sessions a listing shows, the newest ones.
const treeSessions = 20

// addTree lets a server show the tree.
func (i innerCalls) addTree(m *mcp.Server) {
	m.AddResourceTemplate(&mcp.ResourceTemplate{Name: "memory", URITemplate: treeRoot + "{+path}",
		Description: "Memory as a tree of texts", MIMEType: "text/plain"}, i.readTree)
	m.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != "resources/list" {
				return next(ctx, method, req)
			}
			files, err := i.tree(ctx)
			out := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}}
			for _, f := range files[:min(len(files), i.s.cfg.MaxList)] {
				out.Resources = append(out.Resources, &mcp.Resource{URI: f.uri, Name: f.name, MIMEType: "text/plain"})
			}
			return out, err
		}
	})
}

// file is one file of the tree; read makes its text.
type file struct {
	uri, name string
	read      func(ctx context.Context) (string, error)
}

func fileOf(read func(context.Context) (string, error), path ...string) file {
	for i, p := range path {
		path[i] = url.PathEscape(strings.ReplaceAll(p, "/", "_"))
	}
	return file{treeRoot + strings.Join(path, "/"), path[len(path)-1], read}
}

func (i innerCalls) readTree(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	files, err := i.tree(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.uri != req.Params.URI {
			continue
		}
		text, err := f.read(ctx)
		if err != nil {
			return nil, err
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: f.uri, MIMEType: "text/plain",
			Text: text}}}, nil
	}
	return nil, mcp.ResourceNotFoundError(req.Params.URI)
}

// get reads a route of the user API.
func (i innerCalls) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet,
		"http://memsvc/api/v1/"+url.PathEscape(i.context)+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+i.key)
	out := &memoryWriter{header: http.Header{}, status: http.StatusOK}
	i.s.ServeHTTP(out, req)
	switch {
	case out.status == http.StatusForbidden: // nothing of this branch is for the caller
		return nil
	case out.status >= 400:
		return fmt.Errorf("the service answered %d", out.status)
	}
	return json.Unmarshal(out.body.Bytes(), into)
}

// tree is every file that the caller may see.
func (i innerCalls) tree(ctx context.Context) ([]file, error) {
	var out []file
	for _, branch := range []func(context.Context) ([]file, error){i.documents, i.entities, i.sessions} {
		files, err := branch(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}

func (i innerCalls) documents(ctx context.Context) (out []file, err error) {
	var list struct{ Documents []documentBody }
	if err := i.get(ctx, fmt.Sprintf("/documents?status=ready&pageSize=%d", i.s.cfg.MaxList), &list); err != nil {
		return nil, err
	}
	count := map[string]int{}
	for _, d := range list.Documents {
		count[d.Title]++
	}
	for _, d := range list.Documents {
		name := d.Title
		if name == "" || count[name] > 1 {
			name += "~" + d.ID
		}
		out = append(out, fileOf(func(ctx context.Context) (string, error) {
			var chunks struct{ Chunks []chunkBody }
			err := i.get(ctx, fmt.Sprintf("/documents/%s/chunks?pageSize=%d", d.ID, i.s.cfg.MaxList), &chunks)
			return whole(chunks.Chunks), err
		}, "documents", name+".txt"))
	}
	return out, nil
}

// whole puts passages together; what two of them share stands once.
func whole(chunks []chunkBody) string {
	var b strings.Builder
	end := 0
	for _, c := range chunks {
		text := c.Text
		if c.Start < end {
			text = text[min(end-c.Start, len(text)):]
		} else if end > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(text)
		end = max(end, c.End)
	}
	return b.String()
}

func (i innerCalls) entities(ctx context.Context) (out []file, err error) {
	var state map[string]json.RawMessage
	if err := i.get(ctx, "/state", &state); err != nil {
		return nil, err
	}
	texts := map[[3]string][]string{}
	for _, part := range []string{"identity", "knowledge", "context"} {
		var b stateBody
		if len(state[part]) == 0 {
			continue
		}
		if err := json.Unmarshal(state[part], &b); err != nil {
			return nil, err
		}
		for _, a := range b.Attributes {
			_, name, _ := strings.Cut(a.Entity, "/")
			k := [3]string{name, a.Key}
			texts[k] = append(texts[k], a.Value+" (since "+a.ValidFrom.Format("2006-01-02")+")")
		}
		for _, r := range b.Relations {
			_, name, _ := strings.Cut(r.Subject, "/")
			_, object, _ := strings.Cut(r.Object, "/")
			k := [3]string{name, "relations", r.Label + "-" + object}
			texts[k] = append(texts[k], r.Subject+" "+r.Label+" "+r.Object)
		}
	}
	for k, lines := range texts {
		text := strings.Join(lines, "\n")
		path := []string{"entities", k[0], k[1] + ".txt"}
		if k[2] != "" {
			path = []string{"entities", k[0], k[1], k[2] + ".txt"}
		}
		out = append(out, fileOf(func(context.Context) (string, error) { return text, nil }, path...))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].uri < out[j].uri })
	return out, nil
}

func (i innerCalls) sessions(ctx context.Context) (out []file, err error) {
	var list struct {
		Sessions []struct {
			ID string `json:"id"`
		}
	}
	if err := i.get(ctx, fmt.Sprintf("/sessions?limit=%d", treeSessions), &list); err != nil {
		return nil, err
	}
	for _, s := range list.Sessions {
		var turns struct{ Turns []turnBody }
		if err := i.get(ctx, fmt.Sprintf("/sessions/%s/turns?limit=%d", s.ID, i.s.cfg.MaxList), &turns); err != nil {
			return nil, err
		}
		for _, t := range turns.Turns {
			out = append(out, fileOf(func(context.Context) (string, error) { return t.Content, nil }, "sessions", s.ID,
				"turns", fmt.Sprintf("%03d-%s.txt", t.Seq, t.Role)))
		}
	}
	return out, nil
}
