// Package top is the dashboard of an operator: what a server does, second by second, and what runs in it.
//
// The model owns all state and runs on the goroutine of bubbletea. Reading and killing are commands: they run beside
// it, one reading at a time, and come back as messages.
package top

import (
	"context"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nacredb/nacre/cli/process"
	"github.com/nacredb/nacre/cli/top/quiet"
)

var _ = quiet.Done() // bubbletea has been initialized

// Options say what is watched.
type Options struct {
	Source Source
	Name   string        // of the server, for the first line
	Every  time.Duration // between readings
	Colour bool
	Now    func() time.Time // nil: time.Now
}

// history is how many readings the sparklines look back.
const history = 120

// page is one of the tabs.
type page int

const (
	overview page = iota
	running
	sessions
	transactions
	lives
	slowest
	pages
)

var pageNames = [pages]string{"Overview", "Running", "Sessions", "Transactions", "Live", "Slowest"}

type model struct {
	ctx  context.Context
	opt  Options
	w, h int

	printed bool // no screen: text without any style

	last    *reading
	now     *Figures
	past    past
	failure error // of the last reading
	said    string

	page   page
	at     int // selected row of the page
	top    int // first row that is shown
	help   bool
	paused bool
	asking string // id to be killed, if the answer is y
	what   string // what it is, in words
}

// past are the figures of the last readings, for the sparklines.
type past struct{ requests, p95, transactions, memory, conflicts, sessions []float64 }

type (
	readMsg struct {
		r   *reading
		err error
	}
	tickMsg   struct{}
	killedMsg struct {
		id  string
		err error
	}
)

func newModel(ctx context.Context, opt Options) *model {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &model{ctx: ctx, opt: opt, w: 80, h: 24}
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return m.read }

// readTime is how long one reading may take.
const readTime = 10 * time.Second

func (m *model) read() tea.Msg {
	ctx, stop := context.WithTimeout(m.ctx, readTime)
	defer stop()
	r, err := read(ctx, m.opt.Source, m.opt.Now)
	return readMsg{r, err}
}

func (m *model) later() tea.Cmd {
	return tea.Tick(m.opt.Every, func(time.Time) tea.Msg { return tickMsg{} })
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		m.keepInView()
	case tickMsg:
		if m.paused {
			return m, m.later()
		}
		return m, m.read
	case readMsg:
		m.take(msg)
		return m, m.later()
	case killedMsg:
		m.said = "ended " + msg.id
		if msg.err != nil {
			m.said = "not ended: " + process.OneLine(msg.err.Error(), 200)
		}
	case tea.KeyMsg:
		return m, m.key(msg.String())
	case tea.MouseMsg:
		m.mouse(tea.MouseEvent(msg))
	}
	return m, nil
}

// take keeps a reading.
func (m *model) take(msg readMsg) {
	m.failure = msg.err
	if msg.err != nil {
		return
	}
	if m.last != nil {
		m.now = figures(m.last, msg.r)
		m.past.add(m.now)
	} else {
		m.now = figures(msg.r, msg.r)
	}
	m.last = msg.r
	m.keepInView()
}

func (p *past) add(f *Figures) {
	push := func(list *[]float64, n float64) {
		*list = append(*list, n)
		*list = (*list)[max(0, len(*list)-history):]
	}
	p95 := 0.0
	if f.Latency != nil {
		p95 = f.Latency.P95
	}
	push(&p.requests, f.Requests)
	push(&p.p95, p95)
	push(&p.transactions, f.Transactions)
	push(&p.memory, f.Memory)
	push(&p.conflicts, f.Conflicts)
	push(&p.sessions, f.Sessions)
}

// key describes a key and its action.
func (m *model) key(k string) tea.Cmd {
	if m.asking != "" {
		return m.answer(k)
	}
	if m.help {
		m.help = false
		if k != "q" && k != "ctrl+c" {
			return nil
		}
	}
	m.said = ""
	switch k {
	case "q", "ctrl+c", "esc":
		return tea.Quit
	case "?", "h":
		m.help = true
	case "tab", "right", "l":
		m.turn((m.page + 1) % pages)
	case "shift+tab", "left":
		m.turn((m.page + pages - 1) % pages)
	case "1", "2", "3", "4", "5", "6":
		m.turn(page(k[0] - '1'))
	case "up":
		m.move(-1)
	case "down":
		m.move(1)
	case "pgup":
		m.move(-m.listHeight())
	case "pgdown":
		m.move(m.listHeight())
	case "home":
		m.move(-m.at)
	case "end":
		m.move(len(m.rows()))
	case "p", " ":
		m.paused = !m.paused
	case "k", "delete":
		m.ask()
	case "+":
		m.opt.Every = max(m.opt.Every/2, minEvery)
	case "-":
		m.opt.Every = min(m.opt.Every*2, maxEvery)
	}
	return nil
}

// The shortest and longest time between readings.
const (
	minEvery = 250 * time.Millisecond
	maxEvery = time.Minute
)

// turn goes to a page.
func (m *model) turn(p page) { m.page, m.at, m.top = p, 0, 0 }

// move goes up or down in the list.
func (m *model) move(n int) {
	m.at += n
	m.keepInView()
}

// keepInView keeps the selected row in the list, and in what is shown of it.
func (m *model) keepInView() {
	m.at = max(0, min(m.at, len(m.rows())-1))
	m.top = max(0, min(m.top, m.at))
	if h := m.listHeight(); m.at >= m.top+h {
		m.top = m.at - h + 1
	}
}

// rows returns the rows of the list on the page.
func (m *model) rows() []process.Row {
	if m.now == nil || m.now.Processes == nil {
		return nil
	}
	p := m.now.Processes
	return [pages][]process.Row{p.Statements, p.Statements, p.Sessions, p.Transactions, p.Live, p.Slowest}[m.page]
}

// ask asks whether to end what the selected row is about.
func (m *model) ask() {
	rows := m.rows()
	if m.page == slowest || len(rows) == 0 {
		m.said = "nothing that runs is selected"
		return
	}
	r := &rows[m.at]
	m.asking = r.ID
	m.what = [pages]string{"statement", "statement", "session", "transaction", "live query", ""}[m.page] + " " + r.ID
}

// answer is the key that answers the question.
func (m *model) answer(k string) tea.Cmd {
	id := m.asking
	m.asking = ""
	if k != "y" && k != "Y" {
		m.said = "not ended"
		return nil
	}
	m.said = "ending " + id + " …"
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(m.ctx, readTime)
		defer stop()
		return killedMsg{id, m.opt.Source.Kill(ctx, id)}
	}
}

// mouse selects a tab or a row; the wheel moves.
func (m *model) mouse(e tea.MouseEvent) {
	switch {
	case m.asking != "" || m.help:
		return
	case e.Button == tea.MouseButtonWheelUp:
		m.move(-1)
	case e.Button == tea.MouseButtonWheelDown:
		m.move(1)
	case e.Button != tea.MouseButtonLeft || e.Action != tea.MouseActionPress:
		return
	case e.Y == tabLine:
		from := 0
		for p, label := range m.tabs() {
			if e.X >= from && e.X < from+len(label) {
				m.turn(page(p))
			}
			from += len(label)
		}
	default:
		if i := m.top + e.Y - m.listLine(); e.Y >= m.listLine() && i < len(m.rows()) && e.Y < m.h-1 {
			m.at = i
		}
	}
}

// Run shows the dashboard until it is left.
func Run(ctx context.Context, opt Options, more ...tea.ProgramOption) error {
	with := append([]tea.ProgramOption{tea.WithContext(ctx), tea.WithAltScreen(), tea.WithMouseCellMotion()}, more...)
	if _, err := tea.NewProgram(newModel(ctx, opt), with...).Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the screen: %w", err)
	}
	return nil
}

// Once compares two readings that are opt.Every apart.
func Once(ctx context.Context, opt Options) (*Figures, error) {
	m := newModel(ctx, opt)
	first, err := read(ctx, opt.Source, m.opt.Now)
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(opt.Every):
	}
	second, err := read(ctx, opt.Source, m.opt.Now)
	if err != nil {
		return nil, err
	}
	return figures(first, second), nil
}
