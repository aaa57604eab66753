package daemon_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// The client package over gRPC does what it does over a WebSocket.
func TestClientOverGRPC(t *testing.T) {
	s := start(t)
	told := make(chan client.Notification, 1000) // on a cluster many changes are made before one is told
	open := func(endpoint string) *client.Client {
		t.Helper()
		c, err := client.Open(t.Context(), client.Options{Endpoint: endpoint, User: "root", Pass: "root", Namespace: "test",
			Database: "test", Notify: func(n client.Notification) { told <- n }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c := open("grpc://" + s.Addr().String())
	ws := open("ws://" + s.Addr().String())
	for _, text := range []string{
		"RETURN 1", "CREATE t:1 SET a = [1, { b: NONE }]", "SELECT * FROM t", "SELECT * FROM ONLY t:1", "THROW 'x'; RETURN 2",
		"RETURN { a: 1.5, b: u'018d5e1b-7d3c-7c9a-8f6e-000000000001', c: 1h, d: d'2024-01-01T00:00:00Z', e: t:[1] }",
		"LET $x = 1", "", "SELECT * FROM nowhere", "RETURN [1, 2]",
	} {
		show := func(c *client.Client) string {
			results, err := c.Run(t.Context(), client.Text{Text: text})
			if err != nil {
				return err.Error()
			}
			var b strings.Builder
			for _, r := range results {
				b.WriteString(r.Value.Text() + " " + r.Type)
				if r.Err != nil {
					b.WriteString(r.Err.Kind.String() + " " + r.Err.Msg)
				}
				b.WriteString("\n")
			}
			return b.String()
		}
		want := ""
		if strings.Contains(text, "CREATE t:1 SET") {
			want = show(ws)
			if _, err := ws.Query(t.Context(), "DELETE t", nil); err != nil {
				t.Fatal(err)
			}
		} else {
			want = show(ws)
		}
		if got := show(c); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
	// Errors of a text, variables, transactions.
	_, err := c.Query(t.Context(), "SELECT FROM", nil)
	if e := (*errs.Error)(nil); !errors.As(err, &e) || e.Kind != errs.KindValidation {
		t.Errorf("%v", err)
	}
	vars := value.NewObject(value.Field{Name: "x", Value: value.Record("t", value.Int(1))})
	if r, err := c.Query(t.Context(), "RETURN $x", vars); err != nil || r[0].Value.Text() != "t:1" {
		t.Errorf("%v, %v", r, err)
	}
	txn, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Run(t.Context(), client.Text{Text: "CREATE t:9", Txn: &txn}); err != nil || r[0].Err != nil {
		t.Fatalf("%v, %v", r, err)
	}
	if err := c.Commit(t.Context(), txn); err != nil {
		t.Error(err)
	}
	if err := c.Cancel(t.Context(), txn); err == nil || !strings.Contains(err.Error(), "Transaction not found") {
		t.Errorf("%v", err)
	}
	if v, err := c.Call(t.Context(), "version"); err != nil || v.Str() != "3.3.1" {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := c.Call(t.Context(), "let", value.Str("y"), value.Int(5)); err != nil {
		t.Error(err)
	}
	if r, err := c.Query(t.Context(), "RETURN $y", nil); err != nil || r[0].Value.Text() != "5" {
		t.Errorf("%v, %v", r, err)
	}
	// Live queries.
	r, err := c.Query(t.Context(), "LIVE SELECT * FROM t", nil)
	if err != nil || r[0].Type != "live" {
		t.Fatalf("%v, %v", r, err)
	}
	eventually(t, "a notification", func() bool {
		if _, err := ws.Query(t.Context(), "CREATE t", nil); err != nil {
			t.Fatal(err)
		}
		select {
		case n := <-told:
			return n.Action == "CREATE" && n.Live.Text() == r[0].Value.Text()
		default:
			return false
		}
	})
	// A cancelled text, export and import, probes.
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if _, err := c.Run(ctx, client.Text{Text: "SLEEP 1h"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	var text strings.Builder
	if _, err := c.Export(t.Context(), &text, client.FullExport()); err != nil || !strings.Contains(text.String(), "t:9") {
		t.Errorf("%v", err)
	}
	if _, err := c.Import(t.Context(), strings.NewReader("OPTION IMPORT; CREATE imported:1;"), client.ImportOptions{}); err != nil {
		t.Error(err)
	}
	if err := c.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if c.Lost() != nil || !c.Interactive() {
		t.Error("the connection is not what it should be")
	}
	if _, err := client.Open(t.Context(), client.Options{Endpoint: "grpc://" + s.Addr().String(), User: "root", Pass: "no"}); err == nil ||
		!strings.Contains(err.Error(), "There was a problem with authentication") {
		t.Errorf("%v", err)
	}
	if _, err := client.Open(t.Context(), client.Options{Endpoint: "grpc://127.0.0.1:1"}); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("%v", err)
	}
}

// Over TLS the service is behind the same certificate, by ALPN.
func TestClientOverGRPCS(t *testing.T) {
	cert, key, pool := writePair(t, t.TempDir(), 1)
	s := start(t, func(c *config.Config) { c.WebCert, c.WebKey = cert, key })
	c, err := client.Open(t.Context(), client.Options{Endpoint: "grpcs://" + s.Addr().String(), User: "root", Pass: "root",
		HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: tlsOf(pool)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if r, err := c.Query(t.Context(), "RETURN 1", nil); err != nil || r[0].Value.Text() != "1" {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := client.Open(t.Context(), client.Options{Endpoint: "grpcs://" + s.Addr().String()}); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("a certificate of an unknown authority: %v", err)
	}
}
