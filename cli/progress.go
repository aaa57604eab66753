package cli

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// progress counts bytes and, on a terminal, shows them four times a second until stop.
type progress struct {
	what  string
	total int64 // -1 where not known
	n     atomic.Int64
	began time.Time
	quit  chan struct{}
	ended sync.WaitGroup // the drawing goroutine; stop waits for it
}

func newProgress(s *streams, what string, total int64) *progress {
	p := &progress{what: what, total: total, began: time.Now(), quit: make(chan struct{})}
	if !s.errTTY {
		return p
	}
	p.ended.Add(1)
	go func() {
		defer p.ended.Done()
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(s.err, "\r\x1b[K%s", p.line())
			case <-p.quit:
				fmt.Fprint(s.err, "\r\x1b[K")
				return
			}
		}
	}()
	return p
}

// line is "import 12.3 MiB, 45 %, 8.2 MiB/s, 2s left".
func (p *progress) line() string {
	n := p.n.Load()
	took := time.Since(p.began).Seconds()
	rate := float64(n) / max(took, 1e-3)
	s := fmt.Sprintf("%s %s, %s/s", p.what, bytesText(n), bytesText(int64(rate)))
	if p.total > 0 && n > 0 {
		left := time.Duration(float64(p.total-n) / rate * float64(time.Second))
		s += fmt.Sprintf(", %d %%, %v left", 100*n/p.total, left.Round(time.Second))
	}
	return s
}

func (p *progress) stop() {
	close(p.quit)
	p.ended.Wait()
}

func (p *progress) count() int64 { return p.n.Load() }

func (p *progress) reader(r io.Reader) io.Reader { return countReader{p, r} }

func (p *progress) writer(w io.Writer) io.Writer { return countWriter{p, w} }

type countReader struct {
	p *progress
	r io.Reader
}

func (c countReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.p.n.Add(int64(n))
	return n, err
}

type countWriter struct {
	p *progress
	w io.Writer
}

func (c countWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.p.n.Add(int64(n))
	return n, err
}

// bytesText is a size with a binary unit.
func bytesText(n int64) string {
	const units = "KMGT"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	return fmt.Sprintf("%.1f %ciB", f, units[i])
}
