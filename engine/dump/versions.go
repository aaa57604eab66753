package dump

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/history"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// group is what versions have in common that stand in one statement.
type group struct {
	version    uint64
	edge, gone bool
}

// versions writes every version of the records of a table, those of a record newest first: an import makes the first
// one that it meets the record itself. Neighbours of one commit share a statement.
func (w *writer) versions(ctx context.Context, gate *record.Gate, tb *catalog.Table) {
	var now group
	rows := 0
	end := func() {
		if rows > 0 && w.err == nil {
			if !now.gone {
				w.buf = append(w.buf, " ]"...)
			}
			w.buf = append(w.buf, " VERSION "...)
			w.buf = append(datetime(now.version).AppendText(w.buf), ";\n"...)
			_, w.err = w.w.Write(w.buf)
		}
		w.buf, rows = w.buf[:0], 0
	}
	err := gate.EachVersion(ctx, tb, func(id *value.RecordID, version uint64, doc value.Value, edge bool) error {
		g := group{version, edge, doc.IsNone()}
		if g != now || rows == rowsPerInsert || len(w.buf) >= bytesPerInsert {
			end()
			now = g
		}
		switch {
		case rows > 0:
			w.buf = append(w.buf, ", "...)
		case g.gone:
			w.buf = append(w.buf, "DELETE "...)
		case edge:
			w.buf = append(w.buf, "INSERT RELATION [ "...)
		default:
			w.buf = append(w.buf, "INSERT [ "...)
		}
		if g.gone {
			w.buf = appendRecord(w.buf, id)
		} else {
			w.buf = appendLiteral(w.buf, doc)
		}
		rows++
		return w.err
	})
	end()
	if w.err == nil {
		w.err = err
	}
	w.line()
}

func datetime(version uint64) value.Value {
	t := history.Time(version)
	return value.DatetimeOf(value.Datetime{Secs: t.Unix(), Nanos: uint32(t.Nanosecond() % int(time.Second))})
}
