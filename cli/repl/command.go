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
	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/parse"
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
		{`\h`, "[TOPIC]", "the form of a statement, or the signature of a function", (*shell).helpOn},
		{`\q`, "", "leave (also exit, quit, Ctrl-D)",
			func(sh *shell, _ context.Context, _ string) error { sh.quit = true; return nil }},
		{`\c`, "NS[/DB]", "work in another namespace and database", (*shell).use},
		{`\l`, "", "list namespaces", places("INFO FOR ROOT", "namespaces")},
		{`\ln`, "", "list databases of the namespace", places("INFO FOR NS", "databases")},
		{`\dt`, "", "list tables",
			func(sh *shell, ctx context.Context, _ string) error { return sh.tables(ctx, false) }},
		{`\dt+`, "", "list tables with rows, bytes and indexes (reads them)",
			func(sh *shell, ctx context.Context, _ string) error { return sh.tables(ctx, true) }},
		{`\df`, "", "list functions",
			func(sh *shell, ctx context.Context, _ string) error { return sh.functions(ctx, false) }},
		{`\df+`, "", "list functions with permissions, comments and bodies",
			func(sh *shell, ctx context.Context, _ string) error { return sh.functions(ctx, true) }},
		{`\dp`, "", "list parameters", query("INFO FOR DB", "params")},
		{`\du`, "", "list users", (*shell).users},
		{`\d`, "TABLE", "describe a table", (*shell).describe},
		{`\di`, "TABLE", "list indexes of a table", (*shell).indexes},
		{`\gql`, "", "toggle between ServiceQL and ISO GQL", (*shell).toggleGQL},
		{`\x`, "", "toggle one field a line", (*shell).toggleVertical},
		{`\format`, "[FORMAT]", "show or set the output format (auto: by answer)", (*shell).setFormat},
		{`\pset`, "[NAME [VALUE]]", "show or set: format, pager, timing, color, language", (*shell).pset},
		{`\timing`, "", "toggle counts and times",
			func(sh *shell, _ context.Context, _ string) error { return sh.toggle("Counts and times", &sh.timing) }},
		{`\set`, "NAME VALUE", "set a variable for later texts", (*shell).set},
		{`\unset`, "NAME", "remove a variable", (*shell).unset},
		{`\i`, "FILE", "run a file", (*shell).include},
		{`\o`, "[FILE]", "write answers to a file; without one, to the terminal again", (*shell).output},
		{`\g`, "", "run the last text again",
			func(sh *shell, ctx context.Context, _ string) error { sh.do(ctx, sh.last, false); return nil }},
		{`\e`, "[FILE]", "edit the last text (or a file) in $EDITOR, then run it", (*shell).editAndRun},
		{`\!`, "COMMAND", "run a command of the system", (*shell).system},
		{`\begin`, "", "begin a transaction (also BEGIN)", statement("BEGIN")},
		{`\commit`, "", "commit it (also COMMIT)", statement("COMMIT")},
		{`\cancel`, "", "drop it (also CANCEL)", statement("CANCEL")},
		{`\live`, "TABLE", "show the changes of a table as they happen", (*shell).live},
		{`\kill`, "ID", "end a live query", (*shell).kill},
		{`\conninfo`, "", "show where the shell is connected", (*shell).connection},
		{`\pager`, "", "toggle the pager ($PAGER) for long answers",
			func(sh *shell, _ context.Context, _ string) error { return sh.toggle("The pager", &sh.pager) }},
		{`\watch`, "[SECONDS]", "run the last text again and again until Ctrl-C", (*shell).watch},
	}
}

// isCommand reports whether a line is for the shell itself.
func isCommand(line string) bool {
	line = strings.TrimSpace(line)
	switch strings.TrimSuffix(line, ";") {
	case "exit", "quit", ".help", ".exit", ".quit":
		return true
	}
	return strings.HasPrefix(line, `\`)
}

func (sh *shell) command(ctx context.Context, line string) error {
	switch strings.TrimSuffix(line, ";") {
	case "exit", "quit", ".exit", ".quit":
		sh.quit = true
		return nil
	case ".help":
		line = `\?`
	}
	name, arg, _ := strings.Cut(line, " ")
	name = strings.TrimSuffix(name, ";")
	if strings.HasPrefix(line, `\!`) {
		name, arg = `\!`, line[len(`\!`):]
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(sh, ctx, strings.TrimSpace(arg))
		}
	}
	var known []string
	for _, c := range commands() {
		if len(name) > 1 && strings.HasPrefix(c.name, name) {
			return fmt.Errorf(`unknown command %s: did you mean %s? \? lists all`, name, c.name)
		}
		known = append(known, c.name)
	}
	if near := parse.Nearest(name, known); near != "" {
		return fmt.Errorf(`unknown command %s: did you mean %s? \? lists all`, name, near)
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
	if err := sh.connected(ctx); err != nil {
		return err
	}
	if err := sh.c.Use(ctx, ns, db); err != nil {
		return err
	}
	sh.opt.Namespace = ns
	if db != "" {
		sh.opt.Database = db
	}
	sh.names.refresh()
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
	return render.Columns(sh.out, render.Vertical, value.ArrayOf(rows), []string{"name", "definition"})
}

// ask runs one statement and gives its answer.
func (sh *shell) ask(ctx context.Context, text string) (value.Value, error) {
	if err := sh.connected(ctx); err != nil {
		return value.None, err
	}
	ctx, stop := sh.interruptible(ctx)
	defer stop()
	rs, err := sh.c.Run(ctx, client.Text{Text: text})
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

func (sh *shell) indexes(ctx context.Context, arg string) error {
	if arg == "" {
		return errors.New(`want \di TABLE`)
	}
	return sh.section(ctx, "INFO FOR TABLE "+value.QuoteIdent(arg), "indexes")
}

func (sh *shell) toggleGQL(context.Context, string) error {
	sh.gql = !sh.gql
	sh.names.speak(sh.gql)
	if sh.gql {
		fmt.Fprintln(sh.opt.Err, `Texts are ISO GQL now: MATCH (a)-[e]->(b) RETURN a, b; \gql goes back to ServiceQL.`)
	} else {
		fmt.Fprintln(sh.opt.Err, "Texts are ServiceQL again.")
	}
	return nil
}

func (sh *shell) toggleVertical(context.Context, string) error {
	vertical := sh.opt.Format == render.Vertical
	err := sh.toggle("One field a line", &vertical)
	if sh.opt.Format = ""; vertical {
		sh.opt.Format = render.Vertical
	}
	return err
}

// toggle turns a setting over and says how it is: what is toggled twice by mistake would be noticed late.
func (sh *shell) toggle(name string, setting *bool) error {
	*setting = !*setting
	state := "off"
	if *setting {
		state = "on"
	}
	_, err := fmt.Fprintf(sh.opt.Err, "%s: %s\n", name, state)
	return err
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
	sh.run.Set(strings.TrimPrefix(name, "$"), Literal(strings.TrimSpace(text)))
	return nil
}

func (sh *shell) unset(_ context.Context, arg string) error {
	sh.run.Unset(strings.TrimPrefix(arg, "$"))
	return nil
}

func (sh *shell) include(ctx context.Context, arg string) error {
	b, err := os.ReadFile(arg)
	if err != nil {
		return err
	}
	sh.do(ctx, string(b), false)
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
	ctx, stop := sh.interruptible(ctx)
	defer stop()
	quit := sh.quit
	defer func() { sh.quit = quit }() // Ctrl-C ends the watch and no more
	tick := time.NewTicker(time.Duration(every * float64(time.Second)))
	defer tick.Stop()
	for {
		sh.do(ctx, sh.last, false)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (sh *shell) editAndRun(ctx context.Context, arg string) error {
	text := sh.last
	if arg != "" {
		b, err := os.ReadFile(arg)
		if err != nil {
			return err
		}
		text = string(b)
	}
	text, err := sh.edit(text)
	if err != nil || strings.TrimSpace(text) == "" {
		return err
	}
	sh.remember(text)
	fmt.Fprintln(sh.opt.Err, strings.TrimSpace(text))
	sh.do(ctx, text, false)
	return nil
}

func (sh *shell) system(_ context.Context, arg string) error {
	cmd := inShell(arg)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, sh.opt.Out, sh.opt.Err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.TrimSpace(arg), err)
	}
	return nil
}

// statement makes a command that runs a statement.
func statement(text string) func(*shell, context.Context, string) error {
	return func(sh *shell, ctx context.Context, _ string) error {
		sh.do(ctx, text+";", false)
		return nil
	}
}

func (sh *shell) live(ctx context.Context, arg string) error {
	if arg == "" {
		return errors.New(`want \live TABLE`)
	}
	if !strings.HasPrefix(sh.opt.Endpoint, "ws") {
		return errors.New("live queries need a server and its WebSocket: -e ws://HOST:PORT")
	}
	sh.do(ctx, "LIVE SELECT * FROM "+value.QuoteIdent(arg)+";", false)
	return nil
}

func (sh *shell) kill(ctx context.Context, arg string) error {
	id, err := value.ParseUUID(strings.Trim(strings.TrimPrefix(arg, "u"), `'"`))
	if err != nil {
		return errors.New(`want \kill ID, the uuid that LIVE SELECT answered`)
	}
	sh.do(ctx, "KILL "+value.UUIDOf(id).Text()+";", false)
	return nil
}

func (sh *shell) connection(ctx context.Context, _ string) error {
	who := sh.opt.User
	if who == "" {
		who = "nobody by name"
	}
	fmt.Fprintf(sh.opt.Err, "%s as %s, namespace %s, database %s\n",
		sh.opt.Endpoint, who, sh.opt.Namespace, sh.opt.Database)
	v, err := sh.c.Call(ctx, "version")
	if err != nil {
		return err
	}
	server := value.ToString(v)
	if v.Kind() == value.KindObject {
		if version, ok := v.Object().Get("version"); ok && version.Kind() == value.KindString {
			server = version.Str()
		}
	}
	fmt.Fprintf(sh.opt.Err, "server %s, this shell nacre %s\n", server, sh.opt.Version)
	return nil
}
