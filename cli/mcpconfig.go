package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mcpClient is a client whose configuration is printed; url is that of a server, "" for a process of its own.
type mcpClient struct{ name, url string }

// mcpForm is how a client is configured.
type mcpForm struct {
	name string
	file string // where that stands
	root string // the name of the object of servers; "": a command line
	kind bool   // an entry says its type
	url  string // the name of the address; "": none, the client needs a bridge
}

// mcpForms is the table of clients. It is never written to.
var mcpForms = []mcpForm{
	{name: "claude-desktop", file: "claude_desktop_config.json", root: "mcpServers"},
	{name: "claude-code"},
	{name: "cursor", file: ".cursor/mcp.json", root: "mcpServers", url: "url"},
	{name: "windsurf", file: "~/.codeium/windsurf/mcp_config.json", root: "mcpServers", url: "serverUrl"},
	{name: "vscode", file: ".vscode/mcp.json", root: "servers", kind: true, url: "url"},
}

func mcpClientList() []string {
	var out []string
	for _, f := range mcpForms {
		out = append(out, f.name)
	}
	return out
}

func mcpClientNames() string { return strings.Join(mcpClientList(), ", ") }

// mcpCredentials stands where the user has to put something: secrets are not printed.
const mcpCredentials = "Basic BASE64-OF-USER:PASSWORD"

// print writes the configuration to standard output, and where it belongs to standard error.
func (c *mcpClient) print(s *streams, cmd *cobra.Command, args []string) error {
	for i := range mcpForms {
		if f := &mcpForms[i]; f.name == c.name {
			return f.print(s, c.url, mcpArgs(cmd, args))
		}
	}
	return usagef("unknown client %q: use %s", c.name, mcpClientNames())
}

// mcpArgs are the arguments of the command as they were given, without those that print and the password.
func mcpArgs(cmd *cobra.Command, args []string) []string {
	out := []string{"mcp"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "print-config", "url", "pass", "password":
		default:
			out = append(out, "--"+f.Name+"="+f.Value.String())
		}
	})
	return append(out, args...)
}

func (f *mcpForm) print(s *streams, url string, args []string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if f.root == "" {
		if url != "" {
			_, err = fmt.Fprintf(s.out, "claude mcp add --transport http nacre %s --header %s\n", quote(url),
				quote("Authorization: "+mcpCredentials))
			return err
		}
		words := []string{"claude mcp add nacre --", quote(program)}
		for _, a := range args {
			words = append(words, quote(a))
		}
		_, err = fmt.Fprintln(s.out, strings.Join(words, " "))
		return err
	}
	entry := map[string]any{"command": program, "args": args}
	switch {
	case url != "" && f.url == "":
		return usagef("%s takes an address in its settings (connectors), not in a file; without --url it starts nacre itself", f.name)
	case url != "":
		entry = map[string]any{f.url: url, "headers": map[string]string{"Authorization": mcpCredentials}}
	}
	if f.kind {
		entry["type"] = "stdio"
		if url != "" {
			entry["type"] = "http"
		}
	}
	b, err := json.MarshalIndent(map[string]any{f.root: map[string]any{"nacre": entry}}, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(s.err, "Put this into %s:\n", f.file)
	_, err = fmt.Fprintf(s.out, "%s\n", b)
	return err
}

// quote is a word of a POSIX shell.
func quote(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"\\$`*?[]{}()<>|&;~#!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
