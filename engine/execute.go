package engine

import (
	"context"
	"slices"

	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/prepare"
	"github.com/nacredb/nacre/engine/query"
	"github.com/nacredb/nacre/engine/value"
)

// Result is the answer to one statement.
type Result = query.Result

// Verbs are the values that Verb of a Result may have, in the order of a list for people.
func Verbs() []string { return slices.Clone(query.Verbs) }

// Execute runs a text of statements, one Result each. The error is for the text as a whole: it does not parse, or the
// session may not run queries. vars become parameters of the text.
func (s *Session) Execute(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	return s.execute(ctx, nil, text, vars, false)
}

// ExecutePacked is Execute for those who send the answers on in the wire form: the rows of a SELECT, and other lists,
// come as Result.Rows, in that form, without having been values that outlive their transaction.
func (s *Session) ExecutePacked(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	return s.execute(ctx, nil, text, vars, true)
}

// run does f with the query of a text: inside of t or, where t is nil, in transactions of its own.
func (s *Session) run(ctx context.Context, t *Tx, text string, vars *value.Object,
	f func(context.Context, *query.Query, *prepare.Script) error) error {
	parse := func(st *exec.SessionState) (*prepare.Script, error) { return s.e.script(ctx, st, text) }
	return s.runParsed(ctx, t, query.Source{Kind: "query", Text: text}, parse, vars, f)
}

// runParsed is run for what parse gives, once the session may run queries.
func (s *Session) runParsed(ctx context.Context, t *Tx, src query.Source,
	parse func(*exec.SessionState) (*prepare.Script, error),
	vars *value.Object, f func(context.Context, *query.Query, *prepare.Script) error) error {
	st, err := s.mayRun(s.snapshot(), vars)
	if err != nil {
		return err
	}
	script, err := parse(st)
	if err != nil {
		return err
	}
	src.Weight = script.Weight
	ctx, q := s.e.queries.NewQuery(ctx, st, vars, src)
	defer q.Close()
	if t == nil {
		err = f(ctx, q, script)
	} else {
		err = t.within(ctx, q, func(ctx context.Context) error { return f(ctx, q, script) })
	}
	s.moved(st, q.Session())
	return err
}

// execute is run for the answers as a list. packed: the rows of a SELECT come in the wire form.
func (s *Session) execute(ctx context.Context, t *Tx, text string, vars *value.Object, packed bool) ([]Result, error) {
	var out []Result
	err := s.run(ctx, t, text, vars, func(ctx context.Context, q *query.Query, script *prepare.Script) error {
		if packed {
			q.Packing()
		}
		out = q.Run(ctx, script)
		return nil
	})
	return out, err
}

// stream is run for the answers as they come.
func (s *Session) stream(ctx context.Context, t *Tx, text string, vars *value.Object, sink Sink) error {
	return s.run(ctx, t, text, vars, func(ctx context.Context, q *query.Query, script *prepare.Script) error {
		return q.Stream(ctx, script, sink)
	})
}

// Sink takes the answers of a text while it runs.
type Sink = query.Sink

// Stream is Execute with the answers handed to sink while the text runs. Errors: those of Execute, before anything was
// handed over; later ones are those of the sink or of ctx, and statements that were not reported as finished came to
// nothing.
func (s *Session) Stream(ctx context.Context, text string, vars *value.Object, sink Sink) error {
	return s.stream(ctx, nil, text, vars, sink)
}

// mayRun refuses statements to sessions that may not query, and parameters that no text may have. It gives the state
// with the roles of now.
func (s *Session) mayRun(st *exec.SessionState, vars *value.Object) (*exec.SessionState, error) {
	st, err := s.mayQuery(st)
	if err != nil {
		return nil, err
	}
	return st, mayBind(vars)
}

// script is the text, ready to run. One with OPTION is refused as a whole to those who may not import.
func (e *Engine) script(ctx context.Context, st *exec.SessionState, text string) (*prepare.Script, error) {
	script, err := e.queries.Parse(ctx, text)
	if err != nil {
		return nil, err
	}
	if script.Option && !st.Auth.Principal.MayImport() {
		return nil, auth.Denied()
	}
	return script, nil
}

// mayBind refuses parameters of a text that would hide who the session is from permissions.
func mayBind(vars *value.Object) error {
	if vars == nil {
		return nil
	}
	for _, f := range vars.Fields() {
		if exec.Protected(f.Name) {
			return errProtected(f.Name)
		}
	}
	return nil
}

func errProtected(name string) error {
	return errs.With(errs.KindValidation, "InvalidParameter", map[string]any{"name": name},
		"'%s' is a protected variable and cannot be set", name)
}

func sessionExpired() error {
	return &errs.Error{Kind: errs.KindNotAllowed, Msg: "The session has expired",
		Detail: &errs.Detail{Kind: "Auth", Inner: &errs.Detail{Kind: "SessionExpired"}}}
}

// MayAct refuses a session whose identity has run out: it can only get a new one.
func (s *Session) MayAct() error {
	st := s.snapshot()
	if st.Expired(s.e.queries.Clock) {
		return sessionExpired()
	}
	_, err := s.still(st)
	return err
}

// MayEnter refuses a session without an identity where there are no guests.
func (s *Session) MayEnter() error {
	p := s.Principal()
	return s.e.caps.MayEnter(&p)
}

// mayQuery refuses statements of the client's own making: to those who may not act at all, and to those whom the
// capability denies it. The process's own sessions are free of it. It gives the state with the roles of now.
func (s *Session) mayQuery(st *exec.SessionState) (*exec.SessionState, error) {
	st, err := s.mayCall(st)
	if err != nil || s.own {
		return st, err
	}
	return st, s.e.caps.MayQuery(&st.Auth.Principal)
}

// mayCall refuses everything to sessions whose identity has run out, and to guests where there are none. It gives the
// state with the roles of now.
func (s *Session) mayCall(st *exec.SessionState) (*exec.SessionState, error) {
	if st.Expired(s.e.queries.Clock) {
		return nil, sessionExpired()
	}
	st, err := s.still(st)
	if err != nil {
		return nil, err
	}
	return st, s.e.caps.MayEnter(&st.Auth.Principal)
}

// Call runs one function (built-in, fn::, …) with args.
func (s *Session) Call(ctx context.Context, name string, args []value.Value) (value.Value, error) {
	st, err := s.mayQuery(s.snapshot())
	if err != nil {
		return value.None, err
	}
	ctx, q := s.e.queries.NewQuery(ctx, st, nil, query.Source{Kind: "function", Text: name})
	defer q.Close()
	res := q.Call(ctx, name, args)
	if res.Err != nil {
		return value.None, res.Err
	}
	return res.Value, nil
}
