// Package repl is the interactive shell: reading lines until a statement is closed by a semicolon, running it,
// printing the answers, and the backslash commands.
package repl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/chzyer/readline"

	"github.com/nacredb/nacre/cli/advice"
	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/cli/script"
	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// Options are the shell's settings at its start.
type Options struct {
	// Open connects. The shell calls it once, and again when the connection is lost.
	Open                func(ctx context.Context, ns, db string, notify func(client.Notification)) (*client.Client, error)
	Out, Err            io.Writer
	Format              render.Format // "" picks table for flat rows, else pretty
	Vars                *value.Object
	Namespace, Database string
	Endpoint, User      string // for \conninfo
	Welcome             bool
	Colour              bool
	Vi                  bool // keys of vi in place of those of Emacs
	Version             string
}

// ErrInterrupted is two Ctrl-C within a second.
var ErrInterrupted = errors.New("interrupted")

// shell is one interactive session. It belongs to the goroutine of Run.
type shell struct {
	c       *client.Client
	run     *script.Runner
	opt     Options
	out     io.Writer // opt.Out, or the file of \o
	outTo   io.Closer // the file of \o, else nil
	timing  bool
	pager   bool
	quit    bool
	gql     bool   // texts are programs in ISO GQL
	last    string // the last text that ran, for \g, \e and \watch
	names   *names
	rl      *readline.Instance
	paint   *painter
	input   *pastes
	notices notices
	pressed time.Time // the last Ctrl-C
}

// Literal reads text as a literal value; what is none is a string.
func Literal(text string) value.Value {
	if v, err := parse.Value(text); err == nil {
		return v
	}
	return value.Str(text)
}

// Run reads and runs texts until the input or ctx ends. Failed statements are printed, not returned.
func Run(ctx context.Context, opt Options) (err error) {
	sh := &shell{opt: opt, out: opt.Out, timing: true, pager: true}
	if sh.c, err = opt.Open(ctx, opt.Namespace, opt.Database, sh.notices.take); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sh.c.Close()) }()
	sh.run = script.New(sh.c, opt.Vars, true)
	sh.names = newNames(sh.c)
	defer sh.names.close()
	sh.input = newPastes(readline.NewCancelableStdin(os.Stdin))
	sh.paint = &painter{opt.Colour}
	history := historyFile(opt.Err)
	sh.rl, err = readline.NewEx(&readline.Config{
		Prompt:                 sh.prompt(),
		AutoComplete:           completer{sh.names, sh.variables, sh.above},
		HistoryFile:            history,
		HistoryLimit:           maxHistory,
		DisableAutoSaveHistory: true,
		HistorySearchFold:      true,
		InterruptPrompt:        "^C",
		EOFPrompt:              "",
		VimMode:                opt.Vi,
		ForceUseInteractive:    true,
		Painter:                sh.paint,
		Stdin:                  sh.input,
		Stdout:                 opt.Out,
		Stderr:                 opt.Err,
	})
	if err != nil {
		return fmt.Errorf("open the terminal: %w", err)
	}
	defer sh.rl.Close()
	if err := private(history); err != nil { // the library may have written it anew
		return err
	}
	stop := context.AfterFunc(ctx, func() { sh.rl.Close() })
	defer stop()
	defer sh.notices.printTo(sh.rl.Stdout())()
	sh.names.refresh()
	if opt.Welcome {
		fmt.Fprintf(opt.Err, "nacre %s. A statement ends with a semicolon. \\? for help, \\q to leave.\n", opt.Version)
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
		sh.names.begin(text.String())
		line, err := sh.readLine()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			text.Reset()
			if line == "" && sh.twice() {
				return ErrInterrupted
			}
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the terminal: %w", err)
		}
		if text.Len() == 0 && isCommand(line) {
			sh.remember(line)
			if err := sh.command(ctx, strings.TrimSpace(line)); err != nil {
				sh.complain(err)
			}
			continue
		}
		text.WriteString(line)
		text.WriteByte('\n')
		whole, vertical, ended := sh.sentence(text.String())
		if whole == "" {
			text.Reset()
		}
		if !ended {
			continue
		}
		text.Reset()
		sh.remember(whole)
		sh.do(ctx, whole, vertical)
	}
	return nil
}

// sentence reads what has been typed: the text, whether it is printed one field a line, and whether it is to be run.
// That is so only where a semicolon, \g or \G closes it: an Enter too early must not run half of a statement.
func (sh *shell) sentence(typed string) (text string, vertical, ended bool) {
	complete, closed := parse.Complete, parse.Ended
	if sh.gql {
		complete, closed = func(text string) bool { return gql.Ended(text + "\n;") }, gql.Ended
	}
	text = strings.TrimSpace(typed)
	if rest, ok := strings.CutSuffix(text, `\G`); ok {
		return strings.TrimSpace(rest), true, complete(rest)
	}
	if rest, ok := strings.CutSuffix(text, `\g`); ok {
		return strings.TrimSpace(rest), false, complete(rest)
	}
	return text, false, text != "" && closed(text)
}

// readLine reads one line; a pasted text counts as one line, line feeds included.
func (sh *shell) readLine() (string, error) {
	fmt.Fprint(sh.opt.Out, pasteOn)
	line, err := sh.rl.Readline()
	fmt.Fprint(sh.opt.Out, pasteOff)
	return sh.input.expand(line), err
}

// twice notes a Ctrl-C and reports whether it is the second within a second.
func (sh *shell) twice() bool {
	now := time.Now()
	again := now.Sub(sh.pressed) < time.Second
	sh.pressed = now
	if !again {
		fmt.Fprintln(sh.opt.Err, `\q or Ctrl-D leaves, and so does a second Ctrl-C`)
	}
	return again
}

// prompt is "ns/db> ", with a star in a transaction, and an exclamation mark once a statement of it has failed.
func (sh *shell) prompt() string {
	place := sh.opt.Namespace
	if sh.opt.Database != "" {
		place += "/" + sh.opt.Database
	}
	if sh.run != nil {
		switch open, failed := sh.run.Open(); {
		case failed:
			place += "!"
		case open:
			place += "*"
		}
	}
	if sh.gql {
		place += " gql"
	}
	return place + "> "
}

// runText runs the statements of a text, or a program in ISO GQL, and calls each after every step.
func (sh *shell) runText(ctx context.Context, text string, each func(*script.Step) error) error {
	if !sh.gql {
		return sh.run.Run(ctx, strings.NewReader(text), each)
	}
	step, err := sh.run.GQL(ctx, text)
	if err != nil {
		return err
	}
	if err := each(step); !errors.Is(err, script.ErrStop) {
		return err
	}
	return nil
}

// do runs a text and prints its answers. Ctrl-C cancels it.
func (sh *shell) do(ctx context.Context, text string, vertical bool) {
	sh.last = text
	if err := sh.connected(ctx); err != nil {
		sh.complain(err)
		return
	}
	ctx, stop := sh.interruptible(ctx)
	defer stop()
	began := time.Now()
	records, statements, failed := 0, 0, 0
	var server time.Duration
	schema := false
	err := sh.runText(ctx, text, func(step *script.Step) error {
		statements += len(step.Results)
		schema = schema || step.Schema
		if step.Place != nil {
			sh.opt.Namespace, sh.opt.Database = step.Place.Namespace, step.Place.Database
		}
		for _, r := range step.Results {
			server += r.Time
			records += count(r.Value)
			if r.Err != nil {
				failed++
			}
		}
		return sh.show(ctx, step, vertical)
	})
	took := time.Since(began)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		fmt.Fprintln(sh.opt.Err, "cancelled")
	default:
		sh.complain(err)
		sh.advise(ctx, err, text, 1)
		if errors.Is(err, client.ErrUnreachable) {
			fmt.Fprintln(sh.opt.Err, "Whether the statement was carried out is not known.")
		}
	}
	if sh.timing && statements > failed {
		noun := "records"
		if records == 1 {
			noun = "record"
		}
		fmt.Fprintf(sh.opt.Err, "%d %s in %v (network %v)\n", records, noun,
			took.Round(10*time.Microsecond), max(0, took-server).Round(10*time.Microsecond))
	}
	if schema {
		sh.names.refresh()
	}
}

// show prints the answers of a step. A failure ends the text: what follows is not run.
func (sh *shell) show(ctx context.Context, step *script.Step, vertical bool) error {
	at, failed := step.Failure()
	if failed != nil {
		if step.Number+at > 1 {
			fmt.Fprintf(sh.opt.Err, "statement %d (line %d): ", step.Number+at, step.Line(at))
		}
		sh.complain(failed)
		sh.advise(ctx, failed, step.Text(at), step.Line(at))
		return script.ErrStop
	}
	for _, r := range step.Values() {
		if err := sh.print(r.Value, vertical, step.Columns); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// print prints one answer, through the pager if it is taller than the screen.
func (sh *shell) print(v value.Value, vertical bool, columns []string) error {
	format := sh.format(v, vertical)
	if sh.outTo != nil {
		return render.Columns(sh.out, format, v, columns)
	}
	var text bytes.Buffer
	if err := render.Columns(&text, format, v, columns); err != nil {
		return err
	}
	if format == render.CSV { // the other formats show no control characters of the data
		return sh.page([]byte(render.Visible(text.String(), true)))
	}
	return sh.page(sh.inColour(format, text.Bytes()))
}

// format is the format for one answer: a table that is wider than the screen turns vertical.
func (sh *shell) format(v value.Value, vertical bool) render.Format {
	switch {
	case vertical:
		return render.Vertical
	case sh.opt.Format != "":
		return sh.opt.Format
	case !render.Tabular(v):
		return render.Pretty
	}
	if width := readline.GetScreenWidth(); sh.outTo == nil && width > 0 && render.TableWidth(v) > width {
		return render.Vertical
	}
	return render.Table
}

// connected sees to it that there is a connection: one that was lost while nothing ran is opened again.
func (sh *shell) connected(ctx context.Context) error {
	lost := sh.c.Lost()
	if lost == nil {
		return nil
	}
	fmt.Fprintln(sh.opt.Err, "The connection was lost. Connecting again …")
	c, err := sh.opt.Open(ctx, sh.opt.Namespace, sh.opt.Database, sh.notices.take)
	if err != nil {
		return err
	}
	if err := sh.c.Close(); err != nil {
		sh.complain(err)
	}
	sh.c = c
	sh.names.connect(c)
	if sh.run.Reconnected(c) {
		return errors.New("connected again, but the open transaction was lost: nothing of it is stored. Begin again")
	}
	fmt.Fprintln(sh.opt.Err, "Connected again. Live queries of the old connection have ended.")
	return nil
}

// complain prints an error in words, without the chain of what led to it.
func (sh *shell) complain(err error) {
	text := strings.TrimRight(render.Visible(Plain(err), true), "\n")
	if sh.paint.colour {
		text = alarm + text + plain
	}
	fmt.Fprintln(sh.opt.Err, text)
}

// maxColoured is how long an answer may be, in bytes, to be shown in colour.
const maxColoured = 1 << 20

// inColour gives an answer the colours of the line that is typed, where it is in the language.
func (sh *shell) inColour(format render.Format, text []byte) []byte {
	switch format {
	case render.Surql, render.Pretty, render.JSON, render.Compact, render.NDJSON:
		if sh.paint.colour && len(text) <= maxColoured {
			return []byte(string(sh.paint.Paint([]rune(string(text)), -1)))
		}
	}
	return text
}

// advise prints what helps with an error: the place in the text, the name that was meant.
func (sh *shell) advise(ctx context.Context, err error, text string, line int) {
	if sh.gql {
		return
	}
	if s := advice.On(err, text, line, sh.names.known(ctx)); s != "" {
		fmt.Fprintln(sh.opt.Err, render.Visible(s, true))
	}
}

// variables are the names of the variables of the session.
func (sh *shell) variables() []string {
	var list []string
	for _, f := range sh.run.Vars().Fields() {
		list = append(list, "$"+f.Name)
	}
	return list
}

// above prints a line above the one that is typed.
func (sh *shell) above(line string) { fmt.Fprintln(sh.rl.Stdout(), line) }

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
