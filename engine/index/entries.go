package index

import (
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/value"
)

// Entries calls f with each entry that a record with these values has in an index that is Kept:
// what Writer.Change would write, without asking whether another record has the value. An entry
// may come twice. The slices are f's only until it returns.
func Entries(tb *catalog.Table, ix *catalog.Index, id value.Value, values []value.Value,
	f func(k, stored []byte) error) error {
	e := entries{ns: tb.Scope.NS, db: tb.Scope.DB, tb: tb.ID, ix: ix, id: id, unique: ix.Unique(), f: f}
	return e.all(values)
}

// all gives the entries of one record.
func (e *entries) all(values []value.Value) error {
	list := hasList(e.ix, values)
	if err := e.emit(values, e.unique && !list, nil); err != nil || !list {
		return err
	}
	return combinations(e.ix, values, func(vs []value.Value) error { return e.emit(vs, e.unique, []byte{elementMark}) })
}

// entries emits the entries of one record.
type entries struct {
	ns, db, tb uint32
	ix         *catalog.Index
	id         value.Value
	stored     []byte // the key of the record as AppendRecordKey makes it, in place of id
	unique     bool
	room       func() []byte // what keys are appended to; optional
	f          func(k, stored []byte) error
}

// emit gives one entry: owned says that its value, not its key, names the record, unless the
// values are exempt from that.
func (e *entries) emit(values []value.Value, owned bool, mark []byte) error {
	var dst []byte
	if e.room != nil {
		dst = e.room()
	}
	dst = key.IndexUnique(dst, e.ns, e.db, e.tb, e.ix.ID, values)
	if owned && !exempt(e.ix, values) {
		return e.f(dst, e.appendID(mark))
	}
	return e.f(e.appendID(dst), mark)
}

// appendID appends the key of the record.
func (e *entries) appendID(dst []byte) []byte {
	if e.stored != nil {
		return append(dst, e.stored...)
	}
	return key.AppendRecordKey(dst, e.id)
}
