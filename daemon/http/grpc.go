package http

import (
	"context"
	"crypto/sha256"
	"net/http"

	"github.com/nacredb/nacre/daemon/grpc"
	"github.com/nacredb/nacre/engine"
)

// grpc answers a call of the gRPC service. Refusals are those of the other requests, in the form of gRPC.
func (s *Server) grpc(rec *recorder, r *http.Request) {
	rec.status = http.StatusOK // a failure is in the trailer
	if !s.Origins.admits(r) {
		s.RPC.Metrics.Limited("origins")
		grpc.Refuse(rec.ResponseWriter, grpc.Foreign)
		return
	}
	if s.active.Add(1) > int64(s.Limits.Requests) {
		s.active.Add(-1)
		s.RPC.Metrics.Limited("requests")
		grpc.Refuse(rec.ResponseWriter, grpc.Busy)
		return
	}
	defer s.active.Add(-1)
	if charge(&rec.mem, headSize(r)) != nil {
		s.RPC.Metrics.Limited("memory")
		grpc.Refuse(rec.ResponseWriter, grpc.Busy)
		return
	}
	rec.sent = s.GRPC.Serve(rec.ResponseWriter, r, &grpc.Caller{
		Peer: grpc.PeerOf(r), Client: s.client(r), Mem: &rec.mem, Key: identityKey(r),
		Enter: func(ctx context.Context, session *engine.Session) error {
			return s.enterGRPC(r.WithContext(ctx), session)
		},
	})
}

// identityKey tells the identities and places in the headers of requests apart, without keeping a password.
func identityKey(r *http.Request) string {
	authorization := r.Header.Get("Authorization")
	if authorization == "" {
		return ""
	}
	h := sha256.New()
	for _, part := range [...]string{authorization, header(r, "Auth-NS"), header(r, "Auth-DB")} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return string(h.Sum(nil))
}

// enterGRPC gives a session the identity in the headers of r, and their place where it has none.
func (s *Server) enterGRPC(r *http.Request, session *engine.Session) error {
	byName, err := s.identity(r, session)
	if err != nil {
		return err
	}
	ns, db := header(r, "NS"), header(r, "DB")
	if byName {
		// Where a user is defined is not where it works: only the headers say that.
		return session.Use(r.Context(), &ns, &db)
	}
	if ns == "" && db == "" {
		return nil
	}
	return session.Use(r.Context(), named(ns), named(db))
}
