package tikv_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/tikv"
)

// TestTLS: a cluster that wants certificates gets one for all that is asked: timestamps, data, the safe point of
// clients.
func TestTLS(t *testing.T) {
	cert, key := writePair(t)
	c, open := cluster(t, "-ca", cert, "-cert", cert, "-key", key)
	st := open(tikv.Unpaced(tikv.Options{GC: time.Hour, TLS: tikv.TLS{CA: cert, Cert: cert, Key: key}}))
	kvtest.Put(t, st, "a", "1")
	if got := kvtest.All(t, st); got != "a=1" {
		t.Errorf("got %s", got)
	}
	turn(t, st)
	if p := safePointsOf(t, c); p.Driver == 0 || p.Told == "" {
		t.Errorf("%+v", p)
	}
}

// writePair makes a certificate for 127.0.0.1 that is its own authority.
func writePair(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(t.TempDir(), "crt.pem"), filepath.Join(t.TempDir(), "key.pem")
	write := func(name, kind string, der []byte) error {
		return os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
	}
	if err := errors.Join(write(certFile, "CERTIFICATE", der), write(keyFile, "PRIVATE KEY", keyDER)); err != nil {
		t.Fatal(err)
	}
	return certFile, keyFile
}
