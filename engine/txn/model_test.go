package txn_test

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/nacredb/nacre/engine/txn"
)

// model is what a store promises, in a few lines: a sorted list of pairs, which each commit replaces.
type model struct {
	now     []pair
	commits []map[string]bool // the keys that each commit wrote, in order
	txs     []*modelTx
}

type pair struct{ key, value string }

// modelTx is a transaction: what was there when it began, and what it has done to it.
type modelTx struct {
	write bool
	base  []pair
	since int // commits before it
	own   map[string]change
	saves []map[string]change
	reads []seen
}

// change is a write: a value, a deletion, or what is added to a counter.
type change struct {
	value   string
	deleted bool
	add     bool
	by      int64
}

// seen is a read that is validated: sure is what it has certainly looked at, whole what it may have.
type seen struct{ sure, whole span }

// span is the keys start <= k < end; a key alone is from it to the next possible one. No end is "".
type span struct{ start, end string }

func only(key string) span { return span{key, key + "\x00"} }

func (s span) contains(key string) bool { return key >= s.start && (s.end == "" || key < s.end) }

func find(ps []pair, key string) int {
	return sort.Search(len(ps), func(i int) bool { return ps[i].key >= key })
}

func lookup(ps []pair, key string) (string, bool) {
	if i := find(ps, key); i < len(ps) && ps[i].key == key {
		return ps[i].value, true
	}
	return "", false
}

// within is the part of ps in s.
func within(ps []pair, s span) []pair {
	from, to := find(ps, s.start), len(ps)
	if s.end != "" {
		to = find(ps, s.end)
	}
	return ps[from:max(from, to)]
}

// apply gives base with the changes made.
func apply(base []pair, own map[string]change) []pair {
	if len(own) == 0 {
		return base
	}
	out := make([]pair, 0, len(base)+len(own))
	keys := slices.Sorted(maps.Keys(own))
	for _, p := range base {
		for len(keys) > 0 && keys[0] < p.key {
			out, keys = own[keys[0]].on(out, keys[0], ""), keys[1:]
		}
		if len(keys) > 0 && keys[0] == p.key {
			out, keys = own[p.key].on(out, p.key, p.value), keys[1:]
			continue
		}
		out = append(out, p)
	}
	for _, k := range keys {
		out = own[k].on(out, k, "")
	}
	return out
}

// on appends what key is after the change; old is "" for what is absent.
func (c change) on(out []pair, key, old string) []pair {
	switch {
	case c.deleted:
		return out
	case c.add:
		return append(out, pair{key, plus(old, c.by)})
	}
	return append(out, pair{key, c.value})
}

func plus(old string, by int64) string {
	var n int64
	if old != "" {
		fmt.Sscan(old, &n)
	}
	return fmt.Sprint(n + by)
}

// textOf is what a scan with opt answers, given all in its range.
func textOf(ps []pair, opt txn.ScanOptions) string {
	var out []string
	for i := range ps {
		p := ps[i]
		if opt.Reverse {
			p = ps[len(ps)-1-i]
		}
		if opt.Limit > 0 && i == opt.Limit {
			break
		}
		out = append(out, p.key+"="+p.value)
	}
	return strings.Join(out, " ")
}

// run performs a step and gives its answer; sure is false for a commit, whose outcome settle judges.
func (m *model) run(o op) (answer string, sure bool) {
	switch o.kind {
	case "begin":
		m.txs = append(m.txs, &modelTx{write: o.write, base: m.now, since: len(m.commits), own: map[string]change{}})
		return "", true
	case "restart":
		m.txs = nil
		return "", true
	case "commit":
		return "", false
	}
	return m.txs[o.tx].run(o), true
}

func (tx *modelTx) run(o op) string {
	switch o.kind {
	case "get", "get untracked":
		if c, ok := tx.own[o.key]; o.kind == "get" && tx.write && (!ok || c.add) {
			tx.reads = append(tx.reads, seen{only(o.key), only(o.key)})
		}
		v, ok := lookup(apply(tx.base, tx.own), o.key)
		if !ok {
			return "(absent)"
		}
		return v
	case "set":
		tx.own[o.key] = change{value: o.value}
	case "delete":
		tx.own[o.key] = change{deleted: true}
	case "add":
		if old, ok := tx.own[o.key]; ok {
			tx.own[o.key] = old.plus(o.by)
		} else {
			tx.own[o.key] = change{add: true, by: o.by}
		}
	case "delete range":
		s := span{o.key, o.end}
		tx.reads = append(tx.reads, seen{s, s})
		for _, p := range within(apply(tx.base, tx.own), s) {
			tx.own[p.key] = change{deleted: true}
		}
	case "scan":
		return tx.scan(o)
	case "savepoint":
		tx.saves = append(tx.saves, maps.Clone(tx.own))
	case "rollback":
		tx.own = maps.Clone(tx.saves[o.save])
		tx.saves = tx.saves[:o.save+1]
	}
	return ""
}

// plus is the change c with an addition after it.
func (c change) plus(by int64) change {
	switch {
	case c.add:
		return change{add: true, by: c.by + by}
	case c.deleted:
		return change{value: plus("", by)}
	}
	return change{value: plus(c.value, by)}
}

func (tx *modelTx) scan(o op) string {
	whole := span{o.key, o.end}
	found := within(apply(tx.base, tx.own), whole)
	if tx.write && !o.opt.Untracked {
		tx.reads = append(tx.reads, seen{passed(found, whole, o.opt), whole})
	}
	return textOf(found, o.opt)
}

// passed is the part of whole that a scan which found ps has gone through.
func passed(ps []pair, whole span, opt txn.ScanOptions) span {
	if opt.Limit == 0 || len(ps) < opt.Limit {
		return whole
	}
	if opt.Reverse {
		return span{ps[len(ps)-opt.Limit].key, whole.end}
	}
	return span{whole.start, only(ps[opt.Limit-1].key).end}
}

// settle takes over how a commit went, and judges it: a commit of changes is refused if and only if something that it
// has read was written since.
func (m *model) settle(o op, answer string) error {
	if o.kind != "commit" && o.kind != "cancel" {
		return nil
	}
	tx := m.txs[o.tx]
	m.txs = slices.Delete(m.txs, o.tx, o.tx+1)
	if o.kind == "cancel" {
		return nil
	}
	must, may := tx.conflicts(m.commits[tx.since:])
	switch refused := answer == conflictText; {
	case refused && (!may || len(tx.own) == 0):
		return fmt.Errorf("refused, though nothing that it read was written")
	case !refused && must && len(tx.own) > 0:
		return fmt.Errorf("committed, though something that it read was written")
	case refused || len(tx.own) == 0:
		return nil
	}
	m.now = apply(m.now, tx.own)
	wrote := make(map[string]bool, len(tx.own))
	for k := range tx.own {
		wrote[k] = true
	}
	m.commits = append(m.commits, wrote)
	return nil
}

// conflicts reports whether the commits touch what tx has certainly read, and whether what it may have.
func (tx *modelTx) conflicts(commits []map[string]bool) (must, may bool) {
	for _, wrote := range commits {
		for k := range wrote {
			for _, r := range tx.reads {
				must = must || r.sure.contains(k)
				may = may || r.whole.contains(k)
			}
		}
	}
	return must, may
}
