package http

import (
	"errors"
	"net/http"

	"github.com/nacredb/nacre/daemon/telemetry"
)

// ErrNotReady is why /ready answers 503.
var ErrNotReady = errors.New("not ready")

func (s *Server) root(w http.ResponseWriter, r *http.Request) error {
	if s.UIAddress == "" {
		return notFound("")
	}
	http.Redirect(w, r, s.UIAddress, http.StatusTemporaryRedirect)
	return nil
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request) error {
	w.WriteHeader(http.StatusOK)
	return nil
}

// health reads one key from the store.
func (s *Server) health(w http.ResponseWriter, r *http.Request) error {
	if err := s.RPC.Engine.Ping(r.Context()); err != nil {
		s.Log.Error("health check failed", "err", err)
		s.problem(w, http.StatusInternalServerError, "Health check failed", "There was a problem connecting with the storage engine")
		return nil
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	switch err := s.Readiness.Ready(r.Context()); {
	case err == nil:
		w.WriteHeader(http.StatusOK)
	case errors.Is(err, ErrNotReady):
		return &refusal{status: http.StatusServiceUnavailable}
	default:
		s.Log.Error("readiness check failed", "err", err)
		return &refusal{status: http.StatusInternalServerError}
	}
	return nil
}

func (s *Server) versionText(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(Product + "-" + s.version)) // the client may be gone
	return nil
}

// metrics shows everything to users of the root level, and little to others.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s.RPC.Metrics.Write(w, session.IsRoot(), s.Gauges())
	return nil
}

// Gauges are the figures of the moment.
func (s *Server) Gauges() *telemetry.Gauges {
	return &telemetry.Gauges{
		Engine: s.RPC.Engine.Stats(), Sessions: s.Sessions.Len(), SocketQueue: s.Sockets.Queued(),
	}
}
