package daemon_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/daemon/telemetry"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"go.etcd.io/bbolt"
)

// startError starts a server on a store and expects it to fail.
func startError(t *testing.T, path string) *daemon.StartError {
	t.Helper()
	cfg := config.Default()
	cfg.Bind, cfg.Path = "127.0.0.1:0", path
	d, err := daemon.Start(t.Context(), cfg, telemetry.NewLogger(&lockedBuffer{}, slog.LevelInfo, false))
	if err == nil {
		_ = d.Close(t.Context())
		t.Fatalf("%s opens", path)
	}
	var e *daemon.StartError
	if !errors.As(err, &e) {
		t.Fatalf("%s: %v", path, err)
	}
	if strings.Contains(e.Text, "\n") {
		t.Errorf("more than one line: %q", e.Text)
	}
	return e
}

func TestStoreInUse(t *testing.T) {
	path := "bolt://" + filepath.Join(t.TempDir(), "a.db")
	start(t, func(c *config.Config) { c.Path = path })
	if e := startError(t, path); e.Reason != daemon.StoreLocked || !strings.Contains(e.Text, "in use by another process") {
		t.Errorf("%d %s", e.Reason, e.Text)
	}
}

func TestForeignFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a store ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if e := startError(t, path); e.Reason != daemon.StoreForeign || !strings.Contains(e.Text, "choose another path") {
		t.Errorf("%d %s", e.Reason, e.Text)
	}
	if b, err := os.ReadFile(path); err != nil || len(b) != 12000 {
		t.Errorf("the file was changed: %d bytes, %v", len(b), err)
	}
}

func TestUnknownScheme(t *testing.T) {
	for _, dsn := range []string{"ftp://x", "bolt://x?snyc=every", "bolt://x?sync=sometimes", "bolt://"} {
		if e := startError(t, dsn); e.Reason != daemon.BadSetting {
			t.Errorf("%s: %d %s", dsn, e.Reason, e.Text)
		}
	}
}

func TestDamagedStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	st, err := bolt.Open(bolt.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		b := &kv.Batch{Writes: []kv.Write{{Key: []byte{'k', byte(n)}, Value: make([]byte, 5000)}}}
		if _, err := st.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(path, "data.db"), 100<<10); err != nil {
		t.Fatal(err)
	}
	if e := startError(t, path); e.Reason != daemon.StoreDamaged || !strings.Contains(e.Text, "nacre check") {
		t.Errorf("%d %s", e.Reason, e.Text)
	}
}

func TestNewerStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	st, err := bolt.Open(bolt.Options{Path: path})
	if err == nil {
		err = st.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(filepath.Join(path, "data.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("nacre")).Put([]byte("format"), []byte{0, 0, 0, 99}) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if e := startError(t, path); e.Reason != daemon.StoreForeign || !strings.Contains(e.Text, "newer version of nacre") {
		t.Errorf("%d %s", e.Reason, e.Text)
	}
}

// What one run has stored the next one serves; the root user of the first run stays.
func TestRestart(t *testing.T) {
	path := "bolt://" + filepath.Join(t.TempDir(), "a.db")
	first := start(t, func(c *config.Config) { c.Path = path })
	if r := first.do("POST", "/sql", "CREATE a:1 SET x = 'kept'", at()...); strings.Contains(r.body, "ERR") {
		t.Fatal(r.body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	first.http.CloseIdleConnections()
	if err := first.Close(ctx); err != nil {
		t.Fatal(err)
	}
	second := start(t, func(c *config.Config) { c.Path, c.User, c.Pass = path, "", "" })
	if r := second.do("POST", "/sql", "SELECT VALUE x FROM a", at()...); timeless(r.body) != `[`+ok(`["kept"]`)+`]` {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

// writePair makes a certificate for 127.0.0.1 with a serial number.
func writePair(t *testing.T, dir string, serial int64) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "crt.pem"), filepath.Join(dir, "key.pem")
	for name, b := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(cert)
	return certFile, keyFile, pool
}

func TestTLSAndItsReload(t *testing.T) {
	dir := t.TempDir()
	cert, key, pool := writePair(t, dir, 1)
	s := start(t, func(c *config.Config) { c.WebCert, c.WebKey = cert, key })
	serial := func(pool *x509.CertPool) int64 {
		t.Helper()
		c, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{RootCAs: pool})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(pool); got != 1 {
		t.Errorf("serial %d", got)
	}
	_, _, pool = writePair(t, dir, 2)
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := serial(pool); got != 2 {
		t.Errorf("after the reload: serial %d", got)
	}
	if err := os.WriteFile(key, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err == nil {
		t.Error("a broken key is taken")
	}
	if got := serial(pool); got != 2 {
		t.Errorf("after a broken reload: serial %d", got)
	}
}

func tlsOf(pool *x509.CertPool) *tls.Config { return &tls.Config{RootCAs: pool} }
