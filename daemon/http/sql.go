package http

import (
	"context"
	"net/http"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// sql runs statements. Parameters of the address are variables, always text.
func (s *Server) sql(w http.ResponseWriter, r *http.Request) error {
	f, ok := accepted(r)
	if !ok {
		return errMedia
	}
	session, err := s.session(r)
	if err != nil {
		return err
	}
	text, err := s.readText(w, r, session, s.Limits.SQL)
	if err != nil {
		return err
	}
	return s.execute(w, r, f, session, text, variables(r))
}

// variables are the parameters of the address; of equal names the first counts.
func variables(r *http.Request) *value.Object {
	query := r.URL.Query()
	if len(query) == 0 {
		return nil
	}
	fields := make([]value.Field, 0, len(query))
	for name, values := range query {
		fields = append(fields, value.Field{Name: name, Value: value.Str(toText(values[0]))})
	}
	return value.NewObject(fields...)
}

// sqlSocket upgrades to a WebSocket whose messages are statements.
func (s *Server) sqlSocket(w http.ResponseWriter, r *http.Request) error {
	return s.upgrade(w, r, func(session *engine.Session) {
		vars := variables(r)
		s.Sockets.ServeText(w, r, s.client(r), s.Limits.SQL, session.Anonymous(),
			func(ctx context.Context, text string) ([]engine.Result, error) {
				return s.run(ctx, session, text, vars)
			})
	})
}

// execute runs a text inside the wall-clock limit and answers with its results.
func (s *Server) execute(w http.ResponseWriter, r *http.Request, f wire.Format, session *engine.Session, text string,
	vars *value.Object) error {
	ctx, cancel := s.RPC.Deadline(r.Context())
	defer cancel()
	results, err := s.run(ctx, session, text, vars)
	if err != nil {
		return err
	}
	return s.results(w, http.StatusOK, f, results)
}

func (s *Server) run(ctx context.Context, session *engine.Session, text string,
	vars *value.Object) ([]engine.Result, error) {
	if err := session.MayEnter(); err != nil {
		return anonymous(text, errs.As(err))
	}
	return s.RPC.Execute(ctx, session, nil, text, vars)
}

const notAllowed = "Not enough permissions to perform this action"

// Limits of a text of an anonymous client: the answer may be a hundred times as long as the text.
const (
	anonymousText       = 64 << 10 // bytes
	anonymousStatements = 1000
)

// anonymous answers a text of a client without an identity where there are no guests: every statement fails, on its
// own, or where they are many all of them together. SECURITY: the text is not parsed.
func anonymous(text string, refusal *errs.Error) ([]engine.Result, error) {
	if len(text) > anonymousText {
		return nil, refusal
	}
	n, ok := parse.Count(text)
	if !ok || n > anonymousStatements {
		return nil, refusal
	}
	results := make([]engine.Result, n)
	for i := range results {
		results[i].Err = refusal
	}
	return results, nil
}

func (s *Server) results(w http.ResponseWriter, status int, f wire.Format, results []engine.Result) error {
	var held engine.Held
	defer func() { held.Release() }()
	return s.reply(w, status, f.ContentType(), func(b []byte) (_ []byte, err error) {
		b, held, err = s.RPC.AppendResults(b, f, results)
		return b, err
	})
}
