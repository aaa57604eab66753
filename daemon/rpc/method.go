package rpc

import (
	"context"
	"maps"
	"slices"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// method is a row of the table.
type method struct {
	run     func(ctx context.Context, k *call) (wire.Response, error)
	bare    bool // needs no session: the one named may not exist
	held    bool // needs a connection that outlives the call
	untimed bool // free of the wall-clock limit
	expired bool // also for a session whose identity has run out
	changes bool // what the session is: its identity, place or variables
}

// call is one request on its way.
type call struct {
	conn    *Conn
	req     *wire.Request
	session *session
	tx      *engine.Tx // where the request names one
}

// methods is the table. It is never written to.
var methods = map[string]method{
	"ping":         {run: ping, bare: true},
	"version":      {run: version, bare: true},
	"use":          {run: use, expired: true, changes: true},
	"signin":       {run: signin, expired: true, changes: true},
	"signup":       {run: signup, expired: true, changes: true},
	"authenticate": {run: authenticate, expired: true, changes: true},
	"refresh":      {run: refresh, expired: true, changes: true},
	"revoke":       {run: revoke, expired: true, changes: true},
	"invalidate":   {run: invalidate, expired: true, changes: true},
	"reset":        {run: reset, expired: true, changes: true},
	"info":         {run: info},
	"let":          {run: let, changes: true},
	"set":          {run: let, changes: true},
	"unset":        {run: unset, changes: true},

	"query":           {run: query},
	"query_stream":    {run: noStream, bare: true},
	"gql":             {run: gql},
	"graphql":         {run: graphql},
	"query_cancel":    {run: queryCancel, bare: true},
	"select":          {run: selectRecords},
	"create":          {run: create},
	"insert":          {run: insert},
	"insert_relation": {run: insertRelation},
	"update":          {run: update},
	"upsert":          {run: upsert},
	"merge":           {run: merge},
	"patch":           {run: patch},
	"delete":          {run: deleteRecords},
	"relate":          {run: relate},
	"run":             {run: runFunction},
	"live":            {run: live, held: true},
	"kill":            {run: kill, held: true},

	"begin":  {run: begin, held: true, untimed: true},
	"commit": {run: commit, held: true, untimed: true},
	"cancel": {run: cancel, held: true, untimed: true},

	"processes": {run: processes},
	"terminate": {run: terminate},
	"metrics":   {run: metrics},

	"attach":   {run: attach, bare: true},
	"detach":   {run: detach, bare: true},
	"sessions": {run: sessions, bare: true},
}

// Methods are the names of all methods, sorted: what --allow-rpc and --deny-rpc may list.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }

// params gives the parameters if there are at least low and at most high of them, padded with NONE to high;
// otherwise the error has the text usage.
func (k *call) params(low, high int, usage string) ([]value.Value, error) {
	p := k.req.Params
	if len(p) < low || len(p) > high {
		return nil, errs.InvalidParams("%s", usage)
	}
	if len(p) == high {
		return p, nil
	}
	padded := make([]value.Value, high)
	copy(padded, p)
	return padded, nil
}

// noStream answers where a transport has no frames.
func noStream(context.Context, *call) (wire.Response, error) {
	return wire.Response{}, methodNotFound()
}

func methodNotFound() *errs.Error {
	return errs.With(errs.KindNotFound, "Method", map[string]any{"name": "unknown"}, "Method not found")
}

func methodNotAllowed(name string) *errs.Error {
	return errs.With(errs.KindNotAllowed, "Method", map[string]any{"name": name}, "Method not allowed")
}

func ping(context.Context, *call) (wire.Response, error) { return answer(value.None), nil }

// version answers the bare number: clients read nothing but text.
func version(_ context.Context, k *call) (wire.Response, error) {
	if len(k.req.Params) > 0 {
		return wire.Response{}, errs.InvalidParams("Expected 0 arguments")
	}
	return answer(value.Str(Version)), nil
}
