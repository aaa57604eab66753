package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/client/memory"
)

// manageFlags are where the management API is and how its answers are shown.
type manageFlags struct {
	s                 *streams
	url, key, context string
	json              bool
}

// newMemsvcManageCmds are the commands over the management API.
func newMemsvcManageCmds(s *streams) []*cobra.Command {
	f := &manageFlags{s: s}
	contexts := f.group("contexts", "Make, show, change and delete Contexts", `  nacre memsvc contexts create acme --set llm_extraction_enabled=true
  nacre memsvc contexts patch acme --set response_cache.enabled=false
  nacre memsvc contexts list`, f.createContext(), f.one("list", "List Contexts", 0, f.listContexts),
		f.one("get ID", "Show a Context with its effective settings", 1, f.getContext), f.patchContext(),
		f.one("delete ID", "Delete a Context with everything in it", 1, f.deleteContext))
	principals := f.group("principals", "Make, show and delete those who may act in a Context",
		`  nacre memsvc principals create Ada --kind human -c acme \
    --grant memory:read='org/acme/*' --grant memory:write=org/acme/user/ada`,
		f.createPrincipal(), f.one("list", "List principals", 0, f.listPrincipals),
		f.one("get ID", "Show a principal", 1, f.getPrincipal),
		f.one("delete ID", "Delete a principal and its keys", 1, f.deletePrincipal))
	keys := f.group("keys", "Mint, list, rotate and revoke keys of a Context",
		`  KEY=$(nacre memsvc keys mint laptop --principal "$ID" --ttl 86400 -c acme)
  nacre memsvc keys rotate laptop -c acme`, f.mintKey(), f.one("list", "List the keys of a Context", 0, f.listKeys),
		f.rotateKey(), f.one("delete NAME", "Revoke a key", 1, f.deleteKey))
	jobs := f.group("jobs", "List and retry the jobs of a Context", `  nacre memsvc jobs list --status dead -c acme
  nacre memsvc jobs retry "$JOB"`, f.listJobs(), f.one("retry ID", "Queue a dead job again", 1, f.retryJob),
		f.one("delete ID", "Delete a job", 1, f.deleteJob))
	for _, g := range []*cobra.Command{principals, keys, jobs} {
		g.PersistentFlags().StringVarP(&f.context, "context-id", "c", "", "Context, main by default")
		variable(g.PersistentFlags(), "context-id", "MEMSVC_CONTEXT_ID")
	}
	return []*cobra.Command{contexts, principals, keys, jobs}
}

// group is a command that holds others, with the flags that all of them take.
func (f *manageFlags) group(name, short, example string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Example: example,
		Long: short + ` by the management API of a service that runs.

Exit status: 0 ok, 1 the service refused (it says why on standard error), 2 usage.`,
		Args: exactArgs(0, "a command of "+name),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	fl := cmd.PersistentFlags()
	fl.StringVarP(&f.url, "url", "u", "", "address of the service")
	fl.StringVarP(&f.key, "management-api-key", "m", "", "management key")
	variable(fl, "url", "MEMSVC_URL")
	variable(fl, "management-api-key", "MEMSVC_MANAGEMENT_API_KEY")
	fl.BoolVar(&f.json, "json", false, "print the answer of the service as JSON")
	cmd.AddCommand(commands...)
	return cmd
}

// one is a command without flags of its own.
func (f *manageFlags) one(use, short string, args int,
	run func(ctx context.Context, args []string) error) *cobra.Command {
	_, want, _ := strings.Cut(use, " ")
	if want == "" {
		want = "no arguments"
	}
	return &cobra.Command{Use: use, Short: short, Args: exactArgs(args, want),
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args) }}
}

func (f *manageFlags) manager() (*memory.Manager, error) {
	base, key := or(f.url, "MEMSVC_URL", "http://127.0.0.1:8080"), or(f.key, "MEMSVC_MANAGEMENT_API_KEY", "")
	if u, err := url.Parse(base); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, usagef("--url: want http://HOST:PORT or https://HOST:PORT")
	}
	if key == "" {
		return nil, usagef("no management key: use --management-api-key or MEMSVC_MANAGEMENT_API_KEY")
	}
	return memory.NewManager(base, key), nil
}

// or is a flag, else a variable of the environment, else a default.
func or(flag, env, def string) string {
	for _, v := range []string{flag, os.Getenv(env)} {
		if v != "" {
			return v
		}
	}
	return def
}

// call makes one call; path elements that callers choose are escaped by at.
func (f *manageFlags) call(ctx context.Context, method, path string, in any) (json.RawMessage, error) {
	m, err := f.manager()
	if err != nil {
		return nil, err
	}
	var out json.RawMessage
	err = m.Call(ctx, method, path, in, &out)
	return out, err
}

// at joins elements to a path.
func at(elements ...string) string {
	var b strings.Builder
	for _, e := range elements {
		b.WriteString("/" + url.PathEscape(e))
	}
	return b.String()
}

// in is a path below the Context of the command.
func (f *manageFlags) in(elements ...string) string {
	return at(append([]string{"contexts", or(f.context, "MEMSVC_CONTEXT_ID", "main")}, elements...)...)
}

// show makes a call and prints its answer, an object, as JSON.
func (f *manageFlags) show(ctx context.Context, method, path string, in any) error {
	out, err := f.call(ctx, method, path, in)
	if err != nil || len(out) == 0 {
		return err
	}
	return f.print(out)
}

func (f *manageFlags) print(out json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, out, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(f.s.out, render.VisibleJSON(b.String()))
	return err
}

// done makes a call that answers nothing and says so to people.
func (f *manageFlags) done(ctx context.Context, method, path, what string) error {
	_, err := f.call(ctx, method, path, nil)
	if err == nil && !f.json {
		fmt.Fprintln(f.s.err, what)
	}
	return err
}

// table makes a call and prints its list, or with --json the answer as it is.
func (f *manageFlags) table(ctx context.Context, path, list string, columns ...string) error {
	out, err := f.call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if f.json {
		return f.print(out)
	}
	var rows []map[string]any
	if list == "" {
		err = json.Unmarshal(out, &rows)
	} else {
		all := map[string]json.RawMessage{}
		if err = json.Unmarshal(out, &all); err == nil {
			err = json.Unmarshal(all[list], &rows)
		}
	}
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	w := tabwriter.NewWriter(f.s.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, strings.ToUpper(strings.Join(columns, "\t")))
	for _, r := range rows {
		cells := make([]string, len(columns))
		for i, c := range columns {
			cells[i] = cell(r[c])
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// cell is a value in a table: a line without control characters.
func cell(v any) string {
	s, ok := v.(string)
	if v != nil && !ok {
		b, err := json.Marshal(v)
		if err != nil {
			return "?"
		}
		s = string(b)
	}
	if s = strings.Join(strings.Fields(shown(s)), " "); s == "" {
		return "-"
	}
	return s
}

// configFlags read a patch of settings.
type configFlags struct {
	in                  io.Reader
	config, description string
	set                 []string
	blocked             bool
}

func (g *configFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&g.config, "config", "", "settings as a JSON object, or @FILE (@- is standard input), which keeps keys out of the list of processes")
	fl.StringArrayVar(&g.set, "set", nil, "one setting as NAME=VALUE, such as response_cache.enabled=false; null takes it back (repeatable)")
	fl.StringVar(&g.description, "description", "", "what the Context is for")
	fl.BoolVar(&g.blocked, "enforcement-blocked", false, "refuse calls that ask a language model")
}

// body is the fields of a request; those of flags that were not given are left out.
func (g *configFlags) body(cmd *cobra.Command) (map[string]any, error) {
	body, conf := map[string]any{}, map[string]any{}
	if text := g.config; text != "" {
		if path, ok := strings.CutPrefix(text, "@"); ok {
			read := func() ([]byte, error) { return os.ReadFile(path) }
			if path == "-" {
				read = func() ([]byte, error) { return io.ReadAll(io.LimitReader(g.in, maxLine)) }
			}
			b, err := read()
			if err != nil {
				return nil, err
			}
			text = string(b)
		}
		if err := json.Unmarshal([]byte(text), &conf); err != nil {
			return nil, usagef("--config: want a JSON object: %v", err)
		}
	}
	for _, s := range g.set {
		name, text, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, usagef("--set: want NAME=VALUE")
		}
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			v = text
		}
		m, parts := conf, strings.Split(name, ".")
		for _, p := range parts[:len(parts)-1] {
			inner, ok := m[p].(map[string]any)
			if !ok {
				inner = map[string]any{}
				m[p] = inner
			}
			m = inner
		}
		m[parts[len(parts)-1]] = v
	}
	if len(conf) > 0 {
		body["config"] = conf
	}
	if cmd.Flags().Changed("enforcement-blocked") {
		body["enforcement_blocked"] = g.blocked
	}
	if cmd.Flags().Changed("description") {
		body["description"] = g.description
	}
	return body, nil
}

func (f *manageFlags) createContext() *cobra.Command {
	g := configFlags{in: f.s.in}
	var ns, db, external, name string
	cmd := &cobra.Command{Use: "create ID", Short: "Make a Context with a database of its own", Args: exactArgs(1, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := g.body(cmd)
			if err != nil {
				return err
			}
			for k, v := range map[string]string{"namespace": ns, "database": db, "admin_external_id": external,
				"admin_display_name": name} {
				if v != "" {
					body[k] = v
				}
			}
			return f.show(cmd.Context(), http.MethodPost, at("contexts", args[0]), body)
		}}
	g.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&ns, "namespace", "", "namespace of its database, memsvc_ctx by default")
	fl.StringVar(&db, "database", "", "name of its database, the ID by default")
	fl.StringVar(&external, "admin-external-id", "", "id of its administrator in another system")
	fl.StringVar(&name, "admin-display-name", "", "name of its administrator")
	return cmd
}

func (f *manageFlags) patchContext() *cobra.Command {
	g := configFlags{in: f.s.in}
	cmd := &cobra.Command{Use: "patch ID", Short: "Merge settings into those of a Context", Args: exactArgs(1, "ID"),
		Example: `  nacre memsvc contexts patch acme --config @keys.json
  nacre memsvc contexts patch acme --enforcement-blocked=true`,
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := g.body(cmd)
			if err != nil {
				return err
			}
			if len(body) == 0 {
				return usagef("want --config, --set, --enforcement-blocked or --description")
			}
			return f.show(cmd.Context(), http.MethodPatch, at("contexts", args[0]), body)
		}}
	g.add(cmd)
	return cmd
}

func (f *manageFlags) listContexts(ctx context.Context, _ []string) error {
	return f.table(ctx, "/contexts", "contexts", "id", "state", "enforcement_blocked", "created_at", "description")
}

func (f *manageFlags) getContext(ctx context.Context, args []string) error {
	return f.show(ctx, http.MethodGet, at("contexts", args[0]), nil)
}

func (f *manageFlags) deleteContext(ctx context.Context, args []string) error {
	return f.done(ctx, http.MethodDelete, at("contexts", args[0]), "the Context "+shown(args[0])+" is deleted")
}

// grantFlag is a repeatable flag VERB=PATTERN.
func grantFlag(cmd *cobra.Command, into *[]string, help string) {
	cmd.Flags().StringArrayVar(into, "grant", nil, help+", as VERB=PATTERN such as memory:read='org/acme/*' (repeatable)")
}

func grantsOf(list []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, g := range list {
		verb, pattern, ok := strings.Cut(g, "=")
		if !ok || verb == "" || pattern == "" {
			return nil, usagef("--grant: want VERB=PATTERN")
		}
		out[verb] = append(out[verb], pattern)
	}
	return out, nil
}

func (f *manageFlags) createPrincipal() *cobra.Command {
	var kind, external string
	var grants []string
	cmd := &cobra.Command{Use: "create NAME", Short: "Make a principal, or find the one with an external id",
		Args: exactArgs(1, "NAME"), RunE: func(cmd *cobra.Command, args []string) error {
			g, err := grantsOf(grants)
			if err != nil {
				return err
			}
			body := map[string]any{"display_name": args[0], "grants": g, "kind": kind}
			if external != "" {
				body["external_id"] = external
			}
			return f.show(cmd.Context(), http.MethodPost, f.in("principals"), body)
		}}
	cmd.Flags().StringVar(&kind, "kind", "unknown", "human, agent, service, supervisor or unknown")
	cmd.Flags().StringVar(&external, "external-id", "", "id in another system")
	grantFlag(cmd, &grants, "what it may do")
	return cmd
}

func (f *manageFlags) listPrincipals(ctx context.Context, _ []string) error {
	return f.table(ctx, f.in("principals"), "principals", "id", "displayName", "kind", "externalId", "grants")
}

func (f *manageFlags) getPrincipal(ctx context.Context, args []string) error {
	return f.show(ctx, http.MethodGet, f.in("principals", args[0]), nil)
}

func (f *manageFlags) deletePrincipal(ctx context.Context, args []string) error {
	return f.done(ctx, http.MethodDelete, f.in("principals", args[0]), "the principal is deleted")
}

func (f *manageFlags) mintKey() *cobra.Command {
	var principal string
	var ttl int64
	var grants []string
	cmd := &cobra.Command{Use: "mint NAME", Short: "Mint a key; it is shown once", Args: exactArgs(1, "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := grantsOf(grants)
			if err != nil {
				return err
			}
			body := ttlOf(cmd, ttl)
			if len(g) > 0 {
				body["grants"] = g
			}
			return f.secret(cmd.Context(), f.in("principals", principal, "keys", args[0]), body)
		}}
	cmd.Flags().StringVar(&principal, "principal", "admin", "id of the principal that it is bound to")
	ttlFlag(cmd, &ttl)
	grantFlag(cmd, &grants, "what it may do at most")
	return cmd
}

func ttlFlag(cmd *cobra.Command, ttl *int64) {
	cmd.Flags().Int64Var(ttl, "ttl", 0, "seconds that it is valid for; the Context may bound them")
}

func ttlOf(cmd *cobra.Command, ttl int64) map[string]any {
	body := map[string]any{}
	if cmd.Flags().Changed("ttl") {
		body["ttl_seconds"] = ttl
	}
	return body
}

// secret makes a call that answers a new key. People and scripts get the key alone on standard output.
func (f *manageFlags) secret(ctx context.Context, path string, body any) error {
	out, err := f.call(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	if f.json {
		return f.print(out)
	}
	var key struct{ Key, ValidUntil string }
	if err := json.Unmarshal(out, &key); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if key.ValidUntil != "" {
		fmt.Fprintf(f.s.err, "valid until %s\n", shown(key.ValidUntil))
	}
	_, err = fmt.Fprintln(f.s.out, shown(key.Key))
	return err
}

func (f *manageFlags) listKeys(ctx context.Context, _ []string) error {
	return f.table(ctx, f.in("keys"), "", "name", "principalId", "createdAt", "validUntil", "lastUsedAt")
}

func (f *manageFlags) rotateKey() *cobra.Command {
	var ttl int64
	cmd := &cobra.Command{Use: "rotate NAME", Short: "Give a key a new secret; it is shown once",
		Args: exactArgs(1, "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.secret(cmd.Context(), f.in("keys", args[0], "rotate"), ttlOf(cmd, ttl))
		}}
	ttlFlag(cmd, &ttl)
	return cmd
}

func (f *manageFlags) deleteKey(ctx context.Context, args []string) error {
	return f.done(ctx, http.MethodDelete, f.in("keys", args[0]), "the key is revoked")
}

// jobStates are the states that jobs list --status takes.
var jobStates = map[string]bool{"": true, "queued": true, "leased": true, "done": true, "dead": true}

func (f *manageFlags) listJobs() *cobra.Command {
	var status string
	cmd := &cobra.Command{Use: "list", Short: "List jobs, the newest first", Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !jobStates[status] {
				return usagef("--status: want queued, leased, done or dead")
			}
			path := f.in("jobs")
			if status != "" {
				path += "?status=" + status
			}
			return f.table(cmd.Context(), path, "jobs", "id", "kind", "target", "state", "attempt", "stage",
				"last_error")
		}}
	cmd.Flags().StringVar(&status, "status", "", "queued, leased, done or dead")
	return cmd
}

func (f *manageFlags) retryJob(ctx context.Context, args []string) error {
	return f.show(ctx, http.MethodPost, at("jobs", args[0], "retry"), nil)
}

func (f *manageFlags) deleteJob(ctx context.Context, args []string) error {
	return f.done(ctx, http.MethodDelete, at("jobs", args[0]), "the job is deleted")
}
