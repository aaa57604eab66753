package daemon_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/nacredb/nacre/daemon/config"
)

// issuer is somebody outside who signs tokens.
type issuer struct {
	private crypto.Signer
	public  string // PEM
}

func newIssuer(t testing.TB, algorithm string) issuer {
	t.Helper()
	var k crypto.Signer
	var err error
	switch {
	case strings.HasPrefix(algorithm, "ES"):
		k, err = ecdsa.GenerateKey(map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(), "ES512": elliptic.P521()}[algorithm], rand.Reader)
	case algorithm == "EDDSA":
		_, k, err = ed25519.GenerateKey(rand.Reader)
	default:
		k, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		t.Fatal(err)
	}
	return issuer{k, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))}
}

// sign makes a token; key is a signer or a secret, head is added to its head.
func sign(t testing.TB, algorithm string, key any, claims, head map[string]any) string {
	t.Helper()
	if algorithm == "EDDSA" {
		algorithm = "EdDSA"
	}
	token := jwt.NewWithClaims(jwt.GetSigningMethod(algorithm), jwt.MapClaims(claims))
	for k, v := range head {
		token.Header[k] = v
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// claims for database test, with changes; a nil takes one out.
func claimsFor(access string, changes map[string]any) map[string]any {
	c := map[string]any{"NS": "test", "DB": "test", "AC": access, "exp": time.Now().Add(time.Hour).Unix()}
	for k, v := range changes {
		if v == nil {
			delete(c, k)
		} else {
			c[k] = v
		}
	}
	return c
}

// lets reports whether a token lets in, by HTTP and by RPC, and what the session may then do.
func (s *server) lets(token string) (in bool, answer string) {
	s.t.Helper()
	r := s.do("POST", "/sql", "RETURN [$auth, $access]; INFO FOR DB; DEFINE PARAM OVERWRITE $x VALUE 1", "Service-NS: test", "Service-DB: test", "Authorization: Bearer "+token)
	k := s.dial("json")
	call, err := json.Marshal(map[string]any{"id": 1, "method": "authenticate", "params": []string{token}})
	if err != nil {
		s.t.Fatal(err)
	}
	byRPC := k.say(string(call))
	if (r.StatusCode == 200) != strings.Contains(byRPC, `"result"`) {
		s.t.Errorf("HTTP says %d %s, RPC %s", r.StatusCode, r.body, byRPC)
	}
	return r.StatusCode == 200, r.body
}

func setup(t testing.TB, s *server, text string) {
	t.Helper()
	if r := s.do("POST", "/sql", text, at()...); r.StatusCode != 200 || strings.Contains(r.body, `"ERR"`) {
		t.Fatalf("%s\n%s", text, r.body)
	}
}

// unlimited lets a test fail to sign in as often as it likes.
func unlimited(c *config.Config) { c.AuthRate = 0 }

// External issuers: DEFINE ACCESS … TYPE JWT with HS, RS, ES, PS and EDDSA keys.
func TestTokensOfEveryAlgorithm(t *testing.T) {
	s := start(t, unlimited)
	for _, algorithm := range []string{"HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EDDSA"} {
		var key any = []byte("a shared secret")
		text := "a shared secret"
		if !strings.HasPrefix(algorithm, "HS") {
			i := newIssuer(t, algorithm)
			key, text = i.private, i.public
		}
		setup(t, s, fmt.Sprintf("DEFINE ACCESS OVERWRITE ext ON DATABASE TYPE JWT ALGORITHM %s KEY '%s'", algorithm, text))
		good := sign(t, algorithm, key, claimsFor("ext", map[string]any{"RL": []string{"Editor"}}), nil)
		if in, answer := s.lets(good); !in || strings.Contains(answer, `"ERR"`) {
			t.Errorf("%s: %v %s", algorithm, in, answer)
		}
		cut := strings.LastIndexByte(good, '.') + 1
		sig, err := base64.RawURLEncoding.DecodeString(good[cut:])
		if err != nil {
			t.Fatal(err)
		}
		sig[len(sig)/2] ^= 1
		if in, _ := s.lets(good[:cut] + base64.RawURLEncoding.EncodeToString(sig)); in {
			t.Errorf("%s: a changed signature lets in", algorithm)
		}
	}
}

// Claims at their edges. What a token does not say clearly it does not get.
func TestTokenClaims(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, `CREATE user:1; CREATE user:2;
		DEFINE ACCESS jwt ON DATABASE TYPE JWT ALGORITHM HS256 KEY 'k';
		DEFINE ACCESS rec ON DATABASE TYPE RECORD WITH JWT ALGORITHM HS256 KEY 'k';
		DEFINE ACCESS map ON DATABASE TYPE RECORD WITH JWT ALGORITHM HS256 KEY 'k' AUTHENTICATE { IF $auth { RETURN $auth }; SELECT VALUE id FROM ONLY user WHERE $token.email = 'two' LIMIT 1 };
		DEFINE ACCESS sees ON DATABASE TYPE JWT ALGORITHM HS256 KEY 'k' AUTHENTICATE { IF $token.tenant != 1 { THROW 'another tenant' } };
		DEFINE ACCESS says ON DATABASE TYPE JWT ALGORITHM HS256 KEY 'k' AUTHENTICATE { true };
		DEFINE ACCESS void ON DATABASE TYPE RECORD WITH JWT ALGORITHM HS256 KEY 'k' AUTHENTICATE { NONE };
		DEFINE ACCESS wide ON NAMESPACE TYPE JWT ALGORITHM HS256 KEY 'k'; DEFINE ACCESS root ON ROOT TYPE JWT ALGORITHM HS256 KEY 'k'`)
	const denied = "IAM error"
	now := time.Now().Unix()
	for _, tc := range []struct {
		name, access string
		change       map[string]any
		in           bool
		has          string
	}{
		{"no roles: viewer", "jwt", nil, true, denied},
		{"owner", "jwt", map[string]any{"RL": []string{"Owner"}}, true, `[null,"jwt"]`},
		{"roles in small letters", "jwt", map[string]any{"RL": []string{"owner"}}, true, `[null,"jwt"]`},
		{"an empty list of roles", "jwt", map[string]any{"RL": []string{}}, true, denied},
		{"an unknown role", "jwt", map[string]any{"RL": []string{"Emperor"}}, false, ""},
		{"roles that are a text", "jwt", map[string]any{"RL": "Owner"}, false, ""},
		{"no expiry", "jwt", map[string]any{"exp": nil}, false, ""},
		{"expired", "jwt", map[string]any{"exp": now - 1}, false, ""},
		{"expires now", "jwt", map[string]any{"exp": now}, false, ""},
		{"an expiry that is a text", "jwt", map[string]any{"exp": fmt.Sprint(now + 100)}, false, ""},
		{"not yet valid", "jwt", map[string]any{"nbf": now + 100}, false, ""},
		{"names in small letters", "jwt", map[string]any{"NS": nil, "DB": nil, "AC": nil, "ns": "test", "db": "test", "ac": "jwt"}, true, `[null,"jwt"]`},
		{"long names", "jwt", map[string]any{"NS": nil, "DB": nil, "AC": nil, "https://surrealdb.com/ns": "test",
			"https://surrealdb.com/db": "test", "https://surrealdb.com/ac": "jwt"}, true, `[null,"jwt"]`},
		{"another database", "jwt", map[string]any{"DB": "other"}, false, ""},
		{"another namespace", "jwt", map[string]any{"NS": "other"}, false, ""},
		{"no database", "jwt", map[string]any{"DB": nil}, false, ""},
		{"a database that is a number", "jwt", map[string]any{"DB": 5}, false, ""},
		{"another access method of the same key", "nope", nil, false, ""},
		{"no access method", "jwt", map[string]any{"AC": nil}, false, ""},
		{"a record for a system access", "jwt", map[string]any{"ID": "user:1"}, false, ""},
		{"a record", "rec", map[string]any{"ID": "user:1"}, true, `["user:1","rec"]`},
		{"no record", "rec", nil, false, ""},
		{"what is no record", "rec", map[string]any{"ID": "user"}, false, ""},
		{"a range of records", "rec", map[string]any{"ID": "user:1..2"}, false, ""},
		{"a call for a record", "rec", map[string]any{"ID": "user:rand()"}, false, ""},
		{"roles for a record user", "rec", map[string]any{"ID": "user:1", "RL": []string{"Owner"}}, true, denied},
		{"a record by AUTHENTICATE", "map", map[string]any{"email": "two"}, true, `["user:1","map"]`},
		{"no record by AUTHENTICATE", "map", map[string]any{"email": "three"}, false, ""},
		{"AUTHENTICATE is content", "sees", map[string]any{"tenant": 1}, true, `[null,"sees"]`},
		{"AUTHENTICATE throws", "sees", map[string]any{"tenant": 2}, false, ""},
		{"AUTHENTICATE of a system access answers", "says", nil, false, ""},
		{"AUTHENTICATE of a record access does not", "void", map[string]any{"ID": "user:1"}, false, ""},
		{"a namespace's", "wide", map[string]any{"DB": nil, "RL": []string{"Owner"}}, true, `[null,"wide"]`},
		{"a namespace's for a database", "wide", nil, false, ""},
		{"root's", "root", map[string]any{"NS": nil, "DB": nil, "RL": []string{"Owner"}}, true, `[null,"root"]`},
		{"root's for a database", "root", nil, false, ""},
	} {
		in, answer := s.lets(sign(t, "HS256", []byte("k"), claimsFor(tc.access, tc.change), nil))
		if in != tc.in || !strings.Contains(answer, tc.has) {
			t.Errorf("%s: %v %s", tc.name, in, answer)
		}
	}
}

// keyServer publishes a key set.
type keyServer struct {
	*httptest.Server
	body  atomic.Pointer[string]
	asked atomic.Int64
}

func newKeyServer(t testing.TB, keys ...map[string]any) *keyServer {
	ks := &keyServer{}
	ks.publish(t, keys...)
	ks.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		ks.asked.Add(1)
		_, _ = w.Write([]byte(*ks.body.Load()))
	}))
	t.Cleanup(ks.Close)
	return ks
}

func (ks *keyServer) publish(t testing.TB, keys ...map[string]any) {
	b, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	ks.body.Store(&text)
}

// published is a public key as a set has it.
func published(id string, k crypto.PublicKey, more map[string]any) map[string]any {
	b64 := base64.RawURLEncoding.EncodeToString
	m := map[string]any{"kid": id, "use": "sig"}
	switch k := k.(type) {
	case *rsa.PublicKey:
		m["kty"], m["n"], m["e"] = "RSA", b64(k.N.Bytes()), b64(big.NewInt(int64(k.E)).Bytes())
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil {
			panic(err)
		}
		half := (len(point) - 1) / 2
		m["kty"], m["crv"], m["x"], m["y"] = "EC", k.Curve.Params().Name, b64(point[1:1+half]), b64(point[1+half:])
	case ed25519.PublicKey:
		m["kty"], m["crv"], m["x"] = "OKP", "Ed25519", b64(k)
	}
	for name, v := range more {
		m[name] = v
	}
	return m
}

// JWKS URL: keys by name, kept in a cache, fetched only where the network capability lets out.
func TestTokensByKeySet(t *testing.T) {
	one, two, three := newIssuer(t, "RS256"), newIssuer(t, "ES256"), newIssuer(t, "EDDSA")
	ks := newKeyServer(t, published("one", one.private.Public(), map[string]any{"alg": "RS256"}), published("two", two.private.Public(), nil),
		published("three", three.private.Public(), nil), published("enc", one.private.Public(), map[string]any{"use": "enc"}),
		map[string]any{"kty": "oct", "kid": "secret", "k": "c2VjcmV0"}, map[string]any{"kty": "RSA", "kid": "tiny", "n": "AQAB", "e": "AQAB"})
	define := fmt.Sprintf("DEFINE ACCESS ext ON DATABASE TYPE JWT URL '%s/keys.json'", ks.URL)

	closed := start(t)
	setup(t, closed, define)
	good := sign(t, "RS256", one.private, claimsFor("ext", nil), map[string]any{"kid": "one"})
	if in, _ := closed.lets(good); in || ks.asked.Load() != 0 {
		t.Errorf("without the capability: let in %v, asked %d times", in, ks.asked.Load())
	}
	if !strings.Contains(closed.logs.String(), "is not allowed") {
		t.Error("the operator does not hear of it")
	}

	s := start(t, unlimited, func(c *config.Config) { c.AllowNet = config.ParseNames("127.0.0.1") })
	setup(t, s, define)
	public := []byte(one.public)
	for _, tc := range []struct {
		name, algorithm string
		key             any
		id              any
		in              bool
	}{
		{"RSA", "RS256", one.private, "one", true},
		{"elliptic curve", "ES256", two.private, "two", true},
		{"Ed25519", "EDDSA", three.private, "three", true},
		{"no name, one that fits", "ES256", two.private, nil, true},
		{"an algorithm that the key is not for", "PS256", one.private, "one", false},
		{"another's name", "ES256", two.private, "one", false},
		{"a key for encryption", "RS256", one.private, "enc", false},
		{"a symmetric key of the set", "HS256", []byte("secret"), "secret", false},
		{"the public key as a secret", "HS256", public, "one", false},
		{"a name that is a number", "ES256", two.private, 5, true},
		{"an unknown name", "RS256", one.private, "four", false},
	} {
		head := map[string]any{}
		if tc.id != nil {
			head["kid"] = tc.id
		}
		if in, answer := s.lets(sign(t, tc.algorithm, tc.key, claimsFor("ext", nil), head)); in != tc.in {
			t.Errorf("%s: %v %s", tc.name, in, answer)
		}
	}
	if n := ks.asked.Load(); n != 1 {
		t.Errorf("the set was asked for %d times", n)
	}
}

// Redirects and names do not lead where the capability does not.
func TestKeySetsDoNotLeadElsewhere(t *testing.T) {
	one := newIssuer(t, "ES256")
	ks := newKeyServer(t, published("one", one.private.Public(), nil))
	away := httptest.NewServer(http.RedirectHandler(ks.URL+"/keys.json", http.StatusFound))
	t.Cleanup(away.Close)
	s := start(t, func(c *config.Config) {
		c.AllowNet = config.ParseNames(strings.TrimPrefix(away.URL, "http://"))
	})
	setup(t, s, fmt.Sprintf("DEFINE ACCESS ext ON DATABASE TYPE JWT URL '%s/keys.json'", away.URL))
	if in, _ := s.lets(sign(t, "ES256", one.private, claimsFor("ext", nil), nil)); in || ks.asked.Load() != 0 {
		t.Errorf("a redirect led to the set: let in %v, asked %d times", in, ks.asked.Load())
	}
}
