package daemon

import (
	"log/slog"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
)

// engineOptions is what the engine needs of cfg.
func engineOptions(cfg *config.Config, log *slog.Logger) engine.Options {
	return engine.Options{
		Strict: cfg.Strict, Unauthenticated: cfg.Unauthenticated, NoDefaults: cfg.NoDefaults,
		DefaultNamespace: cfg.DefaultNamespace, DefaultDatabase: cfg.DefaultDatabase,
		QueryTimeout: cfg.QueryTimeout, TransactionTimeout: cfg.TransactionTimeout,
		AnalyzerFiles: cfg.AnalyzerFiles,
		BucketFolders: cfg.BucketFolders,
		Capabilities:  capabilities(cfg), Log: log.With("component", "engine"),
	}
}

// capabilities are what cfg lets anybody do. A thing named beats a rule for all; a denial beats a permission of the
// same depth. --allow-all opens what is closed by default, --deny-all closes what is not opened by name.
func capabilities(cfg *config.Config) *auth.Capabilities {
	open := func(allow, deny config.Names) auth.Filter { return filter(cfg, allow, deny, cfg.AllowAll) }
	return &auth.Capabilities{
		Functions:    open(cfg.AllowFunctions, cfg.DenyFunctions),
		Net:          open(cfg.AllowNet, cfg.DenyNet),
		RPC:          open(cfg.AllowRPC, cfg.DenyRPC),
		HTTP:         open(cfg.AllowHTTP, cfg.DenyHTTP),
		Query:        open(cfg.AllowQuery, cfg.DenyQuery),
		Experimental: filter(cfg, cfg.AllowExperimental, cfg.DenyExperimental, false),
		Scripting:    (cfg.AllowScripting || cfg.AllowAll && !cfg.DenyAll) && !cfg.DenyScripting,
		Guests:       (cfg.AllowGuests || cfg.AllowAll && !cfg.DenyAll) && !cfg.DenyGuests,
	}
}

// filter writes allow and deny with their precedence in the engine's form, where a deny always wins: names that are
// allowed under a general denial are all that is allowed.
func filter(cfg *config.Config, allow, deny config.Names, everything bool) auth.Filter {
	f := auth.Filter{Allow: auth.NewSet(allow.List...), Deny: auth.NewSet(deny.List...)}
	f.Allow.All = (allow.All || everything) && !deny.All && !cfg.DenyAll
	return f
}
