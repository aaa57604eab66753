package diff

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed apps/*.surql
var appFiles embed.FS

// application is a small program in statements: what the owner sets up, and what the owner and record user user:1 do
// then.
type application struct {
	schema, data, owner, user []string
	tables                    []string
}

// applications reads all of apps. A file has parts that begin with a line `-- name`, and one statement a line.
func applications() ([]application, error) {
	files, err := appFiles.ReadDir("apps")
	if err != nil {
		return nil, fmt.Errorf("list the applications: %w", err)
	}
	var out []application
	for _, f := range files {
		raw, err := appFiles.ReadFile(path.Join("apps", f.Name()))
		if err != nil {
			return nil, fmt.Errorf("read an application: %w", err)
		}
		out = append(out, readApplication(string(raw)))
	}
	return out, nil
}

func readApplication(text string) application {
	var a application
	parts := map[string]*[]string{"-- schema": &a.schema, "-- data": &a.data, "-- owner": &a.owner, "-- user": &a.user}
	part := new([]string) // what stands before the first is a comment
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if p, ok := parts[line]; ok {
			part = p
			continue
		}
		if line == "" || strings.HasPrefix(line, "--") {
			continue
		}
		*part = append(*part, line)
		if words := strings.Fields(line); len(words) > 2 && words[0] == "DEFINE" && words[1] == "TABLE" {
			a.tables = append(a.tables, words[2])
		}
	}
	return a
}
