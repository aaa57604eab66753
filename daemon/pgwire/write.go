package pgwire

import (
	"encoding/binary"
	"errors"
	"math"
	"net"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// flushAt is how many bytes of answers wait before they leave by themselves, keepBusy the largest buffer that stays
// while the client waits for an answer, and keepOut while it does not.
const (
	flushAt  = 64 << 10
	keepBusy = 4 * flushAt
	keepOut  = 4 << 10
)

// send appends a message to what leaves with the next flush.
func (c *conn) send(m pgproto3.BackendMessage) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	out, err := m.Encode(c.out)
	if err != nil { // a message too long for its length: no client can take it
		c.srv.Log.Error("a message cannot be sent", "err", err)
		return
	}
	c.out = out
}

// busy notes that the client waits for an answer: notifications wait, too.
func (c *conn) busy() {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.idle = false
}

// flush sends what waits.
func (c *conn) flush() error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	return c.writeOut()
}

// writeOut sends what waits; c.wmu is held. Each piece has the time of a write, so a client may take long for much.
func (c *conn) writeOut() error {
	for rest := c.out; len(rest) > 0; {
		n := min(len(rest), flushAt)
		_ = c.raw.SetWriteDeadline(time.Now().Add(c.srv.Limits.SendTimeout))
		written, err := c.net.Write(rest[:n])
		c.srv.RPC.Metrics.Network(0, written)
		if err != nil {
			if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
				c.slow = true
				c.srv.Log.Info("connection closed: the client does not read", "client", c.client)
			}
			c.out = nil
			return errBye
		}
		rest = rest[n:]
	}
	if n := cap(c.out); n > keepBusy || c.idle && n > keepOut {
		c.out = nil
	}
	c.out = c.out[:0]
	return nil
}

// column describes a column to a client.
type column struct {
	name  string
	oid   pgtype.OID
	table uint32 // object id, or 0
	attr  int16
}

// mostColumns is how many columns an answer may have.
const mostColumns = 32767

// describe sends a RowDescription. formats as in Bind.
func (c *conn) describe(cols []column, formats []int16) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	be, start := binary.BigEndian, len(c.out)
	out := be.AppendUint16(append(c.out, 'T', 0, 0, 0, 0), uint16(len(cols)))
	for i, col := range cols {
		out = append(append(out, col.name...), 0)
		out = be.AppendUint16(be.AppendUint32(out, col.table), uint16(col.attr))
		out = be.AppendUint16(be.AppendUint32(out, uint32(col.oid)), uint16(pgtype.LenOf(col.oid)))
		out = be.AppendUint16(be.AppendUint32(out, noModifier), uint16(format(formats, i)))
	}
	be.PutUint32(out[start+1:], uint32(len(out)-start-1))
	c.out = out
}

// noModifier is the modifier of types that have none, -1.
const noModifier = math.MaxUint32

// complete sends a CommandComplete.
func (c *conn) complete(tag string) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.out = binary.BigEndian.AppendUint32(append(c.out, 'C'), uint32(4+len(tag)+1))
	c.out = append(append(c.out, tag...), 0)
}

// format is the format of column i.
func format(formats []int16, i int) int16 {
	switch len(formats) {
	case 0:
		return 0
	case 1:
		return formats[0]
	}
	if i < len(formats) {
		return formats[i]
	}
	return 0
}

// sendRow sends a DataRow, and what waits where that is much.
func (c *conn) sendRow(cols []column, row []value.Value, formats []int16) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	start := c.beginRow(len(cols))
	for i := range cols {
		c.out = pgtype.AppendSized(c.out, cols[i].oid, row[i], format(formats, i) == 1, &c.style)
	}
	if err := c.endRow(start); err != nil || len(c.out) < flushAt {
		return err
	}
	return c.writeOut()
}

// beginRow begins a DataRow, endRow puts its length in; c.wmu is held. A row that is too long is taken back.
func (c *conn) beginRow(cols int) (start int) {
	start = len(c.out)
	c.out = append(c.out, 'D', 0, 0, 0, 0)
	c.out = binary.BigEndian.AppendUint16(c.out, uint16(cols))
	return start
}

func (c *conn) endRow(start int) error {
	n := len(c.out) - start - 1
	if n > 1<<31-1 {
		c.out = c.out[:start]
		return sqlstate.New(sqlstate.FeatureNotSupported, "result row exceeds the maximum Postgres wire size")
	}
	binary.BigEndian.PutUint32(c.out[start+1:], uint32(n))
	return nil
}

// fail sends an ErrorResponse.
func (c *conn) fail(e *sqlstate.Error) {
	severity := "ERROR"
	if e.Fatal {
		severity = "FATAL"
	}
	c.send(errorResponse(e, severity))
}

func errorResponse(e *sqlstate.Error, severity string) *pgproto3.ErrorResponse {
	m := &pgproto3.ErrorResponse{Severity: severity, SeverityUnlocalized: severity, Code: string(e.Code),
		Message: wireText(e.Msg),
		Detail:  wireText(e.Detail), Hint: wireText(e.Hint), Where: wireText(e.Where), Position: int32(e.Position),
		TableName: wireText(e.Table), ColumnName: wireText(e.Column), ConstraintName: wireText(e.Constraint)}
	if e.Table != "" {
		m.SchemaName = publicSchema
	}
	return m
}

const publicSchema = "public"

// wireText is s as a string that ends with a zero byte can carry it.
func wireText(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] == 0 || s[i] >= utf8.RuneSelf && !utf8.ValidString(s) {
			b := make([]rune, 0, len(s))
			for _, r := range s {
				if r == 0 {
					r = utf8.RuneError
				}
				b = append(b, r)
			}
			return string(b)
		}
	}
	return s
}

// notice sends a NoticeResponse where the client wants to hear of it.
func (c *conn) notice(severity string, code sqlstate.Code, text string) {
	if c.settings.quiet(severity) {
		return
	}
	e := errorResponse(&sqlstate.Error{Code: code, Msg: text}, severity)
	n := pgproto3.NoticeResponse(*e)
	c.send(&n)
}
