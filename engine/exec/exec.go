// Package exec runs the language: it evaluates expressions and executes statements and query
// plans. The three are mutually recursive (a projection may hold a subquery, a subquery a closure,
// a closure a statement), so they share one package.
//
// It is the only evaluator. Records are read and written through engine/record alone, which calls
// back here for the expressions in definitions. An Executor belongs to one engine and is safe for
// concurrent use; a Run belongs to one statement or transaction and to one goroutine.
package exec

import (
	"log/slog"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/bucket"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/flat"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/index/fulltext"
	"github.com/nacredb/nacre/engine/index/vector"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/engine/model"
	"github.com/nacredb/nacre/engine/nodes"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/prepare"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/relay"
	"github.com/nacredb/nacre/engine/script"
	"github.com/nacredb/nacre/engine/sequence"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/budget"
	"github.com/nacredb/nacre/internal/textcache"
)

// Limits bound what one statement may use. The zero value of a field means its default.
type Limits struct {
	Depth       int   // nested calls, subqueries and computed values
	Rows        int   // rows that a statement may hold in memory at once
	CacheSize   int   // parsed texts that are kept
	CacheText   int   // longest text in bytes that is kept
	CacheBytes  int   // that parsed texts may take together
	Array       int   // elements of an array made by a range, a mock, + or a function
	Text        int   // bytes of a string made by +
	Answer      int   // bytes of the answer of a statement
	ShareAfter  int   // records of a table after which a walk is shared among the processors
	LiveQueries int   // that one session may have
	GraphText   int   // bytes of a program in GQL
	GraphPaths  int   // paths that a quantified pattern of GQL may have from one row
	GraphJoins  int   // rows that a GQL program may hold to compare them
	GraphRows   int   // rows that the patterns of a GQL program may find
	ModelCache  int64 // bytes that loaded models may take together; a larger model is refused
	IndexInside int   // records of a table for which an index may be filled in the transaction that defines it
	TxBytes     int64 // bytes of memory that the writes of a transaction may take
	// QueryTimeout bounds every statement, TxTimeout every transaction; 0: no bound.
	QueryTimeout, TxTimeout time.Duration
	// Script bounds each call of an embedded script.
	Script script.CallLimits
	// Models bound each call of a model.
	Models ml.Limits
}

func (l Limits) withDefaults() Limits {
	def := func(p *int, d int) {
		if *p == 0 {
			*p = d
		}
	}
	def(&l.Depth, 120)
	def(&l.Rows, 10_000_000)
	def(&l.CacheSize, 1024)
	def(&l.CacheText, 64<<10)
	def(&l.CacheBytes, 16<<20)
	def(&l.Array, 4<<20)
	def(&l.Text, 64<<20)
	def(&l.Answer, 1<<30)
	def(&l.ShareAfter, 4096)
	def(&l.LiveQueries, 1000)
	def(&l.IndexInside, 200_000)
	def(&l.GraphText, 1<<20)
	def(&l.GraphPaths, 1_000_000)
	def(&l.GraphJoins, 1_000_000)
	def(&l.GraphRows, 1_000_000)
	if l.ModelCache == 0 {
		l.ModelCache = 1 << 30
	}
	l.Models = l.Models.WithDefaults()
	if l.TxBytes == 0 {
		l.TxBytes = 1 << 30 // more than that no store takes at once
	}
	return l
}

// Config holds the parts and settings of an Executor. All but the optional fields must be set.
type Config struct {
	Store     kv.Store
	Functions *fn.Table
	Catalog   *catalog.Cache
	Files     *bucket.Store
	// ParseQuery reads statements; poll ends it by an error.
	ParseQuery func(text string, poll func() error) (*ast.Query, error)
	// ParseGQL reads a program of ISO GQL, for eval::gql.
	ParseGQL func(text string) (*ast.GQL, error)
	// ReadRecord and ReadPath read texts that are data: a record id with a literal key, a path with nothing to
	// evaluate.
	ReadRecord func(text string) (value.Value, error)
	ReadPath   func(text string) (*ast.Idiom, error)
	// DefaultNamespace and DefaultDatabase are the place that USE DEFAULT selects.
	DefaultNamespace, DefaultDatabase string
	Strict                            bool               // new databases are strict
	Caps                              *auth.Capabilities // of what the engine does by itself: ASYNC events
	Versioned                         bool               // the store keeps its past: a history.Store
	Limits                            Limits             // optional
	PlanOff                           plan.Rules         // optional: rules of the planner that are switched off
	Clock                             func() time.Time   // optional: the system's
	Hub                               *live.Hub          // optional: one of its own
	AnalyzerFiles                     fulltext.Files     // optional: the files that analyzers may read; none without it
	Log                               *slog.Logger       // optional: slog.Default
	Meter                             txn.Meter          // optional: who counts what transactions do
	Memory                            *budget.Pool       // optional: what statements may hold together; nil: no bound
	Process                           *nodes.Process     // optional: this one among those that share the store
	Relay                             *relay.Relay       // with Process: what live queries hear of the others
	Prepared                          *auth.Preparation  // optional: a password whose hash is computed already
}

// Executor holds the state that all runs of one engine share.
type Executor struct {
	Config
	cache     *textcache.Cache[*prepare.Script]
	sequences sequence.Sequences
	scripts   *script.Engine
	Texts     *fulltext.Library
	vectors   *vector.Cache
	flat      *flat.Cache
	Models    *model.Cache
	rooms     record.StopRooms

	// Statements are those of the packages above; it must be set before the first statement runs.
	Statements Statements
	Endpoints  Endpoints // likewise
	// Publish tells live queries and ASYNC events of what a transaction changed, before it commits. nil: there are
	// none.
	Publish func(tx *txn.Tx, log *record.Log) error
}

// New makes an executor.
func New(c Config) *Executor {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.Limits = c.Limits.withDefaults()
	if c.Hub == nil {
		c.Hub = live.NewHub(live.HubLimits{})
	}
	ex := &Executor{Config: c, cache: textcache.New[*prepare.Script](c.Limits.CacheSize, c.Limits.CacheBytes),
		Texts:   fulltext.NewLibrary(c.Store, c.AnalyzerFiles, c.Log),
		vectors: vector.NewCache(c.Store, c.Log), flat: flat.NewCache(c.Memory),
		Models: model.NewCache(c.Memory, c.Limits.ModelCache, c.Limits.Models)}
	ex.scripts = script.New(c.Limits.Script, ex)
	return ex
}

// System is the session of what the engine does by itself: the root owner without a place.
func (ex *Executor) System() SessionState {
	return SessionState{Auth: auth.Authority{Principal: auth.RootOwner(), Caps: ex.Caps}}
}

// Close stops the work on indexes that are built.
func (ex *Executor) Close() {
	ex.Texts.Close()
	ex.vectors.Close()
	ex.flat.Close()
}
