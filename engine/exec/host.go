package exec

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// The parts of fn's host that the evaluator answers.
var (
	_ fn.Host            = (*host)(nil)
	_ fn.DatabaseHost    = (*host)(nil)
	_ fn.ProjectionHost  = (*host)(nil)
	_ fn.NetHost         = (*host)(nil)
	_ fn.APIHost         = (*host)(nil)
	_ fn.OutsideHost     = (*host)(nil)
	_ value.RecordParser = (*host)(nil)
)

// TableExists reports whether a table is defined.
func (h *host) TableExists(name string) (bool, error) {
	tb, err := h.r.Table(name)
	return tb != nil, err
}

// RecordExists reports whether a record is there for the caller; of a range, whether any is.
func (h *host) RecordExists(id *value.RecordID) (bool, error) {
	tb, err := h.r.Table(id.Table)
	if err != nil {
		return false, err
	}
	if tb == nil {
		return false, nil
	}
	if id.Key.Kind() != value.KindRange {
		doc, err := h.r.Fetch(h.ctx, id)
		return !doc.IsNone(), err
	}
	rows := &tableRows{r: h.r, name: id.Table, tb: tb, rng: id.Key.Range(), id: id}
	defer rows.close()
	_, ok, err := rows.next(h.ctx)
	return ok, err
}

// IsEdge reports whether a record was made as a relation: its ends know of it.
func (h *host) IsEdge(id *value.RecordID) (bool, error) {
	doc, err := h.r.Fetch(h.ctx, id)
	if err != nil || doc.Kind() != value.KindObject {
		return false, err
	}
	in, _ := doc.Object().Get("in")
	if in.Kind() != value.KindRecord {
		return false, nil
	}
	only := value.Bound{Kind: value.Included, Value: id.Key}
	var found []record.Hop
	found, err = h.r.edges(h.ctx, in.Record(), ast.DirOut, id.Table, &value.Range{Start: only, End: only})
	return len(found) > 0, err
}

// InRow reports whether there is a current document.
func (h *host) InRow() bool { return h.env.HasDoc() }

// Field is the value of a path in the current document, NONE where there is none.
func (h *host) Field(path string) (value.Value, error) {
	id, err := h.r.Ex.ReadPath(path)
	if err != nil {
		return value.None, errs.Internal("Invalid field path '%s': %s", path, err)
	}
	if !h.InRow() {
		return value.None, nil
	}
	return h.r.idiom(h.ctx, h.env.withRow(h.env.This()), id)
}

// NetFilter is which network targets the session may reach.
func (r *Run) NetFilter() fn.NetFilter { return r.host.NetFilter() }

// InvokeAPI calls an API endpoint, see fn.APIHost.
func (h *host) InvokeAPI(path string, options value.Value) (value.Value, error) {
	return h.r.Ex.Endpoints.Invoke(h.ctx, h.r, path, options)
}

// NetFilter is which network targets the session may reach.
func (h *host) NetFilter() fn.NetFilter {
	if h.r.Auth.Caps == nil {
		return fn.NetFilter{}
	}
	net := h.r.Auth.Caps.Net
	return fn.NetFilter{Allow: fn.NetTargets(net.Allow), Deny: fn.NetTargets(net.Deny)}
}

// Outside hears of what the end of the transaction does not undo.
func (h *host) Outside() error { return h.r.goOutside() }

// ParseRecord reads the text of a record id.
func (h *host) ParseRecord(text string) (value.Value, error) { return h.r.Ex.ParseRecord(text) }

// NextVal is the next number of a sequence.
func (h *host) NextVal(name string) (int64, error) { return h.r.nextVal(h.ctx, name) }
