package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/cli/process"
)

// progress counts bytes and records and shows them on standard error until stop.
type progress struct {
	w       io.Writer
	what    string
	mode    string // auto, plain, json or none
	tty     bool
	total   int64 // -1 where not known
	n       atomic.Int64
	records atomic.Int64
	began   time.Time
	quit    chan struct{} // nil: nothing is shown
	ended   sync.WaitGroup
}

// progressModes lists the values of --progress.
var progressModes = []string{"auto", "plain", "json", "none"}

// newProgressOf makes a progress of a mode of --progress, which start begins to show.
func newProgressOf(s *streams, what, mode string) (*progress, error) {
	if !contains(progressModes, mode) {
		return nil, usagef("unknown --progress %q (%s)", mode, strings.Join(progressModes, ", "))
	}
	return &progress{w: s.err, what: what, mode: mode, tty: s.errTTY, total: -1, began: time.Now()}, nil
}

// newProgress shows a line on a terminal, and nothing elsewhere.
func newProgress(s *streams, what string, total int64) *progress {
	p := &progress{w: s.err, what: what, mode: "auto", tty: s.errTTY}
	p.start(total)
	return p
}

// start begins to show a progress towards total bytes, -1 where that is not known.
func (p *progress) start(total int64) {
	p.total, p.began = total, time.Now()
	each := time.Second
	switch {
	case p.mode == "none", p.mode == "auto" && !p.tty:
		return
	case p.mode == "auto":
		each = 250 * time.Millisecond
	}
	quit := make(chan struct{})
	p.quit = quit
	p.ended.Go(func() {
		tick := time.NewTicker(each)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.show()
			case <-quit:
				if p.mode == "auto" {
					fmt.Fprint(p.w, "\r\x1b[K")
				}
				return
			}
		}
	})
}

func (p *progress) show() {
	switch p.mode {
	case "auto":
		fmt.Fprintf(p.w, "\r\x1b[K%s", p.line())
	case "plain":
		fmt.Fprintln(p.w, p.line())
	case "json":
		p.showJSON()
	}
}

// showJSON writes an object with what is done so far; total and records are left out where they are not known.
func (p *progress) showJSON() {
	fmt.Fprintf(p.w, `{"stage":%q,"bytes":%d`, p.what, p.n.Load())
	if p.total >= 0 {
		fmt.Fprintf(p.w, `,"total":%d`, p.total)
	}
	if n := p.records.Load(); n > 0 {
		fmt.Fprintf(p.w, `,"records":%d`, n)
	}
	fmt.Fprintf(p.w, `,"seconds":%.1f}`+"\n", time.Since(p.began).Seconds())
}

// line is "import 12.3 MiB, 8.2 MiB/s, 31000 records/s, 45 %, 2s left".
func (p *progress) line() string {
	n := p.n.Load()
	took := time.Since(p.began).Seconds()
	rate := float64(n) / max(took, 1e-3)
	s := fmt.Sprintf("%s %s, %s/s", p.what, process.Size(n), process.Size(int64(rate)))
	if records := p.records.Load(); records > 0 {
		s += fmt.Sprintf(", %.0f records/s", float64(records)/max(took, 1e-3))
	}
	if p.total > 0 && n > 0 {
		left := time.Duration(float64(p.total-n) / rate * float64(time.Second))
		s += fmt.Sprintf(", %d %%, %v left", 100*n/p.total, left.Round(time.Second))
	}
	return s
}

// stop ends the showing; a second call does nothing. JSON ends with what was done in all.
func (p *progress) stop() {
	if p.quit == nil {
		return
	}
	close(p.quit)
	p.ended.Wait()
	p.quit = nil
	if p.mode == "json" {
		p.showJSON()
	}
}

// addRecords counts records.
func (p *progress) addRecords(n int) { p.records.Add(int64(n)) }

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

// counted is "1 record" or "2 records".
func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
