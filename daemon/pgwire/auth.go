package pgwire

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"hash"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
)

// authenticate finds out who the client is: a user of the database, of the namespace or of the root.
func (c *conn) authenticate(user, ns, db string) error {
	if c.srv.Open {
		return nil
	}
	ctx, stop := c.srv.RPC.Deadline(c.ctx)
	defer stop()
	challenge, err := c.session.Challenge(ctx, user, ns, db)
	if err != nil {
		return fatal(c.translate(err))
	}
	if challenge.Scram != nil {
		err = c.session.SigninProved(ctx, challenge, func() (bool, error) { return c.scram(challenge.Scram) })
	} else {
		err = c.cleartext(func(pass string) error {
			return c.session.SigninBasic(ctx, user, pass, challenge.NS, challenge.DB)
		})
	}
	if err != nil && gone(err) {
		return err
	}
	c.srv.RPC.NoteSignin(c.client, "postgres", err)
	if err == nil {
		return nil
	}
	if wait, ok := errors.AsType[rpc.Wait](err); ok {
		return sqlstate.Fatal(sqlstate.InvalidAuth, "Too many authentication attempts, try again in %d seconds",
			wait.Seconds())
	}
	if e, ok := errors.AsType[*sqlstate.Error](err); ok {
		return e
	}
	if rpc.FailedAuth(err) {
		return refusedAuth(user)
	}
	return fatal(c.translate(err))
}

// cleartext asks for the password itself. SECURITY: over a network it does so through TLS only; the user has no
// verifier, so there is no other way.
func (c *conn) cleartext(check func(pass string) error) error {
	if !c.secured && !c.local() {
		return sqlstate.Fatal(sqlstate.InvalidPassword, "this user can only sign in over an encrypted connection").
			Hinted("Use TLS, or set the password again in plaintext, which stores what SCRAM-SHA-256 needs.")
	}
	c.send(&pgproto3.AuthenticationCleartextPassword{})
	body, err := c.authMessage()
	if err != nil {
		return err
	}
	pass, rest, ok := cString(body)
	if !ok || len(rest) > 0 {
		return sqlstate.Fatal(sqlstate.ProtocolViolation, "invalid password packet size")
	}
	if pass == "" {
		return errs.InvalidAuth()
	}
	return check(pass)
}

// local reports whether the client is on the same machine.
func (c *conn) local() bool {
	a, ok := c.raw.RemoteAddr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

// mostAuth is the longest message of a client that has not signed in.
const mostAuth = 4096

// authMessage flushes, and reads the answer of the client: the body of a message of type p.
func (c *conn) authMessage() ([]byte, error) {
	if err := c.flush(); err != nil {
		return nil, err
	}
	kind, body, err := c.readMessage(mostAuth)
	if err != nil {
		return nil, err
	}
	if kind != 'p' {
		return nil, sqlstate.Fatal(sqlstate.ProtocolViolation, "expected password response, got message type %d", kind)
	}
	return body, nil
}

const (
	mechanism     = "SCRAM-SHA-256"
	mechanismPlus = "SCRAM-SHA-256-PLUS"
	bindingName   = "tls-server-end-point"
)

// scram lets the client prove that it has the password of v (RFC 5802, RFC 7677), and proves to it that the server
// knows v.
func (c *conn) scram(v *engine.Scram) (bool, error) {
	binding := c.channelBinding()
	mechanisms := []string{mechanism}
	if binding != nil {
		mechanisms = []string{mechanismPlus, mechanism}
	}
	c.send(&pgproto3.AuthenticationSASL{AuthMechanisms: mechanisms})
	body, err := c.authMessage()
	if err != nil {
		return false, err
	}
	var first pgproto3.SASLInitialResponse
	if err := first.Decode(body); err != nil {
		return false, malformed()
	}
	exchange, err := newExchange(v, first.AuthMechanism, string(first.Data), binding)
	if err != nil {
		return false, err
	}
	c.send(&pgproto3.AuthenticationSASLContinue{Data: []byte(exchange.serverFirst)})
	if body, err = c.authMessage(); err != nil {
		return false, err
	}
	final, ok, err := exchange.finish(string(body))
	if err != nil || !ok {
		return false, err
	}
	c.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(final)})
	return true, nil
}

func malformed() error {
	return sqlstate.Fatal(sqlstate.ProtocolViolation, "malformed SCRAM message")
}

// channelBinding is the hash of the certificate that the connection is made with (RFC 5929); nil without TLS.
func (c *conn) channelBinding() []byte {
	if c.tls == nil {
		return nil
	}
	pair, err := c.srv.certificate()
	if err != nil || len(pair.Certificate) == 0 {
		return nil
	}
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil
	}
	var h hash.Hash
	switch cert.SignatureAlgorithm {
	case x509.SHA384WithRSA, x509.ECDSAWithSHA384, x509.SHA384WithRSAPSS:
		h = sha512.New384()
	case x509.SHA512WithRSA, x509.ECDSAWithSHA512, x509.SHA512WithRSAPSS:
		h = sha512.New()
	case x509.PureEd25519:
		return nil // no hash belongs to it
	default:
		h = sha256.New()
	}
	h.Write(pair.Certificate[0])
	return h.Sum(nil)
}

// exchange is one SCRAM authentication.
type exchange struct {
	v           *engine.Scram
	binding     []byte
	gs2         string // the header of the client
	plus        bool
	clientBare  string
	nonce       string
	serverFirst string
}

// newExchange reads the first message of the client.
func newExchange(v *engine.Scram, chosen, message string, binding []byte) (*exchange, error) {
	e := &exchange{v: v, binding: binding}
	switch {
	case chosen == mechanism:
	case chosen == mechanismPlus && binding != nil:
		e.plus = true
	default:
		return nil, sqlstate.Fatal(sqlstate.ProtocolViolation,
			"client selected an invalid SASL authentication mechanism")
	}
	flag, rest, ok := strings.Cut(message, ",")
	authzid, bare, ok2 := strings.Cut(rest, ",")
	if !ok || !ok2 || authzid != "" && !strings.HasPrefix(authzid, "a=") {
		return nil, malformed()
	}
	e.gs2, e.clientBare = flag+","+authzid+",", bare
	switch {
	case flag == "n" && !e.plus:
	case flag == "y" && !e.plus:
		if binding != nil { // somebody between us has hidden that the server can
			return nil, errs.InvalidAuth()
		}
	case e.plus && flag == "p="+bindingName:
	default:
		return nil, malformed()
	}
	name, rest, ok := strings.Cut(bare, ",")
	nonce, _, _ := strings.Cut(rest, ",")
	if !ok || !strings.HasPrefix(name, "n=") || !strings.HasPrefix(nonce, "r=") || len(nonce) < 3 || !printable(nonce) {
		return nil, malformed()
	}
	own := make([]byte, 18)
	rand.Read(own) // never fails: it ends the process instead
	e.nonce = nonce[2:] + base64.StdEncoding.EncodeToString(own)
	e.serverFirst = "r=" + e.nonce + ",s=" + base64.StdEncoding.EncodeToString(v.Salt) + ",i=" + itoa(v.Iterations)
	return e, nil
}

func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// finish checks the proof in the last message of the client, and gives the one of the server.
func (e *exchange) finish(message string) (final string, ok bool, err error) {
	at := strings.LastIndex(message, ",p=")
	if at < 0 {
		return "", false, malformed()
	}
	bare, proofText := message[:at], message[at+3:]
	proof, err := base64.StdEncoding.DecodeString(proofText)
	if err != nil || len(proof) != sha256.Size {
		return "", false, malformed()
	}
	bindingText, rest, _ := strings.Cut(bare, ",")
	nonce, _, _ := strings.Cut(rest, ",")
	want := []byte(e.gs2)
	if e.plus {
		want = append(want, e.binding...)
	}
	if bindingText != "c="+base64.StdEncoding.EncodeToString(want) || nonce != "r="+e.nonce {
		return "", false, nil
	}
	signed := e.clientBare + "," + e.serverFirst + "," + bare
	key := mac(e.v.StoredKey, signed)
	for i := range key {
		key[i] ^= proof[i]
	}
	stored := sha256.Sum256(key)
	if subtle.ConstantTimeCompare(stored[:], e.v.StoredKey) != 1 {
		return "", false, nil
	}
	return "v=" + base64.StdEncoding.EncodeToString(mac(e.v.ServerKey, signed)), true, nil
}

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}
