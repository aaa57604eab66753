package sql

import (
	"slices"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// upsert is what an INSERT does about rows that are in its way.
type upsert struct {
	table string
	rel   Relation
	cols  []string  // of the INSERT
	key   UniqueKey // that is looked at; without a name: none, and conflicts are errors
	at    []int     // its columns, in those of the relation
	// Of DO UPDATE. The names are those of the row that is there, then of the one that was to be inserted.
	set   []string
	sets  []*bound // nil: DO NOTHING
	where []*bound
}

// onConflict binds ON CONFLICT.
func (b *binder) onConflict(up *upsert, c *conflict, ns *names) (err error) {
	if up.key, err = conflictKey(up.rel, c); err != nil {
		return err
	}
	for _, name := range up.key.Columns {
		up.at = append(up.at, slices.IndexFunc(up.rel.Columns(), func(col Column) bool { return col.Name == name }))
	}
	switch {
	case c.set == nil:
		return nil
	case up.key.Name == AnyKey:
		return sqlstate.New(sqlstate.SyntaxError,
			"ON CONFLICT DO UPDATE requires inference specification or constraint name")
	}
	both := &names{where: "ON CONFLICT", cols: slices.Clone(ns.cols)}
	for _, col := range ns.cols {
		col.table, col.hidden = "excluded", true
		both.cols = append(both.cols, col)
	}
	if up.set, up.sets, err = b.sets(c.set, up.rel, both); err != nil || c.where == nil {
		return err
	}
	cond, err := b.condition(c.where, both)
	up.where = []*bound{cond}
	return err
}

// conflictKey is the unique key that ON CONFLICT names.
func conflictKey(rel Relation, c *conflict) (UniqueKey, error) {
	if c.cols == nil && c.constraint == "" {
		return UniqueKey{Name: AnyKey}, nil
	}
	for _, name := range c.cols {
		if _, err := columnOf(rel, name); err != nil {
			return UniqueKey{}, err
		}
	}
	var keys []UniqueKey
	if u, ok := rel.(Unique); ok {
		keys = u.UniqueKeys()
	}
	wanted := sorted(c.cols)
	for _, k := range keys {
		if c.cols == nil && k.Name == c.constraint || c.cols != nil && slices.Equal(wanted, sorted(k.Columns)) {
			return k, nil
		}
	}
	if c.cols == nil {
		return UniqueKey{}, sqlstate.New(sqlstate.UndefinedObject, "constraint %q does not exist", c.constraint)
	}
	return UniqueKey{}, sqlstate.New(sqlstate.InvalidColumnRef,
		"there is no unique or exclusion constraint matching the ON CONFLICT specification")
}

// sorted are the different ones of names, in order.
func sorted(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return slices.Compact(out)
}

// touched has the ids of the rows that one statement has made or changed; nil where it cannot come upon its own.
type touched map[string]struct{}

// note notes a row, which may be nil.
func (t touched) note(rt *runtime, row []value.Value) error {
	if t == nil || row == nil { // nil rows are not found either
		return nil
	}
	t[row[0].Text()] = struct{}{}
	return rt.hold(row[:1])
}

// insert makes a row, or does what is asked for about the one that is in its way. made is nil where nothing was made or
// changed, or may be seen of it. own are the rows of the same statement before this one.
func (up *upsert) insert(rt *runtime, to Writer, row []value.Value, own touched) (made []value.Value, err error) {
	made, conflict, err := to.Insert(up.table, up.cols, row, up.key.Name)
	if !conflict || err == nil && up.sets == nil {
		if err == nil {
			err = own.note(rt, made)
		}
		return made, err
	}
	wide, found, failed := up.there(rt, row)
	switch {
	case failed != nil:
		return nil, failed
	case !found: // err is of another key
		return nil, err
	case up.sets == nil:
		return nil, nil
	}
	if _, again := own[wide[0].Text()]; again {
		return nil, sqlstate.New(sqlstate.CardinalityViolation,
			"ON CONFLICT DO UPDATE command cannot affect row a second time")
	}
	s := &scope{rt: rt, row: wide}
	if ok, err := all(up.where, s); err != nil || !ok {
		return nil, err
	}
	vs, err := evalAll(up.sets, s)
	if err != nil {
		return nil, err
	}
	if made, err = to.Update(up.table, wide[0], up.set, vs); err == nil {
		err = own.note(rt, made)
	}
	return made, err
}

// there finds the row with the same key as one of an INSERT, if it may be seen: its columns, then those of the INSERT.
func (up *upsert) there(rt *runtime, row []value.Value) (wide []value.Value, found bool, err error) {
	cols := up.rel.Columns()
	wide = make([]value.Value, 2*len(cols))
	excluded := wide[len(cols):]
	for i, name := range up.cols {
		excluded[slices.IndexFunc(cols, func(col Column) bool { return col.Name == name })] = row[i]
	}
	if id := excluded[0]; !id.IsNone() {
		if excluded[0], err = up.rel.(Unique).Named(id); err != nil {
			return nil, false, err
		}
	}
	scan := &Scan{Now: true}
	for _, at := range up.at {
		if excluded[at].IsNone() { // it is equal to nothing
			return wide, false, nil
		}
		scan.Filters = append(scan.Filters, Filter{Column: at, Op: "=", Value: excluded[at]})
	}
	err = up.rel.Scan(rt.ctx, scan, func(r []value.Value) error {
		for _, at := range up.at {
			if r[at].IsNone() || order(cols[at].OID, r[at], excluded[at]) != 0 {
				return nil
			}
		}
		found = true
		copy(wide, r)
		return nil
	})
	return wide, found, err
}
