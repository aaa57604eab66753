package daemon_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/internal/pb/rpcpb"
	"github.com/nacredb/nacre/internal/pb/valuepb"
)

func (c *rpcClient) revoke(access, refresh string) {
	c.s.t.Helper()
	if _, err := c.RevokeTokens(c.s.t.Context(), &rpcpb.RevokeTokensRequest{Access: access, Refresh: refresh}); err != nil {
		c.s.t.Fatalf("revoke: %v", err)
	}
}

// bearer is a context whose calls carry a token.
func bearer(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token, "service-ns", "test", "service-db", "test")
}

// tokenOf signs in over a connection of its own.
func (s *server) tokenOf(credentials string) string {
	s.t.Helper()
	return s.tokenIn(s.dial("json").say(`{"id":1,"method":"signin","params":[` + credentials + `]}`))
}

func (s *server) tokenIn(answer string) string {
	s.t.Helper()
	token := regexp.MustCompile(`[\w-]{10,}\.[\w-]+\.[\w-]+`).FindString(answer)
	if token == "" {
		s.t.Fatal(answer)
	}
	return token
}

const tokenSetup = revokeSetup + `; CREATE t:1; DEFINE ACCESS ext ON DATABASE TYPE JWT ALGORITHM HS256 KEY 'secret'`

// theTokens are one token of each origin.
func (s *server) theTokens() map[string]string {
	s.t.Helper()
	granted := s.dial("json").root().say(query("ACCESS key ON DATABASE GRANT FOR USER ed"))
	key := regexp.MustCompile(`surreal-bearer-\w+-\w+`).FindString(granted)
	return map[string]string{
		"a system user":    s.tokenOf(`{` + inTest + `,"user":"ed","pass":"ed"}`),
		"a record user":    s.tokenOf(`{` + inTest + `,"ac":"acc","pass":"p"}`),
		"a bearer key":     s.tokenOf(`{` + inTest + `,"ac":"key","key":"` + key + `"}`),
		"somebody outside": sign(s.t, "HS256", []byte("secret"), claimsFor("ext", map[string]any{"RL": []string{"Editor"}, "jti": rand.Text()}), nil),
	}
}

// A revoked access token is refused at every door, sessions that it opened are, their live queries end, and other tokens of the
// same user are as good as before.
func TestRevokedTokens(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, tokenSetup)
	others := s.theTokens()
	for whose, token := range s.theTokens() {
		t.Run(whose, func(t *testing.T) {
			enter := `{"id":1,"method":"authenticate","params":["` + token + `"]}`
			signed := func() *socket {
				k := s.dial("json")
				for _, m := range []string{enter, `{"id":1,"method":"use","params":["test","test"]}`, query("SELECT * FROM t")} {
					if got := k.say(m); strings.Contains(got, "error") || strings.Contains(got, "ERR") {
						t.Fatal(got)
					}
				}
				return k
			}
			plain, open, watcher := signed(), signed(), signed()
			watcher.say(query("LIVE SELECT * FROM t"))
			var begun struct{ Result string }
			if err := json.Unmarshal([]byte(open.say(`{"id":1,"method":"begin"}`)), &begun); err != nil || begun.Result == "" {
				t.Fatalf("begin: %v", err)
			}
			c := s.grpc()
			ctx := bearer(t.Context(), token)
			if _, err := c.run(ctx, &rpcpb.QueryRequest{Query: "SELECT * FROM t"}); err != nil {
				t.Fatal(err)
			}
			stream, _ := c.watch(ctx, nil, "LIVE SELECT * FROM t")

			s.grpc().revoke(token, "")

			for what, got := range map[string]string{
				"an open socket":   plain.say(query("CREATE t:after")),
				"a transaction":    open.say(`{"id":2,"method":"commit","params":["` + begun.Result + `"]}`),
				"a new socket":     s.dial("json").say(enter),
				"POST /sql":        s.do("POST", "/sql", "RETURN 1", "Authorization: Bearer "+token).body,
				"GET /key":         s.do("GET", "/key/t", "", at("Authorization: Bearer "+token)...).body,
				"POST /rpc":        s.do("POST", "/rpc", `{"id":1,"method":"version"}`, "Authorization: Bearer "+token, "Content-Type: application/json").body,
				"POST /graphql":    s.do("POST", "/graphql", `{"query":"{ __typename }"}`, at("Authorization: Bearer "+token)...).body,
				"a socket by head": s.upgrade("json", "Authorization: Bearer "+token).resp.Status,
			} {
				if !strings.Contains(got, "was revoked") && !strings.Contains(got, "problem with authentication") && !strings.Contains(got, "401") {
					t.Errorf("%s: %s", what, got)
				}
			}
			_, err := c.run(ctx, &rpcpb.QueryRequest{Query: "SELECT * FROM t"})
			wantCode(t, "a header of a connection that knew it", err, codes.Unauthenticated, "problem with authentication")
			_, err = s.grpc().Authenticate(t.Context(), &rpcpb.AuthenticateRequest{Token: token})
			wantCode(t, "Authenticate", err, codes.Unauthenticated, "problem with authentication")

			setup(t, s, "CREATE t")
			if n := string(watcher.note().Result); !strings.Contains(n, "KILLED") {
				t.Errorf("the live query: %s", n)
			}
			wantHeard(t, stream, "end KILLED", "EOF")
			if in, answer := s.lets(others[whose]); !in {
				t.Errorf("another token of the same user: %s", answer)
			}
			s.grpc().revoke(token, "") // again
		})
	}
}

// The token that a sign-in answered stands for the session that signed in.
func TestRevokingTheTokenOfASignin(t *testing.T) {
	s := start(t)
	c := s.grpc()
	tokens := c.signin(nil, "root", "root")
	c.revoke(tokens.GetAccess(), "")
	_, err := c.Use(t.Context(), &rpcpb.UseRequest{Namespace: some("test")})
	wantCode(t, "the session", err, codes.Unauthenticated, "was revoked")
	c.signin(nil, "root", "root")
	c.use(nil, "test", "test")
	if got := c.texts("RETURN 1"); got[0] != "1" {
		t.Errorf("signed in again: %v", got)
	}
}

// What cannot be a good token is revoked without a word, and nothing else with it.
func TestRevokingWhatIsNoToken(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, tokenSetup)
	c := s.grpc()
	for whose, token := range s.theTokens() {
		head, rest, _ := strings.Cut(token, ".")
		forged := head + "." + rest[:len(rest)-8] + "AAAAAAAA"
		for _, bad := range []string{forged, head + "." + strings.SplitN(rest, ".", 2)[0] + ".", head, "a.b.c", strings.Repeat("x", 70<<10), token + "="} {
			c.revoke(bad, "")
		}
		if in, answer := s.lets(token); !in {
			t.Errorf("the token of %s was revoked by another text: %s", whose, answer)
		}
	}
	c.revoke("", "surreal-refresh-abcdefghijkl-abcdefghijklmnopqrstuvwx")
	c.revoke("nothing", "nothing")
	_, err := c.RevokeTokens(t.Context(), &rpcpb.RevokeTokensRequest{})
	wantCode(t, "neither token", err, codes.InvalidArgument, "Expected an access token")
}

// Both tokens of a pair go at once; the refresh key is found by its access token, also where the session is elsewhere.
func TestRevokingAPair(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, `DEFINE TABLE user; CREATE user:1 SET pass = 'p';
		DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass) WITH REFRESH`)
	signin := &rpcpb.SigninRequest{AccessMethod: &rpcpb.AccessMethod{Method: &rpcpb.AccessMethod_Record{Record: &rpcpb.RecordCredentials{
		Namespace: "test", Database: "test", Access: "acc", Variables: &valuepb.Variables{
			Variables: []*valuepb.KeyValue{{Key: "pass", Value: toPB(t, "'p'")}}}}}}}
	c := s.grpc()
	in, err := c.Signin(t.Context(), signin)
	if err != nil || in.GetTokens().GetRefresh() == "" {
		t.Fatalf("%v, %v", in, err)
	}
	s.grpc().revoke(in.GetTokens().GetAccess(), in.GetTokens().GetRefresh())
	_, err = c.RefreshTokens(t.Context(), &rpcpb.RefreshTokensRequest{Refresh: in.GetTokens().GetRefresh()})
	wantCode(t, "the refresh token", err, codes.Unauthenticated, "")
	_, err = s.grpc().Authenticate(t.Context(), &rpcpb.AuthenticateRequest{Token: in.GetTokens().GetAccess()})
	wantCode(t, "the access token", err, codes.Unauthenticated, "")
	if _, err = c.Signin(t.Context(), signin); err != nil {
		t.Errorf("signing in again: %v", err)
	}
}

// A revoked token stays revoked after a restart, and where its database is removed and imported again.
func TestRevokedTokensStayRevoked(t *testing.T) {
	path := "bolt://" + filepath.Join(t.TempDir(), "a.db")
	first := start(t, unlimited, func(c *config.Config) { c.Path = path })
	setup(t, first, tokenSetup)
	revoked, kept := first.theTokens(), first.theTokens()
	for _, token := range revoked {
		first.grpc().revoke(token, "")
	}
	dump := first.do("GET", "/export", "", at()...).body
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	first.http.CloseIdleConnections()
	if err := first.Close(ctx); err != nil {
		t.Fatal(err)
	}
	second := start(t, unlimited, func(c *config.Config) { c.Path, c.User, c.Pass = path, "", "" })
	check := func(when string) {
		t.Helper()
		for whose, token := range revoked {
			if in, answer := second.lets(token); in {
				t.Errorf("%s the revoked token of %s lets in: %s", when, whose, answer)
			}
		}
	}
	check("after a restart")
	for whose, token := range kept {
		if in, answer := second.lets(token); !in {
			t.Errorf("after a restart the token of %s is refused: %s", whose, answer)
		}
	}
	setup(t, second, "REMOVE DATABASE test; DEFINE DATABASE test")
	if r := second.do("POST", "/import", dump, at()...); r.StatusCode != 200 {
		t.Fatal(r.body)
	}
	check("after an import")
	if in, answer := second.lets(kept["somebody outside"]); !in {
		t.Errorf("after an import: %s", answer)
	}
}

// The token in the header of a call is looked at again when it has expired: a connection does not lengthen its life.
func TestGRPCHeaderExpires(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, `DEFINE ACCESS ext ON DATABASE TYPE JWT ALGORITHM HS256 KEY 'secret'`)
	ends := time.Now().Add(3 * time.Second)
	ctx := bearer(t.Context(), sign(t, "HS256", []byte("secret"), claimsFor("ext", map[string]any{"exp": ends.Unix()}), nil))
	c := s.grpc()
	call := func() error {
		_, err := c.run(ctx, &rpcpb.QueryRequest{Query: "RETURN 1"})
		return err
	}
	if err := call(); err != nil && time.Now().Before(ends.Add(-time.Second)) {
		t.Fatal(err)
	}
	eventually(t, "the token expires", func() bool { return status.Code(call()) == codes.Unauthenticated })
}
