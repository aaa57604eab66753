package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server starts a real daemon in memory and gives its host and port.
func server(t *testing.T) string {
	t.Helper()
	cfg := config.Default()
	cfg.Bind, cfg.User, cfg.Pass = "127.0.0.1:0", "root", "root"
	d, err := daemon.Start(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := d.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d.Addr().String()
}

func open(t *testing.T, endpoint string) *client.Client {
	t.Helper()
	c, err := client.Open(t.Context(), client.Options{Endpoint: endpoint, User: "root", Pass: "root", Namespace: "n",
		Database: "d"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// TestTransportsAnswerTheSame runs the same calls over a WebSocket and over HTTP.
func TestTransportsAnswerTheSame(t *testing.T) {
	addr := server(t)
	for _, scheme := range []string{"ws://", "http://", "grpc://", ""} {
		t.Run(scheme, func(t *testing.T) {
			c := open(t, scheme+addr)
			rs, err := c.Query(t.Context(), "RETURN [1, 1.5f, 2dec, NONE, $x]; THROW 'no'; RETURN 2",
				value.NewObject(value.Field{Name: "x", Value: value.Str("é")}))
			if err != nil {
				t.Fatal(err)
			}
			if len(rs) != 3 || rs[0].Value.Text() != "[1, 1.5f, 2dec, NONE, 'é']" || rs[2].Value.Text() != "2" {
				t.Errorf("answers %v", rs)
			}
			if e := rs[1].Err; e == nil || e.Kind != errs.KindThrown || e.Msg != "An error occurred: no" {
				t.Errorf("error %+v", rs[1].Err)
			}
			if rs[0].Time <= 0 {
				t.Error("no time")
			}
			if err := c.Use(t.Context(), "", "other"); err != nil {
				t.Fatal(err)
			}
			rs, err = c.Query(t.Context(), "RETURN session::db()", nil)
			if err != nil || rs[0].Value.Text() != "'other'" {
				t.Errorf("after use: %v %v", rs, err)
			}
		})
	}
}

func TestErrorsKeepKindAndDetail(t *testing.T) {
	c := open(t, "ws://"+server(t))
	rs, err := c.Query(t.Context(), "CREATE a:1; CREATE a:1; SELECT * FROM nope", nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := rs[1].Err; e.Kind != errs.KindAlreadyExists || e.Detail == nil || e.Detail.Kind != "Record" ||
		e.Detail.Fields["id"] != "a:1" {
		t.Errorf("%+v", e)
	}
	if e := rs[2].Err; e.Kind != errs.KindNotFound || e.Detail == nil || e.Detail.Kind != "Table" {
		t.Errorf("%+v", e)
	}
	_, err = c.Query(t.Context(), "SELEC 1", nil)
	if e := new(errs.Error); !errors.As(err, &e) || e.Kind != errs.KindValidation ||
		!strings.HasPrefix(e.Msg, "Parse error") {
		t.Errorf("parse: %v", err)
	}
	if _, err := c.Call(t.Context(), "nope"); err == nil || err.Error() != "Method not found" {
		t.Errorf("unknown method: %v", err)
	}
}

func TestOpenFails(t *testing.T) {
	addr := server(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, tc := range []struct {
		name string
		opt  client.Options
		want error
	}{
		{"wrong password", client.Options{Endpoint: addr, User: "root", Pass: "no"}, errs.InvalidAuth()},
		{"wrong token", client.Options{Endpoint: addr, Token: "x.y.z"}, errs.InvalidAuth()},
		{"nobody there", client.Options{Endpoint: closed.Addr().String()}, client.ErrUnreachable},
		{"scheme", client.Options{Endpoint: "ftp://" + addr}, &errs.Error{Kind: errs.KindValidation}},
		{"no address", client.Options{Endpoint: "ws://"}, &errs.Error{Kind: errs.KindValidation}},
	} {
		if _, err := client.Open(t.Context(), tc.opt); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestCallsRunSideBySide has many goroutines share one connection; each must get its own answer.
func TestCallsRunSideBySide(t *testing.T) {
	c := open(t, "ws://"+server(t))
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 50 {
				n := int64(g*1000 + i)
				rs, err := c.Query(t.Context(), "RETURN $n",
					value.NewObject(value.Field{Name: "n", Value: value.Int(n)}))
				if err != nil || rs[0].Value.Int() != n {
					t.Errorf("asked for %d: %v %v", n, rs, err)
					return
				}
			}
		}()
	}
	wg.Wait()
}

func TestCallsEndWithTheConnection(t *testing.T) {
	c := open(t, "ws://"+server(t))
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		close(started)
		_, err := c.Query(context.WithoutCancel(t.Context()), "SLEEP 20s", nil)
		ended <- err
	}()
	<-started
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, client.ErrUnreachable) {
			t.Errorf("the call ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the call still waits")
	}
}

func TestContextEndsACall(t *testing.T) {
	c := open(t, "ws://"+server(t))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Query(ctx, "SLEEP 20s", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the call ended with %v", err)
	}
	if rs, err := c.Query(t.Context(), "RETURN 1", nil); err != nil || rs[0].Value.Int() != 1 {
		t.Errorf("the connection is not usable any more: %v %v", rs, err)
	}
}

func TestImportAndExport(t *testing.T) {
	addr := server(t)
	c := open(t, "ws://"+addr)
	text := strings.NewReader("CREATE a:1; CREATE a:1; CREATE a:2 SET t = 'é';")
	res, err := c.Import(t.Context(), text, client.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if res.Statements != 3 || res.Failures != 1 || len(res.Failed) != 1 ||
		res.Records != 2 || res.Failed[0].Line != 1 ||
		res.Failed[0].Err.Error() != "Database record `a:1` already exists" {
		t.Errorf("%+v", res)
	}
	twice := strings.NewReader("CREATE c:1;\nCREATE c:1;\nCREATE c:2;")
	res, err = c.Import(t.Context(), twice, client.ImportOptions{Stop: true})
	if err != nil || res.Statements != 2 || res.Failures != 1 || res.Records != 1 || res.Failed[0].Line != 2 {
		t.Errorf("stopping: %+v %v", res, err)
	}
	var out bytes.Buffer
	n, err := c.Export(t.Context(), &out, client.FullExport())
	if err != nil || n != int64(out.Len()) || !strings.Contains(out.String(), "{ id: a:2, t: 'é' }") {
		t.Errorf("%d bytes, %v:\n%s", n, err, out.String())
	}
	// A reader that fails midway ends the import with its error, not with a success.
	broken := io.MultiReader(strings.NewReader("CREATE b:1; CREATE b:"), failing{})
	if _, err := c.Import(t.Context(), broken, client.ImportOptions{}); err == nil {
		t.Error("a broken stream imports without an error")
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func TestProbes(t *testing.T) {
	addr := server(t)
	c, err := client.Probe(client.Options{Endpoint: addr})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Health(t.Context()); err != nil {
		t.Error(err)
	}
	if v, err := c.Version(t.Context()); err != nil || !strings.HasPrefix(v, "nacre-") {
		t.Errorf("%q %v", v, err)
	}
	if _, err := c.Query(t.Context(), "RETURN 1", nil); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("a probing client queries: %v", err)
	}
}

// TestStoppingServer: a server that is about to end says by every door that it is not ready: nothing was done.
func TestStoppingServer(t *testing.T) {
	cfg := config.Default()
	cfg.Bind, cfg.User, cfg.Pass, cfg.DrainDelay = "127.0.0.1:0", "root", "root", 2*time.Second
	d, err := daemon.Start(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var clients []*client.Client
	for _, scheme := range []string{"http://", "grpc://"} {
		clients = append(clients, open(t, scheme+d.Addr().String()))
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Close(context.WithoutCancel(t.Context())) }()
	for _, c := range clients {
		err := error(nil)
		for err == nil {
			_, err = c.Query(t.Context(), "RETURN 1", nil)
		}
		if !errors.Is(err, client.ErrNotReady) {
			t.Errorf("got %v", err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
