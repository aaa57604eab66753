package repl

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
)

// A terminal that is asked to (xterm, "bracketed paste mode") puts these around what is pasted.
const (
	pasteOn    = "\x1b[?2004h"
	pasteOff   = "\x1b[?2004l"
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// A line of the editor holds no line feeds and tabs: these noncharacters of Unicode, which no text interchanges,
// stand for them there and in the history file. The painter shows them.
const (
	lineFeed = '\uFDD0'
	tab      = '\uFDD1'
)

var (
	toLine = strings.NewReplacer(
		"\r\n", string(lineFeed), "\n", string(lineFeed), "\r", string(lineFeed), "\t", string(tab))
	fromLine = strings.NewReplacer(string(lineFeed), "\n", string(tab), "\t")
)

const (
	shownPaste  = 2 << 10  // a longer paste is shown as its place holder: each character paints the line anew
	maxPaste    = 16 << 20 // what is longer is cut
	keptPastes  = 8
	pasteFormat = "⟦paste %d: %d lines, %d bytes⟧"
)

// pastes is the standard input of the editor. It turns a pasted text, with its line feeds and tabs, into one
// input. Its reader is the editor's goroutine.
type pastes struct {
	in      io.ReadCloser
	ready   []byte // to hand out
	held    []byte // the beginning of an escape sequence
	pasting bool
	body    []byte

	mu   sync.Mutex // guards long and n; a leaf lock
	long map[string]string
	n    int
}

func newPastes(in io.ReadCloser) *pastes { return &pastes{in: in, long: map[string]string{}} }

// Read implements io.Reader.
func (p *pastes) Read(b []byte) (int, error) {
	for len(p.ready) == 0 {
		n, err := p.in.Read(b)
		if n > 0 {
			p.take(b[:n])
		}
		if err != nil && len(p.ready) == 0 {
			return 0, err
		}
	}
	n := copy(b, p.ready)
	p.ready = p.ready[n:]
	return n, nil
}

// Close implements io.Closer.
func (p *pastes) Close() error { return p.in.Close() }

// take divides what was read into keys and pasted texts.
func (p *pastes) take(b []byte) {
	b = append(p.held, b...)
	p.held = nil
	for len(b) > 0 {
		mark := pasteBegin
		if p.pasting {
			mark = pasteEnd
		}
		i := bytes.Index(b, []byte(mark))
		if i < 0 {
			keep := unfinished(b, mark)
			p.pass(b[:len(b)-keep])
			p.held = bytes.Clone(b[len(b)-keep:])
			return
		}
		p.pass(b[:i])
		if p.pasting {
			p.ready = append(p.ready, p.shown(string(p.body))...)
			p.body = nil
		}
		p.pasting = !p.pasting
		b = b[i+len(mark):]
	}
}

// unfinished is how many bytes at the end of b may be the beginning of mark. A bare escape is a key of its own.
func unfinished(b []byte, mark string) int {
	for n := min(len(b), len(mark)-1); n > 1; n-- {
		if strings.HasPrefix(mark, string(b[len(b)-n:])) {
			return n
		}
	}
	return 0
}

func (p *pastes) pass(b []byte) {
	switch {
	case !p.pasting:
		p.ready = append(p.ready, b...)
	case len(p.body) < maxPaste:
		p.body = append(p.body, b[:min(len(b), maxPaste-len(p.body))]...)
	}
}

// shown returns the form of a pasted text in the editor: the text on one line, or a place holder.
func (p *pastes) shown(text string) string {
	text = strings.TrimRight(strings.ToValidUTF8(text, "\uFFFD"), "\r\n")
	line := toLine.Replace(text)
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, line)
	if len(line) <= shownPaste {
		return line
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	holder := fmt.Sprintf(pasteFormat, p.n, strings.Count(line, string(lineFeed))+1, len(text))
	if len(p.long) >= keptPastes {
		clear(p.long)
	}
	p.long[holder] = line
	return holder
}

// expand puts the pasted texts in place of their holders, and line feeds and tabs in place of what stands for them.
func (p *pastes) expand(line string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for holder, text := range p.long {
		line = strings.ReplaceAll(line, holder, text)
	}
	return fromLine.Replace(line)
}
