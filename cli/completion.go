package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/process"
	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/value"
)

// completionTime is how long a shell waits for what a server has to offer.
const completionTime = 2 * time.Second

// completeFlag offers words for a flag.
func completeFlag(cmd *cobra.Command, flag string, words ...string) {
	must1(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}

// completePlaces offers the namespaces and databases of the server, and levels, for the flags of a connection.
func completePlaces(cmd *cobra.Command, f *connectFlags) {
	names := map[string]func(*connectFlags) (string, string){
		"namespace": func(*connectFlags) (string, string) { return "INFO FOR ROOT", "namespaces" },
		"database":  func(*connectFlags) (string, string) { return "INFO FOR NS", "databases" },
	}
	for _, d := range connectTable {
		switch {
		case cmd.Flags().Lookup(d.name) == nil:
		case d.name == "auth-level":
			completeFlag(cmd, d.name, "root", "namespace", "database")
		case names[d.name] != nil:
			for _, flag := range append([]string{d.name}, d.aliases...) {
				must1(cmd.RegisterFlagCompletionFunc(flag, offer(f, names[d.name])))
			}
		}
	}
}

// completeTables offers the tables of the database for a flag, also behind a comma.
func completeTables(cmd *cobra.Command, flag string, f *connectFlags) {
	tables := offer(f, func(*connectFlags) (string, string) { return "INFO FOR DB", "tables" })
	must1(cmd.RegisterFlagCompletionFunc(flag,
		func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			i := strings.LastIndexByte(typed, ',') + 1
			list, directive := tables(cmd, args, typed[i:])
			for j := range list {
				list[j] = typed[:i] + list[j]
			}
			return list, directive
		}))
}

// completion is the function that cobra calls for completions.
type completion = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// offer offers the names in a section of INFO. Where the server does not answer or refuses, it offers nothing. It
// never asks for a password.
func offer(f *connectFlags, what func(*connectFlags) (text, section string)) completion {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var list []string
		withServer(cmd, f, func(ctx context.Context, c *client.Client) {
			text, section := what(f)
			if rs, err := c.Query(ctx, text, nil); err == nil && len(rs) == 1 && rs[0].Err == nil {
				list = namesOf(rs[0].Value, section)
			}
		})
		return startingWith(list, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeRunning offers the ids of what runs.
func completeRunning(f *connectFlags) completion {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		var list []string
		if len(args) == 0 {
			f.ns, f.db = "", ""
			withServer(cmd, f, func(ctx context.Context, c *client.Client) {
				running, err := process.Read(ctx, c)
				if err != nil {
					return // those who may not see it are offered nothing
				}
				for _, r := range running.Statements {
					list = append(list, r.ID+"\t"+process.OneLine(r.Text, 40))
				}
				for _, r := range running.Sessions {
					list = append(list, r.ID+"\tsession of "+r.Who())
				}
			})
		}
		return startingWith(list, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// withServer calls use with a connection, if there is one to be had.
func withServer(cmd *cobra.Command, f *connectFlags, use func(context.Context, *client.Client)) {
	f.quiet, f.placed = true, false
	if setByVariables(cmd, nil) != nil || f.resolve(cmd) != nil || f.embedded() {
		return
	}
	ctx, stop := context.WithTimeout(cmd.Context(), completionTime)
	defer stop()
	ns, db, root := f.ns, f.db, f.level == "" || f.level == "root"
	if root {
		f.ns, f.db = "", ""
	}
	c, err := f.open(ctx)
	if err != nil {
		return
	}
	defer c.Close()
	if root && !goTo(ctx, c, ns, db) {
		return
	}
	use(ctx, c)
}

// goTo works in a namespace and database as far as they exist: to select one that does not would make it.
func goTo(ctx context.Context, c *client.Client, ns, db string) bool {
	exists := func(text, section, name string) bool {
		rs, err := c.Query(ctx, text, nil)
		return name != "" && err == nil && len(rs) == 1 && slices.Contains(namesOf(rs[0].Value, section), name)
	}
	if !exists("INFO FOR ROOT", "namespaces", ns) {
		return true
	}
	if c.Use(ctx, ns, "") != nil {
		return false
	}
	return !exists("INFO FOR NS", "databases", db) || c.Use(ctx, ns, db) == nil
}

// namesOf are the names in a section of INFO that a shell can take as a word.
func namesOf(info value.Value, section string) []string {
	if info.Kind() != value.KindObject {
		return nil
	}
	v, ok := info.Object().Get(section)
	if !ok || v.Kind() != value.KindObject {
		return nil
	}
	var list []string
	for _, f := range v.Object().Fields() {
		if render.Visible(f.Name, false) == f.Name && !strings.ContainsAny(f.Name, " ,") {
			list = append(list, f.Name)
		}
	}
	return list
}

func startingWith(list []string, typed string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return !strings.HasPrefix(s, typed) })
}
