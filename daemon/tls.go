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
func loadTLS(cfg *config.Config) (*tls.Config, error) {
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
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}, nil
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
