package torn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// asRecorded in the environment names the store of a run that is recorded.
const AsChild = "NACRETEST_RECORDED"

// The recorded run: so many committers, each with its own keys, and so many batches of each.
const (
	committers     = 3
	recordedPerRun = 130
	recordedRuns   = 3 // with a stop in good order in between
)

// recordedOptions make a short run come to checkpoints and used segments.
func recordedOptions(path string, fs wal.FS) bolt.Options {
	return bolt.Options{Path: path, CheckpointKeys: 150, SegmentSize: 24 << 10, FS: fs}
}

// batch is number n of committer w: it changes three keys, and one of them says its number.
func batch(w, n int) []kv.Write {
	rnd := rand.New(rand.NewPCG(uint64(w), uint64(n)))
	a, b := rnd.IntN(60), 60+rnd.IntN(60)
	ws := []kv.Write{
		{Key: fmt.Appendf(nil, "%d/k%03d", w, a), Value: []byte(strings.Repeat(strconv.Itoa(n)+";", rnd.IntN(120)))},
		{Key: fmt.Appendf(nil, "%d/k%03d", w, b), Value: strconv.AppendInt(nil, int64(n), 10)},
		{Key: fmt.Appendf(nil, "%d/n", w), Value: strconv.AppendInt(nil, int64(n), 10)},
	}
	if rnd.IntN(3) == 0 {
		ws[0].Value = nil
	}
	return ws
}

// states gives, for a committer, what its keys are after each number of batches.
func states(w, batches int) []string {
	m := map[string]string{}
	out := []string{""}
	for n := 1; n <= batches; n++ {
		for _, c := range batch(w, n) {
			if delete(m, string(c.Key)); c.Value != nil {
				m[string(c.Key)] = string(c.Value)
			}
		}
		out = append(out, joinSorted(m))
	}
	return out
}

func joinSorted(m map[string]string) string {
	keys := make([]string, 0, len(m))
	for k, v := range m {
		keys = append(keys, k+"="+v)
	}
	slices.Sort(keys)
	return strings.Join(keys, "\n")
}

// recordedRun is the child of the torn suite: it writes to the store at path and says on standard
// output what it tries and what was acknowledged.
func RunChild(path string) int {
	say := func(text string) { fmt.Fprintln(os.Stdout, text) }
	if err := writeRecorded(path, nil, say); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// writeRecorded does the recorded run. say is called in order with the events of each committer.
func writeRecorded(path string, fs wal.FS, say func(string)) error {
	for run := range recordedRuns {
		st, err := bolt.Open(recordedOptions(path, fs))
		if err != nil {
			return err
		}
		if run == 0 {
			say("ready")
		}
		var all sync.WaitGroup
		errs := make([]error, committers)
		for w := range committers {
			all.Go(func() {
				for n := run*recordedPerRun + 1; n <= (run+1)*recordedPerRun && errs[w] == nil; n++ {
					say(fmt.Sprintf("try %d %d", w, n))
					if _, errs[w] = st.Commit(context.Background(), &kv.Batch{Writes: batch(w, n)}); errs[w] == nil {
						say(fmt.Sprintf("ack %d %d", w, n))
					}
				}
			})
		}
		all.Wait()
		for _, err := range append(errs, st.Close()) {
			if err != nil {
				return err
			}
		}
	}
	return nil
}
