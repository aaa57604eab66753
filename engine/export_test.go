package engine

import (
	"context"

	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/nodes"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/txn"
)

// WithRulesOff is another engine over the same store, in which rules of the planner are switched off. stop ends what it has
// at work; the store stays open.
func (e *Engine) WithRulesOff(rules ...plan.Rule) (other *Engine, stop func()) {
	return e.withLimits(exec.Limits{}, rules...)
}

// SharedEarly is like WithRulesOff, but already small tables are walked by all processors.
func (e *Engine) SharedEarly(rules ...plan.Rule) (other *Engine, stop func()) {
	return e.withLimits(exec.Limits{ShareAfter: 10}, rules...)
}

func (e *Engine) withLimits(limits exec.Limits, rules ...plan.Rule) (other *Engine, stop func()) {
	x := newRunner(e.store, e.opt, fn.Library(), e.parsing, plan.RulesOf(rules...), e.memory, nil)
	if limits.ShareAfter > 0 {
		x.Limits.ShareAfter = limits.ShareAfter
	}
	other = &Engine{opt: e.opt, store: e.store, queries: x, caps: e.caps, parsing: e.parsing}
	x.Access = e.queries.Access
	return other, func() { x.Close(context.Background()) }
}

// OpenOn opens an engine on a store of the test's, which it closes.
func OpenOn(ctx context.Context, store kv.Store, opt Options) (*Engine, error) {
	return start(ctx, store, 0, opt, 0)
}

// TakenForGone takes the process out of those that share the store, as others do that have not heard of it.
func (e *Engine) TakenForGone(ctx context.Context) error {
	id := e.queries.Process.ID()
	return txn.Retry(ctx, e.store, txn.Options{}, func(tx *txn.Tx) error { return nodes.TakeOut(tx, id) })
}
