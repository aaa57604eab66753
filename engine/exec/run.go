package exec

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/model"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/budget"
)

// SessionState is the part of a client's session that statements see. It stays as it is once a query has it: a
// statement that moves the session makes another one.
type SessionState struct {
	Auth auth.Authority // identity, place and capabilities
	Vars []record.Param // variables set on the connection
	ID   value.Value    // uuid, or NONE; unique among the sessions of the engine
	Name value.Value    // uuid that the client gave its session, shown in place of ID; or NONE
	IP   value.Value    // of the client, or NONE
	Orig value.Value    // the HTTP origin, or NONE

	// Deliver takes notifications of live queries without waiting; nil when no client listens.
	Deliver func(*live.Notification) error
	Quiet   bool // live queries that the session kills end at once, without a word
	Defined bool // INFO … STRUCTURE lists fields in the order of their definition, not by name
	// ReadOnly: statements that would change anything are refused, and the others run where nothing can be changed.
	ReadOnly bool
	// Current gives the session as it is at the time, read-only; nil: it never changes.
	Current func() *SessionState
	// Still refuses the next statement where the identity was revoked, and gives the state with the roles of now; nil:
	// never.
	Still func(*SessionState) (*SessionState, error)
	// Checked is the value of Catalog.Identities at the last look-up of the identity.
	Checked uint64
}

// Run is one statement, or one transaction, in progress. It belongs to one goroutine.
type Run struct {
	Ex   *Executor
	Sess *SessionState
	Auth *auth.Authority // whose rights count; normally those of Sess
	Base *Env            // the outermost frame: variables of the query text
	Tx   *txn.Tx
	Cat  *catalog.View
	Log  *record.Log // what the transaction changes

	Import bool // OPTION IMPORT is on

	Mem *budget.Account // what the query holds; nil counts nothing

	Out *Out // where the rows of the statement go; nil: into its answer

	AsyncDepth int // how many ASYNC events led here

	now      time.Time      // zero: nothing has asked yet, see Now
	timeout  value.Duration // of the TIMEOUT that the statement is under, for the error text
	depth    int
	defining int    // more than 0 inside the expressions of definitions
	at       uint64 // the version of the history that is read; 0: now
	reading  error  // of a write inside of what may not: permissions, COMPUTED fields, views, indexes, closures; or nil
	ticks    uint32
	beyond
	gate    *record.Gate  // the last one that was made; see Gate
	codes   *codes        // what Auth is inside of stored code; nil before
	signing bool          // the run evaluates a clause of an access method: Base is the credentials of the client
	ret     value.Value   // see signal.go
	args    []value.Value // arguments of the calls in progress
	stock   []*Env        // frames to use again
	host    host
	hosts   []hostCall
	tree    *tree // the innermost .@ recursion
	once    once  // of the WHERE or projection that is evaluated
	matching
	known
}

// matching is the state of MATCHES between rows.
type matching struct {
	loose   map[*ast.Binary]*matcher // outside of a WHERE
	queries map[*ast.Binary]analyzed // analyzed once
}

// known are results that calls need not compute.
type known struct {
	aggregates map[*ast.Call]value.Value // while the fields of a group are made
	models     *model.Calls              // nil before the first call of a model
	computing  record.Computing
}

// beyond holds the effects of a statement outside its transaction and its rights.
type beyond struct {
	// Outside is set when something was done that the end of the transaction does not undo: a request, a file, a pause.
	Outside bool
	// Joint says that the statement shares its transaction with others before it, which must be committed before it
	// does anything of that kind. It fails then, and Outside is set all the same.
	Joint bool
	// Reads says that the statement is one that reads, by its form: its closures may not write.
	Reads bool
	// Personal is set when something was read that is the session's own, and not of all with the same rights.
	Personal bool
	// Watching says that a live query is matched: it may neither wait nor reach outside.
	Watching bool
}

// NewRun starts a run inside tx.
func (ex *Executor) NewRun(s *SessionState, base *Env, tx *txn.Tx) *Run {
	w := new(struct { // in one piece
		Run
		cat catalog.View
	})
	r := &w.Run
	r.Ex, r.Sess, r.Auth, r.Base, r.Tx, r.Cat = ex, s, &s.Auth, base, tx, &w.cat
	ex.Catalog.Init(r.Cat, tx)
	r.host.r = r
	return r
}

// goOutside notes that something is about to be done that the end of the transaction does not undo.
func (r *Run) goOutside() error {
	r.Outside = true
	if r.Joint {
		return errs.Internal("The statement must have a transaction of its own")
	}
	return r.Tx.Settle()
}

// Now is the clock of the statement: it stands still from the first time that a statement asks.
func (r *Run) Now() time.Time {
	if r.now.IsZero() {
		r.now = r.Ex.Clock()
	}
	return r.now
}

// Tick counts one row or one turn of a loop. After every 256 turns it polls the context.
func (r *Run) Tick(ctx context.Context) error {
	r.ticks++
	return r.poll(ctx)
}

// worked counts work on values of that weight in bytes as turns of a loop, since a statement may work for long between
// two rows. The next Tick or poll looks at the context.
func (r *Run) worked(weight int) { r.ticks += uint32(weight/turnWeight) + 1 }

// did is worked and poll.
func (r *Run) did(ctx context.Context, weight int) error {
	r.worked(weight)
	return r.poll(ctx)
}

// poll returns the error of the context if enough work was counted since it last looked.
func (r *Run) poll(ctx context.Context) error {
	if r.ticks < turns {
		return nil
	}
	r.ticks = 0
	return ctx.Err()
}

// turns is how many turns of a loop pass between two looks at the context.
const turns = 256

// turnWeight is the weight of values that takes about as long as a turn of a loop.
const turnWeight = 1 << 10

// Enter counts one level of nesting, which is a turn as well: a recursion is a loop. Leave undoes it.
func (r *Run) Enter(ctx context.Context) error {
	if r.depth >= r.Ex.Limits.Depth {
		return errs.TooDeep()
	}
	r.depth++
	if err := r.Tick(ctx); err != nil {
		r.depth--
		return err
	}
	return nil
}

// Leave undoes Enter.
func (r *Run) Leave() { r.depth-- }

// Gate is the way to the records of the database in use, with the rights of the run.
func (r *Run) Gate() (*record.Gate, error) {
	if r.gate != nil && r.gate.Env == r.Auth && r.gate.DB.Name == r.Auth.DB && r.gate.DB.NS.Name == r.Auth.NS {
		return r.gate, nil
	}
	db, err := r.Database()
	if err != nil {
		return nil, err
	}
	r.gate = &record.Gate{Tx: r.Tx, Cat: r.Cat, Env: r.Auth, DB: db, Eval: r, Log: r.Log, Texts: r.Ex.Texts,
		Vectors: r.Ex.vectors,
		Import:  r.Import && r.Auth.CanWrite(), AsyncDepth: r.AsyncDepth, Computing: &r.computing, At: r.at}
	return r.gate, nil
}

// Elevated is a run inside of the transaction of r for another session, whose expressions are those of an access
// method: they may read and write all data, and see parameters of the database before those in base.
func (r *Run) Elevated(s *SessionState, base *Env) *Run {
	inner := r.Ex.NewRun(s, base, r.Tx)
	inner.Mem = r.Mem
	inner.Cat, inner.Log, inner.depth = r.Cat, r.Log, r.depth
	inner.signing, inner.defining = true, 1
	inner.inCode(auth.Elevated)
	return inner
}

// Move puts the session into a namespace and database, where the run goes on.
func (r *Run) Move(ns, db string) {
	moved := *r.Sess
	moved.Auth.NS, moved.Auth.DB = ns, db
	if r.Auth == &r.Sess.Auth {
		r.Auth = &moved.Auth
	}
	r.Sess = &moved
	r.moved()
}

// Complain logs a permission that failed. What it failed on may be hidden, and is left out, see record.Evaluator.
func (r *Run) Complain(p *ast.Permission) {
	r.Ex.Log.Warn("permission failed, taken for no", "ns", r.Auth.NS, "db", r.Auth.DB, "where", ast.Text(p.Where))
}

// Denied is the outcome of a permission that failed with err: nil for no.
func (r *Run) Denied(p *ast.Permission, err error) error {
	if !record.Denies(err) {
		return err
	}
	r.Complain(p)
	return nil
}

// Fetch reads a record as the run may see it; NONE when it is missing or hidden.
func (r *Run) Fetch(ctx context.Context, id *value.RecordID) (value.Value, error) {
	if id.Key.Kind() == value.KindRange {
		return value.None, nil
	}
	g, err := r.Gate()
	if err != nil {
		return value.None, err
	}
	doc, ok, err := g.Get(ctx, id)
	if !ok || err != nil {
		return value.None, err
	}
	return doc, nil
}

// row is the row of a record that an index has found: the record, NONE where it may not be seen, or no more than its id
// where ids says that nothing else is asked of it.
func (r *Run) row(ctx context.Context, tb *catalog.Table, key value.Value, ids bool) (value.Value, error) {
	id := &value.RecordID{Table: tb.Name, Key: key}
	if ids {
		o, fields := value.MakeObject(1)
		fields[0] = value.Field{Name: "id", Value: value.RecordOf(id)}
		return value.ObjectOf(o), nil
	}
	g, err := r.Gate()
	if err != nil {
		return value.None, err
	}
	doc, _, err := g.GetFrom(ctx, tb, id)
	return doc, err
}

// EvalIn evaluates an expression of a definition, see record.Evaluator.
func (r *Run) EvalIn(ctx context.Context, x ast.Expr, doc value.Value, vars []record.Param,
	rights record.Rights) (value.Value, error) {
	if err := r.Enter(ctx); err != nil {
		return value.None, err
	}
	defer r.Leave()
	if r.at != 0 { // what may be seen is a matter of now
		defer r.travel(0)()
	}
	env := r.frame(r.Base, len(vars))
	env.doc, env.hasDoc = doc, true
	env.vars = append(env.vars, vars...)
	defer r.release(env)
	r.defining++
	was, reading := r.inCode(rights.Code), r.reading
	switch {
	case rights.Computed:
		r.reading = errComputed
	case rights.Reading:
		r.reading = errReading
	}
	v, err := r.Value(ctx, env, x)
	r.reading = reading
	r.outOf(was)
	r.defining--
	return v, err
}
