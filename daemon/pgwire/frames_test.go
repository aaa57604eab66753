package pgwire_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
	"github.com/nacredb/nacre/internal/roundrobin"
)

// start runs a server with a PostgreSQL listener and root:secret, and gives the address of that.
func start(t testing.TB, change ...func(*config.Config)) (addr string, d *daemon.Daemon) {
	t.Helper()
	return startLogging(t, io.Discard, change...)
}

// startLogging is start with a place for the log.
func startLogging(t testing.TB, log io.Writer, change ...func(*config.Config)) (addr string, d *daemon.Daemon) {
	t.Helper()
	cfg := config.Default()
	cfg.Bind, cfg.PostgresBind, cfg.User, cfg.Pass = "127.0.0.1:0", "127.0.0.1:0", "root", "secret"
	cfg.ShutdownTimeout = 5 * time.Second
	for _, f := range change {
		f(cfg)
	}
	if balanced && cfg.Path == config.Default().Path {
		cluster, prefix := stub.Shared(t)
		cfg.Path = "tikv://" + cluster.PD + "/" + prefix
		second := *cfg
		first, d := oneServer(t, cfg, log), oneServer(t, &second, log)
		b := roundrobin.Listen(t, "tcp", first.PostgresAddr().String(), d.PostgresAddr().String())
		return b.Addr().String(), first
	}
	d = oneServer(t, cfg, log)
	return d.PostgresAddr().String(), d
}

// balanced has the servers of these tests be two, which share a cluster of stubs, behind a round robin by connection.
var balanced = os.Getenv("NACRE_TEST_BALANCER") == "tcp"

// oneServer starts a server that ends with the test.
func oneServer(t testing.TB, cfg *config.Config, log io.Writer) *daemon.Daemon {
	t.Helper()
	d, err := daemon.Start(t.Context(), cfg, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := d.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

func unauthenticated(c *config.Config) { c.Unauthenticated = true }

// frames is a client that says what it likes.
type frames struct {
	t    testing.TB
	conn net.Conn
	f    *pgproto3.Frontend
}

func dial(t testing.TB, addr string) *frames {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return &frames{t: t, conn: conn, f: pgproto3.NewFrontend(conn, conn)}
}

// packet is a packet of the start-up.
func packet(code uint32, rest string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(rest)))
	return string(binary.BigEndian.AppendUint32(b, code)) + rest
}

func startupPacket(pairs ...string) string {
	return packet(196608, strings.Join(pairs, "\x00")+"\x00\x00")
}

func (f *frames) write(s string) {
	f.t.Helper()
	if _, err := io.WriteString(f.conn, s); err != nil {
		f.t.Fatal(err)
	}
}

// send sends messages at once.
func (f *frames) send(list ...pgproto3.FrontendMessage) {
	f.t.Helper()
	for _, m := range list {
		f.f.Send(m)
	}
	if err := f.f.Flush(); err != nil {
		f.t.Fatal(err)
	}
}

// short is a message as the tests write it.
func short(m pgproto3.BackendMessage) string {
	switch m := m.(type) {
	case *pgproto3.AuthenticationOk:
		return "ok"
	case *pgproto3.AuthenticationSASL:
		return "sasl"
	case *pgproto3.AuthenticationCleartextPassword:
		return "cleartext"
	case *pgproto3.ParameterStatus:
		return ""
	case *pgproto3.BackendKeyData:
		return "key"
	case *pgproto3.ReadyForQuery:
		return "Z" + string(m.TxStatus)
	case *pgproto3.RowDescription:
		var cols []string
		for _, f := range m.Fields {
			cols = append(cols, fmt.Sprintf("%s:%d", f.Name, f.DataTypeOID))
		}
		return "T[" + strings.Join(cols, " ") + "]"
	case *pgproto3.DataRow:
		var vals []string
		for _, v := range m.Values {
			if v == nil {
				vals = append(vals, "-")
			} else {
				vals = append(vals, string(v))
			}
		}
		return "D[" + strings.Join(vals, "|") + "]"
	case *pgproto3.CommandComplete:
		return "C(" + string(m.CommandTag) + ")"
	case *pgproto3.ErrorResponse:
		return m.Severity[:1] + "!" + m.Code
	case *pgproto3.NoticeResponse:
		return "N" + m.Code
	case *pgproto3.EmptyQueryResponse:
		return "I"
	case *pgproto3.ParseComplete:
		return "1"
	case *pgproto3.BindComplete:
		return "2"
	case *pgproto3.CloseComplete:
		return "3"
	case *pgproto3.NoData:
		return "n"
	case *pgproto3.ParameterDescription:
		return "t" + fmt.Sprint(m.ParameterOIDs)
	case *pgproto3.PortalSuspended:
		return "s"
	case *pgproto3.NotificationResponse:
		return "A(" + m.Channel + "=" + m.Payload + ")"
	case *pgproto3.NegotiateProtocolVersion:
		return fmt.Sprintf("v%d%v", m.NewestMinorProtocol, m.UnrecognizedOptions)
	case *pgproto3.CopyInResponse:
		return "G"
	case *pgproto3.CopyOutResponse:
		return "H"
	case *pgproto3.CopyData:
		return "d[" + string(m.Data) + "]"
	case *pgproto3.CopyDone:
		return "c"
	}
	return fmt.Sprintf("%T", m)
}

// read reads messages up to the nth ReadyForQuery, or to the end of the connection, which is "EOF".
func (f *frames) read(ready int) string {
	f.t.Helper()
	var out []string
	for {
		m, err := f.f.Receive()
		if err != nil {
			return strings.Join(append(out, "EOF"), " ")
		}
		s := short(m)
		if s != "" {
			out = append(out, s)
		}
		if s != "" && s[0] == 'Z' {
			if ready--; ready == 0 {
				return strings.Join(out, " ")
			}
		}
	}
}

// login starts a session on a server that asks for no password.
func login(t testing.TB, addr string) *frames {
	t.Helper()
	f := dial(t, addr)
	f.write(startupPacket("user", "root", "database", "test/test"))
	if got := f.read(1); got != "ok key ZI" {
		t.Fatalf("login: %s", got)
	}
	return f
}

// ask runs a text by the simple flow.
func (f *frames) ask(text string) string {
	f.t.Helper()
	f.send(&pgproto3.Query{String: text})
	return f.read(1)
}

func (f *frames) want(text, want string) {
	f.t.Helper()
	if got := f.ask(text); got != want {
		f.t.Errorf("%s\n got: %s\nwant: %s", text, got, want)
	}
}

func TestStartup(t *testing.T) {
	addr, _ := start(t)
	open, _ := start(t, unauthenticated)
	for _, tc := range []struct{ name, addr, say, want string }{
		{"plain", open, startupPacket("user", "x"), "ok key ZI"},
		{"GSS, then SSL, then plain", open, packet(80877104, "") + packet(80877103, "") + startupPacket("user", "x"),
			"NNok key ZI"},
		{"SSL twice", open, packet(80877103, "") + packet(80877103, ""), "NF!08P01 EOF"},
		{"a newer minor version", open, packet(196610, "user\x00x\x00_pq_.x\x00y\x00\x00"),
			"v196608[_pq_.x] ok key ZI"},
		{"another major version", open, packet(2<<16, "user\x00x\x00\x00"), "F!08P01 EOF"},
		{"no user", open, startupPacket("database", "x"), "F!08P01 EOF"},
		{"no terminator", open, packet(196608, "user\x00x\x00"), "F!08P01 EOF"},
		{"too short", open, "\x00\x00\x00\x07\x00\x03\x00\x00", "F!08P01 EOF"},
		{"too long", open, "\x00\x00\xff\xff\x00\x03\x00\x00", "F!08P01 EOF"},
		{"replication", open, startupPacket("user", "x", "replication", "database"), "F!0A000 EOF"},
		{"an encoding that is not there", open, startupPacket("user", "x", "client_encoding", "LATIN1"), "F!0A000 EOF"},
		{"options", open, startupPacket("user", "x", "options",
			`-c dialect=gql --statement-timeout=5s -c a.b=c\ d -c nothing=1`), "ok key ZI"},
		{"TLS without a certificate", open, "\x16\x03\x01", "EOF"},
		{"a cancel request of nobody", open, packet(80877102, "\x00\x00\x00\x01\x00\x00\x00\x02"), "EOF"},
		{"with a password", addr, startupPacket("user", "root"), "sasl EOF"},
		{"a user that is not there", addr, startupPacket("user", "nobody"), "sasl EOF"},
	} {
		f := dial(t, tc.addr)
		f.write(tc.say)
		if strings.Contains(tc.want, "sasl") {
			time.AfterFunc(200*time.Millisecond, func() { _ = f.conn.(*net.TCPConn).CloseWrite() })
		}
		got := ""
		for range strings.Count(tc.say, "\x04\xd2\x16") { // answers of one byte
			if strings.HasPrefix(tc.name, "a cancel") {
				break
			}
			b := make([]byte, 1)
			if _, err := io.ReadFull(f.conn, b); err != nil {
				break
			}
			got += string(b)
			if strings.HasPrefix(tc.name, "SSL twice") {
				break
			}
		}
		if got += f.read(1); got != tc.want {
			t.Errorf("%s\n got: %s\nwant: %s", tc.name, got, tc.want)
		}
	}
}

// Packets may come in pieces of any size.
func TestStartupInPieces(t *testing.T) {
	addr, _ := start(t, unauthenticated)
	f := dial(t, addr)
	q, err := (&pgproto3.Query{String: "RETURN 1"}).Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range startupPacket("user", "root") + string(q) {
		f.write(string(b))
	}
	if got, want := f.read(2), "ok key ZI T[value:20] D[1] C(SELECT 1) ZI"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSimpleFlow(t *testing.T) {
	addr, _ := start(t, unauthenticated)
	f := login(t, addr)
	for _, tc := range [][2]string{
		{"", "I ZI"},
		{" ; ; ", "I ZI"},
		{"-- ping", "I ZI"},
		{"/* a /* b */ c */", "I ZI"},
		{"RETURN 1", "T[value:20] D[1] C(SELECT 1) ZI"},
		{"RETURN 1; RETURN 'x'", "T[value:20] D[1] C(SELECT 1) T[value:25] D[x] C(SELECT 1) ZI"},
		{"RETURN [1, 2.5, NULL]", "T[value:701] D[1] D[2.5] D[-] C(SELECT 3) ZI"},
		{"RETURN [1, 2.5dec]", "T[value:1700] D[1] D[2.5] C(SELECT 2) ZI"},
		{"RETURN [1, 'x']", `T[value:3802] D[1] D["x"] C(SELECT 2) ZI`},
		{"RETURN []", "T[value:25] C(SELECT 0) ZI"},
		{"RETURN {b: 1, a: true}", "T[a:16 b:20] D[t|1] C(SELECT 1) ZI"},
		{"SELECT b, a FROM [{a: 1, b: NULL}, {a: 2.5}]", "T[b:25 a:701] D[-|1] D[-|2.5] C(SELECT 2) ZI"},
		{"CREATE a:1 SET x = 1", "T[id:25 x:20] D[a:1|1] C(INSERT 0 1) ZI"},
		{"CREATE a:2 RETURN NONE", "C(INSERT 0 1) ZI"},
		{"UPDATE a SET x = 2 RETURN NONE", "C(UPDATE 2) ZI"},
		{"DELETE a:1", "C(DELETE 1) ZI"},
		{"DELETE a RETURN BEFORE", "T[id:25 x:20] D[a:2|2] C(DELETE 1) ZI"},
		{"RETURN 1; THROW 'x'; RETURN 2", "T[value:20] D[1] C(SELECT 1) E!P0001 ZI"},
		{"RETURN 1; SELEC 1", "E!42601 ZI"},
		{"LET $x = 5", "C(SET) ZI"},
		{"RETURN $x", "T[value:20] D[5] C(SELECT 1) ZI"},
		{"DEFINE TABLE t", "C(DEFINE TABLE) ZI"},
		{"DEFINE TABLE t", "E!42P07 ZI"},
		{"SELECT * FROM nope", "E!42P01 ZI"},
		{"CREATE t:1; CREATE t:1", "T[id:25] D[t:1] C(INSERT 0 1) E!23505 ZI"},
		{"RETURN $1", "E!42P02 ZI"},
		{"RETURN '$1'; RETURN { LET $a = 1; $a + 1 };",
			"T[value:25] D[$1] C(SELECT 1) T[value:20] D[2] C(SELECT 1) ZI"},
		{"SET timezone = 'Europe/Paris'; RETURN d'2024-07-01T00:00:00.5Z'",
			"C(SET) T[value:1184] D[2024-07-01 02:00:00.5+02] C(SELECT 1) ZI"},
		{"SHOW TIME ZONE", "T[TimeZone:25] D[Europe/Paris] C(SHOW) ZI"},
		{"RESET ALL; SHOW timezone", "C(RESET) T[TimeZone:25] D[UTC] C(SHOW) ZI"},
		{"SET nothing = 1", "E!42704 ZI"},
		{"SET dialect = 'klingon'", "E!22P02 ZI"},
		{"SET client_encoding = 'LATIN1'", "E!0A000 ZI"},
		{"SET standard_conforming_strings = off", "E!22023 ZI"},
		{"SET result_types = jsonb; RETURN {a: 1}; RESET result_types",
			`C(SET) T[result:3802] D[{"a":1}] C(SELECT 1) C(RESET) ZI`},
		{"RETURN <bytes>'a'", `T[value:17] D[\x61] C(SELECT 1) ZI`},
		{"SET bytea_output = 'escape'; RETURN <bytes>'a\\\\'; RESET bytea_output",
			`C(SET) T[value:17] D[a\\] C(SELECT 1) C(RESET) ZI`},
	} {
		f.want(tc[0], tc[1])
	}
}

func TestTransactions(t *testing.T) {
	addr, _ := start(t, unauthenticated)
	f := login(t, addr)
	for _, tc := range [][2]string{
		{"DEFINE TABLE a; CREATE a:0 RETURN NONE", "C(DEFINE TABLE) C(INSERT 0 1) ZI"},
		{"COMMIT", "N25P01 C(COMMIT) ZI"},
		{"ROLLBACK", "N25P01 C(ROLLBACK) ZI"},
		{"BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE", "C(BEGIN) ZT"},
		{"begin", "N25001 C(BEGIN) ZT"},
		{"CREATE a:1 RETURN NONE", "C(INSERT 0 1) ZT"},
		{"THROW 'x'", "E!P0001 ZE"},
		{"RETURN 1", "E!25P02 ZE"},
		{"SET timezone = 'UTC'", "E!25P02 ZE"},
		{"COMMIT", "C(ROLLBACK) ZI"},
		{"SELECT * FROM a", "T[id:25] D[a:0] C(SELECT 1) ZI"},
		{"START TRANSACTION; CREATE a:1 RETURN NONE; END", "C(START TRANSACTION) C(INSERT 0 1) C(COMMIT) ZI"},
		{"BEGIN; SAVEPOINT s; CREATE a:2 RETURN NONE; THROW 'x'", "C(BEGIN) C(SAVEPOINT) C(INSERT 0 1) E!P0001 ZE"},
		{"ROLLBACK TO SAVEPOINT nope", "E!3B001 ZE"},
		{"ROLLBACK TO s; CREATE a:3 RETURN NONE; RELEASE s; COMMIT",
			"C(ROLLBACK) C(INSERT 0 1) C(RELEASE) C(COMMIT) ZI"},
		{"SELECT * FROM a", "T[id:25] D[a:0] D[a:1] D[a:3] C(SELECT 3) ZI"},
		{"SAVEPOINT s", "E!25P01 ZI"},
		{"BEGIN READ ONLY; CREATE a:9", "C(BEGIN) E!25006 ZE"},
		{"ABORT", "C(ROLLBACK) ZI"},
		{"BEGIN; CREATE a:8 RETURN NONE; CANCEL", "C(BEGIN) C(INSERT 0 1) C(ROLLBACK) ZI"},
		{"BEGIN; SET timezone = 'Asia/Tokyo'; ROLLBACK; SHOW timezone",
			"C(BEGIN) C(SET) C(ROLLBACK) T[TimeZone:25] D[UTC] C(SHOW) ZI"},
		{"BEGIN; SET LOCAL timezone = 'Asia/Tokyo'; COMMIT; SHOW timezone",
			"C(BEGIN) C(SET) C(COMMIT) T[TimeZone:25] D[UTC] C(SHOW) ZI"},
		{"BEGIN; SELEC 1", "E!42601 ZI"},
		{"BEGIN; COMMIT AND CHAIN", "C(BEGIN) C(COMMIT) ZT"},
		{"PREPARE TRANSACTION 'x'", "E!0A000 ZE"},
		{"ROLLBACK", "C(ROLLBACK) ZI"},
		{"SET dialect = gql; BEGIN", "C(SET) C(BEGIN) ZT"},
		{"MATCH (n:a) RETURN n.nothing AS x LIMIT 1", "T[x:25] D[-] C(SELECT 1) ZT"},
		{"ROLLBACK; SET dialect = 'serviceql'", "C(ROLLBACK) C(SET) ZI"},
	} {
		f.want(tc[0], tc[1])
	}
	// Two transactions that change the same record: the second to commit is refused, and may be tried again.
	g := login(t, addr)
	f.want("BEGIN; UPDATE a:0 SET n = 1 RETURN NONE", "C(BEGIN) C(UPDATE 1) ZT")
	g.want("BEGIN; UPDATE a:0 SET n = 2 RETURN NONE", "C(BEGIN) C(UPDATE 1) ZT")
	f.want("COMMIT", "C(COMMIT) ZI")
	g.want("COMMIT", "E!40001 ZI")
}

// parse, bind, describe and execute are messages of the extended flow.
func parse(name, text string, oids ...uint32) *pgproto3.Parse {
	return &pgproto3.Parse{Name: name, Query: text, ParameterOIDs: oids}
}

func bind(portal, stmt string, params ...string) *pgproto3.Bind {
	b := &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: stmt}
	for _, p := range params {
		if p == "-" {
			b.Parameters = append(b.Parameters, nil)
		} else {
			b.Parameters = append(b.Parameters, []byte(p))
		}
	}
	return b
}

func describe(kind byte, name string) *pgproto3.Describe {
	return &pgproto3.Describe{ObjectType: kind, Name: name}
}

func execute(portal string, most uint32) *pgproto3.Execute {
	return &pgproto3.Execute{Portal: portal, MaxRows: most}
}

var sync = &pgproto3.Sync{}

func TestExtendedFlow(t *testing.T) {
	addr, _ := start(t, unauthenticated)
	f := login(t, addr)
	type msgs = []pgproto3.FrontendMessage
	for _, tc := range []struct {
		name string
		say  msgs
		want string
	}{
		{"a query", msgs{parse("", "RETURN 1"), bind("", ""), describe('P', ""), execute("", 0), sync},
			"1 2 T[value:20] D[1] C(SELECT 1) ZI"},
		{"described before", msgs{parse("", "RETURN $1"), describe('S', ""), bind("", "", `{"a":1}`), execute("", 0),
			sync}, `1 t[3802] T[result:3802] 2 D[{"a":1}] C(SELECT 1) ZI`},
		{"what is not JSON is a string", msgs{parse("", "RETURN $1"), bind("", "", "Ada"), describe('P', ""),
			execute("", 0), sync}, "1 2 T[value:25] D[Ada] C(SELECT 1) ZI"},
		{"typed", msgs{parse("", "RETURN $1 + $2", 23, 20), bind("", "", "1", "2"), describe('P', ""), execute("", 0),
			sync}, "1 2 T[value:20] D[3] C(SELECT 1) ZI"},
		{"NULL", msgs{parse("", "RETURN $1"), bind("", "", "-"), describe('P', ""), execute("", 0), sync},
			"1 2 T[value:25] D[-] C(SELECT 1) ZI"},
		{"counts of rows are ints", msgs{parse("", "SELECT * FROM [1,2,3] LIMIT $1 START $2"), describe('S', ""),
			sync}, "1 t[20 20] T[result:3802] ZI"},
		{"empty", msgs{parse("", ""), bind("", ""), describe('P', ""), execute("", 0), sync}, "1 2 n I ZI"},
		{"no rows to describe", msgs{parse("", "BEGIN"), describe('S', ""), bind("", ""), execute("", 0), sync},
			"1 t[] n 2 C(BEGIN) ZT"},
		{"out of it", msgs{parse("", "COMMIT"), bind("", ""), execute("", 0), sync}, "1 2 C(COMMIT) ZI"},
		{"suspended", msgs{parse("", "RETURN [1,2,3]"), bind("", ""), execute("", 2), execute("", 2), sync},
			"1 2 D[1] D[2] s D[3] C(SELECT 1) ZI"},
		{"a portal after Sync", msgs{parse("", "RETURN 1"), bind("p", ""), sync, execute("p", 0), sync},
			"1 2 ZI E!34000 ZI"},
		{"run twice", msgs{parse("", "RETURN 1"), bind("", ""), execute("", 0), execute("", 0), sync},
			"1 2 D[1] C(SELECT 1) E!55000 ZI"},
		{"an error skips up to Sync", msgs{parse("", "SELEC 1"), bind("", ""), execute("", 0), sync, parse("",
			"RETURN 1"), sync}, "E!42601 ZI 1 ZI"},
		{"two statements", msgs{parse("", "RETURN 1; RETURN 2"), sync}, "E!42601 ZI"},
		{"no such statement", msgs{bind("", "nope"), sync}, "E!26000 ZI"},
		{"no such portal", msgs{execute("nope", 0), sync}, "E!34000 ZI"},
		{"named", msgs{parse("s", "RETURN 7"), parse("s", "RETURN 8"), sync, bind("", "s"), execute("", 0), sync},
			"1 E!42P05 ZI 2 D[7] C(SELECT 1) ZI"},
		{"closed", msgs{&pgproto3.Close{ObjectType: 'S', Name: "s"}, &pgproto3.Close{ObjectType: 'P', Name: "none"},
			bind("", "s"), sync}, "3 3 E!26000 ZI"},
		{"a portal twice", msgs{parse("", "RETURN 1"), bind("p", ""), bind("p", ""), sync}, "1 2 E!42P03 ZI"},
		{"too few arguments", msgs{parse("", "RETURN $2"), bind("", "", "1"), sync}, "1 E!08P01 ZI"},
		{"formats that do not fit", msgs{parse("", "RETURN $1"), &pgproto3.Bind{ParameterFormatCodes: []int16{0, 0},
			Parameters: [][]byte{[]byte("1")}}, sync}, "1 E!08P01 ZI"},
		{"a format that does not exist", msgs{parse("", "RETURN 1"), &pgproto3.Bind{ResultFormatCodes: []int16{7}},
			sync}, "1 E!22023 ZI"},
		{"a bad number", msgs{parse("", "RETURN $1", 20), bind("", "", "x"), sync}, "1 E!22P02 ZI"},
		{"a bad length", msgs{parse("", "RETURN $1", 20), &pgproto3.Bind{ParameterFormatCodes: []int16{1},
			Parameters: [][]byte{{1, 2}}}, sync}, "1 E!22P03 ZI"},
		{"bad UTF-8", msgs{parse("", "RETURN $1", 25), bind("", "", "\xff"), sync}, "1 E!22021 ZI"},
		{"a pipeline", msgs{parse("", "RETURN 1"), bind("", ""), execute("", 0), sync, parse("", "RETURN 2"), bind("",
			""), execute("", 0), sync}, "1 2 D[1] C(SELECT 1) ZI 1 2 D[2] C(SELECT 1) ZI"},
		{"a failed block", msgs{parse("", "BEGIN"), bind("", ""), execute("", 0), parse("", "THROW 1"), bind("", ""),
			execute("", 0), sync, parse("", "RETURN 1"), sync, parse("", "ROLLBACK"), bind("", ""), execute("", 0),
			sync}, "1 2 C(BEGIN) 1 2 E!P0001 ZE E!25P02 ZE 1 2 C(ROLLBACK) ZI"},
		{"a function call", msgs{&pgproto3.FunctionCall{}}, "E!0A000 ZI"},
		{"COPY messages outside of COPY", msgs{&pgproto3.CopyData{Data: []byte("x")}, &pgproto3.CopyDone{}, sync},
			"ZI"},
	} {
		f.send(tc.say...)
		n := strings.Count(tc.want, " Z")
		if strings.HasPrefix(tc.want, "Z") {
			n++
		}
		if got := f.read(n); got != tc.want {
			t.Errorf("%s\n got: %s\nwant: %s", tc.name, got, tc.want)
		}
	}
	f.write("y\x00\x00\x00\x04")
	if got := f.read(1); got != "F!08P01 EOF" {
		t.Errorf("a message of an unknown type: %s", got)
	}
	f = login(t, addr)
	f.write("Q\x7f\xff\xff\xff")
	if got := f.read(1); got != "F!08P01 EOF" {
		t.Errorf("a message that is too long: %s", got)
	}
}

func TestCaps(t *testing.T) {
	addr, _ := start(t, unauthenticated, func(c *config.Config) {
		c.Limits.PostgresConnections, c.Limits.PostgresStatements, c.Limits.PostgresPortals = 2, 3, 2
		c.Limits.PostgresMessage, c.Limits.PostgresStartup = 100, 300*time.Millisecond
	})
	f := login(t, addr)
	f.send(parse("a", "RETURN 1"), parse("b", "RETURN 1"), parse("c", "RETURN 1"), parse("d", "RETURN 1"), sync)
	if got := f.read(1); got != "1 1 1 E!54000 ZI" {
		t.Errorf("statements: %s", got)
	}
	f.send(bind("a", "a"), bind("b", "a"), bind("c", "a"), sync)
	if got := f.read(1); got != "2 2 E!54000 ZI" {
		t.Errorf("portals: %s", got)
	}
	g := login(t, addr)
	h := dial(t, addr)
	h.write(packet(80877103, ""))
	b := make([]byte, 1)
	if _, err := io.ReadFull(h.conn, b); err != nil || b[0] != 'N' {
		t.Errorf("the third connection: %q %v", b, err)
	}
	h.write(startupPacket("user", "x"))
	if got := h.read(1); got != "F!53300 EOF" {
		t.Errorf("the third connection: %s", got)
	}
	_ = g.conn.Close()
	f.write("Q" + string(binary.BigEndian.AppendUint32(nil, 105)) + strings.Repeat("x", 101))
	if got := f.read(1); got != "F!08P01 EOF" {
		t.Errorf("a long message: %s", got)
	}
	var slow *frames
	for deadline := time.Now().Add(10 * time.Second); ; { // the places of those that left are free again
		slow = dial(t, addr)
		slow.write("\x00\x00\x00")
		if got := slow.read(1); got == "F!57P05 EOF" {
			break
		} else if time.Now().After(deadline) {
			t.Errorf("a client that does not go on: %s", got)
			break
		}
	}
}

// A cancel request stops the statement of the connection whose number and secret it has, and no other.
func TestCancel(t *testing.T) {
	addr, _ := start(t, unauthenticated)
	f := dial(t, addr)
	f.write(startupPacket("user", "root", "database", "test/test"))
	var key *pgproto3.BackendKeyData
	for {
		m, err := f.f.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if k, ok := m.(*pgproto3.BackendKeyData); ok {
			key = &pgproto3.BackendKeyData{ProcessID: k.ProcessID, SecretKey: append([]byte(nil), k.SecretKey...)}
		}
		if _, ok := m.(*pgproto3.ReadyForQuery); ok {
			break
		}
	}
	cancel := func(secret []byte) {
		g := dial(t, addr)
		g.write(packet(80877102, string(binary.BigEndian.AppendUint32(nil, key.ProcessID))+string(secret)))
		if got := g.read(1); got != "EOF" {
			t.Errorf("a cancel request is answered: %s", got)
		}
	}
	wrong := append([]byte(nil), key.SecretKey...)
	wrong[0] ^= 1
	f.send(&pgproto3.Query{String: "SLEEP 300ms; RETURN 1"})
	cancel(wrong)
	if got := f.read(1); got != "C(SLEEP) T[value:20] D[1] C(SELECT 1) ZI" {
		t.Errorf("a wrong secret: %s", got)
	}
	cancel(key.SecretKey) // idle: nothing happens
	f.want("RETURN 1", "T[value:20] D[1] C(SELECT 1) ZI")
	f.send(&pgproto3.Query{String: "SLEEP 1h"})
	time.Sleep(100 * time.Millisecond)
	cancel(key.SecretKey)
	if got := f.read(1); got != "E!57014 ZI" {
		t.Errorf("cancelled: %s", got)
	}
}
