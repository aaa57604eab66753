package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// colorModes lists the values of --color.
var colorModes = []string{"auto", "always", "never"}

// addColorFlag gives cmd --color.
func addColorFlag(cmd *cobra.Command, mode *string) {
	cmd.Flags().StringVar(mode, "color", "auto",
		"colours: auto, always, never; auto heeds NO_COLOR and CLICOLOR_FORCE")
	completeFlag(cmd, "color", colorModes...)
}

// coloured reports whether there are colours: as the flag says; else not with NO_COLOR, with CLICOLOR_FORCE, and on a
// terminal.
func coloured(mode string, tty bool) (bool, error) {
	switch mode {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
	default:
		return false, usageError{fmt.Errorf("unknown --color %q: use auto, always or never", mode)}
	}
	force := os.Getenv("CLICOLOR_FORCE")
	return os.Getenv("NO_COLOR") == "" && (tty || force != "" && force != "0"), nil
}
