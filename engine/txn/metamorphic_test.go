package txn_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/fault"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/txn"
)

// world is one store under test with the transactions that are open on it.
type world struct {
	name string
	st   kv.Store
	txs  []*txn.Tx
	// reopen, if not nil, restarts the store; no transaction may be open.
	reopen func() kv.Store
}

// TestStoresAgree runs one random sequence of interleaved transactions on every store: each must
// give the same answers, meet the same conflicts, and end in the state of a plain sorted map to
// which the committed transactions were applied in order.
func TestStoresAgree(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { runWorlds(t, seed) })
	}
}

func boltWorld(t *testing.T, name string, opt bolt.Options) *world {
	opt.Path = filepath.Join(t.TempDir(), "x.db")
	w := &world{name: name}
	w.reopen = func() kv.Store {
		if w.st != nil {
			if err := w.st.Close(); err != nil {
				t.Fatalf("%s: close: %v", name, err)
			}
		}
		st, err := bolt.Open(opt)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return st
	}
	w.st = w.reopen()
	return w
}

func runWorlds(t *testing.T, seed uint64) {
	worlds := []*world{
		{name: "mem", st: mem.New()},
		{name: "spoiling", st: fault.NewSpoiling(mem.New())},
		boltWorld(t, "bolt", bolt.Options{Sync: kv.SyncNever}),
		boltWorld(t, "bolt with checkpoints", bolt.Options{Sync: kv.SyncNever, CheckpointKeys: 15, SegmentSize: 8192}),
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	truth := map[string]string{}
	var pending []map[string]*string // what each open transaction has changed; nil = deleted
	for step := range 1200 {
		op := drawOp(rnd, len(pending))
		answer := ""
		for i, w := range worlds {
			got := op.run(t, w)
			if i == 0 {
				answer = got
			} else if got != answer {
				t.Fatalf("step %d: %+v: %s gives %q, %s gives %q", step, op, worlds[0].name, answer, w.name, got)
			}
		}
		pending = op.note(pending, truth, answer)
	}
	want := make([]string, 0, len(truth))
	for k, v := range truth {
		want = append(want, k+"="+v)
	}
	slices.Sort(want)
	for _, w := range worlds {
		for _, tx := range w.txs {
			tx.Cancel()
		}
		if got := all(t, w.st); got != strings.Join(want, " ") {
			t.Errorf("%s ends in\n%s\nwant\n%s", w.name, got, strings.Join(want, " "))
		}
		if err := w.st.Close(); err != nil {
			t.Errorf("%s: close: %v", w.name, err)
		}
	}
}

// op is one step: what, in which transaction, with what.
type op struct {
	kind       string
	tx         int
	key, value string
	end        string
	opt        txn.ScanOptions
}

func drawOp(rnd *rand.Rand, open int) op {
	o := op{key: fmt.Sprintf("k%02d", rnd.IntN(60)), end: fmt.Sprintf("k%02d", rnd.IntN(60)), value: fmt.Sprint("v", rnd.IntN(1000))}
	if open == 0 {
		o.kind = []string{"begin", "begin", "begin", "reopen"}[rnd.IntN(4)]
		return o
	}
	o.tx = rnd.IntN(open)
	o.opt = txn.ScanOptions{Reverse: rnd.IntN(2) == 0, Limit: rnd.IntN(6), Untracked: rnd.IntN(5) == 0}
	kinds := []string{"begin", "get", "get", "set", "set", "set", "delete", "scan", "add", "delete range", "commit", "commit", "cancel"}
	if o.kind = kinds[rnd.IntN(len(kinds))]; o.kind == "begin" && open > 4 {
		o.kind = "commit"
	}
	if o.kind == "delete range" {
		o.end = o.key + "5"
	}
	if o.kind == "add" {
		o.key, o.value = fmt.Sprintf("n%d", rnd.IntN(3)), fmt.Sprint(rnd.IntN(9)-4)
	}
	return o
}

// run performs the step on w and gives the answer as text.
func (o op) run(t *testing.T, w *world) string {
	t.Helper()
	switch o.kind {
	case "begin":
		w.txs = append(w.txs, begin(t, w.st, true))
		return ""
	case "reopen":
		if w.reopen != nil {
			w.st = w.reopen()
		}
		return ""
	}
	tx := w.txs[o.tx]
	var err error
	switch o.kind {
	case "get":
		v, err := tx.Get([]byte(o.key))
		return fmt.Sprintf("%s %v %v", v, v == nil, err)
	case "set":
		err = tx.Set([]byte(o.key), []byte(o.value))
	case "delete":
		err = tx.Delete([]byte(o.key))
	case "add":
		var by int64
		fmt.Sscan(o.value, &by)
		err = tx.Add([]byte(o.key), by)
	case "delete range":
		err = tx.DeleteRange(bounds(o.key, o.end))
	case "scan":
		return scan(t, tx, o.key, o.end, o.opt)
	case "commit":
		err = tx.Commit(ctx)
		w.txs = slices.Delete(w.txs, o.tx, o.tx+1)
	case "cancel":
		tx.Cancel()
		w.txs = slices.Delete(w.txs, o.tx, o.tx+1)
	}
	if err != nil && !errors.Is(err, errs.Conflict()) {
		t.Fatalf("%s: %+v: %v", w.name, o, err)
	}
	return fmt.Sprint(err)
}

// note applies the step to the plain map; answer says whether a commit went through.
func (o op) note(pending []map[string]*string, truth map[string]string, answer string) []map[string]*string {
	switch o.kind {
	case "begin":
		return append(pending, map[string]*string{})
	case "set":
		v := o.value
		pending[o.tx][o.key] = &v
	case "delete":
		pending[o.tx][o.key] = nil
	case "delete range":
		// Keys have three bytes, and the range holds this one only.
		pending[o.tx][o.key] = nil
	case "add":
		sum := o.value
		if old := pending[o.tx][o.key]; old != nil {
			sum = plus(*old, o.value)
		}
		pending[o.tx][o.key] = &sum
	case "commit", "cancel":
		if o.kind == "commit" && answer == "<nil>" {
			for k, v := range pending[o.tx] {
				switch {
				case v == nil:
					delete(truth, k)
				case k[0] == 'n': // a counter: pending has the difference
					truth[k] = plus(truth[k], *v)
				default:
					truth[k] = *v
				}
			}
		}
		return slices.Delete(pending, o.tx, o.tx+1)
	}
	return pending
}

func plus(a, b string) string {
	var x, y int64
	fmt.Sscan(a, &x)
	fmt.Sscan(b, &y)
	return fmt.Sprint(x + y)
}
