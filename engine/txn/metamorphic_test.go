package txn_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	txs  []*worldTx
	// reopen, if not nil, restarts the store; no transaction may be open.
	reopen      func() kv.Store
	checkpoints uint64 // before the last restart
}

type worldTx struct {
	*txn.Tx
	saves []txn.Savepoint
}

// TestStoresAgree runs one random sequence of interleaved transactions on every store and on a sorted map: each must
// give the same answers, and commit exactly those transactions whose reads are unchanged since. The sequence has
// snapshots that are held for long, savepoints, scans in both directions, deletions of ranges, counters, checkpoints
// and restarts. NACRE_METAMORPHIC_OPS says how many operations, 15,000 by default.
func TestStoresAgree(t *testing.T) {
	total := 15_000
	if s := os.Getenv("NACRE_METAMORPHIC_OPS"); s != "" {
		var err error
		if total, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	const seeds = 15
	done := map[string]int{}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { runWorlds(t, seed, total/seeds, done) })
	}
	t.Logf("operations: %v", done)
}

func boltWorld(t *testing.T, name string, opt bolt.Options) *world {
	opt.Path = filepath.Join(t.TempDir(), "x.db")
	w := &world{name: name}
	w.reopen = func() kv.Store {
		if w.st != nil {
			w.checkpoints += w.st.Stats().Checkpoint
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

func runWorlds(t *testing.T, seed uint64, steps int, done map[string]int) {
	worlds := []*world{
		{name: "mem", st: mem.New()},
		{name: "spoiling", st: fault.NewSpoiling(mem.New())},
		boltWorld(t, "bolt", bolt.Options{Sync: kv.SyncNever}),
		boltWorld(t, "bolt with checkpoints", bolt.Options{Sync: kv.SyncNever, CheckpointKeys: 40, SegmentSize: 8192}),
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	truth := &model{}
	for step := range steps {
		op := drawOp(rnd, truth)
		want, sure := truth.run(op)
		for i, w := range worlds {
			got := op.run(t, w)
			if i == 0 && !sure {
				want = got
			}
			if got != want {
				t.Fatalf("step %d: %+v: %s gives %q, want %q", step, op, w.name, got, want)
			}
		}
		if err := truth.settle(op, want); err != nil {
			t.Fatalf("step %d: %+v: %v", step, op, err)
		}
		done[op.kind]++
		if want == conflictText {
			done["conflict"]++
		}
	}
	for _, w := range worlds {
		for _, tx := range w.txs {
			tx.Cancel()
		}
		if got, want := all(t, w.st), textOf(truth.now, txn.ScanOptions{}); got != want {
			t.Errorf("%s ends in\n%s\nwant\n%s", w.name, got, want)
		}
		done["checkpoints of "+w.name] += int(w.checkpoints + w.st.Stats().Checkpoint)
		if err := w.st.Close(); err != nil {
			t.Errorf("%s: close: %v", w.name, err)
		}
	}
}

var conflictText = errs.Conflict().Error()

// op is one step: what, in which transaction, with what.
type op struct {
	kind       string
	tx, save   int
	key, value string
	end        string
	write      bool
	by         int64
	opt        txn.ScanOptions
}

func drawOp(rnd *rand.Rand, truth *model) op {
	name := func() string { return fmt.Sprintf("k%03d", rnd.IntN(150)) }
	o := op{key: name(), end: name(), value: fmt.Sprint("v", rnd.IntN(1000)), write: rnd.IntN(6) > 0}
	if rnd.IntN(50) == 0 {
		o.value = strings.Repeat(o.value, 1+rnd.IntN(900)) + "!" // over pages, and never as long as a counter
		if len(o.value) == 8 {
			o.value += "!"
		}
	}
	open := len(truth.txs)
	if open == 0 || rnd.IntN(2000) == 0 {
		o.kind = "begin"
		if rnd.IntN(10) == 0 {
			o.kind = "restart"
		}
		return o
	}
	o.tx = rnd.IntN(open)
	o.opt = txn.ScanOptions{Reverse: rnd.IntN(2) == 0, Limit: rnd.IntN(6), Untracked: rnd.IntN(5) == 0}
	kinds := []string{"begin", "get", "get", "get untracked", "set", "set", "set", "delete", "scan", "scan", "add",
		"delete range", "savepoint", "rollback", "commit", "commit", "cancel"}
	o.kind = kinds[rnd.IntN(len(kinds))]
	tx := truth.txs[o.tx]
	writes := slices.Contains([]string{"set", "delete", "add", "delete range", "savepoint", "rollback"}, o.kind)
	switch {
	case o.kind == "begin" && open > 5:
		o.kind = "commit"
	case o.kind == "rollback" && len(tx.saves) == 0:
		o.kind = "savepoint"
	case o.kind == "rollback":
		o.save = rnd.IntN(len(tx.saves))
	case !tx.write && writes:
		o.kind = "scan" // readers only read, and stay for long
	case !tx.write && o.kind == "commit" && rnd.IntN(10) > 0:
		o.kind = "get"
	}
	if o.kind == "delete range" && rnd.IntN(4) > 0 {
		o.end = o.key + "5" // mostly a narrow one
	}
	if o.kind == "add" || o.kind == "get" && rnd.IntN(8) == 0 {
		o.key, o.by = fmt.Sprintf("n%d", rnd.IntN(3)), int64(rnd.IntN(9)-4)
	}
	if o.kind == "scan" && rnd.IntN(5) == 0 {
		o.end = "" // to the end of all
	}
	return o
}

// run performs the step on w and gives the answer as text.
func (o op) run(t *testing.T, w *world) string {
	t.Helper()
	switch o.kind {
	case "begin":
		w.txs = append(w.txs, &worldTx{Tx: begin(t, w.st, o.write)})
		return ""
	case "restart":
		for _, tx := range w.txs {
			tx.Cancel()
		}
		w.txs = nil
		if w.reopen != nil {
			w.st = w.reopen()
		}
		return ""
	}
	tx := w.txs[o.tx]
	var err error
	switch o.kind {
	case "get", "get untracked":
		get := tx.Get
		if o.kind != "get" {
			get = tx.GetUntracked
		}
		v, err := get([]byte(o.key))
		if err != nil {
			t.Fatalf("%s: %+v: %v", w.name, o, err)
		}
		if v == nil {
			return "(absent)"
		}
		return shown(v)
	case "set":
		err = tx.Set([]byte(o.key), []byte(o.value))
	case "delete":
		err = tx.Delete([]byte(o.key))
	case "add":
		err = tx.Add([]byte(o.key), o.by)
	case "delete range":
		err = tx.DeleteRange(bounds(o.key, o.end))
	case "scan":
		return scan(t, tx.Tx, o.key, o.end, o.opt)
	case "savepoint":
		tx.saves = append(tx.saves, tx.Savepoint())
	case "rollback":
		tx.RollbackTo(tx.saves[o.save])
		tx.saves = tx.saves[:o.save+1]
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
	if err != nil {
		return conflictText
	}
	return ""
}

func shown(v []byte) string {
	if n, ok := kv.Counter(v); ok && v != nil {
		return fmt.Sprint(n)
	}
	return string(v)
}
