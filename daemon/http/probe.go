package http

import (
	"errors"
	"net/http"

	"github.com/nacredb/nacre/daemon/telemetry"
	"github.com/nacredb/nacre/engine/auth"
)

// ErrNotReady is why /ready answers 503.
var ErrNotReady = errors.New("not ready")

func (s *Server) root(w http.ResponseWriter, r *http.Request) {
	if s.UIAddress == "" {
		s.notFound(w, "")
		return
	}
	http.Redirect(w, r, s.UIAddress, http.StatusTemporaryRedirect)
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// health reads one key from the store.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	if err := s.RPC.Engine.Ping(r.Context()); err != nil {
		s.Log.Error("health check failed", "err", err)
		s.problem(w, http.StatusInternalServerError, "Health check failed", "There was a problem connecting with the storage engine")
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	switch err := s.Readiness.Ready(r.Context()); {
	case err == nil:
		w.WriteHeader(http.StatusOK)
	case errors.Is(err, ErrNotReady):
		s.unavailable(w, false)
	default:
		s.Log.Error("readiness check failed", "err", err)
		s.refuse(w, http.StatusInternalServerError, "")
	}
}

func (s *Server) versionText(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(Product + "-" + s.version))
}

// metrics shows everything to users of the root level, and little to others.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	session, err := s.session(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s.RPC.Metrics.Write(w, session.Principal().Level == auth.RootUser, &telemetry.Gauges{
		Engine: s.RPC.Engine.Stats(), Sessions: s.Sessions.Len(), SocketQueue: s.Sockets.Queued(),
	})
}
