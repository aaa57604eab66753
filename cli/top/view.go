package top

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/nacredb/nacre/cli/process"
)

// Styles of text (ECMA-48).
const (
	reset   = "\x1b[0m"
	bold    = "\x1b[1m"
	faint   = "\x1b[2m"
	inverse = "\x1b[7m"
	red     = "\x1b[31m"
	green   = "\x1b[32m"
	yellow  = "\x1b[33m"
	cyan    = "\x1b[36m"
)

// tabLine is the line of the tabs.
const tabLine = 1

// The smallest screen that the dashboard is drawn on.
const (
	minWidth  = 40
	minHeight = 10
)

// style is a text in a style, where there is colour. The screen shows inverse and bold without colour, too: inverse is
// the selection.
func (m *model) style(code, text string) string {
	if text == "" || m.printed || !m.opt.Colour && code != inverse && code != bold {
		return text
	}
	return code + text + reset
}

// View implements tea.Model.
func (m *model) View() string {
	if m.w < minWidth || m.h < minHeight {
		return fit(fmt.Sprintf("The screen is too small: %d×%d, want %d×%d.", m.w, m.h, minWidth, minHeight), m.w)
	}
	lines := []string{m.header(), m.tabBar()}
	switch {
	case m.help:
		lines = append(lines, helpLines...)
	case m.now == nil:
		lines = append(lines, "", "  reading …")
	default:
		if m.page == overview {
			lines = append(lines, m.overview()...)
		}
		lines = append(lines, m.list()...)
	}
	for len(lines) < m.h-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:m.h-1], m.footer())
	return strings.Join(lines, "\n")
}

// fit cuts a text to a width and fills it up to it.
func fit(s string, w int) string {
	n := uniseg.StringWidth(s)
	if n <= w {
		return s + strings.Repeat(" ", w-n)
	}
	var out strings.Builder
	left := w - 1
	for g := uniseg.NewGraphemes(s); g.Next() && g.Width() <= left; left -= g.Width() {
		out.WriteString(g.Str())
	}
	return out.String() + "…" + strings.Repeat(" ", max(left, 0))
}

func (m *model) header() string {
	state := ""
	if m.paused {
		state = " paused"
	}
	right := fmt.Sprintf("every %v%s", m.opt.Every, state)
	if m.now != nil {
		up := process.Span(math.Floor(m.now.Uptime))
		right = fmt.Sprintf("up %s  %s  %s", up, right, m.now.Time.Format("15:04:05"))
	}
	left := "nacre top  " + m.opt.Name
	w := uniseg.StringWidth(right)
	if w+8 > m.w {
		return m.style(bold, fit(left, m.w))
	}
	return m.style(bold, fit(left, m.w-w-1)+" ") + right
}

// tabs are the labels of the pages; narrow screens have short ones.
func (m *model) tabs() []string {
	var out []string
	for p, name := range pageNames {
		label := fmt.Sprintf(" %d %s ", p+1, name)
		if m.w < 72 {
			label = fmt.Sprintf(" %d %s ", p+1, name[:min(len(name), 3)])
		}
		out = append(out, label)
	}
	return out
}

func (m *model) tabBar() string {
	var out strings.Builder
	for p, label := range m.tabs() {
		if page(p) == m.page {
			label = m.style(inverse, label)
		}
		out.WriteString(label)
	}
	return out.String()
}

func (m *model) footer() string {
	switch {
	case m.asking != "":
		return m.style(yellow, fit("End the "+m.what+"? y ends it, any other key does not.", m.w))
	case m.failure != nil:
		return m.style(red, fit("No answer, trying again: "+process.OneLine(m.failure.Error(), 300), m.w))
	case m.said != "":
		return m.style(cyan, fit(m.said, m.w))
	}
	return m.style(faint, fit("q leave  ? help  Tab page  ↑↓ select  k end it  p pause  + − faster, slower", m.w))
}

var helpLines = []string{
	"",
	"  1 … 6, Tab, ← →    go to a page (or click on it)",
	"  ↑ ↓ PgUp PgDn      select a row (or click, or turn the wheel)",
	"  Home End           the first, the last row",
	"  k, Delete          end the statement, session, transaction or live query",
	"                     that is selected, after a question",
	"  p, Space           stop reading; again to go on",
	"  + −                read more often, less often",
	"  q, Esc, Ctrl-C     leave",
	"",
	"  Rates are those since the last reading. p50, p95 and p99 are times that so",
	"  many statements of a hundred did not exceed. Slowest lists the texts of the",
	"  last ten minutes that took longest. Texts are shown without their data.",
	"",
	"  Held is the memory that statements have taken. Any key goes back.",
}

// PrintOnce writes figures as a page of text.
func PrintOnce(w io.Writer, opt Options, f *Figures) error {
	m := newModel(context.Background(), opt) // nothing is read
	m.now, m.w, m.h, m.printed = f, 100, 1000, true
	lines := append([]string{m.header()}, m.overview()...)
	m.at = -1
	lines = append(lines, m.list()...)
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}
