package ws

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
)

// serving starts a Server whose first request begins the pulse.
func serving(t *testing.T) (s *Server, address string) {
	t.Helper()
	eng, err := engine.Open(t.Context(), "memory", engine.Options{Capabilities: auth.AllCapabilities()})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	s = NewServer(&rpc.Server{Engine: eng, Log: log}, Limits{}, log)
	s.pulse.After = 1
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Reserve() {
			s.Serve(w, r, eng.RootSession(), "a client")
		}
	}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		s.Shutdown(ctx)
		web.Close()
		if err := eng.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s, web.URL
}

// peer is a client.
type peer struct {
	t *testing.T
	c *websocket.Conn
}

func connect(t *testing.T, address string) *peer {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), address, &websocket.DialOptions{Subprotocols: []string{"json"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	p := &peer{t, c}
	p.ask(0, "USE NS test DB test")
	return p
}

func (p *peer) send(id int, text string) {
	message := fmt.Sprintf(`{"id":%d,"method":"query","params":[%q]}`, id, text)
	if err := p.c.Write(p.t.Context(), websocket.MessageText, []byte(message)); err != nil {
		p.t.Error(err)
	}
}

// answer reads the next answer, which has to come soon.
func (p *peer) answer() string {
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	defer cancel()
	_, b, err := p.c.Read(ctx)
	if err != nil {
		p.t.Error(err)
	}
	return string(b)
}

// ask runs a text and holds that the answer is the one to it.
func (p *peer) ask(id int, text string) string {
	p.t.Helper()
	p.send(id, text)
	got := p.answer()
	if !strings.Contains(got, fmt.Sprintf(`"id":%d,`, id)) || !strings.Contains(got, `"OK"`) {
		p.t.Errorf("%s: %s", text, got)
	}
	return got
}

// only is the one connection of s.
func (s *Server) only() *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		return c
	}
	return nil
}

func TestLoneRequestRunsInReader(t *testing.T) {
	s, address := serving(t)
	p := connect(t, address)
	c := s.only()
	// On a busy machine some take so long that another goroutine reads, and the next one finds them at work still.
	alone := 0
	for i := 0; i < 1000 && alone < 10; i++ {
		before := c.turn.Load()
		p.ask(i, "RETURN 1")
		if c.turn.Load() > before {
			alone++
		}
	}
	if alone < 10 {
		t.Errorf("%d of 1000 requests ran in the reader", alone)
	}
}

// TestLone holds that requests that came with others, or while others run, are told from those that came alone.
func TestLone(t *testing.T) {
	c := &conn{pipe: &pipe{Conn: new(endless)}, slots: make(chan struct{}, 2)}
	comes := func(n int) { // so many bytes in one piece
		if _, err := c.pipe.Read(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{1, 125, 126, 3000, 65535, 65536} {
		comes(n + headLength(n))
		if !c.lone(n) {
			t.Errorf("a message of %d bytes came alone", n)
		}
		if c.lone(n) {
			t.Errorf("a message of %d bytes came together with the one before it", n)
		}
	}
	comes(50 + 6 + 1)
	if c.lone(50) {
		t.Error("a byte of the next message came along")
	}
	comes(30)
	comes(26)
	if c.lone(50) {
		t.Error("a message in two pieces counts as a short one")
	}
	c.slots <- struct{}{}
	comes(56)
	if c.lone(50) {
		t.Error("another request runs")
	}
}

// TestLongRequestGivesUpReading holds that the reader of a connection does not stay away in a request, and that the
// request ends when the client goes.
func TestLongRequestGivesUpReading(t *testing.T) {
	s, address := serving(t)
	for range 3 {
		p := connect(t, address)
		for i := range 3 { // each takes the reading from another goroutine
			p.ask(10+i, "RETURN 1")
			p.send(20+i, "SLEEP 1h")
		}
		p.ask(30, "RETURN 3")
		_ = p.c.CloseNow()
		gone := func() bool { return s.only() == nil }
		for end := time.Now().Add(10 * time.Second); !gone(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the requests of a client that has gone still run")
			}
		}
	}
}

// TestReadersChange has many requests of all lengths on some connections, most of them alone.
func TestReadersChange(t *testing.T) {
	_, address := serving(t)
	var wg sync.WaitGroup
	for range 4 {
		p := connect(t, address)
		wg.Go(func() {
			for i := range 60 {
				text := "RETURN 1"
				if rand.IntN(4) == 0 {
					text = fmt.Sprintf("SLEEP %dms", rand.IntN(8))
				}
				if rand.IntN(3) > 0 {
					p.ask(i, text)
					continue
				}
				for k := range 3 {
					p.send(1000+k, text)
				}
				for range 3 {
					if got := p.answer(); !strings.Contains(got, `"OK"`) {
						t.Error(got)
					}
				}
			}
		})
	}
	wg.Wait()
}
