package bulk

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
)

// restartOptions say how much a store holds when its process is killed, and how soon it must be ready again.
type restartOptions struct {
	rows, size int
	pending    int // rows that are in the log only
	kills      int
	longest    time.Duration // of one load that is killed
	most       time.Duration // 0 = any
	harness.RunOptions
}

func restartFlags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o restartOptions
	fs.IntVar(&o.rows, "rows", 4_000_000, "rows in the data file")
	fs.IntVar(&o.size, "size", 200, "bytes of a value")
	fs.IntVar(&o.pending, "pending", 1_200_000, "rows in random key order that the log holds: as many as its limits allow")
	fs.IntVar(&o.kills, "kills", 5, "kills under load, after that with the full log")
	o.Flags(fs, "")
	fs.DurationVar(&o.longest, "longest", 5*time.Second, "longest time from a start to the kill")
	fs.DurationVar(&o.most, "max", 3*time.Second, "longest time from the start of the server until it is ready; 0 = any")
	return func(ctx context.Context, out io.Writer) error { return restart(ctx, out, o) }
}

// restart kills a process that writes to a large store, and one whose log is as full as it can be, and tells how long
// the next one takes until it serves.
func restart(ctx context.Context, out io.Writer, o restartOptions) error {
	dir, done, err := o.Scratch("restart")
	if err != nil {
		return err
	}
	defer done()
	path := filepath.Join(dir, "x.db")
	if err := buildRows(path, o.rows, o.size, o.Seed); err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(o.Seed, 11))
	next, longest := o.rows, time.Duration(0)
	for i := range o.kills + 1 {
		load := loading{Path: path, From: next, Rows: 1 << 40, Size: o.size, Seed: o.Seed}
		what, after := "killed under load", o.longest/3+time.Duration(rnd.Int64N(int64(o.longest-o.longest/3)))
		if i == o.kills {
			load.Rows, load.NoCheckpoints = o.pending, true
			what, after = "killed with a full log", time.Hour
		}
		if next, err = loadAndKill(ctx, load, after); err != nil {
			return err
		}
		size, err := sizeOf(path)
		if err != nil {
			return err
		}
		s, err := harness.Start(ctx, "bolt://"+path)
		if err != nil {
			return err
		}
		m, err := harness.MemoryOf(s.Cmd.Process.Pid)
		if err = errors.Join(err, s.Kill()); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: data.db %d MiB, log %d MiB; ready after %v, %v\n", what, size.data>>20, size.log>>20,
			s.Ready.Round(time.Millisecond), m)
		longest = max(longest, s.Ready)
	}
	if o.most > 0 && longest > o.most {
		return fmt.Errorf("ready after %v, later than %v", longest, o.most)
	}
	return nil
}

// buildRows makes a store with rows whose keys are those of fillBatch.
func buildRows(path string, rows, size int, seed uint64) error {
	b, err := bolt.NewBuilder(path)
	if err != nil {
		return err
	}
	order := make([]int, rows)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scattered(a), scattered(b)) })
	for _, i := range order {
		w := fillRow(i, size, seed)
		if err := b.Put(w.Key, w.Value); err != nil {
			return errors.Join(err, b.Abort())
		}
	}
	return b.Finish(1)
}

// files are the sizes of a store's files in bytes.
type files struct{ data, log int64 }

func sizeOf(path string) (f files, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return f, err
	}
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil:
			return f, err
		case e.Name() == "data.db":
			f.data = info.Size()
		default:
			f.log += info.Size()
		}
	}
	return f, nil
}

// asLoading in the environment is the loading of a child, in JSON.
const AsChild = "NACRETEST_LOADING"

// loading is the text that a child writes to a store until it is killed.
type loading struct {
	Path             string
	From, Rows, Size int
	Seed             uint64
	NoCheckpoints    bool // all of it stays in the log
}

// loadAndKill runs a child, kills it when it has written everything or the time is over, and gives the first row that
// it has not tried to write.
func loadAndKill(ctx context.Context, l loading, after time.Duration) (next int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	plan, err := json.Marshal(l)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), AsChild+"="+string(plan))
	cmd.Stderr = os.Stderr
	said, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	next, done := l.From, false
	for in := bufio.NewScanner(said); in.Scan(); {
		if done = in.Text() == "done"; done {
			_ = cmd.Process.Kill()
			break
		}
		if _, err := fmt.Sscan(in.Text(), &next); err != nil {
			return 0, fmt.Errorf("the child says %q", in.Text())
		}
	}
	err = cmd.Wait()
	if cmd.ProcessState.Exited() {
		return 0, fmt.Errorf("the child ended by itself: %w", err)
	}
	return next, nil
}

// loadingRun is the child: it says the first row after each batch before it writes that, and "done" after the last, and
// waits to be killed.
func RunChild(plan string) int {
	if err := writeLoading(plan); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	select {}
}

func writeLoading(plan string) error {
	var l loading
	if err := json.Unmarshal([]byte(plan), &l); err != nil {
		return err
	}
	opt := bolt.Options{Path: l.Path}
	st, err := bolt.Open(opt)
	if err != nil {
		return err
	}
	if l.NoCheckpoints { // nothing else is to be in the log
		if err := st.Close(); err != nil {
			return err
		}
		opt.CheckpointKeys, opt.CheckpointBytes = 1<<40, 1<<50
		if st, err = bolt.Open(opt); err != nil {
			return err
		}
	}
	const batch = 1000
	for at, end := l.From, l.From+l.Rows; at < end; at += batch {
		fmt.Println(min(at+batch, end))
		if _, err := st.Commit(context.Background(),
			&kv.Batch{Writes: fillBatch(at, min(at+batch, end), l.Size, l.Seed)}); err != nil {
			return err
		}
	}
	fmt.Println("done")
	return nil
}

// scattered is a permutation of the numbers.
func scattered(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }

// fillRow is row i, whose key is anywhere and whose value depends on seed.
func fillRow(i, size int, seed uint64) kv.Write {
	k := append(make([]byte, 0, 24), "space---"...)
	k = binary.BigEndian.AppendUint64(k, scattered(i))
	v := make([]byte, size)
	rnd := rand.New(rand.NewPCG(uint64(i), seed))
	for at := 0; at+8 <= size; at += 8 {
		binary.LittleEndian.PutUint64(v[at:], rnd.Uint64())
	}
	return kv.Write{Key: k, Value: v}
}
