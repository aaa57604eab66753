package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/pb/rpcpb"
)

// identities holds two servers to it that who somebody is, and what he may, is one thing at both: what one server has
// acknowledged the other one goes by in the next request, with the servers in turn: some faults only last until a
// server looks around by itself. Sessions that are attached over HTTP are in the store.
func (t *tester) identities(ctx context.Context) error {
	environ := append([]string{"NACRE_DURABLE_SESSIONS=true", "NACRE_AUTH_RATE_LIMIT=0"}, harness.AsRoot...)
	f, err := harness.StartFleet(ctx, 2, environ...)
	if err != nil {
		return err
	}
	p := &people{f: f, ctx: ctx}
	for _, part := range []struct {
		name string
		try  func(int) error
	}{
		{"a token", p.token}, {"a removed user", p.removed}, {"other roles", p.roles},
		{"other permissions", p.permissions}, {"a bearer key", p.key}, {"an interactive transaction", p.transaction},
		{"a durable session", p.session},
		{"a session that is changed at both", p.race}, {"an id that two attach", p.twice},
	} {
		for n := range t.identity {
			if err == nil {
				if err = part.try(n); err != nil {
					err = fmt.Errorf("%s, round %d: %w", part.name, n, err)
				}
			}
		}
	}
	if err == nil {
		if err = p.orphan(); err == nil {
			fmt.Fprintf(t.out, "%d times each of tokens, users, roles, permissions, keys, transactions and sessions: what one "+
				"server has revoked the other one refuses in the next request\n", t.identity)
		}
	}
	return errors.Join(err, f.Close())
}

// people are clients of two servers.
type people struct {
	f   *harness.Fleet
	ctx context.Context
}

const asRoot = "Basic cm9vdDpyb290"

// send sends a request to a server, and gives what it answers.
func (p *people) send(at int, path, auth, body string) (string, error) {
	to := "http://" + p.f.At(at%2).Addr + path
	req, err := http.NewRequestWithContext(p.ctx, http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Service-NS", place)
	req.Header.Set("Service-DB", place)
	if auth != "" {
		req.Header.Set("Authorization", auth)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// bad tells answers that refuse from others.
var bad = regexp.MustCompile(`"error":|"status":"ERR"|"code":[45]`)

// good sends a request that must be answered.
func (p *people) good(at int, path, auth, body string) (string, error) {
	got, err := p.send(at, path, auth, body)
	if err == nil && bad.MatchString(got) {
		err = fmt.Errorf("server %d: %s: %s", at%2, body, got)
	}
	return got, err
}

// root runs statements that must all succeed.
func (p *people) root(at int, text string) (string, error) { return p.good(at, "/sql", asRoot, text) }

// refused sends statements that must be refused.
func (p *people) refused(at int, auth, text string) error {
	got, err := p.send(at, "/sql", auth, text)
	if err == nil && !bad.MatchString(got) {
		err = fmt.Errorf("server %d goes on: %s: %s", at%2, text, got)
	}
	return err
}

// signIn signs in with credentials, and gives the header of the token.
func (p *people) signIn(at int, credentials string) (string, error) {
	got, err := p.good(at, "/signin", "", `{"ns":"`+place+`","db":"`+place+`",`+credentials+`}`)
	if err != nil {
		return "", err
	}
	var answer struct{ Token string }
	if err := json.Unmarshal([]byte(got), &answer); err != nil || answer.Token == "" {
		return "", fmt.Errorf("no token: %s", got)
	}
	return "Bearer " + answer.Token, nil
}

const ada = `DEFINE USER OVERWRITE ada ON DATABASE PASSWORD 'a' ROLES EDITOR;
DEFINE TABLE IF NOT EXISTS t PERMISSIONS FULL; UPSERT t:1`

// enter makes the user ada at one server, and signs in at the other one.
func (p *people) enter(n int) (string, error) {
	if _, err := p.root(n, ada); err != nil {
		return "", err
	}
	token, err := p.signIn(n+1, `"user":"ada","pass":"a"`)
	if err == nil {
		_, err = p.good(n, "/sql", token, "SELECT * FROM t")
	}
	return token, err
}

func (p *people) token(n int) error {
	token, err := p.enter(n)
	if err != nil {
		return err
	}
	if err := p.revoke(n, strings.TrimPrefix(token, "Bearer ")); err != nil {
		return err
	}
	return errors.Join(p.refused(n+1, token, "SELECT * FROM t"), p.refused(n, token, "SELECT * FROM t"))
}

// revoke revokes an access token, which gRPC alone does.
func (p *people) revoke(at int, token string) error {
	conn, err := grpc.NewClient(p.f.At(at%2).Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	_, err = rpcpb.NewServiceClient(conn).RevokeTokens(p.ctx, &rpcpb.RevokeTokensRequest{Access: token})
	return errors.Join(err, conn.Close())
}

func (p *people) removed(n int) error {
	token, err := p.enter(n)
	if err != nil {
		return err
	}
	if _, err := p.root(n, "REMOVE USER ada ON DATABASE"); err != nil {
		return err
	}
	if err := p.refused(n+1, token, "SELECT * FROM t"); err != nil {
		return err
	}
	if token, err := p.signIn(n+1, `"user":"ada","pass":"a"`); err == nil {
		return fmt.Errorf("signs in though it is removed: %s", token)
	}
	return nil
}

func (p *people) roles(n int) error {
	token, err := p.enter(n)
	if err != nil {
		return err
	}
	if _, err := p.root(n, "ALTER USER ada ON DATABASE ROLES VIEWER"); err != nil {
		return err
	}
	return p.refused(n+1, token, "DEFINE TABLE mine")
}

func (p *people) permissions(n int) error {
	if _, err := p.root(n, ada+`; DEFINE TABLE OVERWRITE seen PERMISSIONS FULL; UPSERT seen:1; UPSERT who:1;
		DEFINE ACCESS OVERWRITE acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM ONLY who:1)`); err != nil {
		return err
	}
	token, err := p.signIn(n+1, `"ac":"acc"`)
	if err != nil {
		return err
	}
	got, err := p.good(n+1, "/sql", token, "SELECT VALUE id FROM seen")
	if err == nil && !strings.Contains(got, "seen:1") {
		err = fmt.Errorf("does not see what it may: %s", got)
	}
	if err == nil {
		_, err = p.root(n, "ALTER TABLE seen PERMISSIONS NONE")
	}
	if err != nil {
		return err
	}
	got, err = p.good(n+1, "/sql", token, "SELECT VALUE id FROM seen")
	if err == nil && strings.Contains(got, "seen:1") {
		err = fmt.Errorf("sees what it may not any more: %s", got)
	}
	return err
}

var bearerKey = regexp.MustCompile(`surreal-bearer-(\w+)-\w+`)

func (p *people) key(n int) error {
	got, err := p.root(n, ada+`; DEFINE ACCESS OVERWRITE key ON DATABASE TYPE BEARER FOR USER;
		ACCESS key ON DATABASE GRANT FOR USER ada`)
	if err != nil {
		return err
	}
	found := bearerKey.FindStringSubmatch(got)
	if found == nil {
		return fmt.Errorf("no key: %s", got)
	}
	by := `"ac":"key","key":"` + found[0] + `"`
	token, err := p.signIn(n+1, by)
	if err != nil {
		return err
	}
	if _, err := p.good(n+1, "/sql", token, "SELECT * FROM t"); err != nil {
		return err
	}
	if _, err := p.root(n, "ACCESS key ON DATABASE REVOKE GRANT "+found[1]); err != nil {
		return err
	}
	if err := p.refused(n+1, token, "SELECT * FROM t"); err != nil {
		return err
	}
	if _, err := p.signIn(n+1, by); err == nil {
		return errors.New("signs in by a key that is revoked")
	}
	return nil
}

// transaction: one that began before its user was removed at the other server goes no further, and leaves nothing.
func (p *people) transaction(n int) error {
	if _, err := p.enter(n); err != nil {
		return err
	}
	cl, err := p.f.Connect(p.ctx, (n+1)%2, "ws", place, place, nil)
	if err != nil {
		return err
	}
	defer cl.Close()
	field := func(name, v string) value.Field { return value.Field{Name: name, Value: value.Str(v)} }
	who := value.NewObject(field("user", "ada"), field("pass", "a"), field("ns", place), field("db", place))
	if _, err := cl.Call(p.ctx, "signin", value.ObjectOf(who)); err != nil {
		return err
	}
	tx, err := cl.Begin(p.ctx)
	if err != nil {
		return err
	}
	inside := func(text string) error {
		answers, err := cl.Run(p.ctx, client.Text{Text: text, Txn: &tx})
		if err == nil {
			err = harness.FirstError(answers)
		}
		return err
	}
	if err := inside(fmt.Sprintf("CREATE t:inside%d", n)); err != nil {
		return err
	}
	if _, err := p.root(n, "REMOVE USER ada ON DATABASE"); err != nil {
		return err
	}
	if n%2 == 0 && inside("CREATE t") == nil {
		return errors.New("a statement of a transaction goes on")
	}
	if err := cl.Commit(p.ctx, tx); err == nil {
		return errors.New("a transaction is committed by a user who is removed")
	}
	got, err := p.root(n, fmt.Sprintf("SELECT VALUE id FROM t:inside%d", n))
	if err == nil && strings.Contains(got, "inside") {
		err = fmt.Errorf("it is there: %s", got)
	}
	return err
}

// attached is a request in the session of an id.
func attached(id int, call string) string {
	return fmt.Sprintf(`{"id":1,"session":"7c0e4d1a-9f2b-4c63-8a55-%012x",%s}`, id, call)
}

// open attaches a session at one server, which is that of ada.
func (p *people) open(n, id int) error {
	if _, err := p.root(n, ada); err != nil {
		return err
	}
	for i, call := range []string{`"method":"attach"`,
		`"method":"signin","params":[{"ns":"` + place + `","db":"` + place + `","user":"ada","pass":"a"}]`,
		`"method":"let","params":["x","first"]`} {
		if _, err := p.good(n+i, "/rpc", "", attached(id, call)); err != nil {
			return err
		}
	}
	return nil
}

func (p *people) session(n int) error {
	id := 100 + n
	if err := p.open(n, id); err != nil {
		return err
	}
	ask := attached(id, `"method":"query","params":["RETURN [$x, session::db()]"]`)
	for i, want := range []string{"first", "second", "third"} {
		if i > 0 {
			if _, err := p.good(n+i, "/rpc", "", attached(id, `"method":"let","params":["x","`+want+`"]`)); err != nil {
				return err
			}
		}
		got, err := p.good(n+i+1, "/rpc", "", ask)
		if err != nil {
			return err
		}
		if !strings.Contains(got, want) || !strings.Contains(got, place) {
			return fmt.Errorf("the other server has %s, not %s", got, want)
		}
	}
	end := []string{`"method":"detach"`, `"method":"invalidate"`}[n%2]
	if _, err := p.good(n, "/rpc", "", attached(id, end)); err != nil {
		return err
	}
	got, err := p.send(n+1, "/rpc", "", attached(id, `"method":"query","params":["SELECT * FROM t"]`))
	if err == nil && !bad.MatchString(got) {
		err = fmt.Errorf("goes on after %s: %s", end, got)
	}
	return err
}

// race: of changes at both servers at once each that is acknowledged is there, and none that is refused hides one.
func (p *people) race(n int) error {
	id := 200 + n
	if err := p.open(n, id); err != nil {
		return err
	}
	const each = 12
	var mu sync.Mutex // guards kept and failed
	var kept []string
	var failed error
	var working sync.WaitGroup
	for c := range 4 {
		working.Go(func() {
			for i := range each {
				name := fmt.Sprintf("v%d_%d", c, i)
				set := fmt.Sprintf(`"method":"let","params":[%q,%q]`, name, name)
				got, err := p.send(c, "/rpc", "", attached(id, set))
				mu.Lock()
				if failed = errors.Join(failed, err); err == nil && !bad.MatchString(got) {
					kept = append(kept, name)
				}
				mu.Unlock()
			}
		})
	}
	working.Wait()
	if failed != nil || len(kept) == 0 {
		return errors.Join(failed, errors.New("nothing was set"))
	}
	all := attached(id, `"method":"query","params":["RETURN [$`+strings.Join(kept, ",$")+`]"]`)
	for at := range 2 {
		got, err := p.good(at, "/rpc", "", all)
		if err != nil {
			return err
		}
		for _, name := range kept {
			if !strings.Contains(got, `"`+name+`"`) {
				return fmt.Errorf("server %d has lost %s, which was acknowledged: %s", at, name, got)
			}
		}
	}
	return nil
}

// twice: of two clients that attach one id at once, at two servers, one at most gets a session.
func (p *people) twice(n int) error {
	id := 300 + n
	var got [2]string
	var failed [2]error
	var working sync.WaitGroup
	for c := range 2 {
		working.Go(func() { got[c], failed[c] = p.send(c, "/rpc", "", attached(id, `"method":"attach"`)) })
	}
	working.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return err
	}
	if !bad.MatchString(got[0]) && !bad.MatchString(got[1]) {
		return fmt.Errorf("both have it: %s", got)
	}
	return nil
}

// orphan: a session goes on when the server is killed that it began at, and its changes are there.
func (p *people) orphan() error {
	const id = 400
	if err := p.open(0, id); err != nil {
		return err
	}
	if _, err := p.good(0, "/rpc", "", attached(id, `"method":"let","params":["x","last"]`)); err != nil {
		return err
	}
	if err := p.f.At(0).Kill(); err != nil {
		return err
	}
	got, err := p.good(1, "/rpc", "", attached(id, `"method":"query","params":["RETURN $x; SELECT * FROM t"]`))
	if err == nil && !strings.Contains(got, "last") {
		err = fmt.Errorf("has not what was set last: %s", got)
	}
	return err
}
