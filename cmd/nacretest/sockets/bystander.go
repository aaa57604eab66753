package sockets

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/value"
)

// AsBystander in the environment is the address of the server that a child pings.
const AsBystander = "NACRETEST_BYSTANDER"

// bystander is a client of a server under attack, in a process of its own: in the attacker's it would wait for the
// attacker's goroutines and collector, and not for the server alone.
type bystander struct {
	cmd  *exec.Cmd
	stop io.Closer
	said *bufio.Reader
}

// standBy starts a child and waits for its first answer.
func standBy(ctx context.Context, addr string) (*bystander, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env, cmd.Stderr = append(os.Environ(), AsBystander+"="+addr), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b := &bystander{cmd: cmd, stop: in, said: bufio.NewReader(out)}
	if _, err := b.said.ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("the bystander says nothing: %w", err), b.stop.Close(), cmd.Wait())
	}
	return b, nil
}

// end gives how long each ping took, the shortest first.
func (b *bystander) end() (pings []time.Duration, err error) {
	err = b.stop.Close()
	for {
		var d time.Duration
		if _, e := fmt.Fscanln(b.said, &d); e != nil {
			if e != io.EOF {
				err = errors.Join(err, e)
			}
			break
		}
		pings = append(pings, d)
	}
	slices.Sort(pings)
	return pings, errors.Join(err, b.cmd.Wait())
}

// RunBystander is the child: it pings the server until its standard input ends, and prints how long each ping took, in
// nanoseconds.
func RunBystander(addr string) int {
	pings, err := pingUntil(addr)
	for _, d := range pings {
		fmt.Println(int64(d))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bystander:", err)
		return 1
	}
	return 0
}

func pingUntil(addr string) (pings []time.Duration, err error) {
	k, err := harness.DialRaw(context.Background(), addr, 4<<10)
	if err != nil {
		return nil, err
	}
	defer k.Close()
	root := value.NewObject(value.Field{Name: "user", Value: value.Str("root")},
		value.Field{Name: "pass", Value: value.Str("root")})
	if err := k.Call("signin", value.ObjectOf(root)); err != nil {
		return nil, err
	}
	over := make(chan struct{})
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	fmt.Println("ready")
	for {
		sent := time.Now()
		if err := k.Call("ping"); err != nil {
			return pings, err
		}
		pings = append(pings, time.Since(sent))
		select {
		case <-over:
			return pings, nil
		case <-time.After(10 * time.Millisecond):
		}
	}
}
