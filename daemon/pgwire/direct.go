package pgwire

import (
	"context"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/engine/value"
)

// directScan sends the records of a table to the client, where the rows of a query are no more than some of their
// columns, and its conditions no more than those of the SELECT that reads them. A record that the engine gives as it is
// stored goes out from its bytes, without values in between.
//
// SECURITY: the records come from the same SELECT as in any other scan. Where permissions or computed fields have a
// part in what the user sees, the engine gives records that are not as they are stored, and the rows of those are made
// in the ordinary way.
type directScan struct {
	c      *conn
	r      *tableRelation
	scan   *sql.Scan
	picked []int // the columns of the table that are sent
	cells  []cell
	slots  *value.Slots // of picked
	n      int          // rows sent

	room [8]cell // for cells
}

// cell says how a column is sent.
type cell struct {
	oid      pgtype.OID
	asBinary bool
	asStored bool // see tableRelation.asStored
}

// direct is the scan that does the work of a plan; nil where the plan is more than a scan, or where the rows do not go
// to the client at once.
func (p *sqlPlan) direct(ctx context.Context, env *sqlEnv, k *call) (*directScan, error) {
	w, ok := k.out.(*wireSink)
	if !ok || p.plan == nil {
		return nil, nil
	}
	rel, picked := p.plan.Straight()
	r, ok := rel.(*tableRelation)
	if !ok {
		return nil, nil
	}
	scan, err := p.plan.StraightScan(ctx, env, k.args)
	if err != nil || !r.exactly(scan.Filters) {
		return nil, err
	}
	if p.slots == nil {
		names := make([]string, len(picked))
		for i, j := range picked {
			names[i] = r.cols[j].Name
		}
		p.slots = value.NewSlots(names)
	}
	d := &directScan{c: env.c, r: r, scan: scan, picked: picked, slots: p.slots}
	d.cells = d.room[:0]
	for i, j := range picked {
		d.cells = append(d.cells, cell{r.cols[j].OID, format(w.formats, i) == 1, r.asStored(j)})
	}
	return d, nil
}

// exactly reports whether query drops all rows that do not meet the filters: exact, or the name of a record that the
// record found has.
func (r *tableRelation) exactly(filters []sql.Filter) bool {
	if len(filters) == 0 {
		return true
	}
	f := &filters[0]
	if f.Column != 0 {
		return r.exact(filters)
	}
	return f.Op == "=" && r.Keyed(f.Value) && r.exact(filters[1:])
}

// run sends the rows.
func (d *directScan) run(ctx context.Context) error {
	defer d.slots.Close()
	text, vars := d.r.query(d.scan, everyRow, 0, true)
	return d.r.run(ctx, text, vars, false, d.send)
}

// send writes rows.
func (d *directScan) send(rows []value.Value) error {
	d.c.wmu.Lock()
	defer d.c.wmu.Unlock()
	for _, rec := range rows {
		if err := d.row(rec); err != nil {
			return err
		}
		if d.n++; len(d.c.out) < flushAt {
			continue
		}
		if err := d.c.writeOut(); err != nil {
			return err
		}
	}
	return nil
}

// row writes the row of a record. A record with a value that its column cannot have leaves nothing behind.
func (d *directScan) row(rec value.Value) error {
	c := d.c
	start := c.beginRow(len(d.cells))
	out := c.out
	stored := rec.Kind() == value.KindObject && d.slots.Open(rec.Object())
	for i := range d.cells {
		cell := &d.cells[i]
		var item []byte
		if stored {
			item = d.slots.Item(i)
			if cell.asStored {
				var ok bool
				if out, ok = pgtype.AppendStored(out, item, cell.oid, cell.asBinary, &c.style); ok {
					continue
				}
			}
		}
		v, err := d.column(rec, item, d.picked[i])
		if err != nil {
			c.out = out[:start]
			return err
		}
		out = pgtype.AppendSized(out, cell.oid, v, cell.asBinary, &c.style)
	}
	c.out = out
	return c.endRow(start)
}

// column is column j of a record, from the item where that is not nil.
func (d *directScan) column(rec value.Value, item []byte, j int) (value.Value, error) {
	if item == nil {
		return d.r.column(rec, j)
	}
	v, _ := value.StoredValue(item)
	return d.r.fit(j, v)
}
