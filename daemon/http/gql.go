package http

import (
	"net/http"
	"unicode/utf8"
)

// gql runs a program in ISO GQL, the whole body. Parameters of the address are variables, always text.
func (s *Server) gql(w http.ResponseWriter, r *http.Request) error {
	f, ok := accepted(r)
	if !ok {
		return errMedia
	}
	session, err := s.session(r)
	if err != nil {
		return err
	}
	if err := session.MayEnter(); err != nil {
		return err // SECURITY: the body of an anonymous client is not read
	}
	body, err := s.read(w, r, session, s.Limits.GQL)
	if err != nil {
		return err
	}
	if !utf8.Valid(body) {
		return &refusal{http.StatusBadRequest, "Non UTF-8 request body"}
	}
	ctx, cancel := s.RPC.Deadline(r.Context())
	defer cancel()
	results, err := s.RPC.GQL(ctx, session, nil, string(body), variables(r))
	if err != nil {
		return err
	}
	return s.results(w, http.StatusOK, f, results)
}
