// Package gateway is the one way from a Context to language models: it chooses the model of a stage, refuses what is
// blocked, uses the keys of that Context and no other one's, and meters every call.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nacredb/nacre/internal/span"
	"github.com/nacredb/nacre/memsvc/config"
	"github.com/nacredb/nacre/memsvc/model"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
)

// Stages that a call may belong to.
const (
	Extraction  = "extraction"
	Synthesis   = "synthesis"
	Reflection  = "reflection"
	Elaboration = "elaboration_consolidation"
)

// Count adds to a metric. labels are name, value, name, value.
type Count func(name string, n float64, labels ...string)

// Gateway calls models for Contexts.
type Gateway struct {
	Schema *settings.Schema
	Client *model.Client
	Log    *slog.Logger
	Count  Count
}

// New makes a gateway.
func New(schema *settings.Schema, log *slog.Logger, count Count) *Gateway {
	return &Gateway{Schema: schema, Client: model.New(schema.Server.ContextPrivate), Log: log, Count: count}
}

// Choose is the model of a stage, or of a request that names one (provider/model). It is a problem when no key reaches
// it.
func (g *Gateway) Choose(t *settings.Settings, stage, named string) (settings.Model, error) {
	if named == "" {
		m := g.Schema.Stage(t, stage)
		if m.Provider == "" || !g.Schema.Reachable(t, m.Provider) {
			return m, problem.NoProvider(stage)
		}
		return m, nil
	}
	provider, name, ok := strings.Cut(named, "/")
	known := false
	for _, p := range config.ProviderNames {
		known = known || p == provider
	}
	if !ok || !known || name == "" || len(name) > 200 {
		return settings.Model{}, problem.Invalid("model", "model: want PROVIDER/MODEL with a provider of %s",
			strings.Join(config.ProviderNames, ", "))
	}
	if !g.Schema.Reachable(t, provider) {
		return settings.Model{}, problem.Of(422, "unprocessable", "model: provider %s has no key", provider)
	}
	return settings.Model{Provider: provider, Model: name}, nil
}

// Ready reports whether a stage has a model that may be called now.
func (g *Gateway) Ready(t *settings.Settings, stage string) bool {
	_, err := g.Choose(t, stage, "")
	return err == nil && !t.Blocked
}

// target is the address and the key of a model. A Context that names an address of its own never gets the key of the
// server.
func (g *Gateway) target(t *settings.Settings, m settings.Model) model.Target {
	p := g.Schema.Server.Providers[m.Provider]
	out := model.Target{Provider: m.Provider, Wire: p.Wire, BaseURL: p.BaseURL, Key: p.Key, Model: m.Model}
	if own, ok := t.Keys[m.Provider]; ok {
		out.Key = own.Key
		if own.BaseURL != "" && g.Schema.Server.ContextBaseURL {
			out.BaseURL, out.Foreign = strings.TrimSuffix(own.BaseURL, "/"), true
		}
		if own.Wire != "" {
			out.Wire = own.Wire
		}
	}
	return out
}

// Generate asks the model m for a stage of a Context. With delta the answer streams.
func (g *Gateway) Generate(ctx context.Context, t *settings.Tenant, stage string, m settings.Model, r model.Request,
	delta func(string) error) (*model.Answer, error) {
	if t.Blocked {
		return nil, problem.Blocked()
	}
	start := time.Now()
	calling, sp := called(ctx, m.Provider, stage, m.Model)
	out, err := g.Client.Generate(calling, g.target(t.Settings, m), r, delta)
	sp.End(err)
	outcome := "ok"
	if err != nil {
		outcome = "failed"
	}
	g.Count("memsvc_provider_calls_total", 1, "provider", m.Provider, "stage", stage, "outcome", outcome)
	g.Count("memsvc_provider_seconds", time.Since(start).Seconds(), "provider", m.Provider, "stage", stage)
	if err != nil {
		return nil, g.problem(ctx, t, m.Provider, err)
	}
	g.Count("memsvc_tokens_total", float64(out.Usage.Input), "provider", m.Provider, "stage", stage, "direction", "in")
	g.Count("memsvc_tokens_total", float64(out.Usage.Output), "provider", m.Provider, "stage", stage,
		"direction", "out")
	if err := Meter(context.WithoutCancel(ctx), t.DB, stage, m, out.Usage); err != nil {
		g.Log.Warn("meter a call", "context", t.Context, "error", err)
	}
	return out, nil
}

// called begins the span of a call to a provider.
func called(ctx context.Context, provider, stage, name string) (context.Context, *span.Span) {
	ctx, sp := span.Start(ctx, "provider "+stage, span.Client)
	sp.Set("memsvc.provider", provider)
	sp.Set("memsvc.model", name)
	return ctx, sp
}

// Embeds reports whether the deployment has an embedding model of a provider.
func (g *Gateway) Embeds() bool { return g.Schema.Server.Embeds() }

// embeddingsBase is the address of a wire where none is set.
var embeddingsBase = map[string]string{"openai": "https://api.openai.com/v1",
	"google": "https://generativelanguage.googleapis.com"}

// Embed embeds texts by the one model of the deployment, with its key.
func (g *Gateway) Embed(ctx context.Context, t *settings.Tenant, texts []string, query bool) ([][]float32, error) {
	p := g.Schema.Server.Embeddings
	to := model.Target{Provider: "embeddings", Wire: p.Wire, BaseURL: p.BaseURL, Key: p.Key,
		Model: g.Schema.Server.Embedding}
	if to.BaseURL == "" {
		to.BaseURL = embeddingsBase[p.Wire]
	}
	start := time.Now()
	calling, sp := called(ctx, to.Provider, "embedding", to.Model)
	out, used, err := g.Client.Embed(calling, to, texts, query)
	sp.End(err)
	outcome := "ok"
	if err != nil {
		outcome = "failed"
	}
	g.Count("memsvc_provider_calls_total", 1, "provider", to.Provider, "stage", "embedding", "outcome", outcome)
	g.Count("memsvc_provider_seconds", time.Since(start).Seconds(), "provider", to.Provider, "stage", "embedding")
	if err != nil {
		return nil, err
	}
	m := settings.Model{Provider: to.Provider, Model: to.Model}
	if err := Meter(context.WithoutCancel(ctx), t.DB, "embedding", m, used); err != nil {
		g.Log.Warn("meter a call", "context", t.Context, "error", err)
	}
	return out, nil
}

// problem returns the part of an error that a caller may read. The error of the client holds no key and no text of the
// provider.
func (g *Gateway) problem(ctx context.Context, t *settings.Tenant, provider string, err error) error {
	var e *model.Error
	if !errors.As(err, &e) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	g.Log.Warn("provider", "context", t.Context, "provider", provider, "error", err)
	return &problem.Error{Status: 503, Slug: "provider-failed", Detail: "Provider " + provider + ": " +
		e.Error(), Err: err}
}

// month is the name of a month in the meter.
func month(t time.Time) string { return t.UTC().Format("2006-01") }

// Usage counts the use of one model in a month.
type Usage struct {
	ID       string `db:"id" json:"-"`
	Month    string `db:"month" json:"month"`
	Stage    string `db:"stage" json:"stage"`
	Provider string `db:"provider" json:"provider"`
	Model    string `db:"model" json:"model"`
	Input    int64  `db:"input_tokens" json:"inputTokens"`
	Output   int64  `db:"output_tokens" json:"outputTokens"`
	Calls    int64  `db:"calls" json:"calls"`
}

// Meter adds a call to the meter of a Context.
func Meter(ctx context.Context, db *store.DB, stage string, m settings.Model, u model.Usage) error {
	now := month(time.Now())
	_, err := db.Query(ctx, "UPSERT $id SET month = $month, stage = $stage, provider = $provider, model = $model, "+
		"input_tokens = (input_tokens ?? 0) + $in, output_tokens = (output_tokens ?? 0) + $out, "+
		"calls = (calls ?? 0) + 1 RETURN NONE",
		store.Var{Name: "id", Value: store.ID("meter", fmt.Sprintf("%s/%s/%s/%s", now, stage, m.Provider, m.Model))},
		store.Var{Name: "month", Value: now}, store.Var{Name: "stage", Value: stage},
		store.Var{Name: "provider", Value: m.Provider}, store.Var{Name: "model", Value: m.Model},
		store.Var{Name: "in", Value: u.Input}, store.Var{Name: "out", Value: u.Output})
	return err
}

// Used is the meter of a Context for a month (YYYY-MM; "" is this one).
func Used(ctx context.Context, db *store.DB, of string) (rows []Usage, total int64, err error) {
	if of == "" {
		of = month(time.Now())
	}
	rows, err = store.Rows[Usage](ctx, db, "SELECT * FROM meter WHERE month = $month ORDER BY id",
		store.Var{Name: "month", Value: of})
	for _, u := range rows {
		total += u.Input + u.Output
	}
	return rows, total, err
}
