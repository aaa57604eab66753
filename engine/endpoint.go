package engine

import (
	"context"

	"github.com/nacredb/nacre/engine/endpoint"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/query"
)

// APIRequest is a request to an endpoint that DEFINE API made.
type APIRequest = endpoint.Request

// APIAnswer is the response of an endpoint.
type APIAnswer = endpoint.Answer

// API answers a request to an endpoint of the database db of ns, with the rights of the session; vars of the session
// are seen, its place is neither used nor changed. An endpoint that does not exist, may not be called or fails answers
// with a status; errors are for a database that is not there or out of reach.
func (s *Session) API(ctx context.Context, ns, db string, req *APIRequest) (*APIAnswer, error) {
	now, err := s.mayCall(s.snapshot())
	if err != nil {
		return nil, err
	}
	st := *now
	st.Auth.NS, st.Auth.DB = ns, db
	if err := st.Auth.MayUse(); err != nil {
		return nil, err
	}
	ctx, q := s.e.queries.NewQuery(ctx, &st, nil, query.Source{Kind: "api", Text: req.Method + " /" + first(req.Path)})
	defer q.Close()
	var answer *APIAnswer
	err = q.Do(ctx, func(ctx context.Context, r *exec.Run) (err error) {
		answer, err = endpoint.Serve(ctx, r, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// first is the part of a path that operators see: the others may be data.
func first(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return path[0]
}
