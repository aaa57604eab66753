package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/internal/inprocess"
	"github.com/nacredb/nacre/memsvc"
	"github.com/nacredb/nacre/memsvc/config"
	"github.com/nacredb/nacre/memsvc/fake"
	"github.com/nacredb/nacre/memsvc/store"
)

// memsvcFlags are the flags of the memory service; everything else is set by a file or the environment.
type memsvcFlags struct {
	config, bind, db, roles, cors string
	bootstrap                     bool
	context, mgmt, key            string
}

func newMemsvcCmd(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memsvc",
		Short: "The agent memory service",
		Long: `A memory for agents over HTTP and MCP: it stores turns and documents, finds them again with or without a language
model, and keeps what it knows apart by Context and by grants.

It is set by a TOML file (--config) and by the environment, which wins:

` + memsvcSettings() + `
The commands contexts, principals, keys and jobs call the management API of a service that runs.

A link to nacre that is named memsvc is this command.`,
		Args: exactArgs(0, "a command of memsvc"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMemsvcServeCmd(s), newMemsvcBootstrapCmd(s), newMemsvcMigrateCmd(s), newMemsvcFakeCmd(s))
	cmd.AddCommand(newMemsvcManageCmds(s)...)
	return cmd
}

// memsvcSettings lists every variable with its default.
func memsvcSettings() string {
	var b strings.Builder
	for _, s := range config.Table() {
		def := ""
		if s.Default != "" {
			def = " [" + s.Default + "]"
		}
		fmt.Fprintf(&b, "  %s%s%s\n      %s\n", config.Prefix, s.Name, def, s.Help)
	}
	return b.String()
}

func (f *memsvcFlags) addDatabase(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.config, "config", "", "TOML file with settings")
	fl.StringVar(&f.db, "db", "", "database: embedded://DIR, memory, or the address of a server")
	variable(fl, "db", "MEMSVC_SURREALDB_URL")
}

func (f *memsvcFlags) add(cmd *cobra.Command) {
	f.addDatabase(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.context, "context-id", "main", "id of the first Context (bootstrap)")
	fl.StringVar(&f.mgmt, "management-api-key", "", "use this management key instead of a new one (bootstrap)")
	fl.StringVar(&f.key, "context-api-key", "", "use this key of the first Context instead of a new one (bootstrap)")
	variable(fl, "management-api-key", "MEMSVC_MANAGEMENT_API_KEY")
	variable(fl, "context-api-key", "MEMSVC_API_KEY")
}

func newMemsvcServeCmd(s *streams) *cobra.Command {
	var f memsvcFlags
	cmd := &cobra.Command{
		Use:     "serve",
		Aliases: []string{"start"},
		Short:   "Serve the memory of agents",
		Example: `  nacre memsvc serve --db embedded://./memory --bootstrap
  MEMSVC_SURREALDB_URL=ws://db:8000 MEMSVC_SURREALDB_USER=root \
    MEMSVC_SURREALDB_PASS=… nacre memsvc serve`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runMemsvcServe(cmd.Context(), s, &f) },
	}
	f.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.bind, "bind", "", "listen address")
	variable(fl, "bind", "MEMSVC_BIND")
	fl.StringVar(&f.roles, "roles", "all", "what this process does: api, worker, scheduler, management (by commas), or all")
	fl.StringVar(&f.cors, "cors-allowed-origins", "", "origins of both APIs that browsers may call from")
	fl.BoolVar(&f.bootstrap, "bootstrap", false, "make the first keys and print them, where there are none")
	return cmd
}

func newMemsvcBootstrapCmd(s *streams) *cobra.Command {
	var f memsvcFlags
	cmd := &cobra.Command{
		Use:   "bootstrap",
		Short: "Make the first Context and print its key and the management key, once",
		Args:  exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.withService(cmd.Context(), s,
				func(c memsvc.Config) error { return f.printKeys(cmd.Context(), s, c) })
		},
	}
	f.add(cmd)
	return cmd
}

func newMemsvcMigrateCmd(s *streams) *cobra.Command {
	var f memsvcFlags
	var dry, asJSON bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the tables of all Contexts up to date",
		Long: `Bring the tables of all Contexts to the version of this program. A service does so when it starts, too; rows stay as
they are. GET /api/v1/migrations of the management API tells the versions of a service that runs.`,
		Example: `  nacre memsvc migrate --db embedded://./memory --dry-run`,
		Args:    exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.withService(cmd.Context(), s, func(c memsvc.Config) error {
				out, err := memsvc.Migrate(cmd.Context(), c, dry)
				if err != nil {
					return err
				}
				if asJSON {
					return json.NewEncoder(s.out).Encode(out)
				}
				did := "brought up to date"
				if dry {
					did = "to be brought up to date"
				}
				_, err = fmt.Fprintf(s.out, "tables of version %s: %d Contexts; %s: %d %s\n", out.Current,
					out.Versions[out.Current], did, len(out.Updated), strings.Join(out.Updated, " "))
				return err
			})
		},
	}
	f.addDatabase(cmd)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only tell which Contexts are behind")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the state as JSON")
	return cmd
}

// load reads the settings; flags win over the environment, which wins over the file.
func (f *memsvcFlags) load() (*config.Config, error) {
	flags := map[string]string{"BIND": f.bind, "SURREALDB_URL": f.db, "CORS_ALLOWED_ORIGINS": f.cors,
		"MANAGEMENT_CORS_ALLOWED_ORIGINS": f.cors, "MANAGEMENT_API_KEY": f.mgmt, "API_KEY": f.key}
	c, err := config.Load(f.config, func(name string) (string, bool) {
		if v := flags[strings.TrimPrefix(name, config.Prefix)]; v != "" && strings.HasPrefix(name, config.Prefix) {
			return v, true
		}
		return os.LookupEnv(name)
	})
	if err == nil {
		err = c.SetRoles(f.roles)
	}
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// withService opens the database that the settings name and runs f over it.
func (f *memsvcFlags) withService(ctx context.Context, s *streams, run func(memsvc.Config) error) error {
	conf, err := f.load()
	if err != nil {
		return err
	}
	c := memsvc.Config{Config: conf, Log: memsvc.NewLog(s.err, conf), Version: s.build.Version}
	if !conf.Embedded() {
		if err := run(c); !errors.Is(err, client.ErrUnreachable) {
			return err
		}
		return exitError{exitUnreachable, fmt.Errorf("%sSURREALDB_URL: no database answers at %s", config.Prefix,
			conf.DBURL)}
	}
	dsn := "memory"
	if dir := conf.EmbeddedDir(); dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make the directory of the database: %w", err)
		}
		dsn = "bolt://" + filepath.Join(dir, "nacre.db")
	}
	e, err := inprocess.Open(ctx, dsn, nil)
	if err != nil {
		return physicalError(err)
	}
	c.Connect = store.Embedded(e)
	return errors.Join(run(c), e.Close())
}

func runMemsvcServe(ctx context.Context, s *streams, f *memsvcFlags) error {
	return f.withService(ctx, s, func(c memsvc.Config) error {
		if f.bootstrap {
			if err := f.printKeys(ctx, s, c); err != nil && !memsvc.Bootstrapped(err) {
				return err
			}
		}
		return memsvc.Serve(ctx, c)
	})
}

func (f *memsvcFlags) printKeys(ctx context.Context, s *streams, c memsvc.Config) error {
	keys, err := memsvc.Bootstrap(ctx, c, f.context)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "MEMSVC_CONTEXT_ID=%s\nMEMSVC_API_KEY=%s\nMEMSVC_MANAGEMENT_API_KEY=%s\n", keys.Context, keys.Key, keys.ManagementKey)
	return nil
}

func newMemsvcFakeCmd(s *streams) *cobra.Command {
	var listen, script string
	var seed uint64
	cmd := &cobra.Command{
		Use:   "fake-provider",
		Short: "Serve a provider of models that needs no model, for tests and demonstrations",
		Long: `A provider that speaks the wires of language models, reranking, text in images and speech, and always gives the
same answer to the same request: extraction by a small grammar, answers out of the sources that share words with the question.
It serves /v1/chat/completions, /v1/messages, /v1beta/models, /v1/embeddings, /rerank, /ocr, /clip and /stt.
A model whose name ends in ~429, ~500, ~401, ~flaky, ~hang, ~garbage, ~cut, ~invalid, ~strict, ~slow or ~width misbehaves so.
GET /__log shows the requests.`,
		Example: `  nacre memsvc fake-provider --listen 127.0.0.1:9999
  MEMSVC_PROVIDER_ALPHA_BASE_URL=http://127.0.0.1:9999/v1 \
    nacre memsvc serve --db memory`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runMemsvcFake(cmd.Context(), s, listen, script, seed)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "listen address")
	cmd.Flags().Uint64Var(&seed, "seed", 0, "another model: other words around answers, another space of embeddings")
	cmd.Flags().StringVar(&script, "script", "", "JSON file with a list of {match, reply}: regular expressions and answers")
	return cmd
}

func runMemsvcFake(ctx context.Context, s *streams, listen, script string, seed uint64) error {
	var rules []fake.Rule
	if script != "" {
		b, err := os.ReadFile(script)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(b, &rules); err != nil {
			return usageError{fmt.Errorf("%s: %w", script, err)}
		}
	}
	f, err := fake.New(rules)
	if err != nil {
		return usageError{err}
	}
	f.Seed(seed)
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "http://%s\n", l.Addr())
	srv := &http.Server{Handler: f, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return srv.Close()
	}
}
