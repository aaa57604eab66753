package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/client"
)

// connectFlags are the flags of every command that talks to a server.
type connectFlags struct {
	endpoint, user, pass, passFile, token, level, ns, db string

	context   string // name of a context; "" is the one in use
	passStdin bool

	quiet  bool   // never ask for a password
	create bool   // make the store of endpoint where it does not exist
	placed bool   // begin at the namespace and database without selecting them, which would make them
	maker  string // what makes a store, for the error where there is none
}

// addCreateFlag lets cmd make a store in its own process.
func addCreateFlag(cmd *cobra.Command, f *connectFlags) {
	f.maker = "--create makes one"
	cmd.Flags().BoolVar(&f.create, "create", false, "make the store of a bolt://PATH endpoint where there is none")
}

// connectFlag is one of them: its name, aliases kept for ever, environment variable (without prefix) and help.
type connectFlag struct {
	name, short, env, def, help string
	aliases                     []string
	place                       func(*connectFlags) *string
}

var connectTable = []connectFlag{
	{"endpoint", "e", "ENDPOINT", "ws://127.0.0.1:8000",
		"server address (ws, wss, http, https, grpc, grpcs), or memory / bolt://PATH without a server", []string{"conn"},
		func(f *connectFlags) *string { return &f.endpoint }},
	{"username", "u", "USER", "", "user to sign in as", []string{"user"},
		func(f *connectFlags) *string { return &f.user }},
	{"password", "p", "PASS", "", "password of the user", []string{"pass"},
		func(f *connectFlags) *string { return &f.pass }},
	{"password-file", "", "PASS_FILE", "", "file that holds the password (one line)", nil,
		func(f *connectFlags) *string { return &f.passFile }},
	{"token", "t", "TOKEN", "", "token to authenticate with instead of a user", nil,
		func(f *connectFlags) *string { return &f.token }},
	{"auth-level", "", "AUTH_LEVEL", "root", "level of the user: root, namespace (ns), database (db)", nil,
		func(f *connectFlags) *string { return &f.level }},
	{"namespace", "", "NAMESPACE", "main", "namespace to work in", []string{"ns"},
		func(f *connectFlags) *string { return &f.ns }},
	{"database", "", "DATABASE", "main", "database to work in", []string{"db"},
		func(f *connectFlags) *string { return &f.db }},
}

// envPrefixes in order of precedence; the first one is ours.
var envPrefixes = []string{"NACRE_", "SERVICE_", "SURREAL_"}

// fromEnv is the value of the first set variable of name; an empty one is not set.
func fromEnv(name string) (string, bool) {
	for _, p := range envPrefixes {
		if v := os.Getenv(p + name); v != "" {
			return v, true
		}
	}
	return "", false
}

// addConnectFlags gives cmd the named flags (all of them when none is named) with their aliases and environment.
func addConnectFlags(cmd *cobra.Command, f *connectFlags, names ...string) {
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return f.resolve(cmd) }
	cmd.Flags().StringVar(&f.context, "context", "", "context to take the rest from, none for none")
	variable(cmd.Flags(), "context", "NACRE_CONTEXT")
	must1(cmd.RegisterFlagCompletionFunc("context", completeContexts))
	note(cmd.Flags().Lookup("context"), noteGroup, groupConnection)
	if len(names) == 0 || contains(names, "password") {
		cmd.Flags().BoolVar(&f.passStdin, "password-stdin", false, "read the password from standard input (one line)")
		note(cmd.Flags().Lookup("password-stdin"), noteGroup, groupConnection)
	}
	for _, d := range connectTable {
		if len(names) > 0 && !contains(names, d.name) {
			continue
		}
		def := d.def
		if v, ok := fromEnv(d.env); ok {
			def = v
		}
		cmd.Flags().StringVarP(d.place(f), d.name, d.short, def, d.help)
		variable(cmd.Flags(), d.name, envPrefixes[0]+d.env)
		cmd.Flags().Lookup(d.name).DefValue = d.def // not what the environment says, which may be a secret
		note(cmd.Flags().Lookup(d.name), noteGroup, groupConnection)
		for _, a := range d.aliases {
			cmd.Flags().StringVar(d.place(f), a, def, "alias of --"+d.name)
			cmd.Flags().Lookup(a).Hidden = true
		}
	}
	completePlaces(cmd, f)
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// options turns the flags into a client's options.
func (f *connectFlags) options() (client.Options, error) {
	opt := client.Options{Endpoint: f.endpoint, User: f.user, Pass: f.pass, Token: f.token, Namespace: f.ns,
		Database: f.db}
	switch f.level {
	case "", "root":
		opt.Level = "root"
	case "namespace", "ns":
		opt.Level = "namespace"
	case "database", "db":
		opt.Level = "database"
	default:
		return opt, usagef("unknown --auth-level %q: use root, namespace or database", f.level)
	}
	if f.passFile != "" {
		file, err := os.Open(f.passFile)
		if err != nil {
			return opt, fmt.Errorf("read --password-file: %w", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		if opt.Pass, err = firstLine(file); err != nil {
			return opt, err
		}
	}
	return opt, nil
}

// embedded reports whether the endpoint is a store of this process instead of a server.
func (f *connectFlags) embedded() bool {
	scheme, _, ok := strings.Cut(f.endpoint, "://")
	if !ok {
		return f.endpoint == "memory" || strings.HasPrefix(f.endpoint, "bolt:") ||
			strings.HasPrefix(f.endpoint, "file:")
	}
	return !contains([]string{"ws", "wss", "http", "https", "grpc", "grpcs"}, scheme)
}

// open connects to the server, or opens the store and talks to it in this process.
func (f *connectFlags) open(ctx context.Context) (*client.Client, error) { return f.openWith(ctx, nil) }

// connectTime is how long connecting and signing in may take.
const connectTime = 15 * time.Second

// openWith is open, with notify told what live queries have to tell.
func (f *connectFlags) openWith(ctx context.Context, notify func(client.Notification)) (*client.Client, error) {
	opt, err := f.options()
	if err != nil {
		return nil, err
	}
	opt.Notify = notify
	if f.embedded() {
		if opt.Transport, err = openEmbedded(ctx, f); err != nil {
			return nil, err
		}
		opt.User, opt.Token = "", "" // the owner of the file is the owner of the data
		if f.placed {
			opt.Namespace, opt.Database = "", ""
		}
		return client.Open(ctx, opt)
	}
	if f.placed {
		return client.Probe(opt)
	}
	ctx, stop := context.WithTimeoutCause(ctx, connectTime,
		fmt.Errorf("%w: %s did not answer within %v", client.ErrUnreachable, f.endpoint, connectTime))
	defer stop()
	return client.Open(ctx, opt)
}

// probe makes a client for the HTTP endpoints only.
func (f *connectFlags) probe() (*client.Client, error) {
	opt, err := f.options()
	if err != nil {
		return nil, err
	}
	return client.Probe(opt)
}
