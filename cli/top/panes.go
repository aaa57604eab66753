package top

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/cli/process"
)

// overviewLines is how many lines the figures take above the list.
const overviewLines = 12

// overview is the pane of figures.
func (m *model) overview() []string {
	f, half := m.now, (m.w-2)/2
	latency := "-"
	if l := f.Latency; l != nil {
		latency = fmt.Sprintf("p50 %s  p95 %s  p99 %s", seconds(l.P50), seconds(l.P95), seconds(l.P99))
	}
	limit := ""
	if f.QueryLimit > 0 {
		limit = " of " + size(f.QueryLimit)
	}
	state := fmt.Sprintf("%.0f checkpoints", f.Checkpoints)
	if f.ReadOnly {
		state = m.style(red, "read-only since a write failed: restart the server")
	}
	servers := ""
	if f.Processes != nil && f.Processes.Servers() != "" {
		servers = "   servers " + f.Processes.Servers()
	}
	lines := []string{
		"",
		m.figure("Requests/s", number(f.Requests), m.past.requests, half) +
			m.figure("Latency p95", m.p95(), m.past.p95, half),
		m.figure("Transactions/s", number(f.Transactions), m.past.transactions, half) +
			m.figure("Conflicts/s", number(f.Conflicts), m.past.conflicts, half),
		m.figure("Memory", size(f.Memory), m.past.memory, half) +
			m.figure("Sessions", number(f.Sessions), m.past.sessions, half),
		"",
		m.fact("Statements/s", fmt.Sprintf("%s, %s failed  %s", number(f.Statements), number(f.Errors), kinds(f.Verbs))),
		m.fact("Calls/s", kinds(f.Methods)),
		m.fact("Latency", latency),
		m.fact("Transactions", fmt.Sprintf("%.0f open, oldest %s, %s retries/s", f.OpenTxns, process.Span(f.OldestTxn),
			number(f.Retries))),
		m.fact("Live queries", fmt.Sprintf("%.0f, %s notifications/s   CPU %.0f %%   held %s%s", f.LiveQueries,
			number(f.Notifications), f.CPU, size(f.QueryMemory), limit)),
		m.fact("Store", fmt.Sprintf("%s in files, %s in the log, %s, sync %s%s", size(f.FileBytes), size(f.LogBytes),
			state, seconds(f.SyncTime), servers)),
		"",
	}
	return lines
}

func (m *model) p95() string {
	if m.now.Latency == nil {
		return "-"
	}
	return seconds(m.now.Latency.P95)
}

// figure is a name, a number and the last minutes as a sparkline, in so many columns.
func (m *model) figure(name, text string, past []float64, w int) string {
	left := fmt.Sprintf("  %-15s%9s ", name, text)
	room := max(w-len([]rune(left))-2, 4)
	return m.style(bold, left) + m.style(green, spark(past, room)) + "  "
}

func (m *model) fact(name, text string) string {
	if strings.Contains(text, "\x1b") {
		return fmt.Sprintf("  %-15s%s", name, text)
	}
	return fit(fmt.Sprintf("  %-15s%s", name, text), m.w)
}

// kinds are rates on one line.
func kinds(list []Rate) string {
	if len(list) == 0 {
		return "-"
	}
	var out []string
	for _, r := range list {
		out = append(out, process.Plain(r.Name)+" "+number(r.PerSecond))
	}
	return strings.Join(out, "  ")
}

// spark are numbers as bars in w columns, the last ones at the right.
func spark(list []float64, w int) string {
	const bars = "▁▂▃▄▅▆▇█"
	list = list[max(0, len(list)-w):]
	most := 0.0
	for _, n := range list {
		most = max(most, n)
	}
	var out strings.Builder
	out.WriteString(strings.Repeat(" ", w-len(list)))
	for _, n := range list {
		i := 0
		if most > 0 {
			i = min(int(math.Round(n/most*7)), 7)
		}
		out.WriteRune([]rune(bars)[max(i, 0)])
	}
	return out.String()
}

// listLine is the line of the screen where the rows of the list begin.
func (m *model) listLine() int {
	if m.page == overview {
		return tabLine + 1 + overviewLines + 1
	}
	return tabLine + 1 + 2
}

// listHeight is how many rows of the list are shown.
func (m *model) listHeight() int { return max(1, m.h-1-m.listLine()) }

// column is a column of a list: its title, width (0: what is left) and text.
type column struct {
	title string
	width int
	right bool
	text  func(*process.Row) string
}

var (
	colLongID  = column{"ID", 20, false, func(r *process.Row) string { return r.ID }}
	colServer  = column{"SERVER", 12, false, (*process.Row).Server}
	colID      = column{"ID", 8, false, func(r *process.Row) string { return r.ID }}
	colUUID    = column{"ID", 36, false, func(r *process.Row) string { return r.ID }}
	colUser    = column{"USER", 10, false, (*process.Row).Who}
	colPlace   = column{"PLACE", 12, false, (*process.Row).Place}
	colAge     = column{"AGE", 7, true, (*process.Row).Age}
	colRows    = column{"ROWS", 8, true, func(r *process.Row) string { return strconv.FormatInt(r.Rows, 10) }}
	colMemory  = column{"MEMORY", 9, true, func(r *process.Row) string { return process.Size(r.Memory) }}
	colClient  = column{"CLIENT", 15, false, func(r *process.Row) string { return process.Plain(r.Client) }}
	colText    = column{"TEXT", 0, false, func(r *process.Row) string { return process.OneLine(r.Text, 1000) }}
	colSpent   = column{"TOOK", 8, true, func(r *process.Row) string { return seconds(r.Spent) }}
	colAgo     = column{"AGO", 8, true, func(r *process.Row) string { return process.Span(float64(int(r.Seconds))) }}
	colWork    = column{"RUNS", 5, true, func(r *process.Row) string { return strconv.Itoa(r.Statements) }}
	colLive    = column{"LIVE", 5, true, func(r *process.Row) string { return strconv.Itoa(r.Live) }}
	colTxns    = column{"TXNS", 0, false, func(r *process.Row) string { return strconv.Itoa(r.Transactions) }}
	colSession = column{"SESSION", 0, false, func(r *process.Row) string { return r.Session }}

	lists = [pages]struct {
		empty   string
		columns []column
	}{
		overview:     {"no statement runs", []column{colID, colUser, colPlace, colAge, colRows, colText}},
		running:      {"no statement runs", []column{colID, colUser, colPlace, colAge, colRows, colMemory, colText}},
		sessions:     {"no session is open", []column{colUUID, colUser, colAge, colWork, colLive, colTxns}},
		transactions: {"no transaction is open", []column{colUUID, colUser, colAge, colSession}},
		lives:        {"no live query is open", []column{colUUID, colPlace, colAge, colText}},
		slowest:      {"nothing has run in the last ten minutes", []column{colSpent, colAgo, colPlace, colText}},
	}
)

// columns are the columns of the list of the page. Wide screens show where clients are.
func (m *model) columns() []column {
	c := lists[m.page].columns
	if m.w >= 100 && (m.page == running || m.page == overview || m.page == sessions) {
		c = append(append([]column{}, c[:len(c)-1]...), colClient, c[len(c)-1])
	}
	if m.now == nil || m.now.Processes == nil || m.now.Processes.Totals["nodes"] == 0 || m.page == slowest {
		return c
	}
	if m.page == running || m.page == overview { // the id says on which server a statement runs
		return append([]column{colLongID}, c[1:]...)
	}
	return append(append([]column{}, c[:len(c)-1]...), colServer, c[len(c)-1])
}

// list is the list of the page.
func (m *model) list() []string {
	columns, rows := m.columns(), m.rows()
	titles := m.line(columns, func(c *column) string { return c.title })
	var lines []string
	if m.page != overview {
		lines = append(lines, "")
	}
	lines = append(lines, m.style(faint, titles))
	if len(rows) == 0 {
		return append(lines, "  "+lists[m.page].empty)
	}
	for i := m.top; i < min(len(rows), m.top+m.listHeight()); i++ {
		line := m.line(columns, func(c *column) string { return c.text(&rows[i]) })
		switch {
		case i == m.at:
			line = m.style(inverse, line)
		case rows[i].Failed:
			line = m.style(red, line)
		}
		lines = append(lines, line)
	}
	return lines
}

// line is a line of a list.
func (m *model) line(columns []column, text func(*column) string) string {
	var out strings.Builder
	out.WriteString("  ")
	left := m.w - 4
	for i := range columns {
		c := &columns[i]
		w := c.width
		if w == 0 || w > left {
			w = max(left, 1)
		}
		s := text(c)
		if n := w - len([]rune(s)); c.right && n > 0 {
			s = strings.Repeat(" ", n) + s
		}
		out.WriteString(fit(s, w) + "  ")
		if left -= w + 2; left <= 0 {
			break
		}
	}
	return fit(out.String(), m.w)
}

// number is a number in a few characters.
func number(n float64) string {
	switch {
	case n == 0:
		return "0"
	case n < 10:
		return strconv.FormatFloat(n, 'f', 1, 64)
	case n < 100_000:
		return strconv.FormatFloat(n, 'f', 0, 64)
	case n < 1e8:
		return strconv.FormatFloat(n/1e6, 'f', 1, 64) + " M"
	}
	return strconv.FormatFloat(n/1e6, 'f', 0, 64) + " M"
}

func size(n float64) string { return process.Size(int64(n)) }

// seconds is a time with three digits.
func seconds(s float64) string {
	switch {
	case s <= 0:
		return "0"
	case s < 1e-3:
		return fmt.Sprintf("%.0f µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}
