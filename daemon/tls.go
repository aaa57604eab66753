package daemon

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"

	"github.com/nacredb/nacre/daemon/config"
)

// certificate is the server's pair, which can be replaced while it runs.
type certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
}

// loadTLS reads the certificate of cfg; nil without one.
func loadTLS(cfg *config.Config) (*certificate, error) {
	switch {
	case cfg.WebCert == "" && cfg.WebKey == "":
		return nil, nil
	case cfg.WebCert == "" || cfg.WebKey == "":
		return nil, &StartError{Reason: BadTLS, Text: "--web-crt and --web-key go together: give both or none"}
	}
	c := &certificate{certFile: cfg.WebCert, keyFile: cfg.WebKey}
	if err := c.load(); err != nil {
		return nil, &StartError{Reason: BadTLS, Err: err, Text: fmt.Sprintf("the certificate cannot be used: %v", err)}
	}
	return c, nil
}

// config is the TLS configuration with the pair; nil for a nil c.
func (c *certificate) config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}

// Reload reads the certificate and key again; connections made from then on use them. A pair that cannot be used is
// an error, and the old one stays. Without TLS it does nothing.
func (d *Daemon) Reload() error {
	if d.certificate == nil {
		return nil
	}
	if err := d.certificate.load(); err != nil {
		return fmt.Errorf("reload the certificate: %w", err)
	}
	d.log.Info("certificate reloaded", "component", "server")
	return nil
}

func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.current.Store(&pair)
	return nil
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current.Load(), nil
}
