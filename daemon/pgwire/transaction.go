package pgwire

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine"
)

// transaction is the transaction block of a connection.
type transaction struct {
	tx       *engine.Tx // nil: none, or one that has ended already while its block goes on
	known    engine.Knowledge
	before   *engine.Savepoint // where not nil, what is read is what there was then; see tableWriter.Begin
	block    bool
	failed   bool
	readOnly bool
	marks    []mark   // savepoints, the oldest first
	notes    []note   // NOTIFY, to send after the commit
	listens  []func() // LISTEN and UNLISTEN, to take effect at the commit
}

// mark is a savepoint.
type mark struct {
	name  string
	at    *engine.Savepoint
	notes int
	lists int
}

// mostMarks is how many savepoints a transaction may have.
const mostMarks = 1024

func (t *transaction) open() bool { return t.block }

// status is the state in ReadyForQuery.
func (t *transaction) status() byte {
	switch {
	case !t.block:
		return 'I'
	case t.failed:
		return 'E'
	}
	return 'T'
}

// drop gives up the transaction where the connection ends.
func (t *transaction) drop() {
	if t.tx != nil {
		_ = t.tx.Cancel(context.Background()) // it may have run out of time
	}
	*t = transaction{}
}

// errFailedBlock refuses statements in a transaction that has failed.
var errFailedBlock = &sqlstate.Error{Code: sqlstate.FailedTransaction,
	Msg: "current transaction is aborted, commands ignored until end of transaction block"}

// begin is BEGIN. readOnly: nil where it was not said.
func (c *conn) begin(ctx context.Context, readOnly *bool) error {
	if c.tx.block {
		if c.tx.failed {
			return errFailedBlock
		}
		c.notice("WARNING", sqlstate.ActiveTransaction, "there is already a transaction in progress")
		return nil
	}
	reads := c.settings.readOnly
	if readOnly != nil {
		reads = *readOnly
	}
	start := c.session.Begin
	if reads {
		start = c.session.BeginReading
	}
	known := c.session.Knowledge()
	tx, err := start(ctx)
	if err != nil {
		return err
	}
	c.settings.begin()
	c.dated()
	c.tx = transaction{tx: tx, known: known, block: true, readOnly: reads}
	return nil
}

// commit is COMMIT: the tag says what became of the transaction.
func (c *conn) commit(ctx context.Context) (tag string, err error) {
	if !c.tx.block {
		c.notice("WARNING", sqlstate.NoTransaction, "there is no transaction in progress")
		return "COMMIT", nil
	}
	if c.tx.failed {
		return c.rollback(ctx)
	}
	ended := c.tx
	c.tx, c.style.Began = transaction{}, time.Time{}
	c.closePortals()
	err = ended.tx.Commit(ctx)
	c.settings.ended(err == nil)
	if err != nil {
		return "", err
	}
	for _, f := range ended.listens {
		f()
	}
	c.srv.notices.publish(c, ended.notes)
	return "COMMIT", nil
}

// rollback is ROLLBACK.
func (c *conn) rollback(ctx context.Context) (tag string, err error) {
	if !c.tx.block {
		c.notice("WARNING", sqlstate.NoTransaction, "there is no transaction in progress")
		return "ROLLBACK", nil
	}
	c.changed()
	ended := c.tx.tx
	late := ended.Late()
	c.tx, c.style.Began = transaction{}, time.Time{}
	c.closePortals()
	err = ended.Cancel(ctx)
	c.settings.ended(false)
	if late {
		err = nil
	}
	return "ROLLBACK", err
}

// asked notes when the client has sent a statement. Outside of a transaction block its transaction begins then, and
// goes on until the client is told that the server is ready, as that of PostgreSQL does.
func (c *conn) asked() {
	c.style.Asked = time.Now().Truncate(time.Microsecond)
	c.dated()
}

// dated gives the transaction the time of its beginning, where it has none yet: the message with the statement came
// then.
func (c *conn) dated() {
	if c.style.Began.IsZero() {
		c.style.Began = c.style.Asked
	}
}

// broken notes that a statement has failed.
func (c *conn) broken() {
	if c.tx.block {
		c.tx.failed = true
	}
}

func (c *conn) inBlock(what string) error {
	if c.tx.block {
		return nil
	}
	return sqlstate.New(sqlstate.NoTransaction, "%s can only be used in transaction blocks", what)
}

// savepoint is SAVEPOINT.
func (c *conn) savepoint(name string) error {
	if err := c.inBlock("SAVEPOINT"); err != nil {
		return err
	}
	if len(c.tx.marks) >= mostMarks {
		return sqlstate.New(sqlstate.TooMuch, "too many savepoints in this transaction")
	}
	at, err := c.tx.tx.Savepoint()
	if err != nil {
		return err
	}
	c.tx.marks = append(c.tx.marks, mark{name: name, at: at, notes: len(c.tx.notes), lists: len(c.tx.listens)})
	return nil
}

// findMark is the place of the latest savepoint of a name.
func (c *conn) findMark(name string) (int, error) {
	for i := len(c.tx.marks) - 1; i >= 0; i-- {
		if c.tx.marks[i].name == name {
			return i, nil
		}
	}
	return 0, sqlstate.New(sqlstate.UnknownSavepoint, "savepoint %q does not exist", name)
}

// release is RELEASE.
func (c *conn) release(name string) error {
	if err := c.inBlock("RELEASE SAVEPOINT"); err != nil {
		return err
	}
	i, err := c.findMark(name)
	if err != nil {
		return err
	}
	c.tx.marks = c.tx.marks[:i]
	return nil
}

// rollbackTo is ROLLBACK TO: it mends a transaction that has failed.
func (c *conn) rollbackTo(name string) error {
	if err := c.inBlock("ROLLBACK TO SAVEPOINT"); err != nil {
		return err
	}
	i, err := c.findMark(name)
	if err != nil {
		return err
	}
	m := c.tx.marks[i]
	if err := c.tx.tx.RollbackTo(m.at); err != nil {
		return err
	}
	c.changed()
	c.tx.marks, c.tx.notes, c.tx.listens, c.tx.failed = c.tx.marks[:i+1], c.tx.notes[:m.notes],
		c.tx.listens[:m.lists], false
	return nil
}

// modes are the words that may follow BEGIN, START TRANSACTION, SET TRANSACTION and COMMIT.
var modes = map[string]bool{"transaction": true, "work": true, "isolation": true, "level": true, "serializable": true,
	"repeatable": true,
	"read":       true, "committed": true, "uncommitted": true, "write": true, "only": true, "deferrable": true,
	"not": true, "and": true,
	"no": true, "chain": true, ",": true}

// readModes reads the modes of a transaction; ok: there is nothing else among the words.
func readModes(words []string) (readOnly *bool, chain, ok bool) {
	yes, no := true, false
	for i, w := range words {
		w = strings.ToLower(w)
		if !modes[w] {
			return nil, false, false
		}
		switch {
		case w == "only" && i > 0 && strings.EqualFold(words[i-1], "read"):
			readOnly = &yes
		case w == "write" && i > 0 && strings.EqualFold(words[i-1], "read"):
			readOnly = &no
		case w == "chain" && i > 0 && strings.EqualFold(words[i-1], "and"):
			chain = true
		}
	}
	return readOnly, chain, true
}

// levelOf is the isolation level that the modes of a transaction name, "" where they name none. Every transaction has
// the isolation of the engine, which is stronger: the level is only told again to a client that asks.
func levelOf(words []string) string {
	for i, w := range words {
		if !strings.EqualFold(w, "level") || i+1 == len(words) {
			continue
		}
		level := strings.ToLower(words[i+1])
		if i+2 < len(words) && (level == "read" || level == "repeatable") {
			level += " " + strings.ToLower(words[i+2])
		}
		return level
	}
	return ""
}

// isLate reports whether err is a transaction that has run out of time.
func (c *conn) isLate(err error) bool {
	return err != nil && c.tx.tx != nil && c.tx.tx.Late() && !errors.Is(err, errFailedBlock)
}
