package anomaly

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// app and read make operations.
func app(key, value int) Op        { return Op{Key: key, Value: value} }
func read(key int, list ...int) Op { return Op{Key: key, Read: true, List: list} }
func txn(ops ...Op) Txn            { return Txn{Ops: ops} }
func aborted(ops ...Op) Txn        { return Txn{Ops: ops, Status: Aborted} }
func unknown(ops ...Op) Txn        { return Txn{Ops: ops, Status: Unknown} }
func last(ops ...Op) Txn           { return Txn{Ops: ops, Last: true} }
func at(start, end int, ops ...Op) Txn {
	return Txn{Ops: ops, Start: time.Duration(start), End: time.Duration(end)}
}

func kinds(found []Finding) string {
	var out []string
	for _, f := range found {
		if !slices.Contains(out, f.Kind) {
			out = append(out, f.Kind)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestKnownHistories(t *testing.T) {
	for _, tc := range []struct {
		name     string
		txns     []Txn
		realTime bool
		want     string
	}{
		{name: "nothing happened"},
		{name: "one after the other", txns: []Txn{txn(app(1, 1)), txn(read(1, 1), app(1, 2)), txn(read(1, 1, 2)),
			txn(read(2))}},
		{name: "two that do not touch",
			txns: []Txn{txn(app(1, 1), read(2)), txn(app(3, 2), read(4)), txn(read(1, 1), read(3, 2))}},
		{name: "own appends are read", txns: []Txn{txn(app(1, 1), read(1, 1), app(1, 2), read(1, 1, 2))}},
		{name: "own appends after others'", txns: []Txn{txn(app(1, 9)), txn(app(1, 1), read(1, 9, 1))}},
		{name: "unknown, and it happened", txns: []Txn{unknown(app(1, 1)), txn(read(1, 1))}},
		{name: "unknown, and it did not", txns: []Txn{unknown(app(1, 1)), last(read(1))}},
		{name: "aborted and unseen", txns: []Txn{aborted(app(1, 1)), last(read(1))}},

		// Two transactions overwrite each other in different order.
		{name: "G0", want: "G0", txns: []Txn{txn(app(1, 1), app(2, 3)), txn(app(1, 2), app(2, 4)), txn(read(1, 1, 2)),
			txn(read(2, 4, 3))}},
		{name: "G0 of three", want: "G0",
			txns: []Txn{txn(app(1, 1), app(3, 6)), txn(app(1, 2), app(2, 3)), txn(app(2, 4), app(3, 5)),
				txn(read(1, 1, 2)), txn(read(2, 3, 4)), txn(read(3, 5, 6))}},
		{name: "G1a", want: "G1a", txns: []Txn{aborted(app(1, 1)), txn(read(1, 1))}},
		{name: "G1a in the middle of a list", want: "G1a",
			txns: []Txn{aborted(app(1, 1)), txn(app(1, 2)), txn(read(1, 1, 2))}},
		{name: "G1b", want: "G-single G1b",
			txns: []Txn{txn(app(1, 1), app(1, 2)), txn(read(1, 1)), txn(read(1, 1, 2))}},
		{name: "G1c: each reads the other", want: "G1c",
			txns: []Txn{txn(app(1, 1), read(2, 2)), txn(app(2, 2), read(1, 1))}},
		{name: "G1c: it reads what follows it", want: "G1c",
			txns: []Txn{txn(app(1, 1), read(2, 3)), txn(app(1, 2), app(2, 3)), txn(read(1, 1, 2))}},
		{name: "G-single: read skew", want: "G-single",
			txns: []Txn{txn(read(1), read(2, 2)), txn(app(1, 1), app(2, 2)), txn(read(1, 1))}},
		{name: "G-single: lost update", want: "G-single",
			txns: []Txn{txn(app(1, 1)), txn(read(1, 1), app(1, 2)), txn(read(1, 1), app(1, 3)), txn(read(1, 1, 2, 3))}},
		{name: "G2: write skew", want: "G2",
			txns: []Txn{txn(read(1), app(2, 1)), txn(read(2), app(1, 2)), last(read(1, 2), read(2, 1))}},
		{name: "G2: write skew that nobody reads", want: "G2",
			txns: []Txn{txn(read(1), app(2, 1)), txn(read(2), app(1, 2))}},
		{name: "G2: long fork", want: "G2",
			txns: []Txn{txn(app(1, 1)), txn(app(2, 2)), txn(read(1, 1), read(2)), txn(read(1), read(2, 2)),
				last(read(1, 1), read(2, 2))}},
		{name: "internal: own append is not read", want: "internal", txns: []Txn{txn(app(1, 1), read(1))}},
		{name: "internal: not repeatable", want: "G-single internal",
			txns: []Txn{txn(app(1, 1)), txn(read(1), read(1, 1))}},
		{name: "incompatible", want: "incompatible",
			txns: []Txn{txn(app(1, 1)), txn(app(1, 2)), txn(read(1, 1)), txn(read(1, 2))}},
		{name: "duplicate", want: "duplicate", txns: []Txn{txn(app(1, 1)), txn(read(1, 1, 1))}},
		{name: "phantom", want: "phantom", txns: []Txn{txn(read(1, 7))}},
		{name: "lost", want: "lost", txns: []Txn{txn(app(1, 1)), txn(app(1, 2)), last(read(1, 1))}},
		{name: "a history that is wrong itself", want: "history", txns: []Txn{txn(app(1, 1)), txn(app(1, 1))}},

		{name: "stale read, clock not asked",
			txns: []Txn{at(0, 1, app(1, 1)), at(2, 3, read(1)), at(4, 5, read(1, 1))}},
		{name: "stale read", realTime: true, want: "G-single-realtime",
			txns: []Txn{at(0, 1, app(1, 1)), at(2, 3, read(1)), at(4, 5, read(1, 1))}},
		{name: "read of the future", realTime: true, want: "G1c-realtime",
			txns: []Txn{at(0, 1, read(1, 1)), at(2, 3, app(1, 1))}},
		{name: "in the order of the clock", realTime: true,
			txns: []Txn{at(0, 4, app(1, 1)), at(2, 6, read(1)), at(7, 8, read(1, 1))}},
		{name: "they touch in one moment", realTime: true,
			txns: []Txn{at(0, 2, app(1, 1)), at(2, 3, read(1)), at(4, 5, read(1, 1))}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found := Check(tc.txns, Options{RealTime: tc.realTime})
			if got := kinds(found); got != tc.want {
				t.Errorf("got %q, want %q: %v", got, tc.want, found)
			}
		})
	}
}

// serial makes a history of n transactions that ran one after the other.
func serial(rnd *rand.Rand, n int) []Txn {
	lists := map[int][]int{}
	var out []Txn
	for i := range n {
		var t Txn
		t.Client = rnd.IntN(8)
		t.Start, t.End = time.Duration(2*i), time.Duration(2*i+1)
		own := map[int][]int{}
		for range 1 + rnd.IntN(4) {
			k := rnd.IntN(5)
			list := slices.Concat(lists[k], own[k])
			if rnd.IntN(2) == 0 {
				t.Ops = append(t.Ops, read(k, list...))
				continue
			}
			v := i*10 + len(t.Ops)
			t.Ops = append(t.Ops, app(k, v))
			own[k] = append(own[k], v)
		}
		t.Status = []Status{Committed, Committed, Committed, Aborted, Unknown}[rnd.IntN(5)]
		if t.Status == Committed || t.Status == Unknown && rnd.IntN(2) == 0 {
			for k, vs := range own {
				lists[k] = slices.Concat(lists[k], vs)
			}
		}
		out = append(out, t)
	}
	end := Txn{Last: true, Start: time.Duration(2 * n), End: time.Duration(2*n + 1)}
	for k := range 5 {
		end.Ops = append(end.Ops, read(k, lists[k]...))
	}
	return append(out, end)
}

func TestSerialHistoriesAreClean(t *testing.T) {
	for seed := range uint64(300) {
		h := serial(rand.New(rand.NewPCG(seed, 1)), 60)
		if found := Check(h, Options{RealTime: true}); len(found) > 0 {
			t.Fatalf("seed %d: %v", seed, found)
		}
	}
}

// TestSpoiledHistoriesAreFound takes away one element of what one transaction read and says it was
// never there.
func TestSpoiledHistoriesAreFound(t *testing.T) {
	found, spoiled := 0, 0
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		h := serial(rnd, 60)
		i := len(h) - 1
		for n, op := range h[i].Ops {
			if len(op.List) > 2 {
				at := rnd.IntN(len(op.List) - 1)
				h[i].Ops[n].List = slices.Delete(slices.Clone(op.List), at, at+1)
				spoiled++
				if len(Check(h, Options{})) > 0 {
					found++
				}
				break
			}
		}
	}
	// A removed append may belong to a transaction that was never acknowledged, and never read.
	if found < spoiled*9/10 {
		t.Errorf("found %d of %d", found, spoiled)
	}
}

func BenchmarkCheck(b *testing.B) {
	h := serial(rand.New(rand.NewPCG(1, 1)), 2000)
	for b.Loop() {
		Check(h, Options{RealTime: true})
	}
}
