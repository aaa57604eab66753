package rpc

import (
	"context"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// processes lists what runs, for users at root level: see engine.Session.Processes.
func processes(ctx context.Context, k *call) (wire.Response, error) {
	if _, err := k.params(0, 0, "Expected 0 arguments"); err != nil {
		return wire.Response{}, err
	}
	v, err := k.session.engine.Processes(ctx)
	if err != nil {
		return wire.Response{}, err
	}
	return answer(value.ObjectOf(v.Object().With("slowest", k.conn.srv.slowest()))), nil
}

// slowest are the texts of the last minutes that took longest, without their data.
func (srv *Server) slowest() value.Value {
	now, rows := time.Now(), []value.Value{}
	for _, q := range srv.Metrics.SlowestTexts() {
		rows = append(rows, value.ObjectOf(value.NewObject(
			value.Field{Name: "text", Value: value.Str(q.Text)},
			value.Field{Name: "namespace", Value: value.Str(q.Namespace)},
			value.Field{Name: "database", Value: value.Str(q.Database)},
			value.Field{Name: "spent", Value: value.Float(q.Spent.Seconds())},
			value.Field{Name: "seconds", Value: value.Float(max(now.Sub(q.Ended), 0).Seconds())},
			value.Field{Name: "failed", Value: value.Bool(!q.OK)})))
	}
	return value.ArrayOf(rows)
}

// terminate ends what an id names, for owners at root level: [id]. It answers what that was.
func terminate(ctx context.Context, k *call) (wire.Response, error) {
	const usage = "Expected (id:string)"
	p, err := k.params(1, 1, usage)
	if err != nil {
		return wire.Response{}, err
	}
	var id string
	switch p[0].Kind() {
	case value.KindString:
		id = p[0].Str()
	case value.KindUUID:
		id = p[0].UUID().String()
	default:
		return wire.Response{}, errs.InvalidParams(usage)
	}
	what, err := k.session.engine.Terminate(ctx, id)
	if err == nil {
		by := k.session.engine.Principal()
		k.conn.srv.Log.Info("ended by an operator", "what", what, "id", id, "user", by.Name, "client",
			k.session.engine.Client())
	}
	return answer(value.Str(what)), err
}

// metrics answers the text of GET /metrics, for users at root level.
func metrics(_ context.Context, k *call) (wire.Response, error) {
	srv := k.conn.srv
	if _, err := k.params(0, 0, "Expected 0 arguments"); err != nil {
		return wire.Response{}, err
	}
	if err := k.session.engine.MayObserve(); err != nil {
		return wire.Response{}, err
	}
	if srv.Gauges == nil {
		return wire.Response{}, errs.New(errs.KindNotFound, "A store without a server has no metrics")
	}
	var text strings.Builder
	srv.Metrics.Write(&text, true, srv.Gauges())
	return answer(value.Str(text.String())), nil
}
