// Package engine is the database as a library: the only door into everything under engine/.
//
// An Engine is one open store. Work happens in Sessions, which carry an identity, a namespace and
// database, and variables. Both are safe for concurrent use unless a method says otherwise.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/bucket"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/graphql"
	"github.com/nacredb/nacre/engine/history"
	"github.com/nacredb/nacre/engine/index/fulltext"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/nodes"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/query"
	"github.com/nacredb/nacre/engine/relay"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/budget"
)

// Limits bound what one statement and one transaction may use.
type Limits = exec.Limits

// Options tunes Open. The zero value is a serious default.
type Options struct {
	// Strict makes new databases refuse implicit tables.
	Strict bool
	// Guests lets sessions without an identity run statements (with guest rights).
	Guests bool
	// Unauthenticated gives every session the rights of the root owner.
	Unauthenticated bool
	// DefaultNamespace and DefaultDatabase are created on Open unless NoDefaults ("main", "main").
	DefaultNamespace, DefaultDatabase string
	NoDefaults                        bool
	// Limits bound what one statement may use; a zero field means its default.
	Limits Limits
	// Experimental capabilities that are switched on ("files", …).
	Experimental []string
	// BucketFolders are the folders of the machine that buckets may be in, and below: DEFINE BUCKET … BACKEND
	// 'file:/path'. None: buckets are in memory only. A path may have {ns} and {db} as parts: the names of the
	// database. One without {db} is shared among databases, and buckets in it are defined by users of the root, or with
	// {ns} of the namespace.
	BucketFolders []string
	// Capabilities are the rights of all clients. nil: auth.DefaultCapabilities with Guests and Experimental of these
	// Options; otherwise those two fields are not looked at.
	Capabilities *auth.Capabilities
	// Meter counts what transactions do; nil: nothing is counted.
	Meter txn.Meter
	// Log gets what goes wrong inside; nil: slog.Default.
	Log *slog.Logger
	// Memory is how many bytes all clients together may hold at once: in requests on their way in, answers, sorted and
	// grouped rows, variables, sessions, live queries and transactions that are not committed yet; what does not fit is
	// refused, and may be tried again. Clients without an identity have an eighth of it. 0: a quarter of the memory of
	// the machine or container, or of GOMEMLIMIT.
	Memory int64
	// AnalyzerFiles are directories whose files the mapper filters of analyzers may read.
	AnalyzerFiles []string
	// GraphQL bounds GraphQL operations; a zero field means its default.
	GraphQL GraphQLLimits
	// Cluster names the files for TLS to a store on a cluster (tikv://…).
	Cluster ClusterTLS
	// Prepared is for the first user with its password, who is made sooner; nil: no password is prepared.
	Prepared *Preparation
	// PlannerRulesOff are names of planner rules that are switched off, to find out whether one of them is at fault;
	// see engine/plan. No rule changes an answer.
	PlannerRulesOff []string
}

// Engine is an open database.
type Engine struct {
	opt     Options
	store   kv.Store
	queries *query.Runner
	seats   seats // what operators see of clients
	caps    *auth.Capabilities

	memory  *budget.Pool // what all statements share
	graphql *graphql.Cache

	parsing parse.Options // of every text
	sweeper *history.Sweeper
	others  *observer // of what other processes change; nil: there are none
	uploads uploads   // of models

	node atomic.Pointer[value.UUID] // of Join; nil: this process is not registered
}

// Open opens (or creates) the store named by dsn: "memory", "bolt://path", a bare path, "tikv://host:port". The caller
// closes it.
func Open(ctx context.Context, dsn string, opt Options) (*Engine, error) {
	if opt.Log == nil {
		opt.Log = slog.Default()
	}
	if opt.DefaultNamespace == "" {
		opt.DefaultNamespace = "main"
	}
	if opt.DefaultDatabase == "" {
		opt.DefaultDatabase = "main"
	}
	folders, err := bucket.Folders(opt.BucketFolders)
	if err != nil {
		return nil, err
	}
	opt.BucketFolders = folders
	rulesOff, err := plan.ParseRules(opt.PlannerRulesOff)
	if err != nil {
		return nil, err
	}
	store, retention, err := openStore(ctx, dsn, opt)
	if err != nil {
		return nil, err
	}
	return start(ctx, store, retention, opt, rulesOff)
}

// start makes an engine of an open store, which it closes with an error.
func start(ctx context.Context, store kv.Store, retention time.Duration, opt Options,
	rulesOff plan.Rules) (*Engine, error) {
	e := &Engine{opt: opt, store: store, caps: opt.Capabilities, graphql: graphql.NewCache()}
	if e.caps == nil {
		e.caps = auth.DefaultCapabilities()
		e.caps.Guests = opt.Guests
		e.caps.Experimental.Allow = auth.NewSet(opt.Experimental...)
	}
	opt.Capabilities = e.caps
	if opt.Memory == 0 {
		opt.Memory = budget.Default()
	}
	e.memory = budget.NewPool(opt.Memory)
	functions := fn.Library()
	files := e.caps.Experimental.Allows("files")
	e.parsing = parse.Options{Resolver: functions.Resolver(), NoFiles: !files}
	process, err := nodes.StartProcess(ctx, store, txn.Options{Meter: opt.Meter, Memory: e.memory}, opt.Log)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	e.queries = newRunner(store, opt, functions, e.parsing, rulesOff, e.memory, process)
	if err := e.queries.Access.Open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("load the store's secret: %w", err), e.abandon(ctx))
	}
	if !opt.NoDefaults {
		if err := e.RootSession().Use(ctx, &opt.DefaultNamespace, &opt.DefaultDatabase); err != nil {
			return nil, errors.Join(fmt.Errorf("make the default database: %w", err), e.abandon(ctx))
		}
	}
	if err := e.queries.Build.Resume(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("go on with the building of indexes: %w", err), e.abandon(ctx))
	}
	e.answerOthers()
	e.others = observe(store, e.queries.Catalog, process)
	if retention > 0 {
		e.sweeper = history.StartSweeper(store, retention, opt.Log)
	}
	return e, nil
}

// openStore opens the store named by dsn. retention is for how long it keeps its past, 0 where that is for ever or not
// at all.
func openStore(ctx context.Context, dsn string, opt Options) (_ kv.Store, retention time.Duration, err error) {
	log := opt.Log
	d, err := kv.ParseDSN(dsn)
	if err != nil {
		return nil, 0, err
	}
	if d.Notice != "" {
		log.Warn(d.Notice)
	}
	var store kv.Store
	switch d.Kind {
	case "memory":
		store = mem.New()
	case "tikv":
		store, err = openCluster(ctx, d, opt)
	case "bolt":
		store, err = bolt.Open(bolt.Options{Path: d.Path, Sync: d.Sync, Log: log})
	default:
		err = fmt.Errorf("store address %q: this build has no %s store", dsn, d.Kind)
	}
	if err != nil {
		return nil, 0, err
	}
	past, retention, err := keepPast(ctx, store, d, log)
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("open the history: %w", err), store.Close())
	}
	return past, retention, nil
}

// firstPlace is a name of the place that a store has from its first start; "" where it has none.
func firstPlace(opt Options, name string) string {
	if opt.NoDefaults {
		return ""
	}
	return name
}

// newRunner wires the language together: parser, functions, catalog and evaluator.
func newRunner(store kv.Store, opt Options, functions *fn.Table, parsing parse.Options, rulesOff plan.Rules,
	memory *budget.Pool, process *nodes.Process) *query.Runner {
	_, versioned := store.(*history.Store)
	hub := live.NewHub(hubLimits(process))
	return query.New(exec.Config{
		Process:   process,
		Hub:       hub,
		Relay:     relay.New(store, process, hub, txn.Options{Meter: opt.Meter, Memory: memory}, opt.Log),
		Store:     store,
		Functions: functions,
		Catalog: catalog.NewCache(func(text string) (ast.Statement, error) {
			return parseDefinition(text, parsing)
		}),
		AnalyzerFiles: fulltext.Directories(opt.AnalyzerFiles),
		Files:         bucket.New(bucket.Limits{}, opt.BucketFolders, nil),
		ParseQuery: func(text string, poll func() error) (*ast.Query, error) {
			opt := parsing
			opt.Poll, opt.Values = poll, true
			return parse.Query(text, opt)
		},
		ParseGQL:         parseGQL(opt.Limits.GraphText),
		ReadRecord:       parse.RecordID,
		ReadPath:         parse.Path,
		DefaultNamespace: firstPlace(opt, opt.DefaultNamespace),
		DefaultDatabase:  firstPlace(opt, opt.DefaultDatabase),
		Strict:           opt.Strict,
		Caps:             opt.Capabilities,
		Versioned:        versioned,
		Limits:           opt.Limits,
		Log:              opt.Log,
		PlanOff:          rulesOff,
		Meter:            opt.Meter,
		Memory:           memory,
		Prepared:         opt.Prepared,
	})
}

// abandon closes what start has opened.
func (e *Engine) abandon(ctx context.Context) error {
	e.queries.Relay.Close()
	e.queries.Hub.Close()
	e.queries.Close(ctx)
	return errors.Join(e.queries.Process.Close(ctx), e.store.Close())
}

// hubLimits are those of live queries. Where the store is elsewhere most of the time of a match is waiting.
func hubLimits(process *nodes.Process) live.HubLimits {
	if process == nil {
		return live.HubLimits{}
	}
	return live.HubLimits{Inline: 50 * time.Millisecond, Change: 2 * time.Second, Budget: 8 * time.Second,
		Window: 10 * time.Second}
}

// Close waits for running commits, flushes and closes the store. Sessions must not be used afterwards.
func (e *Engine) Close(ctx context.Context) error {
	e.others.close()
	e.sweeper.Stop()
	return e.abandon(ctx)
}

// What a client holds of the engine's memory outside of statements is counted by these.
type (
	Held    = budget.Held
	Account = budget.Account
)

// Hold counts n bytes as held until they are released: answers, by those who deliver them. Execute counts what it
// answers only until it returns.
func (e *Engine) Hold(n int) Held { return e.memory.Hold(n) }

// Take is Hold for bytes that may be refused; those of an anonymous client are of the anonymous clients'
// share. Errors: errs.OutOfMemory.
func (e *Engine) Take(n int, anonymous bool) (Held, error) { return e.memory.Take(n, anonymous) }

// MemoryTight reports whether more than half of the memory for clients is taken.
func (e *Engine) MemoryTight() bool { return e.memory.Tight() }

// Account opens an account for what a client has sent or is to be sent. That of an anonymous client is of the
// anonymous clients' share. The caller closes it.
func (e *Engine) Account(anonymous bool) Account {
	if anonymous {
		return e.memory.Account().OfAnonymous()
	}
	return e.memory.Account()
}

// Ping reads one key in a read-only transaction.
func (e *Engine) Ping(ctx context.Context) error {
	if e.store.Stats().ReadOnly {
		return kv.ErrReadOnly
	}
	tx, err := txn.Begin(ctx, e.store, e.queries.Reading())
	if err != nil {
		return err
	}
	defer tx.Cancel()
	_, err = tx.Get([]byte{0})
	return err
}

// Stats are figures of an open engine.
type Stats struct {
	kv.Stats
	Node          string // id of this server among those of its store; "" until it joins
	LiveQueries   int    // open
	Notifications uint64 // handed to their sessions so far
	Orphaned      uint64 // live queries that ended with their sessions so far, without a KILL
	Memory        budget.Stats
}

// Stats gives the figures of now; it is cheap.
func (e *Engine) Stats() Stats {
	s := Stats{Stats: e.store.Stats()}
	s.LiveQueries, s.Notifications, s.Orphaned = e.queries.Hub.Stats()
	s.Memory = e.memory.Stats()
	if id := e.node.Load(); id != nil {
		s.Node = id.String()
	}
	return s
}

// CreateRootUser makes the root user of --user and --pass with role OWNER unless a root user exists already; made
// reports whether it did.
func (e *Engine) CreateRootUser(ctx context.Context, name, pass string) (made bool, err error) {
	there, err := e.HasRootUser(ctx)
	if err != nil || there {
		return false, err
	}
	text := "DEFINE USER " + value.QuoteIdent(name) + " ON ROOT PASSWORD " + value.Quote(pass) + " ROLES OWNER"
	res, err := e.RootSession().Execute(ctx, text, nil)
	if err != nil {
		return false, err
	}
	if res[0].Err != nil {
		if there, err := e.HasRootUser(ctx); there && err == nil { // another server was quicker
			return false, nil
		}
		return false, res[0].Err
	}
	return true, nil
}

// HasRootUser reports whether anybody can sign in as a root user.
func (e *Engine) HasRootUser(ctx context.Context) (bool, error) {
	res, err := e.RootSession().Execute(ctx, "INFO FOR ROOT", nil)
	if err != nil {
		return false, err
	}
	if res[0].Err != nil {
		return false, res[0].Err
	}
	users, _ := res[0].Value.Object().Get("users")
	return users.Kind() == value.KindObject && users.Object().Len() > 0, nil
}
