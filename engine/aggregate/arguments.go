package aggregate

import "github.com/nacredb/nacre/engine/value"

// Arguments says what the totals of a group take in of a row.
type Arguments struct {
	Absent []value.Value // by total: what it takes where it reads nothing of the row
	Reads  []bool        // by total: it reads a value of the row
}

// Add adds rows to the totals of groups, one total after the other: row i belongs to groups[i], and values begins with
// what the totals read of these rows, row behind row. It gives the rest of them. It tells kept each value that a total
// keeps. Of several rows that fail the first counts, as if they were added one after the other.
func (a *Arguments) Add(groups []*Group, values []value.Value,
	kept func(value.Value) error) (rest []value.Value, err error) {
	stride := 0 // values of a row
	for _, reads := range a.Reads {
		if reads {
			stride++
		}
	}
	rest = values[stride*len(groups):]
	if len(groups) == 0 {
		return rest, nil
	}
	for j, reads := range a.Reads {
		rows, failed := 0, error(nil)
		switch t := &groups[0].Totals[j]; {
		case !reads && t.op == opCount && t.whole:
			for _, g := range groups {
				g.Totals[j].n++
			}
			continue
		case !reads:
			rows, failed = addAll(groups, j, []value.Value{a.Absent[j]}, 0, kept)
		case t.op == opSum || t.op == opMean:
			rows, failed = sumAll(groups, j, values, stride)
		default:
			rows, failed = addAll(groups, j, values, stride, kept)
		}
		if failed != nil {
			err, groups = failed, groups[:rows] // only earlier rows can change which error is the first
		}
		if reads {
			values = values[min(1, len(values)):]
		}
		if len(groups) == 0 {
			break
		}
	}
	return rest, err
}

// addAll adds column[i*stride] to total j of groups[i]. row is the one that fails.
func addAll(groups []*Group, j int, column []value.Value, stride int,
	kept func(value.Value) error) (row int, err error) {
	keeps := groups[0].Totals[j].Collects()
	for i, g := range groups {
		v := column[i*stride]
		if err = g.Totals[j].Add(v); err == nil && keeps {
			err = kept(v)
		}
		if err != nil {
			return i, err
		}
	}
	return 0, nil
}

// sumAll is addAll for sums.
func sumAll(groups []*Group, j int, column []value.Value, stride int) (row int, err error) {
	for i, g := range groups {
		if t, v := &g.Totals[j], &column[i*stride]; !t.sums(v) {
			if err := t.add(*v); err != nil {
				return i, err
			}
		}
	}
	return 0, nil
}
