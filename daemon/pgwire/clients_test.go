package pgwire_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/engine/auth"
)

// run runs statements of the language as the root owner of the process.
func run(t testing.TB, d *daemon.Daemon, text string) {
	t.Helper()
	s := d.Engine().RootSession()
	defer s.Close()
	ns, db := "test", "test"
	if err := s.Use(t.Context(), &ns, &db); err != nil {
		t.Fatal(err)
	}
	res, err := s.Execute(t.Context(), text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range res {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

// certificate writes a certificate for localhost, and gives the files and what trusts it.
func certificate(t testing.TB, kind string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true}
	var public, private any
	if kind == "rsa" {
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		public, private = &k.PublicKey, k
	} else {
		k, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		public, private = &k.PublicKey, k
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY",
		Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(parsed)
	return cert, key, pool
}

func connect(t testing.TB, dsn string, change ...func(*pgx.ConnConfig)) (*pgx.Conn, error) {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(cfg)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err == nil {
		t.Cleanup(func() { _ = c.Close(context.Background()) })
	}
	return c, err
}

func stateOf(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return fmt.Sprint(err)
}

// Users of each level sign in by SCRAM; a wrong password, a user that is not there, and a user of another place get the
// same answer.
func TestSignin(t *testing.T) {
	addr, d := start(t)
	run(t, d, `DEFINE USER ada ON ROOT PASSWORD 'pass' ROLES VIEWER; DEFINE USER ben ON NAMESPACE PASSWORD 'päss ﬁ' ROLES EDITOR;
		DEFINE USER cleo ON DATABASE PASSWORD 'pass' ROLES OWNER; DEFINE USER dora ON ROOT PASSHASH '`+auth.HashPassword("pass")+`' ROLES VIEWER`)
	for _, tc := range []struct{ user, pass, db, want string }{
		{"root", "secret", "test/test", "<nil>"},
		{"ada", "pass", "test/test", "<nil>"},
		{"ben", "päss fi", "test/test", "<nil>"}, // SASLprep of the password that was defined
		{"cleo", "pass", "test/test", "<nil>"},
		{"dora", "pass", "test/test", "<nil>"}, // has a hash alone: by the password itself, on loopback
		{"dora", "wrong", "test/test", "28P01"},
		{"root", "wrong", "test/test", "28P01"},
		{"nobody", "wrong", "test/test", "28P01"},
		{"cleo", "pass", "test/other", "28P01"},
		{"cleo", "pass", "", "28P01"},
		{"ben", "pass", "other/test", "28P01"},
	} {
		c, err := connect(t, "postgres://"+addr+"/?sslmode=disable", func(cfg *pgx.ConnConfig) {
			cfg.User, cfg.Password, cfg.Database = tc.user, tc.pass, tc.db
		})
		if got := stateOf(err); got != tc.want {
			t.Errorf("%s/%s at %q: %s, want %s", tc.user, tc.pass, tc.db, got, tc.want)
		}
		if err == nil {
			var n int64
			if err := c.QueryRow(t.Context(), "RETURN 1", pgx.QueryExecModeSimpleProtocol).Scan(&n); err != nil ||
				n != 1 {
				t.Errorf("%s: %d %v", tc.user, n, err)
			}
		}
	}
}

func TestTLS(t *testing.T) {
	for _, kind := range []string{"rsa", "ecdsa"} {
		cert, key, pool := certificate(t, kind)
		addr, _ := start(t, func(c *config.Config) { c.WebCert, c.WebKey = cert, key })
		for _, mode := range []string{"postgres", "direct"} {
			dsn := "postgres://root:secret@" + addr + "/test%2Ftest?sslmode=verify-full&channel_binding=require"
			if mode == "direct" {
				dsn += "&sslnegotiation=direct"
			}
			c, err := connect(t, dsn, func(cfg *pgx.ConnConfig) { cfg.TLSConfig.RootCAs = pool })
			if err != nil {
				t.Errorf("%s %s: %v", kind, mode, err)
				continue
			}
			var n int64
			if err := c.QueryRow(t.Context(), "RETURN 1", pgx.QueryExecModeSimpleProtocol).Scan(&n); err != nil ||
				n != 1 {
				t.Errorf("%s %s: %d %v", kind, mode, n, err)
			}
		}
		// Direct TLS without the name of the protocol is not for this listener.
		conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: pool})
		if err == nil {
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Errorf("%s: TLS without ALPN is answered", kind)
			}
			_ = conn.Close()
		}
		// What is sent in the open behind an SSLRequest is not taken for what comes through TLS.
		f := dial(t, addr)
		f.write(packet(80877103, "") + startupPacket("user", "root"))
		if got := f.read(1); got != "F!08P01 EOF" {
			t.Errorf("%s: data behind an SSLRequest: %s", kind, got)
		}
	}
}

func TestGates(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*config.Config)
		want   string
	}{
		{"the route is denied", func(c *config.Config) { c.DenyHTTP.List = []string{"postgres"} }, "42501"},
		{"statements are denied to system users", func(c *config.Config) { c.DenyQuery.List = []string{"system"} },
			"42501"},
		{"another route is denied", func(c *config.Config) { c.DenyHTTP.List = []string{"sql"} }, "<nil>"},
	} {
		addr, _ := start(t, tc.change)
		_, err := connect(t, "postgres://root:secret@"+addr+"/test%2Ftest?sslmode=disable")
		if got := stateOf(err); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestPGX(t *testing.T) {
	addr, _ := start(t)
	c, err := connect(t, "postgres://root:secret@"+addr+"/test%2Ftest?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := c.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	tag, err := c.Exec(ctx, "CREATE person:1 CONTENT { name: $1, age: $2, tags: $3 } RETURN NONE", "Ada", 36,
		[]string{"a", "b"})
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("create: %v %v", tag, err)
	}
	var got map[string]any
	if err := c.QueryRow(ctx, "SELECT name, age, tags FROM person WHERE age > $1", 3).Scan(&got); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "map[age:36 name:Ada tags:[a b]]" {
		t.Errorf("the row is %v", got)
	}
	var name string
	var age int64
	if err := c.QueryRow(ctx, "SELECT name, age FROM person", pgx.QueryExecModeExec).Scan(&name, &age); err != nil ||
		name != "Ada" || age != 36 {
		t.Errorf("typed: %s %d %v", name, age, err)
	}
	tx, err := c.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := tx.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inner.Exec(ctx, "DELETE person"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(inner.Rollback(ctx), tx.Commit(ctx)); err != nil {
		t.Fatal(err)
	}
	batch := &pgx.Batch{}
	for i := range 3 {
		batch.Queue("RETURN $1 + 1", i)
	}
	res := c.SendBatch(ctx, batch)
	for i := range 3 {
		var n int
		if err := res.QueryRow().Scan(&n); err != nil || n != i+1 {
			t.Errorf("batch %d: %d %v", i, n, err)
		}
	}
	if err := res.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(ctx, "LISTEN news"); err != nil {
		t.Fatal(err)
	}
	other, err := connect(t, "postgres://root:secret@"+addr+"/test%2Ftest?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() {
		_, err := other.Exec(context.Background(), "NOTIFY news, 'hello'")
		told <- err
	}()
	n, err := c.WaitForNotification(ctx)
	if err != nil || n.Channel != "news" || n.Payload != "hello" {
		t.Errorf("notification: %v %v", n, err)
	}
	if err := <-told; err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := other.Exec(short, "SLEEP 1h"); err == nil {
		t.Error("a statement outlives its context")
	}
}

// psql runs a script and gives what it prints.
func psql(t testing.TB, addr, script string, args ...string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "psql", append([]string{"-X", "-h", host, "-p", port, "-U", "root", "-d",
		"test/test", "-v", "VERBOSITY=sqlstate"}, args...)...)
	cmd.Env = append(os.Environ(), "PGPASSWORD=secret", "PGCLIENTENCODING=UTF8", "PAGER=cat")
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	return string(bytes.TrimSpace(out))
}

func TestPsql(t *testing.T) {
	addr, _ := start(t)
	got := psql(t, addr, `CREATE p:1 SET name = 'Ada', n = 1; CREATE p:2 SET name = 'Bob', n = 2.5 RETURN NONE;
\set FETCH_COUNT 1
SELECT name, n FROM p;
\set FETCH_COUNT 0
BEGIN;
\set ON_ERROR_ROLLBACK on
THROW 'x';
RETURN 2;
COMMIT;
LISTEN a;
NOTIFY a, 'b';
`, "-A", "-t")
	want := `p:1|1|Ada
INSERT 0 1
INSERT 0 1
Ada|1
Bob|2.5
BEGIN
ERROR:  P0001
2
COMMIT
LISTEN
NOTIFY
Asynchronous notification "a" with payload "b" received from server process with PID`
	if !strings.HasPrefix(got, strings.SplitN(want, "\nRETURN", 2)[0]) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	host, port, _ := net.SplitHostPort(addr)
	if out, err := exec.CommandContext(t.Context(), "pg_isready", "-h", host, "-p", port).CombinedOutput(); err != nil {
		t.Errorf("pg_isready: %v %s", err, out)
	}
}

// A user that is not there is asked in the same way as one that is: by SCRAM with a salt that stays, and refused in the
// same words.
func TestSigninTellsNoUsers(t *testing.T) {
	addr, _ := start(t)
	seen := map[string]string{}
	for _, user := range []string{"root", "nobody", "root", "nobody", "someone"} {
		f := dial(t, addr)
		f.write(startupPacket("user", user, "database", "test/test"))
		m, err := f.f.Receive()
		if err != nil || short(m) != "sasl" {
			t.Fatalf("%s: %v %v", user, m, err)
		}
		if got := fmt.Sprint(m.(*pgproto3.AuthenticationSASL).AuthMechanisms); got != "[SCRAM-SHA-256]" {
			t.Errorf("%s: %s", user, got)
		}
		f.send(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("n,,n=,r=abcdefgh")})
		if m, err = f.f.Receive(); err != nil {
			t.Fatal(err)
		}
		next, ok := m.(*pgproto3.AuthenticationSASLContinue)
		if !ok {
			t.Fatalf("%s: %v", user, m)
		}
		nonce, rest, _ := strings.Cut(string(next.Data), ",")
		salt, rounds, _ := strings.Cut(rest, ",")
		if len(nonce) != len("r=abcdefgh")+24 || len(salt) != len("s=")+24 || rounds != "i=4096" {
			t.Errorf("%s: %s", user, next.Data)
		}
		if was, ok := seen[user]; ok && was != salt {
			t.Errorf("the salt of %s was %s, and is %s", user, was, salt)
		}
		for other, of := range seen {
			if other != user && of == salt {
				t.Errorf("%s and %s have one salt", user, other)
			}
		}
		seen[user] = salt
		proof := base64.StdEncoding.EncodeToString(make([]byte, 32))
		f.send(&pgproto3.SASLResponse{Data: []byte("c=biws," + nonce + ",p=" + proof)})
		if m, err = f.f.Receive(); err != nil {
			t.Fatal(err)
		}
		e, ok := m.(*pgproto3.ErrorResponse)
		if !ok || e.Code != "28P01" || e.Message != fmt.Sprintf("password authentication failed for user %q", user) {
			t.Errorf("%s: %+v", user, m)
		}
	}
}

// What a client says of channel binding (RFC 5802, section 6) is held to what it was offered.
func TestChannelBinding(t *testing.T) {
	cert, key, pool := certificate(t, "ecdsa")
	addr, _ := start(t, func(c *config.Config) { c.WebCert, c.WebKey = cert, key })
	for _, tc := range []struct{ mechanism, first, want string }{
		{"SCRAM-SHA-256", "n,,n=,r=abc", "continue"},
		{"SCRAM-SHA-256", "y,,n=,r=abc", "28P01"}, // somebody has taken PLUS off the list
		{"SCRAM-SHA-256", "p=tls-server-end-point,,n=,r=abc", "08P01"},
		{"SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n=,r=abc", "continue"},
		{"SCRAM-SHA-256-PLUS", "p=tls-unique,,n=,r=abc", "08P01"},
		{"SCRAM-SHA-256-PLUS", "n,,n=,r=abc", "08P01"},
		{"SCRAM-SHA-1", "n,,n=,r=abc", "08P01"},
	} {
		raw, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		_ = raw.SetDeadline(time.Now().Add(20 * time.Second))
		conn := tls.Client(raw, &tls.Config{RootCAs: pool, ServerName: "localhost", NextProtos: []string{"postgresql"}})
		f := &frames{t: t, conn: conn, f: pgproto3.NewFrontend(conn, conn)}
		f.write(startupPacket("user", "root", "database", "test/test"))
		m, err := f.f.Receive()
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(m.(*pgproto3.AuthenticationSASL).AuthMechanisms)
		if got != "[SCRAM-SHA-256-PLUS SCRAM-SHA-256]" {
			t.Errorf("offered: %s", got)
		}
		f.send(&pgproto3.SASLInitialResponse{AuthMechanism: tc.mechanism, Data: []byte(tc.first)})
		if m, err = f.f.Receive(); err != nil {
			t.Fatal(err)
		}
		got = "continue"
		if e, ok := m.(*pgproto3.ErrorResponse); ok {
			got = e.Code
		}
		if got != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.mechanism, tc.first, got, tc.want)
		}
	}
}
