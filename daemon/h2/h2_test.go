package h2_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"golang.org/x/net/http2"

	"github.com/nacredb/nacre/daemon/h2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var discard = slog.New(slog.DiscardHandler)

// served is a server and a client of net/http for it.
type served struct {
	h2     *h2.Server
	http   *http.Server
	addr   string
	url    string
	client *http.Client
}

// serve serves a handler, over TLS or not.
func serve(t testing.TB, secure bool, limits h2.Limits, handler http.HandlerFunc) *served {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	s := &served{h2: h2.New(limits, discard), http: &http.Server{Handler: handler, Protocols: protocols,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}}
	s.h2.Install(s.http)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	only := new(http.Protocols)
	transport := &http.Transport{Protocols: only, DisableCompression: true}
	if secure {
		donor := httptest.NewUnstartedServer(nil)
		donor.StartTLS()
		s.http.TLSConfig = &tls.Config{Certificates: donor.TLS.Certificates}
		transport.TLSClientConfig = donor.Client().Transport.(*http.Transport).TLSClientConfig
		donor.Close()
		only.SetHTTP2(true)
		s.url = "https://" + s.addr
		go func() { _ = s.http.ServeTLS(l, "", "") }()
	} else {
		only.SetUnencryptedHTTP2(true)
		s.url = "http://" + s.addr
		go func() { _ = s.http.Serve(l) }()
	}
	s.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.http.Shutdown(ctx); err != nil {
			t.Error(err)
			_ = s.http.Close()
		}
		s.h2.Close()
	})
	return s
}

// do sends a request.
func (s *served) do(t testing.TB, method, path string, body io.Reader, head ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(head); i += 2 {
		req.Header.Add(head[i], head[i+1])
	}
	r, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Body.Close() })
	if r.ProtoMajor != 2 {
		t.Errorf("%s", r.Proto)
	}
	return r
}

func text(t testing.TB, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// Requests and answers of all sorts are what a handler of net/http expects, with TLS and without.
func TestRequests(t *testing.T) {
	for _, secure := range []bool{false, true} {
		s := serve(t, secure, h2.Limits{}, answers)
		for _, tc := range []struct {
			method, path, body string
			head               []string
			status             int
			want               string
			wantHead           []string
		}{
			{"GET", "/short", "", nil, 200, "short",
				[]string{"Content-Length", "5", "Content-Type", "text/plain; charset=utf-8"}},
			{"HEAD", "/short", "", nil, 200, "", []string{"X-Long", strings.Repeat("x", 40_000)}},
			{"GET", "/none", "", nil, 204, "", []string{"Content-Length", ""}},
			{"GET", "/empty", "", nil, 200, "", []string{"Content-Length", "0"}},
			{"POST", "/echo", "a body", nil, 201, "a body",
				[]string{"Content-Type", "x/y", "X-Bad", "", "Keep-Alive", ""}},
			{"POST", "/echo", strings.Repeat("long ", 1000), nil, 201, strings.Repeat("long ", 1000), nil},
			{"GET", "/seen?q=%20", "",
				[]string{"Cookie", "a=1", "Cookie", "b=2", "X-Twice", "1", "X-Twice", "2", "Te", "trailers"},
				200, fmt.Sprintf("GET /seen?q=%%20 q= %s HTTP/2.0 tls=%v cookie=a=1; b=2 twice=[1 2] length=0", s.addr, secure), nil},
			{"GET", "/wrote", "", nil, 200, "four", nil},
			{"OPTIONS", "/method", "", nil, 200, "OPTIONS", nil},
			{"GET", "/twice", "", nil, 418, "tea", nil},
		} {
			r := s.do(t, tc.method, tc.path, strings.NewReader(tc.body), tc.head...)
			if got := text(t, r); r.StatusCode != tc.status || got != tc.want {
				t.Errorf("%s %s: %d %.200q", tc.method, tc.path, r.StatusCode, got)
			}
			for i := 0; i < len(tc.wantHead); i += 2 {
				if got := r.Header.Get(tc.wantHead[i]); got != tc.wantHead[i+1] {
					t.Errorf("%s %s: %s: %q", tc.method, tc.path, tc.wantHead[i], got)
				}
			}
			if r.Header.Get("Date") == "" {
				t.Errorf("%s: no date", tc.path)
			}
		}
	}
}

// answers is the handler of TestRequests.
func answers(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/short":
		w.Header().Set("X-Long", strings.Repeat("x", 40_000)) // of several frames
		_, _ = io.WriteString(w, "short")
	case "/none":
		w.WriteHeader(http.StatusNoContent)
		if _, err := io.WriteString(w, "x"); err != http.ErrBodyNotAllowed {
			panic(err)
		}
	case "/echo":
		w.Header().Set("Content-Type", "x/y")
		w.Header()["x bad"] = []string{"1"}
		w.Header().Set("X-Bad", "a\nb")
		w.Header().Set("Keep-Alive", "1")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.Copy(w, r.Body)
	case "/seen":
		fmt.Fprintf(w, "%s %s q=%s %s %s tls=%v cookie=%s twice=%v length=%d",
			r.Method, r.RequestURI, strings.TrimSpace(r.URL.Query().Get("q")), r.Host, r.Proto, r.TLS != nil,
			r.Header.Get("Cookie"), r.Header["X-Twice"], r.ContentLength)
	case "/wrote":
		w.Header().Set("Content-Length", "4")
		_, _ = io.WriteString(w, "four")
		if _, err := io.WriteString(w, "more"); err != http.ErrContentLength {
			panic(err)
		}
	case "/method":
		_, _ = io.WriteString(w, r.Method)
	case "/twice":
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, "tea")
	}
}

// zeros gives bytes without an end, which are not all the same.
type zeros struct{ at byte }

func (z *zeros) Read(b []byte) (int, error) {
	for i := range b {
		z.at = z.at*31 + 7
		b[i] = z.at
	}
	return len(b), nil
}

// Bodies that are larger than all windows arrive whole, many at once.
func TestLargeBodies(t *testing.T) {
	const size = 6 << 20
	sum := func(r io.Reader) string {
		h := sha256.New()
		if _, err := io.Copy(h, r); err != nil {
			t.Error(err)
		}
		return fmt.Sprintf("%x", h.Sum(nil))
	}
	want := sum(io.LimitReader(&zeros{}, size))
	s := serve(t, false, h2.Limits{Window: 80_000}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			_, _ = io.Copy(w, io.LimitReader(&zeros{}, size))
			return
		}
		_, _ = io.WriteString(w, sum(r.Body))
	})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if got := sum(s.do(t, "GET", "/down", nil).Body); got != want {
				t.Errorf("down: %s", got)
			}
		})
		all.Go(func() {
			if got := text(t, s.do(t, "POST", "/up", io.LimitReader(&zeros{}, size))); got != want {
				t.Errorf("up: %s", got)
			}
		})
	}
	all.Wait()
}

// What is flushed arrives while the handler runs; statuses in between and trailers arrive, too.
func TestStreams(t *testing.T) {
	step := make(chan struct{})
	s := serve(t, true, h2.Limits{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</x>")
		w.WriteHeader(http.StatusEarlyHints)
		b := make([]byte, 4)
		for range 3 {
			if _, err := io.ReadFull(r.Body, b); err != nil {
				t.Error(err)
			}
			_, _ = w.Write(b)
			_ = http.NewResponseController(w).Flush()
			<-step
		}
		w.Header().Set(http.TrailerPrefix+"X-End", "done")
	})
	early := ""
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			early = fmt.Sprint(early, code, h.Get("Link"))
			return nil
		}})
	in, out := io.Pipe()
	req, err := http.NewRequestWithContext(ctx, "POST", s.url, in)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = out.Write([]byte("one ")) }()
	r, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b := make([]byte, 4)
	for i, want := range []string{"one ", "two ", "tre "} {
		if i > 0 {
			if _, err := out.Write([]byte(want)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadFull(r.Body, b); err != nil || string(b) != want {
			t.Fatalf("%q, %v", b, err)
		}
		step <- struct{}{}
	}
	if rest := text(t, r); rest != "" || r.Trailer.Get("X-End") != "done" || !strings.Contains(early, "103</x>") {
		t.Errorf("%q %v %s", rest, r.Trailer, early)
	}
}

// A handler is told when its client gives up, when its deadlines pass, and when a body is not what was announced.
func TestBroken(t *testing.T) {
	ends := make(chan error, 1)
	s := serve(t, false, h2.Limits{}, func(w http.ResponseWriter, r *http.Request) {
		ctrl := http.NewResponseController(w)
		switch r.URL.Path {
		case "/cancelled":
			_ = ctrl.Flush()
			<-r.Context().Done()
			_, err := r.Body.Read(make([]byte, 1))
			ends <- err
		case "/late":
			_ = ctrl.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			_, err := r.Body.Read(make([]byte, 1))
			ends <- err
		case "/unread":
			_ = ctrl.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
			_, err := io.Copy(w, &zeros{})
			ends <- err
		case "/abort":
			_, _ = io.WriteString(w, "half")
			_ = ctrl.Flush()
			panic(http.ErrAbortHandler)
		case "/panic":
			panic("oh")
		case "/less":
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "half")
		case "/closed":
			_ = r.Body.Close()
			_, err := r.Body.Read(make([]byte, 1))
			ends <- err
		}
	})
	open := func(path string, wait bool) (*http.Response, context.CancelFunc) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		in, out := io.Pipe()
		t.Cleanup(func() { _ = out.Close() })
		req, err := http.NewRequestWithContext(ctx, "POST", s.url+path, in)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.client.Do(req)
		if wait && err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if r != nil {
			t.Cleanup(func() { _ = r.Body.Close() })
		}
		return r, cancel
	}
	r, cancel := open("/cancelled", true)
	_ = r.Body.Close() // resets the stream
	cancel()
	if err := <-ends; err == nil || err == io.EOF {
		t.Errorf("cancelled: %v", err)
	}
	_, cancel = open("/late", true)
	if err := <-ends; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("late: %v", err)
	}
	cancel()
	_, cancel = open("/unread", true)
	if err := <-ends; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("unread: %v", err)
	}
	cancel()
	for _, path := range []string{"/abort", "/less", "/panic"} {
		r, cancel := open(path, false)
		if r != nil {
			if _, err := io.ReadAll(r.Body); err == nil {
				t.Errorf("%s: the answer looks whole", path)
			}
		}
		cancel()
	}
	_, cancel = open("/closed", true)
	if err := <-ends; err == nil || err == io.EOF {
		t.Errorf("closed: %v", err)
	}
	cancel()
}

// A stop lets requests end, takes no more, and closes the connection.
func TestDrain(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	s := serve(t, false, h2.Limits{}, func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-end
		_, _ = io.WriteString(w, "done")
	})
	stopped := make(chan error, 1)
	go func() {
		<-begun
		go func() { stopped <- s.http.Shutdown(context.Background()) }()
		time.Sleep(20 * time.Millisecond)
		close(end)
	}()
	if got := text(t, s.do(t, "GET", "/", nil)); got != "done" {
		t.Error(got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// A request whose client has not read yet that no more are taken does not harm those under way.
func TestDrainBesideANewRequest(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	s := serve(t, false, h2.Limits{}, func(http.ResponseWriter, *http.Request) {
		close(begun)
		<-end
	})
	k := s.raw(t, true)
	k.ask(1, "/", true)
	<-begun
	s.h2.Drain()
	k.ask(3, "/", false)
	_ = k.WriteData(3, false, []byte("body"))
	_ = k.WriteWindowUpdate(3, 100)
	_ = k.WriteData(3, true, nil)
	_ = k.WriteRSTStream(3, http2.ErrCodeCancel)
	_ = k.WritePing(false, [8]byte{1}) // its answer shows that all of that was taken
	for {
		f, err := k.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if g, ok := f.(*http2.GoAwayFrame); ok && g.ErrCode != http2.ErrCodeNo {
			t.Fatal(g)
		}
		if p, ok := f.(*http2.PingFrame); ok && p.IsAck() {
			break
		}
	}
	close(end)
	if got := k.outcome(1); got != "200" {
		t.Error(got)
	}
}

// Many requests share a connection, also while one of them answers without an end.
func TestParallel(t *testing.T) {
	s := serve(t, false, h2.Limits{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/endless" {
			_, _ = io.Copy(w, &zeros{})
			return
		}
		b, _ := io.ReadAll(r.Body)
		_, _ = w.Write(bytes.ToUpper(b))
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", s.url+"/endless", nil)
	endless, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer endless.Body.Close()
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			for range 20 {
				body := fmt.Sprintf("body of %d", i)
				if got := text(t, s.do(t, "POST", "/", strings.NewReader(body))); got != strings.ToUpper(body) {
					t.Errorf("%q", got)
				}
			}
		})
	}
	all.Wait()
}
