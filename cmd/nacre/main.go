// Command nacre is the database: server, shell and tools in one binary.
package main

import (
	"os"

	"github.com/nacredb/nacre/cli"
)

func main() { os.Exit(cli.Main(os.Args, cli.System())) }
