package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/exports"
	"github.com/nacredb/nacre/client/memory"
)

// maxFile is the largest file that is uploaded or imported, in bytes. The service has a limit of its own.
const maxFile = 512 << 20

func (f *memFlags) health() *cobra.Command {
	return &cobra.Command{Use: "health", Short: "Ask whether the service answers", Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := f.resolve()
			if err != nil {
				return err
			}
			req, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, strings.TrimSuffix(p.URL,
				"/")+"/health", nil)
			if err != nil {
				return err
			}
			res, err := memory.New(p.URL, p.Context, "").HTTP.Do(req)
			if err != nil {
				return err
			}
			defer func() { _ = res.Body.Close() }() // it was read
			b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
			if err != nil {
				return err
			}
			if res.StatusCode != http.StatusOK {
				return fmt.Errorf("the service answered %d", res.StatusCode)
			}
			return f.print(b)
		}}
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s: want a file of at most %d MiB", path, maxFile>>20)
	}
	return os.ReadFile(path)
}

func (f *memFlags) upload() *cobra.Command {
	var u memory.Upload
	cmd := &cobra.Command{Use: "upload FILE", Short: "Store a document", Args: exactArgs(1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.client()
			if err != nil {
				return err
			}
			b, err := readFile(args[0])
			if err != nil {
				return err
			}
			u.Filename, u.Scopes, u.Labels = filepath.Base(args[0]), f.scopes, f.labels
			d, err := c.Upload(cmd.Context(), u, b)
			if err != nil {
				return err
			}
			j, err := json.Marshal(d)
			if err != nil {
				return err
			}
			return f.print(j)
		}}
	f.writeFlags(cmd)
	cmd.Flags().StringVar(&u.Title, "title", "", "title")
	cmd.Flags().StringVar(&u.Source, "source", "", "where it comes from")
	return cmd
}

// folder is an ingest under way.
type folder struct {
	f       *memFlags
	c       *memory.Client
	waiting map[string]string // path by id
	sent    int
	same    int
	refused []string
}

func (f *memFlags) ingest() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{Use: "ingest FOLDER", Short: "Store all documents of a folder",
		Long: `Uploads every file of a folder and of those below it, and waits until they can be found. Files and folders whose name begins
with a dot are left out, and links. Files that the service does not read are listed at the end. Documents that it has already are
not read again.`,
		Args: exactArgs(1, "one folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.client()
			if err != nil {
				return err
			}
			in := &folder{f: f, c: c, waiting: map[string]string{}}
			if err := in.walk(cmd.Context(), args[0]); err != nil {
				return err
			}
			if wait {
				if err := in.wait(cmd.Context()); err != nil {
					return err
				}
			}
			return in.report()
		}}
	f.writeFlags(cmd)
	cmd.Flags().BoolVar(&wait, "wait", true, "wait until the documents can be found")
	return cmd
}

func (in *folder) walk(ctx context.Context, root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") && path != root {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		b, err := readFile(path)
		if err != nil {
			in.refused = append(in.refused, err.Error())
			return nil
		}
		doc, err := in.c.Upload(ctx, memory.Upload{Filename: filepath.Base(path), Source: filepath.ToSlash(rel),
			Scopes: in.f.scopes, Labels: in.f.labels}, b)
		var refusal *memory.Error
		switch {
		case errors.As(err, &refusal) && (refusal.Status == 400 || refusal.Status == 413 || refusal.Status == 415):
			in.refused = append(in.refused, rel+": "+refusal.Detail)
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", rel, err)
		case doc.Deduplicated:
			in.same++
		default:
			in.sent++
			in.waiting[doc.ID] = rel
		}
		in.show("uploaded")
		return nil
	})
}

func (in *folder) show(what string) {
	if in.f.s.errTTY {
		fmt.Fprintf(in.f.s.err, "\r\x1b[K%s: %d new, %d known, %d waiting, %d refused", what, in.sent, in.same,
			len(in.waiting), len(in.refused))
	}
}

// wait polls until every document has been read, with longer and longer pauses.
func (in *folder) wait(ctx context.Context) error {
	pause := 50 * time.Millisecond
	for len(in.waiting) > 0 {
		before := len(in.waiting)
		for id, path := range in.waiting {
			d, err := in.c.Document(ctx, id)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			switch d.Status {
			case "ready":
				delete(in.waiting, id)
			case "failed":
				in.refused = append(in.refused, path+": "+d.Error)
				delete(in.waiting, id)
			}
		}
		in.show("reading")
		if pause = min(pause*2, 2*time.Second); len(in.waiting) < before {
			pause = 50 * time.Millisecond
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (in *folder) report() error {
	if in.f.s.errTTY {
		fmt.Fprint(in.f.s.err, "\r\x1b[K")
	}
	for _, r := range in.refused {
		fmt.Fprintln(in.f.s.err, shown(r))
	}
	fmt.Fprintf(in.f.s.err, "%d documents stored, %d known already, %d refused\n", in.sent, in.same, len(in.refused))
	if len(in.refused) > 0 {
		return errors.New("some documents were refused")
	}
	return nil
}

func (f *memFlags) importCmd() *cobra.Command {
	var from string
	cmd := &cobra.Command{Use: "import FILE", Short: "Store what another memory system has exported",
		Long: `Reads an export of mem0, Zep or Letta (JSON) and stores it with its times: users become scopes (user/ID), sessions become
sessions, blocks and categories become labels. An import that was cut off can be run again within a day: what is stored already
is not stored twice.`,
		Example: `  nacre mem import --from mem0 memories.json`,
		Args:    exactArgs(1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !contains(exports.Formats, from) {
				return usagef("--from: want one of %s", strings.Join(exports.Formats, ", "))
			}
			b, err := readFile(args[0])
			if err != nil {
				return err
			}
			m, err := exports.Read(from, b)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			sum := sha256.Sum256(append([]byte(from), b...))
			return f.store(cmd.Context(), m, hex.EncodeToString(sum[:16]))
		}}
	cmd.Flags().StringVar(&from, "from", "", "mem0, zep or letta")
	return cmd
}

// store stores an export. Each call carries a key of its own, so that a repetition stores nothing twice.
func (f *memFlags) store(ctx context.Context, m *exports.Memories, once string) error {
	c, err := f.client()
	if err != nil {
		return err
	}
	for _, s := range m.Scopes {
		if err := c.Call(ctx, http.MethodPost, "/scopes", "", map[string]string{"path": s}, nil); err != nil {
			return fmt.Errorf("scope %s: %w", s, err)
		}
	}
	show := func(n, of int) {
		if f.s.errTTY {
			fmt.Fprintf(f.s.err, "\r\x1b[K%d of %d", n, of)
		}
	}
	total, session, turns := len(m.Facts)+len(m.Conversations), "", 0
	for i, fact := range m.Facts {
		fact.Once = fmt.Sprintf("%s-f%d", once, i)
		if _, err := c.Remember(ctx, fact); err != nil {
			return fmt.Errorf("memory %d: %w", i+1, err)
		}
		show(i+1, total)
	}
	for i, t := range m.Conversations {
		t.Once = fmt.Sprintf("%s-c%d", once, i)
		if t.Continues {
			t.Session, t.Scopes = session, nil
		}
		out, err := c.RememberAll(ctx, t.Conversation)
		if err != nil {
			return fmt.Errorf("conversation %d: %w", i+1, err)
		}
		session = out.Session
		turns += len(t.Messages)
		show(len(m.Facts)+i+1, total)
	}
	if f.s.errTTY {
		fmt.Fprint(f.s.err, "\r\x1b[K")
	}
	fmt.Fprintf(f.s.err, "%d memories, %d turns of conversations and %d scopes are stored\n", len(m.Facts), turns,
		len(m.Scopes))
	return nil
}

func (f *memFlags) mcp() *cobra.Command {
	return &cobra.Command{Use: "mcp", Short: "Serve the tools of the memory to an agent on standard input and output",
		Long: `Speaks the Model Context Protocol on standard input and output, and passes each call of a tool to /mcp of the service with the
key. It is for programs that start their tools themselves.`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.runMCP(cmd.Context()) }}
}

// keyed sends the key with every request.
type keyed struct{ key string }

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return http.DefaultTransport.RoundTrip(r)
}

// nopCloser is a writer that is not closed: standard output.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (f *memFlags) runMCP(ctx context.Context) error {
	p, err := f.resolve()
	if err != nil {
		return err
	}
	implementation := &mcp.Implementation{Name: "nacre-mem", Version: f.s.build.Version}
	remote, err := mcp.NewClient(implementation, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: strings.TrimSuffix(p.URL, "/") + "/mcp", MaxRetries: -1, DisableStandaloneSSE: true,
		HTTPClient: &http.Client{Transport: keyed{p.Key}, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}}, nil)
	if err != nil {
		return fmt.Errorf("connect to the memory service: %w", err)
	}
	defer func() { _ = remote.Close() }() // it keeps nothing
	tools, err := remote.ListTools(ctx, nil)
	if err != nil {
		return fmt.Errorf("list the tools: %w", err)
	}
	local := mcp.NewServer(implementation, nil)
	for _, t := range tools.Tools {
		local.AddTool(t, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return remote.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	if remote.InitializeResult().Capabilities.Resources != nil {
		passResources(local, remote)
	}
	err = local.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(f.s.in), Writer: nopCloser{f.s.out}})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// passResources passes the tree of memory on.
func passResources(local *mcp.Server, remote *mcp.ClientSession) {
	read := func(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return remote.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.Params.URI})
	}
	local.AddResourceTemplate(&mcp.ResourceTemplate{Name: "memory", URITemplate: "memsvc://fs/{+path}",
		MIMEType: "text/plain"}, read)
	local.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != "resources/list" {
				return next(ctx, method, req)
			}
			return remote.ListResources(ctx, nil)
		}
	})
}
