package pgwire

import (
	"context"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// directScan sends the records of a table to the client, where the rows of a query are no more than some of their
// columns. A record that the engine gives as it is stored goes out from its bytes, without values in between.
//
// SECURITY: the records come from the same SELECT as in any other scan. Where permissions or computed fields have a
// part in what the user sees, the engine gives records that are not as they are stored, and the rows of those are made
// in the ordinary way.
type directScan struct {
	c       *conn
	r       *tableRelation
	picked  []int // the columns of the table that are sent
	formats []int16
	slots   *value.Slots // of picked
	failed  error
	n       int // rows sent
}

// direct is the scan that does the work of a plan; ok is false where the plan is more than a scan, or where the rows do
// not go to the client at once.
func (p *sqlPlan) direct(c *conn, k *call) (d *directScan, ok bool) {
	w, ok := k.out.(*wireSink)
	if !ok || p.plan == nil {
		return nil, false
	}
	r, ok := p.plan.Straight.(*tableRelation)
	if !ok {
		return nil, false
	}
	names := make([]string, len(p.plan.Picked))
	for i, j := range p.plan.Picked {
		names[i] = r.cols[j].Name
	}
	return &directScan{c: c, r: r, picked: p.plan.Picked, formats: w.formats, slots: value.NewSlots(names)}, true
}

// run sends the rows.
func (d *directScan) run(ctx context.Context) error {
	wanted := make([]bool, len(d.r.cols))
	for _, j := range d.picked {
		wanted[j] = true
	}
	text, vars := d.r.query(&sql.Scan{Columns: wanted})
	if err := d.r.stream()(ctx, text, vars, d); err != nil {
		return err
	}
	return d.failed
}

// Begin implements engine.Sink.
func (d *directScan) Begin(int) error { return nil }

// Rows implements engine.Sink.
func (d *directScan) Rows(_ int, rows []value.Value) error {
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
func (d *directScan) row(rec value.Value) (err error) {
	c := d.c
	start := c.beginRow(len(d.picked))
	stored := rec.Kind() == value.KindObject && d.slots.Open(rec.Object())
	for i, j := range d.picked {
		asBinary := format(d.formats, i) == 1
		var item []byte
		if stored {
			var ok bool
			item = d.slots.Item(i)
			if c.out, ok = pgtype.AppendStored(c.out, item, d.r.cols[j].OID, asBinary, &c.style); ok {
				continue
			}
		}
		v, err := d.column(rec, item, j)
		if err != nil {
			c.out = c.out[:start]
			return err
		}
		c.out = pgtype.AppendSized(c.out, d.r.cols[j].OID, v, asBinary, &c.style)
	}
	return c.endRow(start)
}

// column is column j of a record, from the item where that is not nil.
func (d *directScan) column(rec value.Value, item []byte, j int) (value.Value, error) {
	if item == nil {
		return d.r.column(rec, j)
	}
	v, _ := value.StoredValue(item)
	return fitColumn(&d.r.cols[j], v)
}

// Finished implements engine.Sink.
func (d *directScan) Finished(_ int, r *engine.Result, inRows bool) error {
	switch {
	case r.Err != nil:
		d.failed = r.Err
	case !inRows && r.Value.Kind() == value.KindArray:
		return d.Rows(0, r.Value.Elems())
	}
	return nil
}
