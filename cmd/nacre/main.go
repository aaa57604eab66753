// Command nacre is the database: server, shell, importer, health check, in one binary.
package main

import (
	"os"

	"github.com/nacredb/nacre/cli"
)

// Set by the linker in release builds.
var (
	version = ""
	commit  = ""
	date    = ""
)

func main() {
	os.Exit(cli.Main(os.Args, cli.Build{Version: version, Commit: commit, Date: date}))
}
