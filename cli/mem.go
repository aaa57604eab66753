package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/client/memory"
)

// memFlags are where the service is and how answers are shown.
type memFlags struct {
	s                      *streams
	url, key, context      string
	profile                string
	json                   bool
	session, role, speaker string
	labels, scopes, lens   []string
}

// memProfile is one entry of the profile file.
type memProfile struct {
	URL     string `json:"url"`
	Key     string `json:"api_key"`
	Context string `json:"context_id"`
}

func newMemCmd(s *streams) *cobra.Command {
	f := &memFlags{s: s}
	cmd := &cobra.Command{
		Use:   "mem",
		Short: "Use an agent memory service",
		Long: `A client of the agent memory service (nacre memsvc). The address, the key and the Context come from flags, else from
MEMSVC_URL, MEMSVC_API_KEY and MEMSVC_CONTEXT_ID, else from the profile that 'nacre mem login' wrote.

Exit status: 0 ok, 1 the service refused (it says why on standard error), 2 usage.`,
		Example: `  nacre mem login --url http://localhost:8080 --api-key msk-… --context-id main
  nacre mem remember "I moved to Lisbon." --name Ada
  nacre mem recall "Where does Ada live?"`,
		Args: exactArgs(0, "a command of mem"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	fl := cmd.PersistentFlags()
	fl.StringVarP(&f.url, "url", "u", "", "address of the service")
	fl.StringVarP(&f.key, "api-key", "a", "", "key of the Context")
	fl.StringVarP(&f.context, "context-id", "c", "", "Context")
	variable(fl, "url", "MEMSVC_URL")
	variable(fl, "api-key", "MEMSVC_API_KEY")
	variable(fl, "context-id", "MEMSVC_CONTEXT_ID")
	fl.StringVar(&f.profile, "profile", "default", "profile to use")
	fl.BoolVar(&f.json, "json", false, "print the answer of the service as JSON")
	cmd.AddCommand(f.login(), f.config(), f.remember(), f.recall(), f.contextCmd(), f.chat(), f.reflect(), f.forget(),
		f.ingest(), f.importCmd(), f.mcp())
	cmd.AddCommand(f.plainCommands()...)
	return cmd
}

// profilePath is the file of profiles, and what it holds.
func profiles() (path string, all map[string]memProfile, err error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", nil, fmt.Errorf("find the directory of settings: %w", err)
	}
	path, all = filepath.Join(dir, "nacre", "mem.json"), map[string]memProfile{}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, all, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		return path, nil, fmt.Errorf("read the profiles in %s: %w", path, err)
	}
	return path, all, nil
}

// saveProfiles writes the file whole, readable by its owner alone.
func saveProfiles(path string, all map[string]memProfile) error {
	b, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".mem-*") // 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(b, '\n'))
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// resolve finds the service: flags, environment, profile.
func (f *memFlags) resolve() (memProfile, error) {
	var p memProfile
	if _, all, err := profiles(); err != nil {
		return p, err
	} else if given, ok := all[f.profile]; ok {
		p = given
	} else if f.profile != "default" {
		return p, usagef("there is no profile %q", f.profile)
	}
	for _, v := range []struct {
		at        *string
		flag, env string
	}{{&p.URL, f.url, "MEMSVC_URL"}, {&p.Key, f.key, "MEMSVC_API_KEY"}, {&p.Context, f.context, "MEMSVC_CONTEXT_ID"}} {
		if e := os.Getenv(v.env); e != "" {
			*v.at = e
		}
		if v.flag != "" {
			*v.at = v.flag
		}
	}
	if p.URL == "" {
		p.URL = "http://127.0.0.1:8080"
	}
	if p.Context == "" {
		p.Context = "main"
	}
	if u, err := url.Parse(p.URL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return p, usagef("--url: want http://HOST:PORT or https://HOST:PORT")
	}
	if p.Key == "" {
		return p, usagef("no key: use --api-key, MEMSVC_API_KEY or 'nacre mem login'")
	}
	return p, nil
}

func (f *memFlags) client() (*memory.Client, error) {
	p, err := f.resolve()
	if err != nil {
		return nil, err
	}
	return memory.New(p.URL, p.Context, p.Key), nil
}

// call makes a call and prints its answer as JSON.
func (f *memFlags) call(ctx context.Context, method, path string, in any) error {
	c, err := f.client()
	if err != nil {
		return err
	}
	var out json.RawMessage
	if err := c.Call(ctx, method, path, "", in, &out); err != nil {
		return err
	}
	return f.print(out)
}

func (f *memFlags) print(out json.RawMessage) error {
	if len(out) == 0 {
		return nil
	}
	var b bytes.Buffer
	if err := json.Indent(&b, out, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(f.s.out, render.VisibleJSON(b.String()))
	return err
}

// shown is a text of the service as a terminal may have it.
func shown(s string) string { return render.Visible(s, true) }

func words(args []string) string { return strings.Join(args, " ") }

func someArgs(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if strings.TrimSpace(words(args)) == "" {
			return usagef("want %s", what)
		}
		return nil
	}
}

func (f *memFlags) login() *cobra.Command {
	return &cobra.Command{Use: "login", Short: "Check a key and keep it in a profile", Args: exactArgs(0,
		"no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := f.resolve()
			if err != nil {
				return err
			}
			var me struct{ PrincipalID, DisplayName string }
			if err := memory.New(p.URL, p.Context, p.Key).Call(cmd.Context(), http.MethodGet, "/me", "", nil,
				&me); err != nil {
				return err
			}
			path, all, err := profiles()
			if err != nil {
				return err
			}
			all[f.profile] = p
			if err := saveProfiles(path, all); err != nil {
				return err
			}
			fmt.Fprintf(f.s.err, "signed in to %s as %s; the profile %s is in %s\n", p.Context, shown(me.DisplayName),
				f.profile, path)
			return nil
		}}
}

func (f *memFlags) config() *cobra.Command {
	var reveal bool
	cmd := &cobra.Command{Use: "config", Short: "Show the profile", Args: exactArgs(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			p, err := f.resolve()
			if err != nil {
				return err
			}
			if !reveal {
				p.Key = "(hidden; --reveal shows it)"
			}
			b, err := json.Marshal(p)
			if err != nil {
				return err
			}
			return f.print(b)
		}}
	cmd.Flags().BoolVar(&reveal, "reveal", false, "show the key")
	cmd.AddCommand(f.configGet(), f.configSet())
	return cmd
}

// entry is a value of a profile by its name.
func (p *memProfile) entry(name string) (*string, error) {
	switch name {
	case "url":
		return &p.URL, nil
	case "api_key":
		return &p.Key, nil
	case "context_id":
		return &p.Context, nil
	}
	return nil, usagef("there is no setting %q: want url, api_key or context_id", name)
}

// setting finds a value of the profile in use. save stores all profiles, with what was written to the value.
func (f *memFlags) setting(name string) (v *string, save func() error, err error) {
	path, all, err := profiles()
	if err != nil {
		return nil, nil, err
	}
	p := all[f.profile]
	if v, err = p.entry(name); err != nil {
		return nil, nil, err
	}
	return v, func() error {
		all[f.profile] = p
		return saveProfiles(path, all)
	}, nil
}

func (f *memFlags) configGet() *cobra.Command {
	var reveal bool
	cmd := &cobra.Command{Use: "get NAME", Short: "Print a value of the profile: url, api_key or context_id",
		Args: exactArgs(1, "url, api_key or context_id"),
		RunE: func(_ *cobra.Command, args []string) error {
			v, _, err := f.setting(args[0])
			if err != nil {
				return err
			}
			if args[0] == "api_key" && *v != "" && !reveal {
				*v = "(hidden; --reveal shows it)"
			}
			_, err = fmt.Fprintln(f.s.out, shown(*v))
			return err
		}}
	cmd.Flags().BoolVar(&reveal, "reveal", false, "show the key")
	return cmd
}

func (f *memFlags) configSet() *cobra.Command {
	return &cobra.Command{Use: "set NAME VALUE", Short: "Change a value of the profile: url, api_key or context_id",
		Args: exactArgs(2, "url, api_key or context_id, and its value"),
		RunE: func(_ *cobra.Command, args []string) error {
			v, save, err := f.setting(args[0])
			if err != nil {
				return err
			}
			*v = args[1]
			return save()
		}}
}

func (f *memFlags) writeFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVar(&f.scopes, "scope", nil, "scope of the memory (repeatable)")
	fl.StringArrayVar(&f.labels, "label", nil, "label of the form key=value (repeatable)")
}

func (f *memFlags) remember() *cobra.Command {
	var infer, at, from, transcript, extract string
	var triples []string
	cmd := &cobra.Command{Use: "remember TEXT", Short: "Store a text, triples, or the lines of a file as memory",
		Example: `  nacre mem remember "I moved to Lisbon." --name Ada --at 2024-05-01
  nacre mem remember --triple "person/Ada lives_in Lisbon"
  nacre mem remember --from-file chat.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			fact := memory.Fact{Text: words(args), Infer: infer, Role: f.role, Speaker: f.speaker, Session: f.session,
				Scopes: f.scopes, Labels: f.labels}
			var err error
			if fact.At, err = moment("--at", at); err != nil {
				return err
			}
			for _, t := range triples {
				tr, err := triple(t)
				if err != nil {
					return err
				}
				fact.Triples = append(fact.Triples, tr)
			}
			switch {
			case transcript != "" && from != "":
				return usagef("want one of --from-file and --transcript")
			case from != "":
				return f.rememberFile(cmd.Context(), from, extract, fact, messagesOf)
			case transcript != "":
				return f.rememberFile(cmd.Context(), transcript, extract, fact, linesOf)
			}
			if strings.TrimSpace(fact.Text) == "" && len(triples) == 0 {
				return usagef("want a text, --triple or --from-file")
			}
			return f.call(cmd.Context(), http.MethodPost, "/facts", fact)
		}}
	fl := cmd.Flags()
	f.writeFlags(cmd)
	fl.StringVar(&infer, "infer", "", "full, preview or none")
	fl.StringVar(&f.session, "session", "", "session that it belongs to")
	fl.StringVar(&f.role, "role", "", "user, assistant, system or tool")
	fl.StringVar(&f.speaker, "name", "", "who says it")
	fl.StringVar(&at, "at", "", "when it was said (RFC 3339 or YYYY-MM-DD)")
	fl.StringVar(&from, "from-file", "", "file with a message of the form {role, content, name, ts} on each line; - is standard input")
	fl.StringVar(&at, "as-of", "", "the same as --at")
	fl.StringVar(&transcript, "transcript", "", "text file with a message of the form NAME: TEXT on each line; - is standard input")
	fl.StringVar(&extract, "extract", "", "whole_conversation or per_message, for the messages of a file")
	fl.StringArrayVar(&triples, "triple", nil, "a fact as TYPE/NAME KEY VALUE (repeatable)")
	return cmd
}

func moment(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, usagef("%s: want a time such as 2024-05-01 or 2024-05-01T10:00:00Z", flag)
}

func triple(s string) (memory.Triple, error) {
	parts := strings.SplitN(strings.TrimSpace(s), " ", 3)
	if len(parts) == 3 {
		if typ, name, ok := strings.Cut(parts[0], "/"); ok {
			return memory.Triple{Entity: memory.Thing{Type: typ, Name: name}, Key: parts[1], Value: parts[2]}, nil
		}
	}
	return memory.Triple{}, usagef("--triple: want TYPE/NAME KEY VALUE")
}

// open opens a file, or standard input for -.
func (f *memFlags) open(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(f.s.in), nil
	}
	return os.Open(path)
}

// batch is how many messages one call carries.
const batch = 500

// messagesOf reads messages as JSON, one after the other; it gives io.EOF after the last one.
func messagesOf(in io.Reader) func() (memory.Message, error) {
	dec := json.NewDecoder(in)
	return func() (m memory.Message, err error) {
		err = dec.Decode(&m)
		return m, err
	}
}

// linesOf reads messages as lines NAME: TEXT. A line without a name goes on with the message before it; empty lines
// are left out.
func linesOf(in io.Reader) func() (memory.Message, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	var next *memory.Message
	return func() (memory.Message, error) {
		for lines.Scan() {
			line := strings.TrimSpace(lines.Text())
			name, text, named := strings.Cut(line, ": ")
			switch named = named && len(name) <= 64 && !strings.ContainsAny(name, ".?!,"); {
			case line == "":
			case named && next != nil:
				m := *next
				next = &memory.Message{Role: "user", Speaker: name, Content: text}
				return m, nil
			case named:
				next = &memory.Message{Role: "user", Speaker: name, Content: text}
			case next != nil:
				next.Content += "\n" + line
			default:
				next = &memory.Message{Role: "user", Content: line}
			}
		}
		if err := lines.Err(); err != nil {
			return memory.Message{}, err
		}
		if next == nil {
			return memory.Message{}, io.EOF
		}
		m := *next
		next = nil
		return m, nil
	}
}

// maxLine is the longest line of a transcript, in bytes.
const maxLine = 1 << 20

func (f *memFlags) rememberFile(ctx context.Context, path, extract string, like memory.Fact,
	read func(io.Reader) func() (memory.Message, error)) error {
	c, err := f.client()
	if err != nil {
		return err
	}
	in, err := f.open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was read
	next := read(in)
	conv := memory.Conversation{Session: like.Session, Infer: like.Infer, Extract: extract, At: like.At,
		Scopes: like.Scopes, Labels: like.Labels}
	total := 0
	send := func() error {
		if len(conv.Messages) == 0 {
			return nil
		}
		out, err := c.RememberAll(ctx, conv)
		if err != nil {
			return fmt.Errorf("after %d messages: %w", total, err)
		}
		total += len(conv.Messages)
		conv.Messages, conv.Session, conv.Scopes = nil, out.Session, nil
		return nil
	}
	for {
		m, err := next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("%s: message %d: %w", path, total+len(conv.Messages)+1, err)
		}
		if conv.Messages = append(conv.Messages, m); len(conv.Messages) == batch {
			if err := send(); err != nil {
				return err
			}
		}
	}
	if err := send(); err != nil {
		return err
	}
	fmt.Fprintf(f.s.err, "%d messages are stored in session %s\n", total, conv.Session)
	return nil
}

func (f *memFlags) readFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVar(&f.lens, "lens", nil, "scope to look in (repeatable)")
	fl.StringArrayVar(&f.labels, "label", nil, "label that memories carry (repeatable)")
}

func (f *memFlags) recall() *cobra.Command {
	var q memory.Query
	var include, asOf, instant, from, until string
	cmd := &cobra.Command{Use: "recall QUESTION", Aliases: []string{"query"}, Short: "Search memories",
		Args: someArgs("a question"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Text, q.Lens, q.Labels = words(args), f.lens, f.labels
			if include != "" {
				q.Include = strings.Split(include, ",")
			}
			for _, t := range []struct {
				flag, text string
				at         *time.Time
			}{{"--as-of", asOf, &q.AsOf}, {"--at-instant", instant, &q.AtInstant}, {"--valid-from", from, &q.From},
				{"--valid-until", until, &q.Until}} {
				var err error
				if *t.at, err = moment(t.flag, t.text); err != nil {
					return err
				}
			}
			if f.json {
				return f.call(cmd.Context(), http.MethodPost, "/query", q)
			}
			c, err := f.client()
			if err != nil {
				return err
			}
			hits, err := c.Recall(cmd.Context(), q)
			for _, h := range hits {
				f.hit(h)
			}
			return err
		}}
	fl := cmd.Flags()
	f.readFlags(cmd)
	fl.IntVarP(&q.K, "limit", "k", 0, "most hits, 10 by default")
	fl.StringVar(&q.Mode, "mode", "", "hybrid, vector, bm25 or graph")
	fl.StringVar(&q.Session, "session", "", "search this session only")
	fl.StringVar(&include, "include", "", "facts or passages only")
	fl.StringVar(&asOf, "as-of", "", "what was known then")
	fl.StringVar(&instant, "at-instant", "", "what the database held then")
	fl.StringVar(&from, "valid-from", "", "what held from then on")
	fl.StringVar(&until, "valid-until", "", "what held until then")
	return cmd
}

func (f *memFlags) hit(h memory.Hit) {
	who, when := h.Speaker, ""
	if who == "" {
		who = h.Role
	}
	if h.Title != "" {
		who = h.Title
	}
	if !h.Occurred.IsZero() {
		when = h.Occurred.Format(time.DateOnly) + "  "
	}
	if who != "" && !strings.HasPrefix(h.Text, who+":") {
		who += ": "
	} else {
		who = ""
	}
	fmt.Fprintf(f.s.out, "%.2f  %s%s%s\n", h.Score, when, shown(who), shown(strings.Join(strings.Fields(h.Text), " ")))
}

func (f *memFlags) contextCmd() *cobra.Command {
	var tokens int
	cmd := &cobra.Command{Use: "context QUESTION", Short: "Print what memory holds about a question, for a prompt",
		Args: someArgs("a question"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := memory.Query{Text: words(args), Lens: f.lens, Labels: f.labels, MaxTokens: tokens}
			if f.json {
				return f.call(cmd.Context(), http.MethodPost, "/context", q)
			}
			c, err := f.client()
			if err != nil {
				return err
			}
			text, err := c.Context(cmd.Context(), q)
			if err == nil {
				_, err = fmt.Fprintln(f.s.out, shown(text))
			}
			return err
		}}
	f.readFlags(cmd)
	cmd.Flags().IntVar(&tokens, "max-tokens", 0, "budget, 2000 by default")
	return cmd
}

func (f *memFlags) chat() *cobra.Command {
	var stream bool
	cmd := &cobra.Command{Use: "chat MESSAGE", Short: "Answer a message from memory by a language model",
		Args: someArgs("a message"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.json {
				return f.call(cmd.Context(), http.MethodPost, "/chat",
					map[string]any{"message": words(args), "session_id": f.session})
			}
			c, err := f.client()
			if err != nil {
				return err
			}
			var piece func(string)
			if stream {
				piece = func(s string) { fmt.Fprint(f.s.out, shown(s)) }
			}
			r, err := c.Chat(cmd.Context(), f.session, words(args), piece)
			if err != nil {
				return err
			}
			if !stream {
				fmt.Fprint(f.s.out, shown(r.Text))
			}
			fmt.Fprintln(f.s.out)
			for _, ci := range r.Citations {
				fmt.Fprintf(f.s.out, "%s %s  %s\n", ci.Marker, shown(ci.Ref),
					shown(strings.Join(strings.Fields(ci.Snippet), " ")))
			}
			fmt.Fprintf(f.s.err, "session %s\n", r.Session)
			return nil
		}}
	cmd.Flags().BoolVar(&stream, "stream", false, "print the reply as it comes")
	cmd.Flags().StringVar(&f.session, "session", "", "session to go on with")
	return cmd
}

func (f *memFlags) reflect() *cobra.Command {
	var persist bool
	cmd := &cobra.Command{Use: "reflect QUESTION", Short: "Say what memories together tell, by a language model",
		Args: someArgs("a question"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.call(cmd.Context(), http.MethodPost, "/reflect", map[string]any{"query": words(args),
				"persist": persist})
		}}
	cmd.Flags().BoolVar(&persist, "persist", false, "store what came of it")
	return cmd
}

func (f *memFlags) forget() *cobra.Command {
	var purge, dry bool
	cmd := &cobra.Command{Use: "forget QUESTION", Short: "Forget what a question finds", Args: someArgs("a question"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.call(cmd.Context(), http.MethodPost, "/forget",
				map[string]any{"query": words(args), "purge": purge, "dry_run": dry})
		}}
	cmd.Flags().BoolVar(&purge, "purge", false, "delete it instead of ending it")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show what matches")
	return cmd
}
