package cli

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/daemon/telemetry"
)

// newMCPCmd is the command that serves a store to one client of MCP.
func newMCPCmd(s *streams) *cobra.Command {
	cfg := config.Default()
	cfg.LogLevel = "warn"
	table := config.Table(cfg)
	at, client := daemon.Place{}, mcpClient{}
	cmd := &cobra.Command{
		Use:   "mcp [flags] [PATH]",
		Short: "Serve a store to an agent: the Model Context Protocol over standard input and output",
		Long: `Serves the store at PATH ("memory" when there is none, or NACRE_PATH) to one client of the Model Context Protocol, which starts
this command and talks to it over standard input and output. Every call has the rights of the owner of the store, within the
capabilities of the flags. Log lines go to standard error. A running server offers the same at /mcp.

--print-config prints what a client's configuration needs, for the other flags as they are; with --url for a running server.`,
		Example: `  nacre mcp --ns app --db app bolt://app.db
  nacre mcp --mcp-read-only bolt://app.db
  nacre mcp --print-config claude-desktop --ns app --db app bolt://app.db
  nacre mcp --print-config vscode --url http://localhost:8000/mcp`,
		Args: atMostOnePath,
	}
	for _, setting := range table {
		if ofMCP(setting) {
			addFlag(cmd.Flags(), setting)
		}
	}
	ns, _ := fromEnv("MCP_NS")
	db, _ := fromEnv("MCP_DB")
	cmd.Flags().StringVar(&at.NS, "ns", ns, "namespace that calls begin in")
	cmd.Flags().StringVar(&at.DB, "db", db, "database that calls begin in")
	variable(cmd.Flags(), "ns", "NACRE_MCP_NS")
	variable(cmd.Flags(), "db", "NACRE_MCP_DB")
	cmd.Flags().StringVar(&client.name, "print-config", "",
		"print the configuration of a client ("+mcpClientNames()+"), and exit")
	cmd.Flags().StringVar(&client.url, "url", "", "with --print-config: the address of /mcp of a running server")
	must1(cmd.RegisterFlagCompletionFunc("print-config", cobra.FixedCompletions(
		mcpClientList(), cobra.ShellCompDirectiveNoFileComp)))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if client.name != "" {
			return client.print(s, cmd, args)
		}
		warnings, err := config.Load(table, changed(cmd.Flags(), table), config.Sources{Environ: s.environ})
		if err != nil {
			return usageError{err}
		}
		if len(args) > 0 {
			cfg.Path = args[0]
		}
		if at.DB != "" && at.NS == "" {
			return usagef("--db needs --ns")
		}
		return runMCP(cmd.Context(), s, cfg, warnings, at)
	}
	return cmd
}

func atMostOnePath(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("mcp takes one path, got %d", len(args))
	}
	return nil
}

// ofMCP reports whether a setting has a meaning without a server: those of the store, of capabilities and of the log.
func ofMCP(s *config.Setting) bool {
	switch s.Group {
	case config.GroupDatabase, config.GroupCaps, config.GroupLog:
		return s.Flag != "import-file" && s.Flag != "import-again"
	}
	return s.Flag == "user" || s.Flag == "pass" || s.Flag == "mcp-read-only"
}

func runMCP(ctx context.Context, s *streams, cfg *config.Config, warnings []string, at daemon.Place) error {
	if err := checkStart(cfg); err != nil {
		return err
	}
	level, err := telemetry.ParseLevel(cfg.LogLevel)
	if err != nil {
		return usageError{err}
	}
	leveler := new(slog.LevelVar)
	leveler.Set(level)
	log, done, err := startLog(s, cfg, leveler)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		log.Warn(w, "component", "config")
	}
	err = daemon.ServeMCP(ctx, cfg, log, at, s.in, s.out)
	if closed := done(); err == nil {
		err = closed
	}
	return err
}
