package daemon_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// part is a piece of a token.
func part(t testing.TB, v any) string {
	t.Helper()
	if text, ok := v.(string); ok {
		return base64.RawURLEncoding.EncodeToString([]byte(text))
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// Tokens that were bent: none of them lets anybody in, over HTTP or by a method.
func TestBentTokens(t *testing.T) {
	s := start(t, unlimited)
	rsa, other := newIssuer(t, "RS256"), newIssuer(t, "RS256")
	setup(t, s, fmt.Sprintf(`CREATE user:1 SET pass = 'p'; CREATE user:2 SET pass = 'q'; USE DB elsewhere; DEFINE ACCESS hs ON DATABASE TYPE JWT ALGORITHM HS256 KEY 'k'; USE DB test;
		DEFINE ACCESS hs ON DATABASE TYPE JWT ALGORITHM HS256 KEY 'k'; DEFINE ACCESS rs ON DATABASE TYPE JWT ALGORITHM RS256 KEY '%s'; DEFINE ACCESS short ON DATABASE TYPE JWT ALGORITHM HS256 KEY '';
		DEFINE ACCESS rec ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass) DURATION FOR TOKEN 1h, FOR SESSION 1h`, rsa.public))
	const owner = `"RL":["Owner"]`
	now := time.Now().Unix()
	hs := func(changes map[string]any) string {
		return sign(t, "HS256", []byte("k"), claimsFor("hs", changes), nil)
	}
	if in, _ := s.lets(hs(nil)); !in {
		t.Fatal("a good token does not let in")
	}
	good := strings.Split(hs(nil), ".")
	_, mine, _ := s.enter(`"ac":"rec","pass":"p"`)
	own := strings.Split(mine, ".")
	claims := fmt.Sprintf(`{"NS":"test","DB":"test","AC":"hs",%s,"exp":%d}`, owner, now+600)
	rootToken := strings.Split(s.do("POST", "/signin", `{"user":"root","pass":"root"}`, "Accept: text/plain").body, ".")
	none := func(alg string) string {
		return part(t, map[string]any{"alg": alg, "typ": "JWT"}) + "." + part(t, claims) + "."
	}
	withHead := func(head map[string]any) string {
		return sign(t, "HS256", []byte("wrong"), claimsFor("hs", map[string]any{"RL": []string{"Owner"}}), head)
	}
	for name, token := range map[string]string{
		"no algorithm":                           none("none"),
		"no algorithm, in capitals":              none("NONE"),
		"no algorithm, mixed":                    none("nOnE"),
		"an empty algorithm":                     none(""),
		"no algorithm, the signature of another": none("none") + good[2],
		"no signature":                           good[0] + "." + good[1] + ".",
		"no third part":                          good[0] + "." + good[1],
		"four parts":                             strings.Join(good, ".") + ".x",
		"a signature too long":                   strings.Join(good, ".") + "AAAA",
		"a signature in the standard alphabet":   good[0] + "." + good[1] + "." + good[2] + "==",
		"claims of another":                      good[0] + "." + part(t, claims) + "." + good[2],
		"another record":                         own[0] + "." + part(t, fmt.Sprintf(`{"NS":"test","DB":"test","AC":"rec","ID":"user:2","exp":%d}`, now+600)) + "." + own[2],
		"the signature of root's token":          rootToken[0] + "." + part(t, claims) + "." + rootToken[2],
		"another head":                           part(t, `{"alg":"HS512","typ":"JWT"}`) + "." + good[1] + "." + good[2],
		"the public key as a secret":             sign(t, "HS256", []byte(rsa.public), claimsFor("rs", map[string]any{"RL": []string{"Owner"}}), nil),
		"the public key without its last line":   sign(t, "HS256", []byte(strings.TrimSpace(rsa.public)), claimsFor("rs", nil), nil),
		"a key of somebody else":                 sign(t, "RS256", other.private, claimsFor("rs", nil), nil),
		"another padding of the same key":        sign(t, "PS256", rsa.private, claimsFor("rs", nil), nil),
		"a longer hash":                          sign(t, "HS512", []byte("k"), claimsFor("hs", nil), nil),
		"the key is empty":                       sign(t, "HS256", []byte(""), claimsFor("short", nil), nil),
		"an access method without a key":         sign(t, "HS256", []byte("k"), claimsFor("short", nil), nil),
		"signed by one access, for another":      sign(t, "HS256", []byte("k"), claimsFor("rs", nil), nil),
		"signed by one access, for a record":     sign(t, "HS256", []byte("k"), claimsFor("rec", map[string]any{"ID": "user:2"}), nil),
		"a user's name and no access":            sign(t, "HS256", []byte("k"), claimsFor("hs", map[string]any{"AC": nil, "NS": nil, "DB": nil, "ID": "root"}), nil),
		"root's name, signed with its password":  sign(t, "HS512", []byte("root"), claimsFor("hs", map[string]any{"AC": nil, "NS": nil, "DB": nil, "ID": "root"}), nil),
		"a key id that is a path":                withHead(map[string]any{"kid": "../../../../dev/null"}),
		"a key id that is a query":               withHead(map[string]any{"kid": "' OR 1=1"}),
		"a key in the head":                      withHead(map[string]any{"jwk": map[string]any{"kty": "oct", "k": "d3Jvbmc"}}),
		"an address of keys in the head":         withHead(map[string]any{"jku": s.url + "/status", "x5u": s.url + "/status"}),
		"extensions in the head":                 withHead(map[string]any{"crit": []string{"exp"}}),
		"an extension that must be known":        sign(t, "HS256", []byte("k"), claimsFor("hs", nil), map[string]any{"crit": []string{"x"}, "x": 1}),
		"no extension that must be known":        sign(t, "HS256", []byte("k"), claimsFor("hs", nil), map[string]any{"crit": []string{}}),
		"an extension, with a pair of keys":      sign(t, "RS256", rsa.private, claimsFor("rs", nil), map[string]any{"crit": []string{"b64"}, "b64": false}),
		"an encrypted one":                       part(t, `{"alg":"dir","enc":"A128GCM"}`) + "..a.b.c",
		"expired this second":                    hs(map[string]any{"exp": now}),
		"expired long ago":                       hs(map[string]any{"exp": 1}),
		"an end before time began":               hs(map[string]any{"exp": -1}),
		"an end of zero":                         hs(map[string]any{"exp": 0}),
		"no end":                                 hs(map[string]any{"exp": nil}),
		"an end beyond numbers":                  signText(t, fmt.Sprintf(`{"NS":"test","DB":"test","AC":"hs",%s,"exp":1e400}`, owner)),
		"an end that is true":                    hs(map[string]any{"exp": true}),
		"an end that is a list":                  hs(map[string]any{"exp": []int64{now + 600}}),
		"valid from now on, and a minute":        hs(map[string]any{"nbf": now + 60}),
		"valid from a text on":                   hs(map[string]any{"nbf": "now"}),
		"claims twice, the last expired":         signText(t, fmt.Sprintf(`{"NS":"test","DB":"test","AC":"hs","exp":%d,"exp":1}`, now+600)),
		"a name that goes on":                    hs(map[string]any{"AC": "hs\x00"}),
		"an access in other letters":             hs(map[string]any{"AC": "HS"}),
		"another database of the same access":    sign(t, "HS256", []byte("k2"), claimsFor("hs", map[string]any{"DB": "elsewhere"}), nil),
		"a list of databases":                    hs(map[string]any{"DB": []string{"test"}}),
		"the claims are a list":                  signText(t, `[]`),
		"the claims are null":                    signText(t, `null`),
		"the claims nest":                        signText(t, strings.Repeat("[", 10000)),
		"a megabyte":                             hs(map[string]any{"x": strings.Repeat("x", 1<<20)}),
		"64 KiB":                                 hs(map[string]any{"x": strings.Repeat("x", 60<<10)}),
		"nothing":                                "",
		"dots":                                   "..",
		"blanks":                                 " . . ",
		"not base64":                             "!.!.!",
	} {
		if len(token) > 30<<10 { // more than a header may have
			if got := s.dial("json").say(`{"id":1,"method":"authenticate","params":["` + token + `"]}`); !strings.Contains(got, "error") {
				t.Errorf("%s lets in", name)
			}
			continue
		}
		if in, answer := s.lets(token); in {
			t.Errorf("%s lets in: %.200s", name, answer)
		}
	}
	if in, _ := s.lets(hs(map[string]any{"nbf": now - 1, "exp": now + 30, "iat": now - 1})); !in {
		t.Error("a token between its times does not let in")
	}
	setup(t, s, "REMOVE ACCESS hs ON DATABASE; REMOVE ACCESS rec ON DATABASE")
	for _, token := range []string{hs(nil), mine} {
		if in, _ := s.lets(token); in {
			t.Error("a token outlives its access method")
		}
	}
	setup(t, s, "DEFINE ACCESS rec ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass)")
	if in, _ := s.lets(mine); in {
		t.Error("a token lets in by another access method of the same name")
	}
}

// signText signs claims as they are written.
func signText(t testing.TB, claims string) string {
	t.Helper()
	signed := part(t, `{"alg":"HS256","typ":"JWT"}`) + "." + part(t, claims)
	return signed + "." + mac(signed, "k")
}

func mac(text, key string) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// What looks for leaks finds one: a goroutine, or memory, that was not there before.
func TestLeaksAreFound(t *testing.T) {
	s := start(t)
	s.do("GET", "/health", "")
	before := measure()
	stop := make(chan struct{})
	var done sync.WaitGroup
	for range fewGoroutines + 1 {
		done.Go(func() { <-stop })
	}
	kept := make([]byte, attackMemory+1<<20)
	now := measure()
	if now.goroutines <= before.goroutines+fewGoroutines {
		t.Errorf("goroutines %d → %d", before.goroutines, now.goroutines)
	}
	if now.heap <= before.heap+attackMemory {
		t.Errorf("heap %d → %d", before.heap, now.heap)
	}
	if err := goleak.Find(); err == nil {
		t.Error("goleak does not see them")
	}
	runtime.KeepAlive(kept)
	close(stop)
	done.Wait()
}
