// Package repl is the interactive shell: reading lines until the parser calls a text complete, running
// it, printing the answers, and the backslash commands.
package repl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/chzyer/readline"

	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// Options are the shell's settings at its start.
type Options struct {
	Out, Err            io.Writer
	Format              render.Format // "" picks table for flat rows, else pretty
	Vars                *value.Object
	Namespace, Database string
	Welcome             bool
	Version             string
}

// shell is one interactive session. It belongs to the goroutine of Run.
type shell struct {
	c      *client.Client
	opt    Options
	out    io.Writer // opt.Out, or the file of \o
	outTo  io.Closer // the file of \o, else nil
	timing bool
	quit   bool
	last   string // the last text that ran, for \g and \watch
	names  *names
	rl     *readline.Instance
}

// Literal reads text as a literal value; what is none is a string.
func Literal(text string) value.Value {
	if v, err := parse.Value(text); err == nil {
		return v
	}
	return value.Str(text)
}

// Run reads and runs texts until the input or ctx ends. Failed statements are printed, not returned.
func Run(ctx context.Context, c *client.Client, opt Options) error {
	sh := &shell{c: c, opt: opt, out: opt.Out, timing: true, names: newNames(c)}
	rl, err := readline.NewEx(&readline.Config{
		Prompt:                 sh.prompt(),
		AutoComplete:           completer{sh.names},
		HistoryFile:            historyFile(opt.Err),
		DisableAutoSaveHistory: true,
		HistorySearchFold:      true,
		InterruptPrompt:        "^C",
		EOFPrompt:              "",
		Stdout:                 opt.Out,
		Stderr:                 opt.Err,
	})
	if err != nil {
		return fmt.Errorf("open the terminal: %w", err)
	}
	defer rl.Close()
	sh.rl = rl
	stop := context.AfterFunc(ctx, func() { rl.Close() })
	defer stop()
	defer sh.names.close()
	sh.names.refresh(ctx)
	if opt.Welcome {
		fmt.Fprintf(opt.Err, "nacre %s. \\? for help, \\q to leave.\n", opt.Version)
	}
	return errors.Join(sh.loop(ctx), sh.closeOutput())
}

// loop is the read-run-print loop.
func (sh *shell) loop(ctx context.Context) error {
	var text strings.Builder
	for !sh.quit {
		if text.Len() == 0 {
			sh.rl.SetPrompt(sh.prompt())
		} else {
			sh.rl.SetPrompt(strings.Repeat(" ", max(0, len(sh.prompt())-5)) + "...> ")
		}
		line, err := sh.rl.Readline()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			text.Reset()
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the terminal: %w", err)
		}
		if text.Len() == 0 && isCommand(line) {
			sh.remember(line)
			if err := sh.command(ctx, strings.TrimSpace(line)); err != nil {
				fmt.Fprintf(sh.opt.Err, "%v\n", err)
			}
			continue
		}
		text.WriteString(line)
		text.WriteByte('\n')
		vertical := strings.HasSuffix(strings.TrimSpace(line), `\G`)
		whole := strings.TrimSuffix(strings.TrimSpace(text.String()), `\G`)
		if whole == "" {
			text.Reset()
			continue
		}
		if !parse.Complete(whole) && strings.TrimSpace(line) != "" {
			continue
		}
		text.Reset()
		sh.remember(whole)
		sh.run(ctx, whole, vertical)
	}
	return nil
}

// prompt is "ns/db> ".
func (sh *shell) prompt() string {
	place := sh.opt.Namespace
	if sh.opt.Database != "" {
		place += "/" + sh.opt.Database
	}
	return place + "> "
}

// remember puts a text into the history, on one line, unless it holds a secret.
func (sh *shell) remember(text string) {
	if secret(text) {
		return
	}
	if err := sh.rl.SaveHistory(strings.Join(strings.Fields(text), " ")); err != nil {
		fmt.Fprintf(sh.opt.Err, "history: %v\n", err)
	}
}

// run runs a text and prints its answers. Ctrl-C cancels it.
func (sh *shell) run(ctx context.Context, text string, vertical bool) {
	sh.last = text
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	began := time.Now()
	results, err := sh.c.Query(ctx, text, sh.opt.Vars)
	took := time.Since(began)
	if err != nil {
		fmt.Fprintf(sh.opt.Err, "%v\n", err)
		return
	}
	records := 0
	var server time.Duration
	for _, r := range results {
		server += r.Time
		if r.Err != nil {
			fmt.Fprintf(sh.opt.Err, "%v\n", r.Err)
			continue
		}
		records += count(r.Value)
		sh.follow(r.Value)
		if err := render.Value(sh.out, sh.format(r.Value, vertical), r.Value); err != nil {
			fmt.Fprintf(sh.opt.Err, "print: %v\n", err)
		}
	}
	if sh.timing {
		fmt.Fprintf(sh.opt.Err, "%d records in %v (network %v)\n", records,
			took.Round(10*time.Microsecond), max(0, took-server).Round(10*time.Microsecond))
	}
	if changesSchema(text) {
		sh.names.refresh(ctx)
	}
}

// format is the format for one answer.
func (sh *shell) format(v value.Value, vertical bool) render.Format {
	switch {
	case vertical:
		return render.Vertical
	case sh.opt.Format != "":
		return sh.opt.Format
	case render.Tabular(v):
		return render.Table
	}
	return render.Pretty
}

// follow keeps the prompt at the place that a USE answered.
func (sh *shell) follow(v value.Value) {
	if v.Kind() != value.KindObject || v.Object().Len() != 2 {
		return
	}
	ns, ok1 := v.Object().Get("namespace")
	db, ok2 := v.Object().Get("database")
	if !ok1 || !ok2 {
		return
	}
	sh.opt.Namespace, sh.opt.Database = "", ""
	if ns.Kind() == value.KindString {
		sh.opt.Namespace = ns.Str()
	}
	if db.Kind() == value.KindString {
		sh.opt.Database = db.Str()
	}
}

// count is the number of records in an answer.
func count(v value.Value) int {
	switch v.Kind() {
	case value.KindArray:
		return v.Len()
	case value.KindNone, value.KindNull:
		return 0
	}
	return 1
}

// changesSchema reports whether a text may have changed what names there are.
func changesSchema(text string) bool {
	up := strings.ToUpper(text)
	for _, w := range []string{"DEFINE", "REMOVE", "USE", "CREATE", "INSERT", "RELATE", "UPSERT"} {
		if strings.Contains(up, w) {
			return true
		}
	}
	return false
}
