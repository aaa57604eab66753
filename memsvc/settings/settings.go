// Package settings is the configuration of one Context: what a patch may say, how it is merged, and the effective
// values (the Context's own, else those of the server). Keys of providers go in and are never given out.
package settings

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"sort"
	"strings"

	"github.com/nacredb/nacre/memsvc/config"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/store"
)

// Profiles of document ingest, each with all steps of the ones before it.
var Profiles = []string{"TextOnly", "TextPlusKeyword", "StandardMultimodal", "MultimodalFull"}

// Strategies of chunking.
var Strategies = []string{"section", "fixed", "sentence"}

// Stages that use a language model.
var Stages = []string{"extraction", "reconciliation", "synthesis", "elaboration_consolidation"}

// Model names a model of a provider.
type Model struct{ Provider, Model string }

// Key is a provider's key of a Context.
type Key struct{ Key, BaseURL, Wire string }

// Settings are the effective values of one Context.
type Settings struct {
	Context         string
	Blocked         bool
	TokenLimit      int64 // below 0: no cap
	Profile         string
	Chunking        string
	Models          map[string]Model // by stage, and reflection; those that were set
	Keys            map[string]Key   // by provider
	Extraction      bool
	Redaction       bool
	ConfidenceFloor float64
	CacheEnabled    bool
	CacheSimilarity float64
	CacheFreshness  int64 // seconds
	SelfService     bool
	MaxTokenTTL     int64            // seconds; 0: no clamp
	TraceDays       map[string]int64 // by kind of trace; absent: kept
}

// Tenant is a Context in use.
type Tenant struct {
	DB *store.DB
	*Settings
}

// check reads one value of a patch and gives what is stored.
type check func(s *Schema, v any) (any, error)

// Schema describes the settings that a patch may change on this server.
type Schema struct{ Server *config.Config }

var fields = map[string]check{
	"token_limit":                             whole(0, true),
	"ingestion_profile":                       word(Profiles),
	"chunking_strategy":                       word(Strategies),
	"models.extraction":                       modelRef,
	"models.reconciliation":                   modelRef,
	"models.synthesis":                        modelRef,
	"models.elaboration_consolidation":        modelRef,
	"models.reflection":                       modelRef,
	"models.embedding":                        embedding,
	"providers.alpha":                         providerKey,
	"providers.beta":                          providerKey,
	"providers.gamma":                         providerKey,
	"llm_extraction_enabled":                  boolean,
	"pii_redaction_enabled":                   boolean,
	"reconciliation.confidence_floor":         fraction,
	"response_cache.enabled":                  boolean,
	"response_cache.similarity_threshold":     fraction,
	"response_cache.freshness_window_seconds": whole(0, false),
	"allow_self_service_keys":                 boolean,
	"max_token_ttl_seconds":                   whole(1, true),
	"trace_retention.decision_trace_days":     whole(1, true),
	"trace_retention.retrieval_trace_days":    whole(1, true),
	"trace_retention.response_trace_days":     whole(1, true),
}

func isGroup(path string) bool {
	for name := range fields {
		if strings.HasPrefix(name, path+".") {
			return true
		}
	}
	return false
}

// Patch merges a patch into c: only given fields change, null takes a value back to the default. Nothing changes when a
// field is bad.
func (s *Schema) Patch(c *store.Context, patch map[string]any) error {
	flat := map[string]any{}
	if err := s.flatten("", patch, flat); err != nil {
		return err
	}
	names := make([]string, 0, len(flat))
	for name := range flat {
		names = append(names, name)
	}
	sort.Strings(names)
	conf, keys := copyMap(c.Config), copyMap(c.Keys)
	for _, name := range names {
		if p, ok := strings.CutPrefix(name, "providers."); ok {
			set(keys, []string{p}, flat[name])
		} else {
			set(conf, strings.Split(name, "."), flat[name])
		}
	}
	next := *c
	next.Config, next.Keys = conf, keys
	if err := s.reachable(&next, flat); err != nil {
		return err
	}
	*c = next
	return nil
}

func (s *Schema) flatten(path string, v map[string]any, into map[string]any) error {
	for name, e := range v {
		full := strings.TrimPrefix(path+"."+name, ".")
		if f, ok := fields[full]; ok {
			if e != nil {
				var err error
				if e, err = f(s, e); err != nil {
					return problem.Invalid("config."+full, "config.%s: %v", full, err)
				}
			}
			into[full] = e
			continue
		}
		if !isGroup(full) {
			return problem.Invalid("config."+clip(full), "config.%s: there is no such setting", clip(full))
		}
		inner, ok := e.(map[string]any)
		if !ok {
			return problem.Invalid("config."+full, "config.%s: want an object", full)
		}
		if err := s.flatten(full, inner, into); err != nil {
			return err
		}
	}
	return nil
}

func clip(s string) string { return fmt.Sprintf("%.80s", s) }

// reachable refuses a model of a provider that no key reaches.
func (s *Schema) reachable(c *store.Context, flat map[string]any) error {
	eff := s.Effective(c)
	for name, v := range flat {
		stage, ok := strings.CutPrefix(name, "models.")
		if !ok || stage == "embedding" || v == nil {
			continue
		}
		if m := eff.Models[stage]; !s.Reachable(eff, m.Provider) {
			return problem.Of(422, "unprocessable", "config.%s: provider %s has no key", name, m.Provider)
		}
	}
	return nil
}

// Reachable reports whether calls to a provider have a key.
func (s *Schema) Reachable(eff *Settings, provider string) bool {
	_, own := eff.Keys[provider]
	return own || s.Server.Providers[provider].Reachable()
}

func set(m map[string]any, path []string, v any) {
	for _, p := range path[:len(path)-1] {
		inner, ok := m[p].(map[string]any)
		if !ok {
			inner = map[string]any{}
			m[p] = inner
		}
		m = inner
	}
	if last := path[len(path)-1]; v == nil {
		delete(m, last)
	} else {
		m[last] = v
	}
}

func copyMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if inner, ok := v.(map[string]any); ok {
			v = copyMap(inner)
		}
		out[k] = v
	}
	return out
}

func boolean(_ *Schema, v any) (any, error) {
	if _, ok := v.(bool); !ok {
		return nil, fmt.Errorf("want true or false")
	}
	return v, nil
}

func whole(least int64, _ bool) check {
	return func(_ *Schema, v any) (any, error) {
		f, ok := v.(float64)
		if !ok || f != math.Trunc(f) || f < float64(least) || f > 1<<53 {
			return nil, fmt.Errorf("want a whole number, at least %d", least)
		}
		return int64(f), nil
	}
}

func fraction(_ *Schema, v any) (any, error) {
	f, ok := v.(float64)
	if !ok || f < 0 || f > 1 {
		return nil, fmt.Errorf("want a number from 0 to 1")
	}
	return f, nil
}

func word(words []string) check {
	return func(_ *Schema, v any) (any, error) {
		for _, w := range words {
			if v == w {
				return v, nil
			}
		}
		return nil, fmt.Errorf("want one of %s", strings.Join(words, ", "))
	}
}

// modelRef reads {provider, model} or provider/model.
func modelRef(_ *Schema, v any) (any, error) {
	var provider, model string
	switch v := v.(type) {
	case string:
		provider, model, _ = strings.Cut(v, "/")
	case map[string]any:
		for name := range v {
			if name != "provider" && name != "model" {
				return nil, fmt.Errorf("want provider and model only")
			}
		}
		provider, _ = v["provider"].(string)
		model, _ = v["model"].(string)
	}
	if _, err := word(config.ProviderNames)(nil, provider); err != nil || model == "" || len(model) > 200 {
		return nil, fmt.Errorf("want {provider, model} with a provider of %s", strings.Join(config.ProviderNames, ", "))
	}
	return map[string]any{"provider": provider, "model": model}, nil
}

func embedding(s *Schema, v any) (any, error) {
	if v != s.Server.Embedding {
		return nil, fmt.Errorf("want the embedding model of this deployment, %s", s.Server.Embedding)
	}
	return v, nil
}

func providerKey(s *Schema, v any) (any, error) {
	if key, ok := v.(string); ok {
		v = map[string]any{"api_key": key}
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want a key")
	}
	out := map[string]any{}
	for name, e := range m {
		text, ok := e.(string)
		if !ok || text == "" || len(text) > 4096 || strings.ContainsAny(text, "\r\n\x00") {
			return nil, fmt.Errorf("want a key of one line")
		}
		switch {
		case name == "api_key":
		case name == "base_url" && s.Server.ContextBaseURL:
			if u, err := url.Parse(text); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
				return nil, fmt.Errorf("base_url: want an http:// or https:// address")
			}
		case name == "wire":
			if _, err := word([]string{"openai", "anthropic", "google"})(s, text); err != nil {
				return nil, fmt.Errorf("wire: %w", err)
			}
		default:
			return nil, fmt.Errorf("want api_key")
		}
		out[name] = text
	}
	if out["api_key"] == nil && out["base_url"] == nil {
		return nil, fmt.Errorf("want api_key")
	}
	return out, nil
}

func at[T any](m map[string]any, path string, def T) T {
	parts := strings.Split(path, ".")
	for _, p := range parts[:len(parts)-1] {
		m, _ = m[p].(map[string]any)
	}
	if v, ok := m[parts[len(parts)-1]].(T); ok {
		return v
	}
	return def
}

// Effective is the settings of c with the defaults of the server.
func (s *Schema) Effective(c *store.Context) *Settings {
	m := c.Config
	out := &Settings{
		Context: c.ID, Blocked: c.Blocked,
		TokenLimit: at(m, "token_limit", int64(-1)), Profile: at(m, "ingestion_profile", "MultimodalFull"),
		Chunking: at(m, "chunking_strategy", "section"), Extraction: at(m, "llm_extraction_enabled", false),
		Redaction: at(m, "pii_redaction_enabled", false), ConfidenceFloor: at(m, "reconciliation.confidence_floor",
			0.7),
		CacheEnabled: at(m, "response_cache.enabled", true), CacheSimilarity: at(m,
			"response_cache.similarity_threshold", 0.92),
		CacheFreshness: at(m, "response_cache.freshness_window_seconds", int64(3600)),
		SelfService:    at(m, "allow_self_service_keys", true), MaxTokenTTL: at(m, "max_token_ttl_seconds", int64(0)),
		Models: map[string]Model{}, Keys: map[string]Key{}, TraceDays: map[string]int64{},
	}
	for _, stage := range append([]string{"reflection"}, Stages...) {
		if p := at(m, "models."+stage+".provider", ""); p != "" {
			out.Models[stage] = Model{p, at(m, "models."+stage+".model", "")}
		}
	}
	for name := range c.Keys {
		out.Keys[name] = Key{at(c.Keys, name+".api_key", ""), at(c.Keys, name+".base_url", ""),
			at(c.Keys, name+".wire", "")}
	}
	for _, kind := range []string{"decision", "retrieval", "response"} {
		if d := at(m, "trace_retention."+kind+"_trace_days", int64(0)); d > 0 {
			out.TraceDays[kind] = d
		}
	}
	return out
}

// Read is the config that a Context read shows: effective values, and of provider keys only their names.
func (s *Schema) Read(c *store.Context) map[string]any {
	e := s.Effective(c)
	models := map[string]any{"embedding": s.Server.Embedding}
	for _, stage := range append([]string{"reflection"}, Stages...) {
		m := s.Stage(e, stage)
		if stage == "reflection" || stage == "reconciliation" {
			m = e.Models[stage]
		}
		if m.Provider != "" {
			models[stage] = map[string]any{"provider": m.Provider, "model": m.Model}
		}
	}
	names := []string{}
	for name := range c.Keys {
		names = append(names, name)
	}
	sort.Strings(names)
	days := map[string]any{}
	for _, kind := range []string{"decision", "retrieval", "response"} {
		days[kind+"_trace_days"] = orNull(e.TraceDays[kind])
	}
	return map[string]any{
		"token_limit": capOrNull(e.TokenLimit), "ingestion_profile": e.Profile, "chunking_strategy": e.Chunking,
		"models": models, "providers_configured": names, "llm_extraction_enabled": e.Extraction,
		"pii_redaction_enabled": e.Redaction, "reconciliation": map[string]any{"confidence_floor": e.ConfidenceFloor},
		"response_cache": map[string]any{"enabled": e.CacheEnabled, "similarity_threshold": e.CacheSimilarity,
			"freshness_window_seconds": e.CacheFreshness},
		"allow_self_service_keys": e.SelfService, "max_token_ttl_seconds": orNull(e.MaxTokenTTL),
		"trace_retention": days,
	}
}

func capOrNull(n int64) any {
	if n < 0 {
		return nil
	}
	return n
}

func orNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// Stage is the model of a stage: the Context's, else the server's default, else the implicit provider alpha. Its
// provider is "" where there is none.
func (s *Schema) Stage(e *Settings, stage string) Model {
	if m, ok := e.Models[stage]; ok {
		return m
	}
	if stage == "reflection" {
		return s.Stage(e, "synthesis")
	}
	provider := s.Server.LLMProvider
	if provider == "" && s.Reachable(e, "alpha") {
		provider = "alpha"
	}
	if provider == "" || !s.Reachable(e, provider) {
		return Model{}
	}
	model := s.Server.LLMModel
	if models := s.Server.Providers[provider].Models; model == "" && len(models) > 0 {
		model = models[0]
	}
	if model == "" {
		model = defaultModels[s.wire(e, provider)]
	}
	return Model{provider, model}
}

// Selectable are the models that a request or a Context may choose of a provider: those that the server lists,
// those that the Context has chosen, and the one that is used where none is chosen.
func (s *Schema) Selectable(e *Settings, provider string) []string {
	out := append([]string{}, s.Server.Providers[provider].Models...)
	add := func(model string) {
		if model != "" && !slices.Contains(out, model) {
			out = append(out, model)
		}
	}
	for _, stage := range append([]string{"reflection"}, Stages...) {
		if m := e.Models[stage]; m.Provider == provider {
			add(m.Model)
		}
	}
	if s.Server.LLMProvider == provider || (s.Server.LLMProvider == "" && provider == "alpha") {
		add(s.Server.LLMModel)
	}
	if len(out) == 0 {
		add(defaultModels[s.wire(e, provider)])
	}
	return out
}

// defaultModels are the models of each wire when the settings name none.
var defaultModels = map[string]string{"openai": "gpt-4o-mini", "anthropic": "claude-3-5-haiku-latest",
	"google": "gemini-2.0-flash"}

func (s *Schema) wire(e *Settings, provider string) string {
	if w := e.Keys[provider].Wire; w != "" {
		return w
	}
	return s.Server.Providers[provider].Wire
}

// TTL is the time to live of a key in seconds: what was asked, at most the clamp of the Context, which is also the time
// where none was asked. 0 is for ever.
func (e *Settings) TTL(asked int64) int64 {
	if e.MaxTokenTTL > 0 && (asked == 0 || asked > e.MaxTokenTTL) {
		return e.MaxTokenTTL
	}
	return asked
}
