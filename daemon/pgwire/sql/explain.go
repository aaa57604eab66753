package sql

import (
	"context"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// Explain is EXPLAIN of a statement.
type Explain struct {
	Stmt    Statement
	Analyze bool // the statement also runs
	JSON    bool // the answer is one value of JSON
}

// Explainer is a relation that tells how it would do a scan, a line for each step.
type Explainer interface {
	Explain(ctx context.Context, s *Scan) ([]string, error)
}

// Step is a part of a plan. It says nothing of the rows that there are.
type Step struct {
	Title string
	Lines []string // more of it
	Parts []*Step  // whose rows it takes
}

// explain reads EXPLAIN with its options, in either form.
func (p *parser) explain() *Explain {
	p.want("explain")
	e := &Explain{}
	if p.at("(") && !p.subquery(0) {
		p.want("(")
		for {
			p.explainOption(e)
			if !p.eat(",") {
				break
			}
		}
		p.want(")")
	} else {
		e.Analyze = p.eat("analyze")
		p.eat("verbose")
	}
	if p.at("explain") || p.at("truncate") {
		p.unexpected()
	}
	e.Stmt = p.statement()
	return e
}

func (p *parser) explainOption(e *Explain) {
	name, v := p.label(), "true"
	if !p.at(",") && !p.at(")") {
		v = strings.ToLower(p.take().Text)
	}
	on := v == "true" || v == "on" || v == "1"
	if !on && v != "false" && v != "off" && v != "0" && name != "format" {
		panic(sqlstate.New(sqlstate.SyntaxError, "EXPLAIN option %q cannot be %q", name, v))
	}
	switch name {
	case "analyze":
		e.Analyze = on
	case "format":
		if e.JSON = v == "json"; !e.JSON && v != "text" {
			p.unsupported("EXPLAIN (FORMAT " + strings.ToUpper(v) + ")")
		}
	case "verbose", "costs", "settings", "generic_plan", "buffers", "wal", "timing", "summary", "memory":
	default:
		panic(sqlstate.New(sqlstate.SyntaxError, "unrecognized EXPLAIN option %q", name))
	}
}

// Explain says how the plan runs.
func (p *Plan) Explain(ctx context.Context, env Env, params []value.Value) (*Step, error) {
	return p.root.explain(newRuntime(ctx, env, params))
}

// Explain says how the statement runs.
func (w *Write) Explain(ctx context.Context, env Env, params []value.Value) (*Step, error) {
	return w.explain(newRuntime(ctx, env, params))
}

// over is a step that takes the rows of one other.
func over(title string, part func(rt *runtime) (*Step, error), lines ...string) func(rt *runtime) (*Step, error) {
	return func(rt *runtime) (*Step, error) {
		below, err := part(rt)
		if err != nil {
			return nil, err
		}
		return &Step{Title: title, Lines: lines, Parts: []*Step{below}}, nil
	}
}

// simply is a step that takes no rows.
func simply(title string) func(rt *runtime) (*Step, error) {
	return func(*runtime) (*Step, error) { return &Step{Title: title}, nil }
}

// both is a step that takes the rows of two others.
func both(title string, l, r func(rt *runtime) (*Step, error)) func(rt *runtime) (*Step, error) {
	return func(rt *runtime) (*Step, error) {
		left, err := l(rt)
		if err != nil {
			return nil, err
		}
		right, err := r(rt)
		if err != nil {
			return nil, err
		}
		return &Step{Title: title, Parts: []*Step{left, right}}, nil
	}
}

// conditions counts conditions for a line of a step.
func conditions(what string, list []*bound) []string {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return []string{what + ": 1 condition"}
	}
	return []string{what + ": " + itoa(len(list)) + " conditions"}
}

func (r *coreRun) explain(rt *runtime) (*Step, error) {
	s := &Step{Title: "Result"}
	if r.src != nil {
		var err error
		if s, err = r.src.explain(rt, r.width); err != nil {
			return nil, err
		}
	}
	above := func(title string, lines ...string) { s = &Step{Title: title, Lines: lines, Parts: []*Step{s}} }
	s.Lines = append(s.Lines, conditions("Filter", r.filters)...)
	if r.agg != nil {
		title := "Aggregate"
		if len(r.agg.groups) > 0 {
			title = "HashAggregate"
		}
		above(title)
		if r.agg.sets != nil {
			s.Lines = append(s.Lines, "Grouping Sets: "+itoa(len(r.agg.sets)))
		}
		if r.having != nil {
			s.Lines = append(s.Lines, "Filter: HAVING")
		}
	}
	if len(r.wins) > 0 {
		above("WindowAgg")
	}
	if len(r.sets) > 0 {
		above("ProjectSet")
	}
	if len(r.keys) > 0 {
		above("Sort")
	}
	if r.distinct {
		above("Unique")
	}
	return s, nil
}

// explained is explain of the source of a statement that writes.
func (s *source) explained(width int) func(rt *runtime) (*Step, error) {
	return func(rt *runtime) (*Step, error) { return s.explain(rt, width) }
}

func (s *source) explain(rt *runtime, width int) (*Step, error) {
	if s.l == nil {
		return s.explainLeaf(rt, width)
	}
	l, err := s.l.explain(rt, width)
	if err != nil {
		return nil, err
	}
	r, err := s.r.explain(rt, width)
	if err != nil {
		return nil, err
	}
	kind := map[string]string{"left": " Left", "right": " Right", "full": " Full"}[s.kind]
	title := "Hash" + kind + " Join"
	if len(s.keys) == 0 || s.r.lateral {
		title = strings.TrimSpace("Nested Loop" + kind)
		if kind != "" {
			title += " Join"
		}
	}
	lines := conditions("Join Filter", s.on)
	for _, w := range s.lookups() {
		table := strings.TrimPrefix(w.other.title, "Scan on ")
		lines = append(lines, "Lookup: "+table+" by "+w.key[1].name+", where few rows look for it")
	}
	return &Step{Title: title, Lines: lines, Parts: []*Step{l, r}}, nil
}

// explainLeaf asks the relation how it would scan, where it can tell. What depends on rows around is not pushed down.
func (s *source) explainLeaf(rt *runtime, width int) (*Step, error) {
	out := &Step{Title: s.title, Lines: conditions("Filter", s.conds)}
	if s.below != nil {
		part, err := s.below(rt)
		if err != nil {
			return nil, err
		}
		out.Parts = []*Step{part}
	}
	rel, ok := s.rel.(Explainer)
	if !ok {
		return out, nil
	}
	var conds []*bound
	for _, c := range s.conds {
		if c.compares == nil || !c.compares.with.outer {
			conds = append(conds, c)
		}
	}
	scan, err := pushed(new(Scan), s, &scope{rt: rt, row: make([]value.Value, width)}, conds)
	if err != nil {
		return nil, err
	}
	if s.of != nil && len(scan.Filters) == len(s.conds) {
		scan.Most, scan.Order = rt.most[s.of], s.order
	}
	lines, err := rel.Explain(rt.ctx, scan)
	out.Lines = append(out.Lines, lines...)
	return out, err
}
