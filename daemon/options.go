package daemon

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/daemon/http"
	"github.com/nacredb/nacre/daemon/mcp"
	"github.com/nacredb/nacre/daemon/pgwire"
	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/ml"
)

// engineOptions returns the options of the engine that cfg holds.
func engineOptions(cfg *config.Config, caps *engine.Capabilities, log *slog.Logger) engine.Options {
	return engine.Options{
		Strict: cfg.Strict, Unauthenticated: cfg.Unauthenticated, NoDefaults: cfg.NoDefaults,
		DefaultNamespace: cfg.DefaultNamespace, DefaultDatabase: cfg.DefaultDatabase,
		Limits: engine.Limits{QueryTimeout: cfg.QueryTimeout, TxTimeout: cfg.TransactionTimeout,
			Models: ml.Limits{Tensors: cfg.Limits.ModelTensors}, ModelCache: cfg.Limits.ModelCache,
			GraphPaths: cfg.Limits.GQLPaths, GraphJoins: cfg.Limits.GQLJoins, GraphRows: cfg.Limits.GQLRows,
			GraphText: int(cfg.Limits.GQLBody)},
		GraphQL: engine.GraphQLLimits{Depth: cfg.Limits.GraphQLDepth, Fields: cfg.Limits.GraphQLFields,
			Aliases: cfg.Limits.GraphQLAliases},
		Memory:        cfg.QueryMemory,
		Cluster:       engine.ClusterTLS{CA: cfg.KVSCA, Cert: cfg.KVSCert, Key: cfg.KVSKey},
		AnalyzerFiles: cfg.AnalyzerFiles,
		BucketFolders: cfg.BucketFolders,
		Capabilities:  caps, Log: log.With("component", "engine"),
	}
}

// mcpLimits are those of cfg, in the words of the door: 0 is no limit where that is allowed.
func mcpLimits(cfg *config.Config) mcp.Limits {
	l := &cfg.Limits
	none := func(n int) int {
		if n == 0 {
			return -1
		}
		return n
	}
	return mcp.Limits{QueryTimeout: time.Duration(none(l.MCPTimeout)) * time.Second,
		ResultBytes: none(int(l.MCPResultBytes)),
		RunArgs:     none(l.MCPRunArgs), ParamKeys: none(l.MCPParamKeys), TextBytes: none(l.MCPTextBytes),
		SchemaTables: l.MCPSchemaTables,
		Sessions:     l.MCPSessions, Depth: l.Depth}
}

// origins are the web pages that may call: all of them, but where everybody has the rights of root. There a page must
// be named.
func origins(cfg *config.Config) http.Origins {
	o := http.Origins{Allow: cfg.AllowOrigin, Closed: cfg.Unauthenticated}
	if len(o.Allow) == 0 && !cfg.Unauthenticated {
		o.Allow = []string{"*"}
	}
	return o
}

// capabilities are the limits of cfg for every client. A name beats a rule for all names, that beats --allow-all and
// --deny-all, and those beat the defaults; at the same depth a denial beats a permission.
func capabilities(cfg *config.Config) *engine.Capabilities {
	open := func(allow, deny config.Names) engine.Filter { return filter(cfg, allow, deny) }
	// --allow-all alone does not open these: experiments, and texts that reach further than a query.
	asked := func(allow, deny config.Names) engine.Filter {
		f := filter(cfg, allow, deny)
		f.Allow.All = f.Allow.All && allow.All
		return f
	}
	return &engine.Capabilities{
		Functions:    open(cfg.AllowFunctions, cfg.DenyFunctions),
		Net:          open(cfg.AllowNet, cfg.DenyNet),
		RPC:          open(cfg.AllowRPC, cfg.DenyRPC),
		HTTP:         open(cfg.AllowHTTP, cfg.DenyHTTP),
		Query:        open(cfg.AllowQuery, cfg.DenyQuery),
		Eval:         asked(cfg.AllowEval, cfg.DenyEval),
		Experimental: asked(cfg.AllowExperimental, cfg.DenyExperimental),
		Scripting:    flag(cfg, cfg.AllowScripting, cfg.DenyScripting),
		Guests:       flag(cfg, cfg.AllowGuests, cfg.DenyGuests),
	}
}

// laterRoutes are names that the reference knows and this server has nothing for: rules about them are kept and have no
// effect.
var laterRoutes = [...]string{"sync"}

// checkNames refuses rules about routes, methods and classes that do not exist: a denial with a slip of the pen must
// not leave open what it was meant to close.
func checkNames(cfg *config.Config) error {
	routes := append(append(http.Routes(), pgwire.Route), laterRoutes[:]...)
	methods := rpc.Methods()
	for _, rule := range []struct {
		flag  string
		names config.Names
		known []string
	}{
		{"allow-http", cfg.AllowHTTP, routes}, {"deny-http", cfg.DenyHTTP, routes},
		{"allow-rpc", cfg.AllowRPC, methods}, {"deny-rpc", cfg.DenyRPC, methods},
		{"allow-arbitrary-query", cfg.AllowQuery, engine.Classes()}, {"deny-arbitrary-query", cfg.DenyQuery,
			engine.Classes()},
		{"allow-eval-query", cfg.AllowEval, engine.Classes()}, {"deny-eval-query", cfg.DenyEval, engine.Classes()},
	} {
		for _, name := range rule.names.List {
			if !slices.Contains(rule.known, name) {
				slices.Sort(rule.known)
				return &StartError{Reason: BadSetting, Text: fmt.Sprintf("--%s: there is no %q (known: %s)",
					rule.flag, name, strings.Join(rule.known, ", "))}
			}
		}
	}
	return nil
}

// flag decides about a capability without names.
func flag(cfg *config.Config, allow, deny bool) bool {
	switch {
	case deny:
		return false
	case allow:
		return true
	}
	return cfg.AllowAll && !cfg.DenyAll
}

// filter writes allow and deny with their precedence in the engine's form, where a deny always wins: names that are
// allowed under a general denial are all that is allowed.
func filter(cfg *config.Config, allow, deny config.Names) engine.Filter {
	f := engine.FilterOf(allow.List, deny.List)
	switch {
	case deny.All:
	case allow.All && !allow.Default:
		f.Allow.All = true
	case len(allow.List) > 0 && !cfg.AllowAll: // those, and no others
	case cfg.DenyAll:
	default:
		f.Allow.All = allow.All || cfg.AllowAll
	}
	return f
}
