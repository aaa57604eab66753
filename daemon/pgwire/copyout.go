package pgwire

import (
	"context"
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/engine/value"
)

// copyOut sends rows as the data of COPY, each in a message of its own.
type copyOut struct {
	c     *conn
	form  *copyForm
	cols  []column
	quote []bool // FORCE_QUOTE, by columns
	began bool
	head  []byte // of the binary format: it goes with the first row, as some clients expect
	item  []byte // the field at hand
	n     int
}

const binarySignature = "PGCOPY\n\xff\r\n\x00"

func (o *copyOut) begin(cols []column) error {
	o.cols, o.began = cols, true
	for i := range cols {
		o.quote = append(o.quote, o.form.forceQuote["*"] || o.form.forceQuote[cols[i].name])
	}
	format, codes := o.form.response(len(cols))
	o.c.send(&pgproto3.CopyOutResponse{OverallFormat: format, ColumnFormatCodes: codes})
	switch {
	case o.form.format == "binary":
		o.head = []byte(binarySignature + "\x00\x00\x00\x00\x00\x00\x00\x00")
	case o.form.header:
		o.c.wmu.Lock()
		defer o.c.wmu.Unlock()
		start := o.beginData()
		for i, col := range cols {
			if i > 0 {
				o.c.out = append(o.c.out, o.form.delimiter)
			}
			o.c.out = o.form.appendField(o.c.out, []byte(col.name), false)
		}
		return o.endData(start, "\n")
	}
	return nil
}

// beginData begins a message of data, as endData ends it; the conn's wmu is held.
func (o *copyOut) beginData() (start int) {
	start = len(o.c.out)
	o.c.out = append(o.c.out, 'd', 0, 0, 0, 0)
	return start
}

func (o *copyOut) endData(start int, last string) error {
	o.c.out = append(o.c.out, last...)
	if err := o.c.endRow(start); err != nil || len(o.c.out) < flushAt {
		return err
	}
	return o.c.writeOut()
}

// beginRow is beginData for a row.
func (o *copyOut) beginRow() (start int) {
	start = o.beginData()
	if o.form.format == "binary" {
		o.c.out = append(o.c.out, o.head...)
		o.head = nil
		o.c.out = binary.BigEndian.AppendUint16(o.c.out, uint16(len(o.cols)))
	}
	return start
}

func (o *copyOut) endRow(start int) error {
	o.n++
	if o.form.format == "binary" {
		return o.endData(start, "")
	}
	return o.endData(start, "\n")
}

// row implements sink.
func (o *copyOut) row(row []value.Value) error {
	o.c.wmu.Lock()
	defer o.c.wmu.Unlock()
	start := o.beginRow()
	for i := range o.cols {
		o.value(i, row[i])
	}
	return o.endRow(start)
}

// value writes v as column i of the row.
func (o *copyOut) value(i int, v value.Value) {
	oid := o.cols[i].oid
	switch {
	case o.form.format == "binary":
		o.c.out = pgtype.AppendSized(o.c.out, oid, v, true, &o.c.style)
	case pgtype.IsNull(oid, v):
		o.field(i, nil, true)
	default:
		o.item = pgtype.AppendText(o.item[:0], oid, v, &o.c.style)
		o.field(i, o.item, false)
	}
}

// field writes the text of column i of the row.
func (o *copyOut) field(i int, text []byte, null bool) {
	if i > 0 {
		o.c.out = append(o.c.out, o.form.delimiter)
	}
	if null {
		o.c.out = append(o.c.out, o.form.null...)
		return
	}
	o.c.out = o.form.appendField(o.c.out, text, o.quote[i])
}

// scan sends some columns of all records of a table: from their bytes where the engine gives records as they are
// stored, see directScan.
func (o *copyOut) scan(ctx context.Context, r *tableRelation, cols []int) error {
	names := make([]string, len(cols))
	for i, j := range cols {
		names[i] = r.cols[j].Name
	}
	d := &directScan{c: o.c, r: r, picked: cols, slots: value.NewSlots(names)}
	text, vars := r.query(&sql.Scan{}, everyRow, 0, true)
	return r.run(ctx, text, vars, false, func(rows []value.Value) error {
		o.c.wmu.Lock()
		defer o.c.wmu.Unlock()
		for _, rec := range rows {
			if err := o.record(d, rec); err != nil {
				return err
			}
		}
		return nil
	})
}

// record sends the row of a record. One with a value that its column cannot have leaves nothing behind.
func (o *copyOut) record(d *directScan, rec value.Value) error {
	start := o.beginRow()
	stored := rec.Kind() == value.KindObject && d.slots.Open(rec.Object())
	for i, j := range d.picked {
		var item []byte
		if stored {
			item = d.slots.Item(i)
			if o.stored(i, item) {
				continue
			}
		}
		v, err := d.column(rec, item, j)
		if err != nil {
			o.c.out = o.c.out[:start]
			return err
		}
		o.value(i, v)
	}
	return o.endRow(start)
}

// stored writes a value of a stored record as column i, where it needs not be read for that.
func (o *copyOut) stored(i int, item []byte) (ok bool) {
	oid := o.cols[i].oid
	if o.form.format == "binary" {
		o.c.out, ok = pgtype.AppendStored(o.c.out, item, oid, true, &o.c.style)
		return ok
	}
	const size = 4 // of the length before it
	if o.item, ok = pgtype.AppendStored(o.item[:0], item, oid, false, &o.c.style); ok {
		o.field(i, o.item[size:], int32(binary.BigEndian.Uint32(o.item)) < 0)
	}
	return ok
}

func (o *copyOut) end() (string, error) {
	if err := o.trailer(); err != nil {
		return "", err
	}
	o.c.send(&pgproto3.CopyDone{})
	return "COPY " + itoa(o.n), nil
}

// trailer ends the binary format.
func (o *copyOut) trailer() error {
	if o.form.format != "binary" {
		return nil
	}
	o.c.wmu.Lock()
	defer o.c.wmu.Unlock()
	start := o.beginData()
	o.c.out = append(o.c.out, o.head...)
	return o.endData(start, "\xff\xff")
}
