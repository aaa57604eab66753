package pgwire

import (
	"context"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// prepared is a statement that was parsed.
type prepared struct {
	name   string
	text   string
	stmt   *statement // nil: the text is empty
	params []pgtype.OID
	json   bool // Describe has announced one column of jsonb
	cost   int
}

// portal is a statement with its arguments.
type portal struct {
	name    string
	stmt    *prepared
	args    []value.Value
	formats []int16
	ran     *buffer // the answer, where it is kept
	hold    bool    // it outlives its transaction
	made    int     // savepoints that there were
	call    call    // of its run, where the rows go to the client at once
	sink    wireSink
	done    bool // all rows were given
	simple  bool // it was declared by DECLARE
	scroll  bool
	pos     int // rows given
	cost    int
}

// messages is room for those of a statement that was prepared: each is done with before the next one is read.
type messages struct {
	bind     pgproto3.Bind
	describe pgproto3.Describe
	execute  pgproto3.Execute
}

// mostParams is how many parameters a statement may have.
const mostParams = 32767

// extended does what a message of the extended flow asks. An error makes the connection skip messages up to the next
// Sync.
func (c *conn) extended(kind byte, body []byte) error {
	var err error
	switch kind {
	case 'P':
		var m pgproto3.Parse
		if m.Decode(body) != nil {
			return badMessage()
		}
		err = c.parse(&m)
	case 'B':
		m := &c.messages.bind
		if m.Decode(body) != nil {
			return badMessage()
		}
		err = c.bind(m)
		*m = pgproto3.Bind{}
	case 'D':
		m := &c.messages.describe
		if m.Decode(body) != nil {
			return badMessage()
		}
		err = c.describeMessage(m)
	case 'E':
		m := &c.messages.execute
		if m.Decode(body) != nil {
			return badMessage()
		}
		err = c.execute(m)
	case 'C':
		var m pgproto3.Close
		if m.Decode(body) != nil {
			return badMessage()
		}
		switch m.ObjectType {
		case 'S':
			c.dropStatement(m.Name)
		case 'P':
			c.dropPortal(m.Name)
		default:
			return badMessage()
		}
		c.send(&pgproto3.CloseComplete{})
	}
	if err == nil {
		return nil
	}
	e := c.translate(err)
	c.broken()
	c.fail(e)
	if e.Fatal {
		return errBye
	}
	c.skipping = true
	return nil
}

// parse is Parse.
func (c *conn) parse(m *pgproto3.Parse) error {
	if m.Name != "" && c.statements[m.Name] != nil {
		return sqlstate.New(sqlstate.DuplicateStatement, "prepared statement %q already exists", m.Name)
	}
	if err := c.prepare(m.Name, m.Query, m.ParameterOIDs); err != nil {
		return err
	}
	c.send(&pgproto3.ParseComplete{})
	return nil
}

// prepare keeps a statement under a name.
func (c *conn) prepare(name, text string, oids []pgtype.OID) error {
	c.dropStatement(name)
	if len(c.statements) >= c.srv.Limits.Statements {
		return sqlstate.New(sqlstate.TooMuch, "too many prepared statements on this connection")
	}
	p := &prepared{name: name, text: text, cost: len(text)*preparedWeight + statementCost}
	if err := c.mem.Take(p.cost); err != nil {
		return err
	}
	if err := c.fill(p, oids); err != nil {
		c.mem.Release(p.cost)
		return err
	}
	c.statements[name] = p
	return nil
}

// preparedWeight is about how many bytes a statement that is kept takes for each byte of its text.
const preparedWeight = 4

// fill parses the text of p.
func (c *conn) fill(p *prepared, oids []pgtype.OID) error {
	c.settings.paramOIDs = oids
	list, done, err := c.split(p.text)
	c.settings.paramOIDs = nil
	if err != nil {
		return err
	}
	defer done()
	switch {
	case len(list) > 1:
		return sqlstate.New(sqlstate.SyntaxError, "cannot insert multiple commands into a prepared statement")
	case len(list) == 0:
		return nil
	}
	p.stmt = list[0]
	if c.tx.failed {
		if h, ok := p.stmt.work.(heals); !ok || !h.heals() {
			return errFailedBlock
		}
	}
	n := max(len(p.stmt.params), len(oids))
	if n > mostParams {
		return sqlstate.New(sqlstate.TooMuch, "statement references %d parameters, exceeding the maximum of %d", n,
			mostParams)
	}
	if err := c.mem.Take(n * 8); err != nil {
		return err
	}
	p.cost += n * 8
	p.params = make([]pgtype.OID, n)
	for i := range p.params {
		switch {
		case i < len(oids) && oids[i] != 0 && oids[i] != pgtype.Unknown:
			p.params[i] = oids[i]
		case i < len(p.stmt.params) && p.stmt.params[i] != 0:
			p.params[i] = p.stmt.params[i]
		case c.settings.paramText:
			p.params[i] = pgtype.Text
		default:
			p.params[i] = lenient
		}
	}
	return nil
}

// lenient is the type of parameters about which nothing is known: JSON, and what is not JSON is a string.
const lenient = pgtype.JSONB

func noStatement(name string) error {
	return sqlstate.New(sqlstate.UnknownStatement, "prepared statement %q does not exist", name)
}

func (c *conn) dropStatement(name string) {
	p := c.statements[name]
	if p == nil {
		return
	}
	for _, portal := range c.portals {
		if portal.stmt == p {
			c.dropPortal(portal.name)
		}
	}
	delete(c.statements, name)
	c.mem.Release(p.cost)
	c.mem.Shrink()
}

func (c *conn) dropStatements() {
	for name := range c.statements {
		c.dropStatement(name)
	}
}

// bind is Bind.
func (c *conn) bind(m *pgproto3.Bind) error {
	p := c.statements[m.PreparedStatement]
	if p == nil {
		return noStatement(m.PreparedStatement)
	}
	if m.DestinationPortal != "" && c.portals[m.DestinationPortal] != nil {
		return sqlstate.New(sqlstate.DuplicateCursor, "cursor %q already exists", m.DestinationPortal)
	}
	c.dropPortal(m.DestinationPortal)
	if len(c.portals) >= c.srv.Limits.Portals {
		return sqlstate.New(sqlstate.TooMuch, "too many portals on this connection")
	}
	if n := len(m.ParameterFormatCodes); n > 1 && n != len(m.Parameters) {
		return sqlstate.New(sqlstate.ProtocolViolation, "bind message has %d parameter formats but %d parameters", n,
			len(m.Parameters))
	}
	if len(m.Parameters) != len(p.params) {
		return sqlstate.New(sqlstate.ProtocolViolation,
			"bind message supplies %d parameters, but prepared statement %q requires %d", len(m.Parameters), p.name,
			len(p.params))
	}
	for _, formats := range [...][]int16{m.ParameterFormatCodes, m.ResultFormatCodes} {
		for _, f := range formats {
			if f != 0 && f != 1 {
				return sqlstate.New(sqlstate.InvalidParameter, "unsupported format code: %d", f)
			}
		}
	}
	if c.tx.failed && p.stmt != nil {
		if h, ok := p.stmt.work.(heals); !ok || !h.heals() {
			return errFailedBlock
		}
	}
	args, err := c.arguments(m, p)
	if err != nil {
		return err
	}
	portal := &portal{name: m.DestinationPortal, stmt: p, args: args, formats: m.ResultFormatCodes,
		made: len(c.tx.marks)}
	for _, a := range args {
		portal.cost += value.Weight(a)
	}
	if err := c.mem.Take(portal.cost); err != nil {
		return err
	}
	c.portals[portal.name] = portal
	c.send(&pgproto3.BindComplete{})
	return nil
}

// arguments reads the values of the parameters.
func (c *conn) arguments(m *pgproto3.Bind, p *prepared) ([]value.Value, error) {
	args := make([]value.Value, len(m.Parameters))
	for i, b := range m.Parameters {
		if b == nil {
			args[i] = value.Null
			continue
		}
		v, err := c.argument(p.params[i], b, format(m.ParameterFormatCodes, i) == 1)
		if err != nil {
			if e := c.translate(err); e.Code == sqlstate.InvalidBinary {
				return nil, sqlstate.New(e.Code, "incorrect binary data format in bind parameter %d", i+1)
			}
			return nil, err
		}
		args[i] = v
	}
	return args, nil
}

func (c *conn) argument(oid pgtype.OID, b []byte, isBinary bool) (value.Value, error) {
	if isBinary {
		return pgtype.Decode(oid, b)
	}
	v, err := pgtype.Parse(oid, string(b), &c.style)
	if err != nil && pgtype.IsReg(oid) { // the name of an object
		var id int64
		err = c.work("", func(ctx context.Context) (err error) {
			id, err = (&sqlEnv{c: c, ctx: ctx}).Object(oid, string(b))
			return err
		})
		return value.Int(id), err
	}
	if err != nil && oid == lenient {
		return pgtype.Parse(pgtype.Text, string(b), &c.style)
	}
	return v, err
}

func (c *conn) dropPortal(name string) {
	p := c.portals[name]
	if p == nil {
		return
	}
	delete(c.portals, name)
	c.mem.Release(p.cost)
	if p.ran != nil {
		p.ran.drop()
	}
	c.mem.Shrink()
}

// closePortals drops the portals that end with their transaction.
func (c *conn) closePortals() {
	for name, p := range c.portals {
		if !p.hold {
			c.dropPortal(name)
		}
	}
}

// endImplicit ends what lasts up to a Sync.
func (c *conn) endImplicit() {
	if !c.tx.block {
		c.closePortals()
		return
	}
	c.dropPortal("")
}

// describeMessage is Describe.
func (c *conn) describeMessage(m *pgproto3.Describe) error {
	switch m.ObjectType {
	case 'S':
		p := c.statements[m.Name]
		if p == nil {
			return noStatement(m.Name)
		}
		return c.describeStatement(p)
	case 'P':
		p := c.portals[m.Name]
		if p == nil {
			return noPortal(m.Name)
		}
		return c.describePortal(p)
	}
	return sqlstate.Fatal(sqlstate.ProtocolViolation, "invalid DESCRIBE message subtype %d", m.ObjectType)
}

func noPortal(name string) error {
	return sqlstate.New(sqlstate.UnknownCursor, "portal %q does not exist", name)
}

// jsonColumn is announced where the columns are not known.
var jsonColumn = []column{{name: "result", oid: pgtype.JSONB}}

func (c *conn) describeStatement(p *prepared) error {
	var cols []column
	rows := false
	if p.stmt != nil {
		known, err := false, error(nil)
		if cols, rows, known, err = p.stmt.work.columns(c); err != nil {
			return err
		}
		if rows && !known {
			p.json = true
			cols = jsonColumn
		}
	}
	c.send(&pgproto3.ParameterDescription{ParameterOIDs: p.params})
	if !rows {
		c.send(&pgproto3.NoData{})
		return nil
	}
	c.describe(cols, nil)
	return nil
}

// describePortal tells what a portal answers. Where that shows only when the statement has run, it runs now.
func (c *conn) describePortal(p *portal) error {
	if p.stmt.stmt == nil {
		c.send(&pgproto3.NoData{})
		return nil
	}
	cols, rows, known, err := p.stmt.stmt.work.columns(c)
	if err != nil {
		return err
	}
	switch {
	case p.ran != nil:
		cols, rows = p.ran.cols, p.ran.began
	case rows && !known && p.stmt.json:
		cols = jsonColumn
	case rows && !known:
		if err := c.runPortal(p); err != nil {
			return err
		}
		cols, rows = p.ran.cols, p.ran.began
	}
	if !rows {
		c.send(&pgproto3.NoData{})
		return nil
	}
	c.describe(cols, p.formats)
	return nil
}

// runPortal runs the statement of a portal and keeps the answer.
func (c *conn) runPortal(p *portal) error {
	b := &buffer{c: c}
	tag, err := c.do(p.stmt.stmt, &call{args: p.args, json: p.stmt.json, out: b})
	if err != nil {
		b.drop()
		return err
	}
	b.tag, p.ran = tag, b
	return nil
}

// execute is Execute.
func (c *conn) execute(m *pgproto3.Execute) error {
	p := c.portals[m.Portal]
	if p == nil {
		return noPortal(m.Portal)
	}
	if p.stmt.stmt == nil {
		c.send(&pgproto3.EmptyQueryResponse{})
		return nil
	}
	if c.tx.failed {
		if h, ok := p.stmt.stmt.work.(heals); !ok || !h.heals() {
			return errFailedBlock
		}
	}
	if p.done && p.ran == nil {
		return sqlstate.New(sqlstate.NotReady, "portal %q cannot be run", p.name)
	}
	if p.ran == nil && m.MaxRows == 0 {
		p.sink = wireSink{c: c, formats: p.formats}
		p.call = call{args: p.args, json: p.stmt.json, out: &p.sink}
		tag, err := c.do(p.stmt.stmt, &p.call)
		if err != nil {
			return err
		}
		p.done = true
		c.complete(tag)
		return nil
	}
	if p.ran == nil {
		if err := c.runPortal(p); err != nil {
			return err
		}
	}
	return c.give(p, int(m.MaxRows))
}

// give sends the next rows of a portal whose answer is kept, at most most of them where that is not 0.
func (c *conn) give(p *portal, most int) error {
	b := p.ran
	n := len(b.rows) - p.pos
	if most > 0 && n > most {
		n = most
	}
	for _, row := range b.rows[p.pos : p.pos+n] {
		if err := c.sendRow(b.cols, row, p.formats); err != nil {
			return err
		}
	}
	p.pos += n
	if b.began && most > 0 && n == most {
		c.send(&pgproto3.PortalSuspended{})
		return nil
	}
	p.done = true
	c.complete(recount(b.tag, n))
	return nil
}
