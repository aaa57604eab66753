package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// packRows is drain for Out.Packed: rows are encoded as they come, while what they are read from lasts.
func (r *Run) packRows(ctx context.Context, in rows) error {
	out := &value.Packed{}
	if err := r.pack(ctx, out, in); err != nil {
		return err
	}
	r.Out.Packed = out
	return nil
}

func (r *Run) pack(ctx context.Context, out *value.Packed, in rows) error {
	cur, err := storedAsIs(ctx, in)
	if err != nil {
		return err
	}
	if cur != nil {
		return r.packStored(ctx, out, cur)
	}
	scan := plainScan(in)
	for {
		var raw record.Stored
		var doc value.Value
		var ok bool
		if scan != nil {
			raw, doc, ok, err = scan.stored(ctx)
		} else {
			doc, ok, err = in.next(ctx)
		}
		if !ok || err != nil {
			return err
		}
		if room := r.Ex.Limits.Answer - out.Size(); len(raw) > room || value.Exceeds(doc, room) {
			return errs.LargeAnswer(r.Ex.Limits.Answer)
		}
		if raw != nil {
			out.AppendRecord(raw)
		} else {
			out.Append(doc)
		}
		if err := r.packed(ctx, out); err != nil {
			return err
		}
	}
}

// plainScan is the scan of an index that in passes on, where its rows are whole records; else nil.
func plainScan(in rows) *indexRows {
	if pass, ok := in.(*passRows); ok {
		if scan, ok := pass.rows.(*indexRows); ok && scan.filter == nil && !scan.bare && !scan.ids {
			return scan
		}
	}
	return nil
}

// packed is called after each row.
func (r *Run) packed(ctx context.Context, out *value.Packed) error {
	if out.Len() > r.Ex.Limits.Rows {
		return errs.ManyRows(r.Ex.Limits.Rows)
	}
	if err := r.Mem.Reach(out.Size()); err != nil {
		return err
	}
	return r.Tick(ctx)
}

// storedAsIs is the cursor of a walk whose records are the answer as they are stored; nil where something is done to
// them, or some are left out.
func storedAsIs(ctx context.Context, in rows) (*record.Cursor, error) {
	pass, ok := in.(*passRows)
	if !ok {
		return nil, nil
	}
	scan, ok := pass.rows.(*tableRows)
	if !ok || scan.filter != nil {
		return nil, nil
	}
	if err := scan.open(); err != nil || !scan.cur.Plain() {
		return nil, err
	}
	return scan.cur, nil
}

// packStored packs the records of a walk without looking into them.
func (r *Run) packStored(ctx context.Context, out *value.Packed, cur *record.Cursor) error {
	var few [packBatch]record.Stored
	for {
		batch := cur.Batch(few[:0], packBatch)
		for _, st := range batch {
			if out.Size()+len(st) > r.Ex.Limits.Answer {
				return errs.LargeAnswer(r.Ex.Limits.Answer)
			}
			out.AppendRecord(st)
			if err := r.packed(ctx, out); err != nil {
				return err
			}
		}
		if len(batch) < packBatch {
			return cur.Err()
		}
	}
}

// packBatch is how many records are read at once.
const packBatch = 64
