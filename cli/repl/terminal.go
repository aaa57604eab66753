package repl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/client"
)

// interruptible is ctx until Ctrl-C. A second Ctrl-C within a second leaves the shell.
func (sh *shell) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	keys, end := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(keys, os.Interrupt)
	var pressed time.Time
	leave := false
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case <-end:
				return
			case <-keys:
				leave = leave || time.Since(pressed) < time.Second
				pressed = time.Now()
				cancel()
			}
		}
	})
	return ctx, func() {
		cancel()
		signal.Stop(keys)
		close(end)
		done.Wait()
		sh.quit = sh.quit || leave
		if !pressed.IsZero() {
			sh.pressed = pressed
		}
	}
}

// Plain is an error for people: what went wrong and what to do, without the chain of calls that led there.
func Plain(err error) string {
	var dns *net.DNSError
	var dial *net.OpError
	refused := errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, client.ErrUnreachable) && strings.Contains(err.Error(), "connection refused") // gRPC
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("The host %s is not known. Check the address (-e).", dns.Name)
	case refused && errors.As(err, &dial) && dial.Addr != nil:
		return "No server answers at " + dial.Addr.String() +
			". Is it running? nacre start runs one; -e names another address."
	case refused:
		return "No server answers at this address. Is it running? nacre start runs one; -e names another address."
	case errors.Is(err, context.DeadlineExceeded):
		return "The server did not answer in time."
	case errors.Is(err, client.ErrUnreachable) && errors.Is(err, io.EOF):
		return "The server closed the connection."
	}
	return err.Error()
}

// page prints a text, through $PAGER (or less) where it has more lines than the screen.
func (sh *shell) page(text []byte) error {
	_, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || !sh.pager || bytes.Count(text, []byte{'\n'}) < height {
		_, err := sh.out.Write(text)
		return err
	}
	name := os.Getenv("PAGER")
	if name == "" {
		name = "less -FRSX"
	}
	cmd := inShell(name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), sh.out, sh.opt.Err
	if err := cmd.Run(); err != nil {
		if _, failed := errors.AsType[*exec.ExitError](err); failed { // no such pager, or a signal ended it
			_, err := sh.out.Write(text)
			return err
		}
		return err
	}
	return nil
}

// inShell is a command line for the shell of the system.
func inShell(line string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		return exec.Command("cmd", "/c", line)
	}
	return exec.Command("sh", "-c", line)
}

// edit opens the editor of the user on a text and gives what it leaves.
func (sh *shell) edit(text string) (string, error) {
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		editor = "vi"
	}
	f, err := os.CreateTemp("", "nacre-*.surql") // only its owner may read it
	if err != nil {
		return "", fmt.Errorf("make a file to edit: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("write the file to edit: %w", err)
	}
	cmd := inShell(editor + " " + f.Name())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("the editor %s failed, nothing is run: %w", editor, err)
	}
	b, err := os.ReadFile(f.Name())
	return string(b), err
}

// notices prints what live queries tell, above the prompt. Its zero value takes notifications at once.
type notices struct {
	once sync.Once
	ch   chan client.Notification
	lost atomic.Int64
}

// waitingNotices is how many notifications wait to be printed; further ones are counted, so that the connection goes
// on.
const waitingNotices = 1024

func (n *notices) queue() chan client.Notification {
	n.once.Do(func() { n.ch = make(chan client.Notification, waitingNotices) })
	return n.ch
}

func (n *notices) take(m client.Notification) {
	select {
	case n.queue() <- m:
	default:
		n.lost.Add(1)
	}
}

// printTo prints notifications until stop is called.
func (n *notices) printTo(w io.Writer) (stop func()) {
	end := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case <-end:
				return
			case m := <-n.queue():
				line := render.Visible(fmt.Sprintf("live %s %s %s\n", m.Live.Text(), m.Action, m.Result.Text()), true)
				if lost := n.lost.Swap(0); lost > 0 {
					line = fmt.Sprintf("live: %d notifications came too fast and were left out\n", lost) + line
				}
				_, _ = io.WriteString(w, line) // the terminal is gone when it fails, and the reader of lines says so
			}
		}
	})
	return func() { close(end); done.Wait() }
}
