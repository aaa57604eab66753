package repl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/engine/value"
)

// command is one backslash command.
type command struct {
	name, args, help string
	run              func(sh *shell, ctx context.Context, arg string) error
}

// commands lists all of them in the order of \?.
func commands() []command {
	return []command{
		{`\?`, "", "this list", (*shell).help},
		{`\q`, "", "leave (also exit, quit, Ctrl-D)",
			func(sh *shell, _ context.Context, _ string) error { sh.quit = true; return nil }},
		{`\c`, "NS[/DB]", "work in another namespace and database", (*shell).use},
		{`\l`, "", "list namespaces", query("INFO FOR ROOT", "namespaces")},
		{`\ln`, "", "list databases of the namespace", query("INFO FOR NS", "databases")},
		{`\dt`, "", "list tables", query("INFO FOR DB", "tables")},
		{`\df`, "", "list functions", query("INFO FOR DB", "functions")},
		{`\dp`, "", "list parameters", query("INFO FOR DB", "params")},
		{`\du`, "", "list users of the database", query("INFO FOR DB", "users")},
		{`\d`, "TABLE", "describe a table", (*shell).describe},
		{`\di`, "TABLE", "list indexes of a table", (*shell).indexes},
		{`\x`, "", "toggle one field a line", (*shell).toggleVertical},
		{`\format`, "[FORMAT]", "show or set the output format (auto: by answer)", (*shell).setFormat},
		{`\timing`, "", "toggle counts and times",
			func(sh *shell, _ context.Context, _ string) error { sh.timing = !sh.timing; return nil }},
		{`\set`, "NAME VALUE", "set a variable for later texts", (*shell).set},
		{`\unset`, "NAME", "remove a variable", (*shell).unset},
		{`\i`, "FILE", "run a file", (*shell).include},
		{`\o`, "[FILE]", "write answers to a file; without one, to the terminal again", (*shell).output},
		{`\g`, "", "run the last text again",
			func(sh *shell, ctx context.Context, _ string) error { sh.run(ctx, sh.last, false); return nil }},
		{`\watch`, "[SECONDS]", "run the last text again and again until Ctrl-C", (*shell).watch},
	}
}

// isCommand reports whether a line is for the shell itself.
func isCommand(line string) bool {
	line = strings.TrimSpace(line)
	switch strings.TrimSuffix(line, ";") {
	case "exit", "quit", ".help", ".exit":
		return true
	}
	return strings.HasPrefix(line, `\`)
}

func (sh *shell) command(ctx context.Context, line string) error {
	switch strings.TrimSuffix(line, ";") {
	case "exit", "quit", ".exit":
		sh.quit = true
		return nil
	case ".help":
		line = `\?`
	}
	name, arg, _ := strings.Cut(line, " ")
	for _, c := range commands() {
		if c.name == name {
			return c.run(sh, ctx, strings.TrimSpace(arg))
		}
	}
	return fmt.Errorf(`unknown command %s: \? lists them`, name)
}

func (sh *shell) help(context.Context, string) error {
	for _, c := range commands() {
		fmt.Fprintf(sh.opt.Err, "  %-20s %s\n", c.name+" "+c.args, c.help)
	}
	fmt.Fprintf(sh.opt.Err, "  %-20s %s\n", `TEXT\G`, "print the answer one field a line")
	return nil
}

func (sh *shell) use(ctx context.Context, arg string) error {
	ns, db, _ := strings.Cut(arg, "/")
	if ns == "" {
		return errors.New(`want \c NS or \c NS/DB`)
	}
	if err := sh.c.Use(ctx, ns, db); err != nil {
		return err
	}
	sh.opt.Namespace = ns
	if db != "" {
		sh.opt.Database = db
	}
	sh.names.refresh(ctx)
	return nil
}

// query makes a command that runs an INFO text and lists one of its sections.
func query(text, section string) func(*shell, context.Context, string) error {
	return func(sh *shell, ctx context.Context, _ string) error { return sh.section(ctx, text, section) }
}

func (sh *shell) section(ctx context.Context, text, section string) error {
	v, err := sh.ask(ctx, text)
	if err != nil {
		return err
	}
	if v.Kind() != value.KindObject {
		return nil
	}
	list, ok := v.Object().Get(section)
	if !ok || list.Kind() != value.KindObject {
		return nil
	}
	rows := []value.Value{}
	for _, f := range list.Object().Fields() {
		rows = append(rows, value.ObjectOf(value.NewObject(
			value.Field{Name: "name", Value: value.Str(f.Name)}, value.Field{Name: "definition", Value: f.Value})))
	}
	if len(rows) == 0 {
		fmt.Fprintf(sh.opt.Err, "no %s\n", section)
		return nil
	}
	return render.Value(sh.out, render.Vertical, value.ArrayOf(rows))
}

// ask runs one statement and gives its answer.
func (sh *shell) ask(ctx context.Context, text string) (value.Value, error) {
	rs, err := sh.c.Query(ctx, text, nil)
	if err != nil {
		return value.None, err
	}
	if len(rs) == 0 {
		return value.None, errors.New("no answer")
	}
	if last := rs[len(rs)-1]; last.Err != nil {
		return value.None, last.Err
	} else {
		return last.Value, nil
	}
}

func (sh *shell) describe(ctx context.Context, arg string) error {
	if arg == "" {
		return sh.section(ctx, "INFO FOR DB", "tables")
	}
	v, err := sh.ask(ctx, "INFO FOR TABLE "+value.QuoteIdent(arg))
	if err != nil {
		return err
	}
	return render.Value(sh.out, render.Pretty, v)
}

func (sh *shell) indexes(ctx context.Context, arg string) error {
	if arg == "" {
		return errors.New(`want \di TABLE`)
	}
	return sh.section(ctx, "INFO FOR TABLE "+value.QuoteIdent(arg), "indexes")
}

func (sh *shell) toggleVertical(context.Context, string) error {
	if sh.opt.Format == render.Vertical {
		sh.opt.Format = ""
	} else {
		sh.opt.Format = render.Vertical
	}
	return nil
}

func (sh *shell) setFormat(_ context.Context, arg string) error {
	switch arg {
	case "":
		name := string(sh.opt.Format)
		if name == "" {
			name = "auto"
		}
		fmt.Fprintln(sh.opt.Err, name)
		return nil
	case "auto":
		sh.opt.Format = ""
		return nil
	}
	f, err := render.Parse(arg)
	if err != nil {
		return err
	}
	sh.opt.Format = f
	return nil
}

func (sh *shell) set(_ context.Context, arg string) error {
	name, text, ok := strings.Cut(arg, " ")
	if !ok {
		return errors.New(`want \set NAME VALUE`)
	}
	vars := sh.opt.Vars
	if vars == nil {
		vars = value.NewObject()
	}
	sh.opt.Vars = vars.With(strings.TrimPrefix(name, "$"), Literal(strings.TrimSpace(text)))
	return nil
}

func (sh *shell) unset(_ context.Context, arg string) error {
	if sh.opt.Vars != nil {
		sh.opt.Vars = sh.opt.Vars.Without(strings.TrimPrefix(arg, "$"))
	}
	return nil
}

func (sh *shell) include(ctx context.Context, arg string) error {
	b, err := os.ReadFile(arg)
	if err != nil {
		return err
	}
	sh.run(ctx, string(b), false)
	return nil
}

func (sh *shell) output(_ context.Context, arg string) error {
	if err := sh.closeOutput(); err != nil {
		return err
	}
	if arg == "" {
		return nil
	}
	f, err := os.Create(arg)
	if err != nil {
		return err
	}
	sh.out, sh.outTo = f, f
	return nil
}

func (sh *shell) closeOutput() error {
	if sh.outTo == nil {
		return nil
	}
	err := sh.outTo.Close()
	sh.out, sh.outTo = sh.opt.Out, nil
	return err
}

func (sh *shell) watch(ctx context.Context, arg string) error {
	every := 2.0
	if arg != "" {
		n, err := strconv.ParseFloat(arg, 64)
		if err != nil || n <= 0 {
			return fmt.Errorf("%q is not a number of seconds", arg)
		}
		every = n
	}
	if sh.last == "" {
		return errors.New("nothing has run yet")
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	tick := time.NewTicker(time.Duration(every * float64(time.Second)))
	defer tick.Stop()
	for {
		sh.run(ctx, sh.last, false)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
