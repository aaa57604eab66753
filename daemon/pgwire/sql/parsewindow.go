package sql

import "github.com/nacredb/nacre/daemon/pgwire/sqlstate"

// window reads what rows a window has: the name of another window, PARTITION BY, ORDER BY and the frame.
func (p *parser) window() *window {
	w := &window{open: p.place(p.peek().Pos)}
	p.want("(")
	t := p.peek()
	if p.isName() && (t.Kind == Quoted || !frames[t.Text] && !t.Is("partition")) {
		w.at, w.name = p.place(t.Pos), p.name()
	}
	if p.at("partition", "by") {
		if w.name != "" {
			panic(sqlstate.New(sqlstate.WindowingError, "cannot override PARTITION BY clause of window %q", w.name).At(w.at))
		}
		p.want("partition", "by")
		w.partition = p.exprs()
	}
	if p.eat("order", "by") {
		w.order = p.orderKeys()
	}
	if t := p.peek(); t.Kind == Ident && frames[t.Text] {
		w.frame = p.frame()
	}
	p.want(")")
	return w
}

// frames begin the frame of a window.
var frames = words("rows range groups")

// frame reads ROWS, RANGE or GROUPS with one bound, or two behind BETWEEN, and EXCLUDE.
func (p *parser) frame() *frame {
	f := &frame{mode: p.take().Text, to: frameBound{kind: currentRow}}
	if p.eat("between") {
		f.from = p.frameBound()
		p.want("and")
		f.to = p.frameBound()
		f.to.checkEnd(f.from.kind)
	} else {
		f.from = p.frameBound()
		if f.from.kind == following {
			windowingError(f.from.at, "frame starting from following row cannot end with current row")
		}
	}
	if f.from.kind == unboundedFollowing {
		windowingError(f.from.at, "frame start cannot be UNBOUNDED FOLLOWING")
	}
	if p.eat("exclude") {
		switch {
		case p.eat("current", "row"):
			f.exclude = excludeRow
		case p.eat("group"):
			f.exclude = excludeGroup
		case p.eat("ties"):
			f.exclude = excludeTies
		default:
			p.want("no", "others")
		}
	}
	return f
}

func windowingError(at int, text string) {
	panic(sqlstate.New(sqlstate.WindowingError, "%s", text).At(at))
}

// checkEnd refuses an end of a frame that is before its start by its kind.
func (to *frameBound) checkEnd(from boundKind) {
	switch {
	case from == unboundedFollowing: // the start itself is refused
	case to.kind == unboundedPreceding:
		windowingError(to.at, "frame end cannot be UNBOUNDED PRECEDING")
	case from == currentRow && to.kind == preceding:
		windowingError(to.at, "frame starting from current row cannot have preceding rows")
	case from == following && (to.kind == preceding || to.kind == currentRow):
		windowingError(to.at, "frame starting from following row cannot have preceding rows")
	}
}

// frameBound reads one end of a frame.
func (p *parser) frameBound() frameBound {
	b := frameBound{at: p.place(p.peek().Pos)}
	switch {
	case p.eat("unbounded", "preceding"):
		b.kind = unboundedPreceding
		return b
	case p.eat("unbounded", "following"):
		b.kind = unboundedFollowing
		return b
	case p.eat("current", "row"):
		b.kind = currentRow
		return b
	}
	b.offset = p.expr()
	if b.kind = preceding; !p.eat("preceding") {
		p.want("following")
		b.kind = following
	}
	return b
}

// windows reads WINDOW, and gives the windows of a query that have a name what it stands for.
func (p *parser) windows(over []*window) {
	known := map[string]*window{}
	if p.eat("window") {
		for {
			name := p.name()
			p.want("as")
			w := p.window()
			w.inherit(known)
			known[name] = w
			if !p.eat(",") {
				break
			}
		}
	}
	for _, w := range over {
		w.inherit(known)
	}
}

// inherit makes w what it names, with its own order and frame.
func (w *window) inherit(known map[string]*window) {
	if w.name == "" {
		return
	}
	from, ok := known[w.name]
	switch {
	case !ok:
		panic(sqlstate.New(sqlstate.UndefinedObject, "window %q does not exist", w.name).At(w.at))
	case w.order != nil && from.order != nil:
		panic(sqlstate.New(sqlstate.WindowingError, "cannot override ORDER BY clause of window %q", w.name).At(w.at))
	case from.frame != nil && !w.bare:
		err := sqlstate.New(sqlstate.WindowingError, "cannot copy window %q because it has a frame clause", w.name)
		if w.order == nil && w.frame == nil {
			err = err.Hinted("Omit the parentheses in this OVER clause.")
		}
		panic(err.At(w.open))
	}
	w.partition = from.partition
	if w.order == nil {
		w.order = from.order
	}
	if w.bare {
		w.frame = from.frame
	}
	w.name = ""
}
