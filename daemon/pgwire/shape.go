package pgwire

import (
	"slices"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// shape is the columns that rows of the language are given in.
type shape struct {
	cols   []column
	json   bool // one column holds the whole row
	single bool // one column holds the row as it is
}

var jsonShape = &shape{cols: jsonColumn, json: true}

// shapeOf finds columns for rows: one for each name of objects, in the order of the projections, then by name; else one
// column named value. Its types are those that hold all the values.
func shapeOf(rows []value.Value, order []string) *shape {
	if len(rows) == 0 {
		if len(order) > 0 {
			s := &shape{}
			for _, name := range order {
				s.cols = append(s.cols, column{name: name, oid: pgtype.Text})
			}
			return s
		}
		return &shape{cols: []column{{name: "value", oid: pgtype.Text}}, single: true}
	}
	types := map[string]pgtype.OID{}
	for _, row := range rows {
		if row.Kind() != value.KindObject {
			return singleShape(rows)
		}
		for _, f := range row.Object().Fields() {
			types[f.Name] = widen(types[f.Name], typeOf(f.Value))
		}
	}
	s := &shape{}
	for _, name := range order {
		if oid, ok := types[name]; ok {
			s.cols = append(s.cols, column{name: name, oid: settled(oid)})
			delete(types, name)
		}
	}
	rest := make([]string, 0, len(types))
	for name := range types {
		rest = append(rest, name)
	}
	slices.Sort(rest)
	for _, name := range rest {
		s.cols = append(s.cols, column{name: name, oid: settled(types[name])})
	}
	return s
}

func singleShape(rows []value.Value) *shape {
	var oid pgtype.OID
	for _, row := range rows {
		oid = widen(oid, typeOf(row))
	}
	return &shape{cols: []column{{name: "value", oid: settled(oid)}}, single: true}
}

// settled is text where all values were NULL.
func settled(oid pgtype.OID) pgtype.OID {
	if oid == 0 {
		return pgtype.Text
	}
	return oid
}

// typeOf is the type of one value; 0: NULL.
func typeOf(v value.Value) pgtype.OID {
	if v.IsNullish() {
		return 0
	}
	return pgtype.TypeOf(v)
}

// widen is the type that holds the values of two.
func widen(a, b pgtype.OID) pgtype.OID {
	switch {
	case a == 0 || a == b:
		return b
	case b == 0:
		return a
	}
	number := func(oid pgtype.OID) bool { return oid == pgtype.Int8 || oid == pgtype.Float8 || oid == pgtype.Numeric }
	if number(a) && number(b) {
		if a == pgtype.Numeric || b == pgtype.Numeric {
			return pgtype.Numeric
		}
		return pgtype.Float8
	}
	return pgtype.JSONB
}

// row gives the values of a row, one for each column.
func (s *shape) row(row value.Value) ([]value.Value, error) {
	if s.json {
		if row.IsNone() {
			row = value.Null
		}
		return []value.Value{row}, nil
	}
	out := make([]value.Value, len(s.cols))
	if s.single {
		v, err := s.fit(0, row)
		out[0] = v
		return out, err
	}
	if row.Kind() != value.KindObject {
		return nil, misfit("value", row, "an object")
	}
	for i := range s.cols {
		v, ok := row.Object().Get(s.cols[i].name)
		if !ok {
			continue
		}
		v, err := s.fit(i, v)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// fit makes v a value of the type of column i.
func (s *shape) fit(i int, v value.Value) (value.Value, error) {
	if v.IsNullish() {
		return value.None, nil
	}
	want, got := s.cols[i].oid, pgtype.TypeOf(v)
	switch {
	case want == got, want == pgtype.JSONB:
		return v, nil
	case want == pgtype.Float8 && got == pgtype.Int8:
		return value.Float(float64(v.Int())), nil
	case want == pgtype.Numeric && (got == pgtype.Int8 || got == pgtype.Float8):
		return v, nil
	}
	return value.None, misfit(s.cols[i].name, v, pgtype.Format(want))
}

// misfit is a row that does not fit the columns that its client was told of.
func misfit(name string, v value.Value, want string) error {
	return sqlstate.New(sqlstate.InvalidText, "a later value of column %q is a %s, not %s as those before", name,
		v.Kind(), want).
		Hinted("Cast it in the query, or run SET result_types = 'jsonb'.")
}
