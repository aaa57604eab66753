package http

import (
	"net/http"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// call runs one RPC request. The answer is in the format of the request and has no id.
func (s *Server) call(w http.ResponseWriter, r *http.Request) error {
	f, ok := formatOf(mediaType(r.Header.Get("Content-Type")))
	if !ok || !sameFormat(r, f) {
		return errMedia
	}
	session, err := s.session(r)
	if err != nil {
		return err
	}
	b, err := s.read(w, r, session, s.Limits.RPC)
	if err != nil {
		return err
	}
	req, bad := wire.DecodeRequest(b, f, rpc.DecodingOf(session, s.decode.MaxDepth))
	if bad != nil {
		return errBody
	}
	if err := decoded(w, len(b), req.Params...); err != nil {
		return err
	}
	req.ID = value.None
	conn := s.RPC.NewConn(session, rpc.Options{Client: s.client(r), Origin: r.Header.Get("Origin"),
		Sessions: s.Sessions})
	resp := conn.Call(r.Context(), &req)
	defer func() {
		if err := conn.Close(r.Context()); err != nil {
			s.Log.Warn("end of an RPC request", "err", err)
		}
	}()
	defer s.RPC.Engine.Hold(2 * resp.Weight()).Release() // and what it is encoded as
	return s.reply(w, http.StatusOK, f.ContentType(), func(b []byte) ([]byte, error) { return resp.Append(b, f), nil })
}

// sameFormat reports whether the client takes answers in format f.
func sameFormat(r *http.Request, f wire.Format) bool {
	accept := r.Header.Get("Accept")
	if accept == "" || mediaType(accept) == "*/*" {
		return true
	}
	want, ok := accepted(r)
	return ok && want == f
}

// socket upgrades to a WebSocket.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) error {
	return s.upgrade(w, r, func(session *engine.Session) { s.Sockets.Serve(w, r, session, s.client(r)) })
}

// upgrade makes the session of a WebSocket and reserves its place.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request, serve func(*engine.Session)) error {
	if !isUpgrade(r) {
		w.Header().Set("Allow", http.MethodPost)
		return &refusal{status: http.StatusMethodNotAllowed}
	}
	id, chosen, err := connectionID(r)
	if err != nil {
		return err
	}
	session, err := s.session(r)
	if err != nil {
		return err
	}
	mem := intake(w)
	if !session.Anonymous() {
		mem.Known()
	}
	if err := charge(mem, headSize(r)); err != nil { // it stays as long as the connection
		return err
	}
	if chosen {
		if !s.Sockets.Claim(id) {
			return &refusal{http.StatusBadRequest, "The session id is in use"}
		}
		defer s.Sockets.Disclaim(id)
		session.SetName(id)
	}
	if !s.Sockets.Reserve() {
		return unavailable(w)
	}
	serve(session) // until the connection ends
	return nil
}

// connectionID is the id that the client has chosen for its connection, if it has.
func connectionID(r *http.Request) (id value.UUID, chosen bool, err error) {
	text := header(r, "Id")
	if text == "" {
		text = r.Header.Get("X-Request-Id")
	}
	if text == "" {
		return id, false, nil
	}
	if id, err = value.ParseUUID(text); err != nil {
		return id, false, errs.Validation("The session id is not a UUID")
	}
	return id, true, nil
}
