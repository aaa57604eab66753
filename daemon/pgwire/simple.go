package pgwire

import (
	"context"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// simple runs the statements of a text one after another, up to the first that fails. Each commits alone, outside of a
// transaction block.
func (c *conn) simple(text string) {
	c.lateBind = true
	list, done, err := c.split(text)
	c.lateBind = false
	if err != nil {
		c.broken()
		c.fail(c.translate(err))
		return
	}
	defer done()
	if len(list) == 0 {
		c.send(&pgproto3.EmptyQueryResponse{})
		return
	}
	for _, s := range list {
		tag, err := c.do(s, &call{out: &wireSink{c: c, describes: true}})
		if err != nil {
			c.broken()
			c.fail(c.translate(err))
			return
		}
		c.complete(tag)
	}
}

// do runs a statement where the transaction block lets it.
func (c *conn) do(s *statement, k *call) (tag string, err error) {
	if c.tx.failed {
		if h, ok := s.work.(heals); !ok || !h.heals() {
			return "", errFailedBlock
		}
	}
	if len(s.params) > len(k.args) {
		return "", noParameter(len(k.args) + 1)
	}
	c.dated()
	if in, ok := s.work.(interface{ reads() bool }); ok && in.reads() { // it reads the connection itself
		return s.work.run(c.ctx, c, k)
	}
	err = c.work(s.text, func(ctx context.Context) error {
		var err error
		tag, err = s.work.run(ctx, c, k)
		return err
	})
	return tag, err
}

// wireSink sends rows to the client while they come.
type wireSink struct {
	c         *conn
	cols      []column
	formats   []int16
	describes bool // a RowDescription goes before the rows
	rows      int
}

func (w *wireSink) begin(cols []column) error {
	if len(cols) > mostColumns {
		return sqlstate.New(sqlstate.FeatureNotSupported, "an answer cannot have more than %d columns", mostColumns)
	}
	w.cols = cols
	if w.describes {
		w.c.describe(cols, w.formats)
	}
	return nil
}

func (w *wireSink) row(values []value.Value) error {
	w.rows++
	return w.c.sendRow(w.cols, values, w.formats)
}

func noParameter(n int) error {
	return sqlstate.New(sqlstate.UndefinedParameter, "there is no parameter $%d", n)
}
