package pgwire

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sort"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/errs"
)

// Codes of the packets that come before the first message.
const (
	codeCancel  = 80877102
	codeSSL     = 80877103
	codeGSS     = 80877104
	protocol30  = 196608
	tlsRecord   = 0x16
	mostStartup = 10000
	tlsProtocol = "postgresql" // in ALPN
)

// errBye ends a connection without a word.
var errBye = errors.New("the connection is over")

// startup takes the connection to the point where the client may send messages. full: the server has no place for it.
func (c *conn) startup(full bool) error {
	_ = c.raw.SetReadDeadline(time.Now().Add(c.srv.Limits.Startup))
	packet, err := c.opening()
	if err != nil {
		return c.late(err)
	}
	if full {
		c.srv.RPC.Metrics.Limited("postgres")
		return sqlstate.Fatal(sqlstate.TooManyConnections, "sorry, too many clients already")
	}
	params, err := c.readStartup(packet)
	if err != nil {
		return err
	}
	if err := c.admit(params); err != nil {
		return c.late(err)
	}
	_ = c.raw.SetReadDeadline(time.Time{})
	return nil
}

// late is err, or where the time of the start-up has run out what the client is told of that.
func (c *conn) late(err error) error {
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		return sqlstate.Fatal(sqlstate.IdleTimeout, "terminating connection due to authentication timeout")
	}
	return err
}

// opening reads packets up to the one that starts a session, and gives that: version and parameters.
func (c *conn) opening() ([]byte, error) {
	secured, asked := false, false
	first, err := c.in.Peek(1)
	if err != nil {
		return nil, err
	}
	if first[0] == tlsRecord {
		if c.srv.TLS == nil {
			return nil, errBye
		}
		if err := c.secure(true); err != nil {
			return nil, err
		}
		secured, asked = true, true
	}
	for turn := 0; ; turn++ {
		packet, err := c.openingPacket()
		if err != nil {
			return nil, err
		}
		switch code := binary.BigEndian.Uint32(packet); {
		case code == codeCancel && len(packet) >= 12:
			c.srv.cancel(binary.BigEndian.Uint32(packet[4:]), packet[8:])
			return nil, errBye
		case code == codeGSS && len(packet) == 4 && turn < 3:
			if err := c.answerByte('N'); err != nil {
				return nil, err
			}
		case code == codeSSL && len(packet) == 4 && !asked:
			asked = true
			if c.srv.TLS == nil {
				if err := c.answerByte('N'); err != nil {
					return nil, err
				}
				continue
			}
			if c.in.Buffered() > 0 {
				return nil, sqlstate.Fatal(sqlstate.ProtocolViolation, "received unencrypted data after SSL request")
			}
			if err := c.answerByte('S'); err != nil {
				return nil, err
			}
			if err := c.secure(false); err != nil {
				return nil, err
			}
			secured = true
		case code>>16 == 3:
			c.secured = secured
			return packet, nil
		case code == codeSSL || code == codeGSS || code == codeCancel:
			return nil, sqlstate.Fatal(sqlstate.ProtocolViolation, "invalid startup packet")
		default:
			return nil, sqlstate.Fatal(sqlstate.ProtocolViolation,
				"unsupported protocol version %d.%d (only 3.x is supported)", code>>16, code&0xffff)
		}
	}
}

// openingPacket reads a packet without a type before it.
func (c *conn) openingPacket() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 8 || n > mostStartup {
		return nil, sqlstate.Fatal(sqlstate.ProtocolViolation, "invalid startup packet length")
	}
	packet := make([]byte, n-4)
	_, err := io.ReadFull(c.in, packet)
	return packet, err
}

func (c *conn) answerByte(b byte) error {
	_ = c.net.SetWriteDeadline(time.Now().Add(c.srv.Limits.SendTimeout))
	_, err := c.net.Write([]byte{b})
	return err
}

// secure goes on over TLS. direct: the client has begun with it, and then must name the protocol.
func (c *conn) secure(direct bool) error {
	t := tls.Server(&prefixed{Conn: c.raw, r: c.in}, c.srv.TLS)
	_ = c.raw.SetWriteDeadline(time.Now().Add(c.srv.Limits.Startup))
	if err := t.Handshake(); err != nil {
		return errBye
	}
	state := t.ConnectionState()
	if direct && state.NegotiatedProtocol != tlsProtocol {
		return errBye
	}
	c.net, c.in, c.tls = t, bufio.NewReaderSize(t, readBuffer), t
	return nil
}

// prefixed is a connection whose first bytes were read already.
type prefixed struct {
	net.Conn
	r *bufio.Reader
}

// Read implements net.Conn.
func (p *prefixed) Read(b []byte) (int, error) {
	if p.r.Buffered() > 0 {
		return p.r.Read(b)
	}
	return p.Conn.Read(b)
}

// startupParams are the parameters of the startup message.
type startupParams struct {
	user, database string
	settings       [][2]string // in their order
}

// readStartup reads the startup packet, and answers what it asks of newer versions.
func (c *conn) readStartup(packet []byte) (*startupParams, error) {
	version, rest := binary.BigEndian.Uint32(packet), packet[4:]
	p := &startupParams{}
	var unknown []string
	for {
		name, more, ok := cString(rest)
		if !ok || name == "" {
			if !ok || len(more) > 0 {
				return nil, sqlstate.Fatal(sqlstate.ProtocolViolation,
					"invalid startup packet layout: expected terminator as last byte")
			}
			break
		}
		v, more, ok := cString(more)
		if !ok {
			return nil, sqlstate.Fatal(sqlstate.ProtocolViolation,
				"invalid startup packet layout: expected terminator as last byte")
		}
		rest = more
		switch {
		case name == "user":
			p.user = v
		case name == "database":
			p.database = v
		case name == "options":
			p.settings = append(p.settings, readOptions(v)...)
		case name == "replication":
			if v != "" && !strings.EqualFold(v, "false") && v != "0" && !strings.EqualFold(v, "off") {
				return nil, sqlstate.Fatal(sqlstate.FeatureNotSupported, "replication connections are not supported")
			}
		case strings.HasPrefix(name, "_pq_."):
			unknown = append(unknown, name)
		default:
			p.settings = append(p.settings, [2]string{name, v})
		}
	}
	if version > protocol30 || len(unknown) > 0 {
		sort.Strings(unknown)
		c.send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: protocol30, UnrecognizedOptions: unknown})
	}
	if p.user == "" {
		return nil, sqlstate.Fatal(sqlstate.ProtocolViolation, "no user specified in startup packet")
	}
	return p, nil
}

func cString(b []byte) (s string, rest []byte, ok bool) {
	i := bytes.IndexByte(b, 0)
	if i < 0 {
		return "", nil, false
	}
	return string(b[:i]), b[i+1:], true
}

// readOptions reads the options of a command line: -c name=value, -cname=value and --name=value, where a backslash
// keeps the next character.
func readOptions(text string) [][2]string {
	var words []string
	var b strings.Builder
	inWord := false
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
			inWord = true
		case strings.IndexByte(" \t\n\r\v\f", ch) >= 0:
			if inWord {
				words = append(words, b.String())
				b.Reset()
				inWord = false
			}
		default:
			b.WriteByte(ch)
			inWord = true
		}
	}
	if inWord {
		words = append(words, b.String())
	}
	var out [][2]string
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-c" && i+1 < len(words):
			i++
			w = words[i]
		case strings.HasPrefix(w, "-c"):
			w = w[2:]
		case strings.HasPrefix(w, "--"):
			w = w[2:]
		default:
			continue
		}
		if name, v, ok := strings.Cut(w, "="); ok {
			out = append(out, [2]string{strings.ReplaceAll(name, "-", "_"), v})
		}
	}
	return out
}

// admit lets a client in: the gates in their order, then its place and its settings.
func (c *conn) admit(p *startupParams) error {
	if c.srv.Readiness != nil && !c.srv.Readiness.Started() {
		return sqlstate.Fatal(sqlstate.CannotConnect, "the database system is starting up")
	}
	if c.srv.RPC.Caps.MayVisit(Route) != nil {
		return sqlstate.Fatal(sqlstate.Denied, "Forbidden: the postgres protocol is not allowed on this server")
	}
	client, _, err := net.SplitHostPort(c.raw.RemoteAddr().String())
	if err != nil {
		client = c.raw.RemoteAddr().String()
	}
	c.client, c.user = client, p.user
	c.session = c.srv.RPC.Session(client, "")
	ns, db := placeOf(p.database, p.user)
	if err := c.authenticate(p.user, ns, db); err != nil {
		return err
	}
	principal := c.session.Principal()
	if c.srv.RPC.Caps.MayQuery(&principal) != nil {
		return sqlstate.Fatal(sqlstate.Denied, "Forbidden: this user is not allowed to query the database")
	}
	c.mem.Known()
	if err := c.session.Lasts(); err != nil {
		return fatal(c.translate(err))
	}
	if err := c.move(ns, db); err != nil {
		return fatal(c.translate(err))
	}
	for _, s := range p.settings {
		if err := c.settings.start(s[0], s[1]); err != nil {
			return fatal(c.translate(err))
		}
	}
	c.session.ListAsDefined()
	c.srv.register(c)
	c.session.Show(func() { c.interrupt(errShutdown) })
	c.listen()
	c.greet()
	return c.ready()
}

func fatal(e *sqlstate.Error) error {
	copied := *e
	copied.Fatal = true
	return &copied
}

// placeOf reads the parameter database: ns/db, also with the slash escaped or with a point instead; a name alone is a
// namespace, but for the name of the user, which is what clients send of themselves.
func placeOf(database, user string) (ns, db string) {
	for _, slash := range [...]string{"/", "%2F", "%2f", "."} {
		if ns, db, ok := strings.Cut(database, slash); ok {
			return ns, db
		}
	}
	if database == user {
		return "", ""
	}
	return database, ""
}

// move selects the place of the connection. A namespace alone selects its database, too, where it has just one.
func (c *conn) move(ns, db string) error {
	at, in := c.session.Place()
	if ns == "" && db == "" {
		return nil
	}
	if ns == "" {
		ns = at
	}
	if db == "" && ns == at {
		db = in // of a user of a database
	}
	ctx, stop := c.srv.RPC.Deadline(c.ctx)
	defer stop()
	if err := c.session.Use(ctx, &ns, &db); err != nil {
		return err
	}
	if db != "" {
		return nil
	}
	if names, err := c.databases(ctx); err == nil && len(names) == 1 {
		return c.session.Use(ctx, &ns, &names[0])
	}
	return nil
}

// greet tells the client what it has to know before its first statement.
func (c *conn) greet() {
	c.send(&pgproto3.AuthenticationOk{})
	for _, name := range reported {
		c.report(name)
	}
	c.send(&pgproto3.BackendKeyData{ProcessID: c.pid, SecretKey: c.secret})
}

// refusedAuth is the one answer to every failed login.
func refusedAuth(user string) error {
	return sqlstate.Fatal(sqlstate.InvalidPassword, "password authentication failed for user %q", errs.Brief(user, 256))
}
