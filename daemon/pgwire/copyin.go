package pgwire

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// Rows of COPY are given to the engine together: so many, or as many as come in so many bytes.
const (
	copyBatch = 500
	copyBytes = 1 << 20
)

// copyRoom is for how many fields of records there is made room at once, where one record has fewer.
const copyRoom = 4096

// copyIn takes the rows of COPY … FROM STDIN.
type copyIn struct {
	c    *conn
	k    *copyStatement
	r    *tableRelation
	cols []int
	tx   *engine.Tx
	buf  []byte
	need int // buf is read again when it has so many bytes: a row in small pieces is not read at each of them
	held int
	head bool // the header has passed
	line int
	rows []value.Value
	size int // bytes that rows came in
	n    int
	over bool // the client has marked the end of the data

	fields []copyField     // of the row that is read
	places []copyPlace     // what becomes of the columns, by the names of fields
	room   []value.Field   // for the records of the next rows
	texts  strings.Builder // of fields of the rows that wait; see keep
	text   string          // the statement that stores them
}

// copyPlace is the place of a column of COPY in the records that it makes.
type copyPlace struct {
	col    *sql.Column
	at     int  // which field of a row it is
	linked bool // it holds the ids of records
	keeps  bool // FORCE_NOT_NULL
	forces bool // FORCE_NULL
}

// prepare finds out once what is the same for all rows.
func (in *copyIn) prepare() {
	form := &in.k.form
	for i, j := range in.cols {
		col := &in.r.cols[j]
		in.places = append(in.places, copyPlace{col: col, at: i, keeps: form.notNull[col.Name],
			forces: form.forceNull[col.Name], linked: in.r.t.Columns[j].Ref != "" || in.r.linked(col.Name)})
	}
	slices.SortStableFunc(in.places, func(a, b copyPlace) int { return strings.Compare(a.col.Name, b.col.Name) })
	in.text = "INSERT INTO "
	if in.r.relation() {
		in.text = "INSERT RELATION INTO "
	}
	in.text += value.QuoteIdent(in.k.table) + " $_rows RETURN NONE"
}

// receive runs COPY … FROM STDIN in one transaction.
func (k *copyStatement) receive(c *conn) (tag string, err error) {
	in := &copyIn{c: c, k: k}
	err = c.work("COPY "+k.table, func(ctx context.Context) error {
		if in.r, in.cols, err = k.relation(ctx, c); err != nil {
			return err
		}
		in.prepare()
		if in.tx = c.tx.tx; in.tx == nil {
			in.tx, err = c.session.Begin(ctx)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	defer func() { c.mem.Release(in.held) }()
	format, codes := k.form.response(len(in.cols))
	c.send(&pgproto3.CopyInResponse{OverallFormat: format, ColumnFormatCodes: codes})
	if err = c.flush(); err == nil {
		err = in.messages()
	}
	if c.tx.tx != nil {
		return "COPY " + itoa(in.n), err
	}
	if err != nil {
		return "", errors.Join(err, in.tx.Cancel(context.WithoutCancel(c.ctx)))
	}
	return "COPY " + itoa(in.n), c.work("COMMIT", in.tx.Commit)
}

// messages reads the messages of the client up to the end of the data.
func (in *copyIn) messages() error {
	for {
		kind, body, err := in.c.readMessage(in.c.srv.Limits.Message)
		if err != nil {
			return err
		}
		switch kind {
		case 'd':
			err = in.data(body)
		case 'c':
			in.c.releaseMessage(len(body))
			return in.finish()
		case 'f':
			reason, _, _ := cString(body)
			err = sqlstate.New(sqlstate.Cancelled, "COPY from stdin failed: %s", reason)
		case 'H', 'S': // they wait for the end
		case 'X':
			err = errBye
		default:
			err = sqlstate.Fatal(sqlstate.ProtocolViolation, "unexpected message type 0x%02X during COPY from stdin",
				kind)
		}
		in.c.releaseMessage(len(body))
		if err != nil {
			return err
		}
	}
}

// data takes a piece of the data.
func (in *copyIn) data(b []byte) error {
	if in.over {
		return nil
	}
	in.buf = append(in.buf, b...)
	if more := cap(in.buf) - in.held; more > 0 {
		if err := in.c.mem.Take(more); err != nil {
			return err
		}
		in.held += more
	}
	most := 2 * in.c.srv.Limits.Message
	if len(in.buf) < in.need && int64(len(in.buf)) <= most {
		return nil
	}
	if err := in.parse(false); err != nil {
		return err
	}
	if int64(len(in.buf)) > most {
		return sqlstate.New(sqlstate.TooMuch, "a row of COPY is too long")
	}
	in.need = len(in.buf) + len(in.buf)/4
	return nil
}

func (in *copyIn) parse(last bool) error {
	used := 0
	defer func() { in.buf = append(in.buf[:0], in.buf[used:]...) }()
	for !in.over && used < len(in.buf) {
		if in.k.form.format == "binary" && !in.head {
			n, err := binaryHeader(in.buf[used:])
			if err != nil || n == 0 {
				return err
			}
			used, in.head = used+n, true
			continue
		}
		fields, n, end, err := in.k.form.nextRow(in.fields[:0], in.buf[used:], last)
		in.fields = fields
		if err != nil {
			return in.at(err)
		}
		if n == 0 {
			return nil
		}
		used += n
		in.size += n
		if in.line++; end {
			in.over = true
			return nil
		}
		if in.k.form.header && !in.head {
			in.head = true
			if err := in.header(fields); err != nil {
				return err
			}
			continue
		}
		if err := in.row(fields); err != nil {
			return in.at(err)
		}
	}
	return nil
}

// at says where an error is.
func (in *copyIn) at(err error) error {
	e, ok := errors.AsType[*sqlstate.Error](err)
	if !ok {
		return err
	}
	where := *e
	where.Where = "COPY " + in.k.table + ", line " + itoa(in.line)
	return &where
}

func (in *copyIn) header(fields []copyField) error {
	if !in.k.form.match {
		return nil
	}
	for i, f := range fields {
		if i >= len(in.cols) || in.r.cols[in.cols[i]].Name != string(f.b) {
			return sqlstate.New(sqlstate.BadCopy, "column name mismatch in header line field %d: got %q", i+1, f.b)
		}
	}
	return nil
}

// row reads the fields of a row, and keeps the record for the next batch.
func (in *copyIn) row(fields []copyField) error {
	if len(fields) > len(in.cols) {
		return sqlstate.New(sqlstate.BadCopy, "extra data after last expected column")
	}
	if len(fields) < len(in.cols) {
		return sqlstate.New(sqlstate.BadCopy, "missing data for column %q", in.r.cols[in.cols[len(fields)]].Name)
	}
	if cap(in.room)-len(in.room) <= len(fields) {
		in.room = make([]value.Field, 0, max(len(fields)+1, min(copyBatch*(len(fields)+1), copyRoom)))
	}
	start := len(in.room)
	for i := range in.places {
		p := &in.places[i]
		v, err := in.value(p, &fields[p.at])
		if err != nil {
			return err
		}
		if !v.IsNone() {
			in.room = append(in.room, value.Field{Name: p.col.Name, Value: v})
		}
	}
	content := value.ObjectOf(value.ObjectOfSorted(in.room[start:len(in.room):len(in.room)]))
	if in.rows = append(in.rows, content); len(in.rows) < copyBatch && in.size < copyBytes {
		return nil
	}
	return in.insert()
}

// value reads a field of a row; NONE where it is NULL.
func (in *copyIn) value(p *copyPlace, f *copyField) (v value.Value, err error) {
	if f.null && !p.keeps || p.forces && string(f.b) == in.k.form.null {
		return value.None, nil
	}
	if in.k.form.format == "binary" {
		v, err = pgtype.Decode(p.col.OID, f.b)
	} else {
		v, err = pgtype.Parse(p.col.OID, in.keep(f.b), &in.c.style)
	}
	switch {
	case err != nil || v.IsNone():
		return value.None, err
	case p.col.Name == "id":
		return in.r.recordOf(v)
	case p.linked && v.Kind() == value.KindString:
		return in.r.link(p.col.Name, v)
	}
	return pgtype.StoredDuration(v)
}

// textBlock is how many bytes of texts of fields there is made room for at once.
const textBlock = 16 << 10

// keep is a copy of b as a string. Small ones share an allocation.
func (in *copyIn) keep(b []byte) string {
	if len(b) > textBlock/16 {
		return string(b)
	}
	if in.texts.Cap()-in.texts.Len() < len(b) {
		in.texts.Reset()
		in.texts.Grow(textBlock)
	}
	at := in.texts.Len()
	in.texts.Write(b)
	return in.texts.String()[at:]
}

// insert gives the records that wait to the engine.
func (in *copyIn) insert() error {
	if len(in.rows) == 0 {
		return nil
	}
	rows := value.NewObject(value.Field{Name: "_rows", Value: value.ArrayOf(in.rows)})
	n := len(in.rows)
	in.rows, in.room, in.size = make([]value.Value, 0, copyBatch), nil, 0
	return in.c.work("COPY "+in.k.table, func(ctx context.Context) error {
		res, err := in.c.srv.RPC.Execute(ctx, in.c.session, in.tx, in.text, rows)
		if err != nil {
			return err
		}
		if res[0].Err != nil {
			return res[0].Err
		}
		in.n += n
		return nil
	})
}

// finish takes what is left at the end of the data.
func (in *copyIn) finish() error {
	if err := in.parse(true); err != nil {
		return err
	}
	if !in.over && len(in.buf) > 0 {
		return in.at(sqlstate.New(sqlstate.BadCopy, "unexpected EOF in COPY data"))
	}
	return in.insert()
}
