package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/internal/loopback"
)

// screenTime is how long a text may take to appear on the screen of a loaded machine.
const screenTime = 3 * time.Minute

// terminal is a shell of nacre in a terminal of tmux, and the server that it talks to.
type terminal struct {
	t      *testing.T
	socket string
	addr   string
	env    []string
	server *exec.Cmd
}

func newTerminal(t *testing.T) *terminal {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatalf("this test drives the shell by tmux, which scripts/test installs: %v", err)
	}
	dir, err := os.MkdirTemp("", "tm") // the path of a socket is short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	addr, err := loopback.Free()
	must(t, err)
	term := &terminal{t: t, socket: filepath.Join(dir, "s"), addr: addr}
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "NACRE_") && !strings.HasPrefix(pair, "TMUX") {
			term.env = append(term.env, pair)
		}
	}
	term.env = append(term.env, "HOME="+dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "TERM=xterm-256color",
		"LC_ALL=C.UTF-8", "NO_COLOR=1", "PAGER=sed s/^/paged:/", "VISUAL=",
		`EDITOR=sh -c 'echo "RETURN 6 * 7;" > "$0"'`, "NACRE_USER=root", "NACRE_PASS=root", "NACRE_ENDPOINT=ws://"+addr)
	t.Cleanup(term.stopServer)
	term.startServer()
	t.Cleanup(func() { _ = term.command("tmux", "-S", term.socket, "kill-server").Run() }) // it may have ended
	term.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "40", "nacre sql")
	term.wait(`main/main>$`)
	return term
}

func (term *terminal) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = term.env
	return cmd
}

// nacre runs a command beside the shell.
func (term *terminal) nacre(args ...string) string {
	term.t.Helper()
	out, err := term.command("nacre", args...).CombinedOutput()
	if err != nil {
		term.t.Fatalf("nacre %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (term *terminal) startServer() {
	term.server = term.command("nacre", "start", "--no-banner", "--bind", term.addr, "--user", "root", "--pass", "root",
		"memory")
	must(term.t, term.server.Start())
	term.nacre("isready", "--wait", "3m")
}

func (term *terminal) stopServer() {
	if term.server == nil {
		return
	}
	_ = term.server.Process.Signal(os.Interrupt)
	_ = term.server.Wait() // its exit code is the subject of other tests
	term.server = nil
}

func (term *terminal) tmux(args ...string) string {
	term.t.Helper()
	for i, a := range args { // to tmux, a semicolon at the end of an argument ends a command
		if rest, ok := strings.CutSuffix(a, ";"); ok {
			args[i] = rest + `\;`
		}
	}
	out, err := term.command("tmux", append([]string{"-S", term.socket}, args...)...).CombinedOutput()
	if err != nil {
		term.t.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// write types a text, and presses Enter.
func (term *terminal) write(text string) {
	term.t.Helper()
	term.tmux("send-keys", "-l", "--", text)
	term.tmux("send-keys", "Enter")
}

func (term *terminal) keys(names ...string) {
	term.t.Helper()
	term.tmux(append([]string{"send-keys"}, names...)...)
}

// screen is what the terminal shows, without empty lines at its end.
func (term *terminal) screen() string {
	term.t.Helper()
	return strings.TrimRight(term.tmux("capture-pane", "-p"), "\n")
}

// wait waits until the screen matches; between looks it calls again, which may be nil.
func (term *terminal) wait(pattern string, again ...func()) {
	term.t.Helper()
	re := regexp.MustCompile(`(?m)` + pattern)
	ctx, stop := context.WithTimeout(term.t.Context(), screenTime)
	defer stop()
	for looks := 1; !re.MatchString(term.screen()); looks++ {
		if ctx.Err() != nil {
			term.t.Fatalf("%s does not appear:\n%s", pattern, term.screen())
		}
		if looks%40 == 0 {
			for _, f := range again {
				f()
			}
		}
		time.Sleep(50 * time.Millisecond) // between two looks
	}
}

// clear empties the screen, so that what comes next is told from what was before.
func (term *terminal) clear() {
	term.t.Helper()
	term.keys("C-l")
	term.wait(`\A\S+> *\z`)
}

func TestShellInATerminal(t *testing.T) {
	term := newTerminal(t)
	for _, scene := range []struct {
		name string
		play func(*terminal)
	}{
		{"a pasted text is one input", (*terminal).paste},
		{"the history brings a text of several lines back", (*terminal).history},
		{"Tab completes a table", (*terminal).completes},
		{"Ctrl-C cancels what runs and keeps the shell", (*terminal).interrupt},
		{"the editor, the system and the pager", (*terminal).tools},
		{"keys of vi, and a warning of a variable that means nothing", (*terminal).vi},
		{"a password is asked for, and not shown", (*terminal).asks},
		{"notifications stand above the prompt", (*terminal).live},
		{"the shell connects again, and tells of a lost transaction", (*terminal).reconnect},
		{"two Ctrl-C leave", (*terminal).leave},
	} {
		if !t.Run(scene.name, func(t *testing.T) {
			at := *term
			at.t = t
			scene.play(&at)
			term.server = at.server
		}) {
			t.FailNow() // the next scene begins at the prompt of this one
		}
	}
}

func (term *terminal) paste() {
	term.tmux("set-buffer", "RETURN 40\n\t+ 2\n;")
	term.tmux("paste-buffer", "-p")
	term.wait(`> RETURN 40↵ \+ 2↵;$`)
	term.keys("Enter")
	term.wait(`^42$`)
	term.clear()
}

func (term *terminal) history() {
	term.write("RETURN 'twice' +")
	term.wait(`\.\.\.>$`)
	term.write("' told';")
	term.wait(`^'twice told'$`)
	term.wait(`main/main>$`)
	term.clear()
	term.keys("Up")
	term.wait(`> RETURN 'twice' \+↵' told';$`)
	term.keys("Enter")
	term.wait(`^'twice told'$`)
	term.clear()
}

func (term *terminal) completes() {
	term.write("CREATE person:ada SET name = 'Ada';")
	term.wait(`person:ada \|`)
	term.clear()
	tab := func() { term.keys("Tab") } // the names of tables come in the background
	term.tmux("send-keys", "-l", "SELECT na")
	term.tmux("send-keys", "-l", "me FROM per")
	tab()
	term.wait(`> SELECT name FROM person$`, tab)
	term.write(" WHERE string::len(name) = 3;")
	term.wait(`^Ada$`)
	term.clear()
	term.tmux("send-keys", "-l", "RETURN string::len(")
	tab()
	term.wait(`^string::len\(text: string\) -> int`, tab)
	term.write("'four');")
	term.wait(`^4$`)
	term.clear()
}

func (term *terminal) interrupt() {
	term.write("SLEEP 1h;")
	term.runs(`"text":"SLEEP …"`) // literals are left out
	term.keys("C-c")
	term.wait(`cancelled$`)
	term.wait(`main/main>$`)
	term.write("RETURN 'still here';")
	term.wait(`^'still here'$`)
	term.clear()
	term.write(`\watch 1`)
	term.wait(`(?s)'still here'.*'still here'`)
	term.keys("C-c")
	term.wait(`main/main>$`)
	term.clear()
}

// runs waits until the server runs a statement.
func (term *terminal) runs(text string) {
	term.t.Helper()
	for end := time.Now().Add(screenTime); !strings.Contains(term.nacre("ps", "--json"), text); {
		if time.Now().After(end) {
			term.t.Fatalf("%s does not run:\n%s\n%s", text, term.nacre("ps", "--json"), term.screen())
		}
	}
}

func (term *terminal) tools() {
	term.write(`\e`)
	term.wait(`^42$`)
	term.clear()
	term.write(`\! echo "by the system"`)
	term.wait(`^by the system$`)
	term.clear()
	term.write("RETURN array::range(0, 60).map(|$i| { n: $i });")
	term.wait(`^paged:59$`)
	term.wait(`main/main>$`)
	term.clear()
	term.write("RETURN 'short';")
	term.wait(`^'short'$`) // it fits
	term.clear()
}

// beside runs a command line in a terminal of its own, until play is over and \q has left it.
func (term *terminal) beside(line string, play func()) {
	term.t.Helper()
	term.tmux("new-window", "-n", "beside", line)
	play()
	term.write(`\q`)
	for end := time.Now().Add(screenTime); strings.Contains(term.tmux("list-windows"), "beside"); {
		if time.Now().After(end) {
			term.t.Fatalf("%s does not end:\n%s", line, term.screen())
		}
	}
	term.wait(`main/main>$`)
}

func (term *terminal) vi() {
	term.beside("NACRE_NONSENSE=1 nacre sql --vi", func() {
		term.wait(`warning: .*NACRE_NONSENSE`)
		term.wait(`main/main>$`)
		term.tmux("send-keys", "-l", "XRETURN 1;")
		term.keys("Escape")
		term.keys("0", "x", "A", "BSpace")
		term.write("2;") // at the end of the line
		term.wait(`^12$`)
		term.wait(`main/main>$`)
	})
}

func (term *terminal) asks() {
	term.beside("env -u NACRE_PASS nacre sql -u root", func() {
		term.wait(`[Pp]assword`)
		term.write("root")
		term.wait(`main/main>$`)
		if screen := term.screen(); strings.Contains(screen, "rootroot") || strings.Contains(screen, ": root") {
			term.t.Errorf("the password is on the screen:\n%s", screen)
		}
	})
}

func (term *terminal) live() {
	term.write(`\live person`)
	term.wait(`^u'[0-9a-f-]{36}'$`)
	term.nacre("sql", "-c", "CREATE person:eve SET name = 'Eve'")
	term.wait(`^live u'[0-9a-f-]{36}' CREATE \{.*Eve`)
	term.wait(`main/main>$`)
	term.clear()
}

func (term *terminal) reconnect() {
	term.write("BEGIN;")
	term.wait(`main/main\*>$`)
	term.clear()
	term.stopServer()
	term.startServer()
	ask := func() { term.write("RETURN 'back';") } // the first may find the old connection
	ask()
	term.wait(`the open transaction was lost`, ask)
	term.wait(`main/main>$`)
	ask()
	term.wait(`^'back'$`, ask)
	term.wait(`main/main>$`)
}

func (term *terminal) leave() {
	for end := time.Now().Add(screenTime); ; {
		out, err := term.command("tmux", "-S", term.socket, "send-keys", "C-c", "C-c").CombinedOutput()
		if err != nil {
			if !strings.Contains(string(out), "no server running") && !strings.Contains(string(out), "can't find") &&
				!strings.Contains(string(out), "error connecting") && !strings.Contains(string(out), "no current") &&
				!strings.Contains(string(out), "lost server") && !strings.Contains(string(out), "exited") {
				term.t.Fatalf("%v: %s", err, out)
			}
			return
		}
		if time.Now().After(end) {
			term.t.Fatal(fmt.Sprint("the shell does not end:\n", term.screen()))
		}
		time.Sleep(200 * time.Millisecond) // between two looks
	}
}
