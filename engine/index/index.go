// Package index keeps the entries of ordered, unique and count indexes in step with records, and
// finds records through them.
//
// A record has one entry per index with the values of the indexed fields as they are, and, where one
// of those values is an array or set, element entries besides: one per element (per combination, with
// several fields). Element entries serve CONTAINS and uniqueness; equality, ranges and order use the
// whole entries, each record exactly once. A list in a field that ends with … is one key: it has no
// element entries, and uniqueness is about the list. Numbers are folded: 1, 1f and 1dec are one key.
// Entries whose values hold a NONE or NULL are exempt from uniqueness, and so are those whose path
// leads through a link into another record: the index does not follow links, it keeps them in the
// place of the value.
//
// The value of an entry, beside what engine/key says:
//
//	ordered  whole: empty                      element: 0x00
//	unique   whole, one per value: RK          element: 0x00 RK
//	         exempt (keyed with the record): empty
//
// # Building beside writers
//
// An index that is filled in the background (catalog.Building) has two kinds of writers: transactions that change
// records, which maintain it as they maintain any index, and the builder, which walks the table in the order of record
// keys, one batch of records per transaction. Readers do not use the index until it is ready. Its entries are correct
// by then, because:
//
//  1. The definition is committed before the builder begins. Every writer reads the schema version of its database, so a
//     writer that does not know the index cannot commit after that. The last batch makes the index ready and changes the
//     schema version again, so writers that still take it for unfinished start over.
//  2. A transaction that changes the indexed values of a record after the definition writes its entries, and deletes
//     those of the values before, whether they are there or not. The builder writes those of all other records. It
//     reads records untracked, so it does not conflict with writers of its range. Its transaction is one of
//     txn.Tx.FirstWins: where a record gets other values after the snapshot of a batch, one of the two meets a key
//     that the other one has written, and is refused. So entries always match the stored record.
//     A batch that was refused looks which entries are there by now, and does not write these again. So a record
//     refuses a batch once at most, and however many writers there are, the builder comes to its end. Of definitions a
//     batch conflicts with changes of its table and its index alone.
//  3. The builder may find entries that are there already; they are equal then. Its work is repeatable: a builder that
//     was stopped or killed continues after its last committed batch, whose transaction holds the position.
//  4. An entry of a unique index names its owner. During the build a writer may claim the value of a record that the
//     builder has not reached yet; the builder finds the violation when it reaches that record, and the build fails. A
//     transaction that removes an entry during the build therefore checks first that no other record owns it. An
//     entered value is refused to other records at once.
//
// Full-text and vector indexes are built the same way: they know by record what they hold, and a writer that takes a
// record out deletes that key, whether it is there or not. Count indexes are not: the builder counts one snapshot and
// adds, together with the index becoming ready, what it counted less what writers had counted by then.
//
// The package knows no permissions: only engine/record calls it.
package index

import (
	"bytes"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// elementMark starts the value of an element entry; no record key begins with it.
const elementMark = 0x00

// Violation is the cause of the error that a unique index refuses a record with.
type Violation struct {
	Index  string
	Record *value.RecordID // the record that has the values already
}

// Error implements error.
func (v *Violation) Error() string { return "unique index " + v.Index + " is violated" }

func violation(ix *catalog.Index, values []value.Value, owner *value.RecordID) error {
	shown := value.ArrayOf(values)
	if len(values) == 1 {
		shown = values[0]
	}
	e := errs.Internal("Database index `%s` already contains %s, with record `%s`", ix.Called(), shown.Brief(),
		value.RecordOf(owner).Text())
	e.Err = &Violation{Index: ix.Called(), Record: owner}
	return e
}

// Writer writes the entries of one table's indexes in one transaction. It belongs to one goroutine.
type Writer struct {
	Tx  *txn.Tx
	buf []byte
}

// Kept reports whether this package keeps the index: the others belong to full text and vectors.
func Kept(ix *catalog.Index) bool {
	return ix.Define.Kind == ast.IndexOrdered || ix.Define.Kind == ast.IndexUnique
}

// Change moves a record's entries from its old values to its new ones; nil means that there is no such image. The
// error of a unique index has a *Violation as its cause.
func (w *Writer) Change(tb *catalog.Table, ix *catalog.Index, id *value.RecordID, before, after []value.Value) error {
	if before != nil && after != nil && sameValues(before, after) {
		return nil
	}
	if before != nil {
		if err := w.remove(tb, ix, id, before); err != nil {
			return err
		}
	}
	if after != nil {
		return w.add(tb, ix, id, after)
	}
	return nil
}

func sameValues(a, b []value.Value) bool {
	for i := range a {
		if a[i] != b[i] && !value.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// Build adds the entries of a record to an index that is being built. It may have them.
func (w *Writer) Build(tb *catalog.Table, ix *catalog.Index, id *value.RecordID, values []value.Value) error {
	if ix.Unique() {
		if err := w.release(tb, ix, id, values); err != nil {
			return err
		}
	}
	return w.add(tb, ix, id, values)
}

// release is remove for a unique index that is being built: entries that others claimed meanwhile stay. One that is not
// there is deleted all the same: a builder that is about to write it meets that.
func (w *Writer) release(tb *catalog.Table, ix *catalog.Index, id *value.RecordID, values []value.Value) error {
	own := key.AppendRecordKey(nil, id.Key)
	return Entries(tb, ix, id.Key, values, func(k, _ []byte) error {
		owner, err := w.Tx.Get(k)
		if err != nil {
			return fmt.Errorf("look into index %s: %w", ix.Name, err)
		}
		if len(owner) > 0 && !bytes.Equal(bytes.TrimPrefix(owner, []byte{elementMark}), own) &&
			!keyed(owner) {
			return nil
		}
		return w.Tx.Delete(k)
	})
}

// keyed reports whether an entry names its record in its key.
func keyed(stored []byte) bool { return len(stored) == 1 && stored[0] == elementMark }

func (w *Writer) remove(tb *catalog.Table, ix *catalog.Index, id *value.RecordID, values []value.Value) error {
	unique := ix.Unique()
	if unique && ix.Build.State == catalog.Building {
		return w.release(tb, ix, id, values)
	}
	if err := w.Tx.Delete(w.key(tb, ix, id, values, !unique || exempt(ix, values) || hasList(ix, values))); err != nil {
		return fmt.Errorf("remove an entry of index %s: %w", ix.Name, err)
	}
	if !hasList(ix, values) {
		return nil
	}
	return combinations(ix, values, func(vs []value.Value) error {
		return w.Tx.Delete(w.key(tb, ix, id, vs, !unique || exempt(ix, vs)))
	})
}

func (w *Writer) add(tb *catalog.Table, ix *catalog.Index, id *value.RecordID, values []value.Value) error {
	list := hasList(ix, values)
	if ix.Unique() && !list && !exempt(ix, values) {
		return w.claim(tb, ix, id, values, nil)
	}
	if err := w.Tx.Set(w.key(tb, ix, id, values, true), nil); err != nil {
		return fmt.Errorf("add an entry of index %s: %w", ix.Name, err)
	}
	if !list {
		return nil
	}
	if !ix.Unique() {
		return combinations(ix, values, func(vs []value.Value) error {
			return w.Tx.Set(w.key(tb, ix, id, vs, true), []byte{elementMark})
		})
	}
	return combinations(ix, values, func(vs []value.Value) error {
		if exempt(ix, vs) {
			return w.Tx.Set(w.key(tb, ix, id, vs, true), []byte{elementMark})
		}
		return w.claim(tb, ix, id, vs, []byte{elementMark})
	})
}

// claim takes the entry of a unique index for a record, or says who has it.
func (w *Writer) claim(tb *catalog.Table, ix *catalog.Index, id *value.RecordID, values []value.Value,
	mark []byte) error {
	k := w.key(tb, ix, id, values, false)
	owner, err := w.Tx.Get(k)
	if err != nil {
		return fmt.Errorf("look into index %s: %w", ix.Name, err)
	}
	if owner != nil {
		other, err := key.DecodeIndex(nil, bytes.TrimPrefix(owner, []byte{elementMark}), 0)
		if err != nil {
			return fmt.Errorf("read an entry of index %s: %w", ix.Name, err)
		}
		return violation(ix, values, &value.RecordID{Table: tb.Name, Key: other})
	}
	if err := w.Tx.Set(k, key.AppendRecordKey(mark, id.Key)); err != nil {
		return fmt.Errorf("add an entry of index %s: %w", ix.Name, err)
	}
	return nil
}

// key is an entry's key, in a buffer that the next call overwrites.
func (w *Writer) key(tb *catalog.Table, ix *catalog.Index, id *value.RecordID, values []value.Value,
	withRecord bool) []byte {
	s := tb.Scope
	if withRecord {
		w.buf = key.Index(w.buf[:0], s.NS, s.DB, tb.ID, ix.ID, values, id.Key)
	} else {
		w.buf = key.IndexUnique(w.buf[:0], s.NS, s.DB, tb.ID, ix.ID, values)
	}
	return w.buf
}

// exempt reports whether values are outside uniqueness.
func exempt(ix *catalog.Index, values []value.Value) bool {
	for i, v := range values {
		if v.IsNullish() || isList(v) && v.Len() == 0 && !ix.IsWhole(i) || isBehind(v) {
			return true
		}
	}
	return false
}

func isList(v value.Value) bool { return v.Kind() == value.KindArray || v.Kind() == value.KindSet }

func hasList(ix *catalog.Index, values []value.Value) bool {
	for i, v := range values {
		if isList(v) && !ix.IsWhole(i) {
			return true
		}
	}
	return false
}

// combinations calls f with each way to take one element of each list in values. An empty list stands for itself, but
// in the first place: a search for elements begins there. A list that is one key stands for itself, too.
func combinations(ix *catalog.Index, values []value.Value, f func([]value.Value) error) error {
	for i, v := range values {
		if isList(v) && v.Len() > 0 && !ix.IsWhole(i) {
			return combine(ix, make([]value.Value, 0, len(values)), values, f)
		}
	}
	return nil
}

func combine(ix *catalog.Index, head, rest []value.Value, f func([]value.Value) error) error {
	if len(rest) == 0 {
		return f(head)
	}
	if !isList(rest[0]) || ix.IsWhole(len(head)) || len(head) > 0 && rest[0].Len() == 0 {
		return combine(ix, append(head, rest[0]), rest[1:], f)
	}
	for _, e := range rest[0].Elems() {
		if err := combine(ix, append(head, e), rest[1:], f); err != nil {
			return err
		}
	}
	return nil
}

// Values are the indexed values of a record image, appended to dst. Fields that are no plain paths are left to eval.
func Values(dst []value.Value, ix *catalog.Index, doc value.Value,
	eval func(ast.Expr) (value.Value, error)) ([]value.Value, error) {
	for i, path := range ix.Paths {
		if path == nil {
			x := ix.Define.Fields[i]
			if ix.IsWhole(i) {
				x = ix.Whole[i]
			}
			v, err := eval(x)
			if err != nil {
				return nil, err
			}
			dst = append(dst, v)
			continue
		}
		dst = append(dst, at(doc, path, Kept(ix)))
	}
	return dst, nil
}

// beyond is the name under which an entry keeps the link or geometry that a path leads through: what is behind a link
// may change without the record, so the planner has to look at these records one by one. No field has this name.
const beyond = "\x00"

// behind is the value of a field behind v.
func behind(v value.Value) value.Value {
	return value.ObjectOf(value.NewObject(value.Field{Name: beyond, Value: v}))
}

// isBehind reports whether a value was made by behind.
func isBehind(v value.Value) bool {
	if v.Kind() != value.KindObject || v.Object().Len() != 1 {
		return false
	}
	_, ok := v.Object().Get(beyond)
	return ok
}

// At is the value of a path in a record image; steps over all elements gather a flat array.
func At(v value.Value, path []catalog.Step) value.Value { return at(v, path, false) }

// at is At; with links, what leads through a link or geometry is a value of its own, see behind.
func at(v value.Value, path []catalog.Step, links bool) value.Value {
	for i, st := range path {
		if st.All || v.Kind() == value.KindArray {
			return gather(v, path[i:], links)
		}
		switch v.Kind() {
		case value.KindObject:
			v, _ = v.Object().Get(st.Name)
		case value.KindRecord, value.KindGeometry:
			part, ok := keyPart(v, st.Name)
			switch {
			case ok:
				v = part
			case links:
				return behind(v)
			default:
				return value.None
			}
		default:
			return value.None
		}
	}
	return v
}

// keyPart is the part of a record's key that has a name.
func keyPart(v value.Value, name string) (value.Value, bool) {
	if v.Kind() != value.KindRecord {
		return value.None, false
	}
	return v.Record().Part(name)
}

func gather(v value.Value, path []catalog.Step, links bool) value.Value {
	if !isList(v) {
		return value.None
	}
	if path[0].All {
		path = path[1:]
	}
	if len(path) == 0 {
		return value.ArrayOf(v.Elems())
	}
	var out []value.Value
	for _, e := range v.Elems() {
		switch x := at(e, path, links); {
		case isList(x):
			out = append(out, x.Elems()...)
		case !x.IsNone():
			out = append(out, x)
		}
	}
	return value.ArrayOf(out)
}
