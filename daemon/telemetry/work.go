package telemetry

import (
	"io"
	"sync/atomic"

	"github.com/nacredb/nacre/engine"
)

// work sums up what transactions did.
type work struct {
	committed, cancelled, conflicts, again     atomic.Uint64
	spent                                      histogram
	gets, scans, sets, deletes                 atomic.Uint64
	keysRead, keyBytesRead, bytesRead          atomic.Uint64
	keysWritten, keyBytesWritten, bytesWritten atomic.Uint64
}

// Count implements the Meter of engine.Options.
func (m *Metrics) Count(w *engine.Work) {
	if m == nil {
		return
	}
	s := &m.work
	switch {
	case w.Conflict:
		s.conflicts.Add(1)
	case w.Committed || !w.Write: // a reading transaction has nothing to commit
		s.committed.Add(1)
	default:
		s.cancelled.Add(1)
	}
	if w.Again {
		s.again.Add(1)
	}
	s.spent.observe(w.Spent)
	add(&s.gets, w.Gets)
	add(&s.scans, w.Scans)
	add(&s.keysRead, w.KeysRead)
	add(&s.keyBytesRead, w.KeyBytesRead)
	add(&s.bytesRead, w.BytesRead)
	if !w.Write {
		return
	}
	add(&s.sets, w.Sets)
	add(&s.deletes, w.Deletes)
	add(&s.keysWritten, w.KeysWritten)
	add(&s.keyBytesWritten, w.KeyBytesWritten)
	add(&s.bytesWritten, w.Bytes)
}

// add leaves the counter alone where there is nothing to add: it is shared by all processors.
func add(c *atomic.Uint64, n uint64) {
	if n > 0 {
		c.Add(n)
	}
}

func (s *work) write(w io.Writer) {
	const total = "surrealdb_transaction_total"
	family(w, total, "counter", "Finished transactions.")
	line(w, total, `status="committed"`, float64(s.committed.Load()))
	line(w, total, `status="cancelled"`, float64(s.cancelled.Load()))
	line(w, total, `status="conflict"`, float64(s.conflicts.Load()))
	family(w, "surrealdb_transaction_duration_seconds", "histogram", "Time of transactions.")
	s.spent.write(w, "surrealdb_transaction_duration_seconds", "")
	single(w, "surrealdb_transaction_conflicts_total", "counter", "Transactions refused because another one was first.",
		float64(s.conflicts.Load()))
	single(w, "nacre_transaction_retries_total", "counter", "Transactions that were run again after a conflict.",
		float64(s.again.Load()))
	const ops = "surrealdb_transaction_kv_ops_total"
	family(w, ops, "counter", "Operations of transactions on the store.")
	for _, op := range [...]struct {
		name string
		n    *atomic.Uint64
	}{{"get", &s.gets}, {"scan", &s.scans}, {"set", &s.sets}, {"delete", &s.deletes}} {
		line(w, ops, `op="`+op.name+`"`, float64(op.n.Load()))
	}
	for _, c := range [...]struct {
		name, help string
		n          *atomic.Uint64
	}{
		{"keys_read", "Keys that transactions read.", &s.keysRead},
		{"keys_written", "Keys that transactions wrote and committed.", &s.keysWritten},
		{"key_bytes_read", "Bytes of keys that transactions read.", &s.keyBytesRead},
		{"key_bytes_written", "Bytes of keys that transactions wrote and committed.", &s.keyBytesWritten},
		{"value_bytes_read", "Bytes of values that transactions read.", &s.bytesRead},
		{"value_bytes_written", "Bytes of values that transactions wrote and committed.", &s.bytesWritten},
	} {
		single(w, "surrealdb_transaction_"+c.name+"_total", "counter", c.help, float64(c.n.Load()))
	}
}
