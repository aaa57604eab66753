package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

func newUpgradeCmd(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Say how to upgrade this program",
		Long: `Prints the command that upgrades nacre, by the way in which it came here: a package, Homebrew, go install, an image,
or a plain binary. It changes nothing, and asks no server.`,
		Example: `  nacre upgrade
  nacre backup -u root -p root before.bak`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			exe, err := os.Executable()
			if err == nil {
				exe, err = filepath.EvalSymlinks(exe)
			}
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			goBin := os.Getenv("GOBIN")
			if home, err := os.UserHomeDir(); goBin == "" && err == nil {
				goBin = filepath.Join(home, "go", "bin")
			}
			_, err = fmt.Fprintf(s.out, "%s\n%s\n", howToUpgrade(os.DirFS("/"), exe, goBin),
				"Make a backup first (nacre backup), and restart the server afterwards (nacre version shows what is installed).")
			return err
		},
	}
	cmd.Flags().Bool("dry-run", true, "change nothing; it never does")
	return cmd
}

// howToUpgrade is the command that upgrades exe on a system with the files of root. goBin is where go install puts
// programs.
func howToUpgrade(root fs.FS, exe, goBin string) string {
	exe = filepath.ToSlash(exe)
	has := func(path string) bool {
		_, err := fs.Stat(root, path)
		return err == nil
	}
	packaged := exe == "/usr/bin/nacre"
	apk, err := fs.ReadFile(root, "lib/apk/db/installed")
	switch {
	case strings.Contains(exe, "/Cellar/"):
		return "brew upgrade nacre"
	case packaged && has("var/lib/dpkg/info/nacre.list"):
		return "sudo dpkg -i nacre_*_" + runtime.GOARCH + ".deb   # the package of the new release"
	case packaged && err == nil && bytes.Contains(apk, []byte("\nP:nacre\n")):
		return "apk add --allow-untrusted nacre_*.apk   # the package of the new release"
	case packaged && (has("var/lib/rpm") || has("usr/lib/sysimage/rpm")):
		return "sudo rpm -U nacre-*.rpm   # the package of the new release"
	case goBin != "" && filepath.ToSlash(filepath.Dir(filepath.FromSlash(exe))) == filepath.ToSlash(goBin):
		return "go install github.com/nacredb/nacre/cmd/nacre@latest"
	case exe == "/nacre":
		return "Pull the image of the new release, and start the container from it with the same volume."
	}
	return "Put the binary of the new release in place of " + exe + "."
}
