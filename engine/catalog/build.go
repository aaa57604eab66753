package catalog

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// BuildState says what an index can be used for.
type BuildState uint8

const (
	Ready    BuildState = iota // it has all records: readers may use it
	Building                   // it is being filled in the background: writers keep it, readers do not use it
	Failed                     // the records do not fit it: no query uses it
)

// Build is how an index was filled, or is. It is stored with the definition.
type Build struct {
	State   BuildState
	Initial int64  // records that were there; of an index that is being built see Job.Done
	Updated int64  // changes that writers made meanwhile
	Reason  string // why it failed
	Retired bool   // by PREPARE REMOVE: writers keep it, readers do without it
}

// The parts of a Build beside a definition.
const (
	buildState   = "state"
	buildInitial = "initial"
	buildUpdated = "updated"
	buildReason  = "reason"
	buildRetired = "retired"
)

// Facts is the form of b that is stored beside the text of a definition.
func (b Build) Facts() *value.Object {
	f := []value.Field{{Name: buildInitial, Value: value.Int(b.Initial)},
		{Name: buildState, Value: value.Int(int64(b.State))},
		{Name: buildUpdated, Value: value.Int(b.Updated)}}
	if b.Reason != "" {
		f = append(f, value.Field{Name: buildReason, Value: value.Str(b.Reason)})
	}
	if b.Retired {
		f = append(f, value.Field{Name: buildRetired, Value: value.Bool(true)})
	}
	return value.NewObject(f...)
}

// BuildOf is how the index was filled whose definition d is.
func BuildOf(d *Def) Build { return buildOf(d.Extra) }

func buildOf(facts *value.Object) Build {
	var b Build
	number := func(name string) int64 {
		if v, ok := facts.Get(name); ok && v.Kind() == value.KindInt {
			return v.Int()
		}
		return 0
	}
	b.State, b.Initial, b.Updated = BuildState(number(buildState)), number(buildInitial), number(buildUpdated)
	if v, ok := facts.Get(buildReason); ok && v.Kind() == value.KindString {
		b.Reason = v.Str()
	}
	_, b.Retired = facts.Get(buildRetired)
	return b
}

// Job is work on the stored data of an index that is done in the background, and gone on with when the store is opened.
type Job struct {
	Scope                Scope  // of the definitions of the table
	Index                uint32 // 0: all that is inside of Scope
	NS, DB, Table, Named string
	// Clean: what it is about is not defined any more, and what is stored of it is removed. Otherwise the index is
	// filled.
	Clean bool
	Ties  Ties   // Clean, of a table: what its records have left elsewhere
	From  []byte // the key of the first record that was not looked at yet; nil: none was
	Done  int64  // records that were looked at
}

// JobOf is the job of filling an index.
func JobOf(tb *Table, ix *Index) *Job {
	return &Job{Scope: tb.Inner(), Index: ix.ID, NS: tb.DB.NS.Name, DB: tb.DB.Name, Table: tb.Name, Named: ix.Name}
}

// CleanJob is the job of removing what is stored inside of a namespace or database that is not defined any more.
func CleanJob(inside Scope, name string) *Job {
	return &Job{Scope: inside, Table: name, Clean: true}
}

// CleanTable is CleanJob for a table.
func CleanTable(tb *Table) *Job {
	return &Job{Scope: tb.Inner(), NS: tb.DB.NS.Name, DB: tb.DB.Name, Table: tb.Name, Clean: true, Ties: tb.Ties()}
}

// Prefixes are those of all that a job removes.
func (j *Job) Prefixes() [][]byte {
	s := j.Scope
	switch {
	case j.Index != 0:
		return key.IndexPrefixes(s.NS, s.DB, s.TB, j.Index)
	case s.TB != 0:
		return key.TablePrefixes(s.NS, s.DB, s.TB)
	case s.DB != 0:
		return key.DatabasePrefixes(s.NS, s.DB)
	}
	return key.NamespacePrefixes(s.NS)
}

func (j *Job) key() []byte {
	return appendID(appendID(appendID(appendID(key.Meta(nil, metaJob), j.Scope.NS), j.Scope.DB), j.Scope.TB), j.Index)
}

// PutJob stores a job, or how far it is, as the CBOR of an object.
func (v *View) PutJob(j *Job) error {
	raw, err := value.AppendCBOR(nil, value.ObjectOf(value.NewObject(
		value.Field{Name: "ns", Value: value.Str(j.NS)}, value.Field{Name: "db", Value: value.Str(j.DB)},
		value.Field{Name: "table", Value: value.Str(j.Table)}, value.Field{Name: "index", Value: value.Str(j.Named)},
		value.Field{Name: "clean", Value: value.Bool(j.Clean)}, value.Field{Name: "ties", Value: j.Ties.facts()},
		value.Field{Name: "from", Value: value.BytesOf(j.From)},
		value.Field{Name: "done", Value: value.Int(j.Done)})))
	if err != nil {
		return fmt.Errorf("store the work on index %s: %w", j.Named, err)
	}
	return v.tx.Set(j.key(), raw)
}

// DeleteJob removes the job of an index, which is done.
func (v *View) DeleteJob(j *Job) error {
	if v.tx.Shared() {
		if err := v.tx.Delete(j.holderKey()); err != nil {
			return err
		}
	}
	return v.tx.Delete(j.key())
}

func (j *Job) holderKey() []byte {
	return append(key.Meta(nil, metaHolder), j.key()[len(key.Meta(nil, metaJob)):]...)
}

// HoldJob notes which of the processes that share the store does a job.
func (v *View) HoldJob(j *Job, process [16]byte) error { return v.tx.Set(j.holderKey(), process[:]) }

// JobHolder is the process that does a job; false: none. It counts as read: a transaction that commits after it was
// that process's.
func (v *View) JobHolder(j *Job) (process [16]byte, ok bool, err error) {
	raw, err := v.tx.Get(j.holderKey())
	if err != nil || len(raw) != len(process) {
		return process, false, err
	}
	return [16]byte(raw), true, nil
}

// Job reads the job of an index as it is stored, which may be another one than asked; nil where nothing is to be done.
func (v *View) Job(of *Job) (*Job, error) {
	raw, err := v.tx.Get(of.key())
	if raw == nil || err != nil {
		return nil, err
	}
	return readJob(of.key(), raw)
}

// Jobs lists all jobs of the store.
func (v *View) Jobs() ([]*Job, error) {
	start, end := key.PrefixRange(key.Meta(nil, metaJob))
	cur := v.tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{})
	defer cur.Close()
	var out []*Job
	for cur.Next() {
		j, err := readJob(cur.Key(), cur.Value())
		if err != nil {
			return nil, err
		}
		out = append(out, j)
	}
	return out, cur.Err()
}

func readJob(k, raw []byte) (*Job, error) {
	ids := k[len(key.Meta(nil, metaJob)):]
	x, err := value.DecodeCBORValue(bytes.Clone(raw), value.DecodeLimits{})
	if err == nil && (x.Kind() != value.KindObject || len(ids) != 16) {
		err = key.ErrMalformed
	}
	if err != nil {
		return nil, fmt.Errorf("read the work on an index: %w", err)
	}
	be := binary.BigEndian
	j := &Job{Scope: Scope{NS: be.Uint32(ids), DB: be.Uint32(ids[4:]), TB: be.Uint32(ids[8:])},
		Index: be.Uint32(ids[12:])}
	o := x.Object()
	for name, to := range map[string]*string{"ns": &j.NS, "db": &j.DB, "table": &j.Table, "index": &j.Named} {
		if s, ok := o.Get(name); ok && s.Kind() == value.KindString {
			*to = s.Str()
		}
	}
	if b, ok := o.Get("clean"); ok {
		j.Clean = value.Truthy(b)
	}
	if t, ok := o.Get("ties"); ok {
		j.Ties = tiesOf(t)
	}
	if b, ok := o.Get("from"); ok && b.Kind() == value.KindBytes && len(b.Bytes()) > 0 {
		j.From = b.Bytes()
	}
	if n, ok := o.Get("done"); ok && n.Kind() == value.KindInt {
		j.Done = n.Int()
	}
	return j, nil
}

// TakePlace gives an index that is Staged the name of the one whose place it takes, which is not defined any more.
func (v *View) TakePlace(ix *Index, b Build) error {
	if err := v.Delete(ix.Def); err != nil {
		return err
	}
	if err := v.write(ix.Scope, ast.DefIndex,
		&record{name: ix.Called(), id: ix.ID, text: ast.Text(ix.Define), extra: b.Facts(),
			by: ix.By.stored()}); err != nil {
		return err
	}
	return v.revise(ix.Def)
}

// SetBuild stores how far the filling of an index is, together with its definition.
func (v *View) SetBuild(ix *Index, b Build) error {
	_, err := v.Put(&Def{Scope: ix.Scope, Kind: ast.DefIndex, Name: ix.Name, Stmt: ix.Define, Extra: b.Facts(),
		By: ix.By})
	return err
}
