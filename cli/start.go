package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/daemon/telemetry"
	"github.com/nacredb/nacre/internal/begin"
	"github.com/nacredb/nacre/internal/heap"
	"github.com/nacredb/nacre/internal/processors"
	"github.com/nacredb/nacre/internal/span"
)

// newStartCmd is the command that runs a server.
func newStartCmd(s *streams) *cobra.Command {
	cfg := config.Default()
	table := config.Table(cfg)
	printConfig := false
	cmd := &cobra.Command{
		Use: "start [flags] [PATH]", Short: "Run a database server", Args: atMostOne, Long: startLong,
		Example: "  nacre start --user root --pass root memory\n  nacre start --user root --pass root bolt://data.nacre",
	}
	for _, setting := range table {
		addFlag(cmd.Flags(), setting)
		if setting.Flag != "" && setting.Env != "" {
			variable(cmd.Flags(), setting.Flag, envPrefixes[0]+setting.Env)
		}
	}
	cmd.Flags().BoolVar(&printConfig, "print-config", false, "Print every setting with its value and origin, and exit")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		src := config.Sources{Environ: s.environ, Known: variables(newRootCmd(s, ""))}
		warnings, err := config.Load(table, changed(cmd.Flags(), table), src)
		if err != nil {
			return usageError{err}
		}
		if len(args) > 0 {
			cfg.Path = args[0]
			origin(table, "path", "argument")
		}
		if printConfig {
			for _, w := range warnings {
				fmt.Fprintln(s.err, "nacre: "+w)
			}
			return config.Print(s.out, table)
		}
		if err := checkStart(cfg); err != nil {
			return err
		}
		level := func() (slog.Level, error) { return levelNow(s, cfg, changed(cmd.Flags(), table)) }
		return runStart(cmd.Context(), s, cfg, warnings, level)
	}
	return cmd
}

const startLong = `Run a database server over the store at PATH, "memory" when there is none.

  memory                  Nothing is kept when the server stops.
  bolt://PATH             A directory, made when it is absent; also a bare path,
                          or file:PATH. An acknowledged commit survives a killed
                          process, a crash of the machine and a power cut.
  bolt://PATH?sync=100ms  The disk is told at that interval. A killed process
                          loses nothing, a power cut what was committed in about
                          that time.
  bolt://PATH?sync=never  The disk is told at checkpoints. A killed process
                          loses nothing, a power cut what was committed since
                          the last one.
  ...?versioned=true      Keep the past; retention=90d for so long.

In every mode a commit is kept whole or not at all, and no later one without those before it.`

func atMostOne(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{fmt.Errorf("start takes one path, got %d", len(args))}
	}
	return nil
}

// addFlag makes the flag of a setting and its older names.
func addFlag(flags *pflag.FlagSet, s *config.Setting) {
	if s.Flag == "" {
		return
	}
	f := flags.VarPF(s.Value, s.Flag, s.Short, s.Help)
	f.NoOptDefVal = s.NoArg
	note(f, noteGroup, s.Group)
	if s.Secret {
		f.DefValue = ""
	}
	for _, name := range s.Also {
		also := flags.VarPF(s.Value, name, "", s.Help)
		also.NoOptDefVal, also.Hidden = s.NoArg, true
	}
}

// changed reports of a flag whether it, or one of its older names, was given.
func changed(flags *pflag.FlagSet, table []*config.Setting) func(string) bool {
	return func(name string) bool {
		if flags.Changed(name) {
			return true
		}
		for _, s := range table {
			if s.Flag != name {
				continue
			}
			for _, also := range s.Also {
				if flags.Changed(also) {
					return true
				}
			}
		}
		return false
	}
}

// checkStart refuses settings that contradict one another, and puts the temporary directory into effect.
func checkStart(cfg *config.Config) error {
	switch {
	case cfg.User != "" && cfg.Pass == "":
		return usagef("--user needs a password: add --pass, NACRE_PASS or NACRE_PASS_FILE")
	case cfg.Pass != "" && cfg.User == "":
		return usagef("--pass needs a name: add --user or NACRE_USER")
	}
	if cfg.TemporaryDirectory == "" {
		return nil
	}
	if info, err := os.Stat(cfg.TemporaryDirectory); err != nil || !info.IsDir() {
		return usagef("--temporary-directory %s: there is no such directory", cfg.TemporaryDirectory)
	}
	return os.Setenv("TMPDIR", cfg.TemporaryDirectory)
}

// startLog makes the logger of cfg: to standard error, and to a file and a socket where those are asked for.
func startLog(s *streams, cfg *config.Config, level slog.Leveler) (log *slog.Logger, done func() error, err error) {
	asJSON, err := logJSON(cfg.LogFormat, !s.errTTY)
	if err != nil {
		return nil, nil, err
	}
	screen := telemetry.NewLogger(s.err, level, asJSON)
	logs, closers := []*slog.Logger{screen}, []func() error{}
	done = func() error {
		var failed []error
		for _, f := range closers {
			failed = append(failed, f())
		}
		return errors.Join(failed...)
	}
	if cfg.LogFile.Enabled {
		file, stop, err := fileLog(cfg.LogFile)
		if err != nil {
			return nil, nil, err
		}
		logs, closers = append(logs, file), append(closers, stop)
	}
	if cfg.LogSocket.Address != "" {
		socket, stop, err := socketLog(cfg.LogSocket, level, telemetry.Tee(logs...))
		if err != nil {
			return nil, nil, errors.Join(err, done())
		}
		logs, closers = append(logs, socket), append(closers, stop)
	}
	var to *telemetry.OTLP
	if cfg.LogOTLP.Endpoint != "" || cfg.LogOTLP.Provider != "" {
		if to, err = collector(s, cfg.LogOTLP.Endpoint, telemetry.Logs); err != nil {
			return nil, nil, errors.Join(err, done())
		}
	}
	if to != nil {
		sent, stop, err := collectorLog(s, *to, cfg.LogOTLP, level, telemetry.Tee(logs...))
		if err != nil {
			return nil, nil, errors.Join(err, done())
		}
		logs, closers = append(logs, sent), append(closers, stop)
	} else if cfg.LogOTLP.Level != "" {
		screen.Warn("--log-otel-level has no effect: add --log-otel-endpoint or NACRE_TELEMETRY_PROVIDER=otlp",
			"component", "server")
	}
	if len(logs) == 1 {
		return screen, done, nil
	}
	return telemetry.Tee(logs...), done, nil
}

// startSpans begins to send spans to a collector of OpenTelemetry; nil where they are not asked for.
func startSpans(s *streams, cfg *config.Config, log *slog.Logger) (*span.Exporter, error) {
	if cfg.LogOTLP.Provider == "" {
		return nil, nil
	}
	to, err := collector(s, "", telemetry.Traces)
	if err != nil || to == nil {
		return nil, err
	}
	return span.New(span.Collector(*to), "nacre", s.build.Version, log.With("component", "server")), nil
}

// collector is where a signal goes by OTLP; nil for nowhere.
func collector(s *streams, endpoint, signal string) (*telemetry.OTLP, error) {
	if slices.Contains(s.environ, "OTEL_SDK_DISABLED=true") ||
		slices.Contains(s.environ, "OTEL_"+strings.ToUpper(signal)+"_EXPORTER=none") {
		return nil, nil
	}
	to, err := telemetry.OTLPFromEnv(s.environ, endpoint, signal)
	if err != nil {
		return nil, usageError{err}
	}
	return &to, nil
}

// collectorLog begins to send a copy of the log. others are told when the collector is away, and there again.
func collectorLog(s *streams, to telemetry.OTLP, c config.LogOTLP, level slog.Leveler, others *slog.Logger) (
	*slog.Logger, func() error, error) {
	if c.Level != "" {
		own, err := telemetry.ParseLevel(c.Level)
		if err != nil {
			return nil, nil, usageError{err}
		}
		level = own
	}
	sent, err := telemetry.OpenOTLPLog(to, s.build.Version, others)
	if err != nil {
		return nil, nil, err
	}
	return sent.Logger(level), sent.Close, nil
}

// fileLog opens the copy of the log in a file.
func fileLog(f config.LogFile) (*slog.Logger, func() error, error) {
	asJSON, err := logJSON(f.Format, false)
	if err != nil {
		return nil, nil, err
	}
	level, err := telemetry.ParseLevel(f.Level)
	if err != nil {
		return nil, nil, usageError{err}
	}
	rotation, err := telemetry.ParseRotation(f.Rotation)
	if err != nil {
		return nil, nil, usageError{err}
	}
	file, err := telemetry.OpenLogFile(f.Path, f.Name, rotation)
	if err != nil {
		return nil, nil, err
	}
	return telemetry.NewLogger(file, level, asJSON), file.Close, nil
}

// socketLog opens the copy of the log on a socket. others are told when it breaks and when it is there again.
func socketLog(to config.LogSocket, level slog.Leveler, others *slog.Logger) (*slog.Logger, func() error, error) {
	asJSON, err := logJSON(to.Format, false)
	if err != nil {
		return nil, nil, err
	}
	if to.Level != "" {
		own, err := telemetry.ParseLevel(to.Level)
		if err != nil {
			return nil, nil, usageError{err}
		}
		level = own
	}
	socket, err := telemetry.OpenLogSocket(to.Address, others)
	if err != nil {
		return nil, nil, usageError{err}
	}
	return telemetry.NewLogger(socket, level, asJSON), socket.Close, nil
}

// logJSON reads a format of log lines; auto is the value for automatic.
func logJSON(format string, automatic bool) (bool, error) {
	switch format {
	case "text":
		return false, nil
	case "json":
		return true, nil
	case "auto":
		return automatic, nil
	}
	return false, usagef("unknown log format %q (text, json, auto)", format)
}

// levelNow is the log level that the sources of the running server's configuration give now: its flag as it was given,
// its variables, its file.
func levelNow(s *streams, cfg *config.Config, flagged func(string) bool) (slog.Level, error) {
	fresh := config.Default()
	fresh.File, fresh.LogLevel = cfg.File, cfg.LogLevel
	given := func(flag string) bool { return flag == "config" || flagged(flag) }
	if !given("log") {
		fresh.LogLevel = config.Default().LogLevel
	}
	if _, err := config.Load(config.Table(fresh), given, config.Sources{Environ: s.environ}); err != nil {
		return 0, err
	}
	return telemetry.ParseLevel(fresh.LogLevel)
}

// runStart serves until a stop signal. A second signal ends the process at once; SIGHUP makes it read the certificate
// and the log level again.
func runStart(ctx context.Context, s *streams, cfg *config.Config, warnings []string,
	again func() (slog.Level, error)) (err error) {
	first, err := telemetry.ParseLevel(cfg.LogLevel)
	if err != nil {
		return usageError{err}
	}
	level := new(slog.LevelVar)
	level.Set(first)
	log, closeLog, err := startLog(s, cfg, level)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	for _, w := range warnings {
		log.Warn(w, "component", "config")
	}
	cfg.Release = s.build.Version
	cfg.Supervisor = config.SupervisorOf(s.environ, os.Getpid())
	if !cfg.NoBanner {
		banner(s.err, cfg)
	}
	spans, err := startSpans(s, cfg, log)
	if err != nil {
		return err
	}
	if spans != nil {
		defer spans.Close()
		ctx = span.With(ctx, spans)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	hangups, reload := make(chan os.Signal, 1), make(chan os.Signal)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case sig := <-hangups:
				relevel(log, level, again)
				select {
				case reload <- sig:
				case <-done:
					return
				}
			case <-done:
				return
			}
		}
	}()
	go func() {
		select {
		case <-signals:
			stop()
		case <-done:
			return
		}
		select {
		case <-signals:
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	defer heap.Limit()()
	defer processors.Spare()()
	begin.Over()
	defer heap.Pace(heap.Headroom())()
	return daemon.Run(ctx, cfg, log, reload)
}

// relevel sets the log level to what again gives.
func relevel(log *slog.Logger, level *slog.LevelVar, again func() (slog.Level, error)) {
	next, err := again()
	if err != nil {
		log.Error("the old log level stays", "component", "config", "err", err)
		return
	}
	if next != level.Level() {
		level.Set(next)
		log.Info("log level changed", "component", "config", "level", next)
	}
}

func banner(w io.Writer, cfg *config.Config) {
	fmt.Fprintf(w, "nacre: %s on %s\n", cfg.Path, cfg.Bind)
	if cfg.Unauthenticated {
		fmt.Fprintln(w, "nacre: authentication is off, every connection has the rights of root")
	}
}

// origin notes where the value of a setting without a flag came from.
func origin(table []*config.Setting, variable, from string) {
	for _, s := range table {
		if s.Flag == "" && strings.EqualFold(s.Env, variable) {
			s.Origin = from
		}
	}
}

// joinOptional ties the value of a flag whose value is optional to the flag, as in --allow-net 10.0.0.0/8, which the
// flag library would take for the path. What can only be a path stays one.
func joinOptional(table []*config.Setting, args []string) []string {
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(out, args[i:]...)
		}
		arg := args[i]
		if i+1 < len(args) && optional(table, arg) && !strings.HasPrefix(args[i+1], "-") && !isStore(args[i+1]) {
			i++
			arg += "=" + args[i]
		}
		out = append(out, arg)
	}
	return out
}

func optional(table []*config.Setting, arg string) bool {
	name, ok := strings.CutPrefix(arg, "--")
	for _, s := range table {
		if ok && s.Flag == name && s.Flag != "" {
			return s.NoArg == "all"
		}
	}
	return false
}

// isStore reports whether arg can only be the address of a store.
func isStore(arg string) bool {
	if arg == "memory" || strings.Contains(arg, "://") {
		return true
	}
	scheme, _, ok := strings.Cut(arg, ":")
	switch scheme {
	case "mem", "memory", "bolt", "file", "rocksdb", "surrealkv", "tikv":
		return ok
	}
	return false
}
