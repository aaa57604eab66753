package http

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nacredb/nacre/daemon/mcp"
	"github.com/nacredb/nacre/daemon/rpc"
)

// The headers of the Model Context Protocol.
const (
	mcpSession = "Mcp-Session-Id"
	mcpVersion = "MCP-Protocol-Version"
	mcpAlone   = "2026-07-28" // the revision without sessions
	mcpBeat    = 15 * time.Second
)

// MCPHosts say under which names the MCP door answers.
type MCPHosts struct {
	Allow []string // name or name:port; empty: those of the machine itself
	All   bool
}

// admits reports whether host, a name with or without port, is one of them.
//
// SECURITY: a web page that makes its own name lead to this server (DNS rebinding) sends that name.
func (m *MCPHosts) admits(host string) bool {
	if m.All {
		return true
	}
	name := hostName(host)
	if len(m.Allow) == 0 {
		ip, err := netip.ParseAddr(name)
		return err == nil && ip.IsLoopback() || name == "localhost"
	}
	return slices.ContainsFunc(m.Allow, func(allowed string) bool {
		allowed = strings.ToLower(allowed)
		return allowed == strings.ToLower(host) || strings.Trim(allowed, "[]") == name
	})
}

// hostName is host without its port, in lower case.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// mcpAdmits refuses requests to other names, and those of web pages from other places.
func (s *Server) mcpAdmits(r *http.Request) error {
	if !s.MCPHosts.admits(r.Host) {
		return &mcpRefusal{status: http.StatusForbidden, text: "Forbidden: Host header is not allowed"}
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		named := slices.ContainsFunc(s.Origins.Allow, func(a string) bool {
			return a != "*" && strings.EqualFold(strings.TrimSuffix(a, "/"), origin)
		})
		if !named && (err != nil || u.Host == "" || !s.MCPHosts.admits(u.Host)) {
			return &mcpRefusal{status: http.StatusForbidden, text: "Forbidden: Origin header is not allowed"}
		}
	}
	return nil
}

// mcpRefusal is a refusal of the MCP door: an error of JSON-RPC, or a plain text.
type mcpRefusal struct {
	status int
	text   string
	fault  *mcp.Reply
}

// Error implements error.
func (e *mcpRefusal) Error() string { return e.text }

// faulty is a refusal of a request as a whole.
func faulty(status int, err error) error {
	f, ok := errors.AsType[*mcp.Fault](err)
	if !ok {
		return err
	}
	return &mcpRefusal{status: status, text: f.Message, fault: mcp.Fail(f)}
}

func badMCP(status int, text string) error {
	return faulty(status, &mcp.Fault{Code: mcp.CodeRequest, Message: text})
}

// mcpDone answers a refusal of the door; other errors are answered as on every route.
func (s *Server) mcpDone(w http.ResponseWriter, err error) error {
	no, ok := errors.AsType[*mcpRefusal](err)
	switch {
	case !ok:
		if method, is := errors.AsType[*refusal](err); is && method.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", http.MethodPost)
		}
		if err != nil && rpc.FailedAuth(err) {
			w.Header().Set("WWW-Authenticate", `Basic realm="nacre"`)
		}
		return err
	case no.fault == nil:
		plainProblem(w, no.status, no.text)
		return nil
	}
	return s.reply(w, no.status, "application/json", func(b []byte) ([]byte, error) { return no.fault.Append(b), nil })
}

// mcpPost takes messages.
func (s *Server) mcpPost(w http.ResponseWriter, r *http.Request) error {
	return s.mcpDone(w, s.mcpMessages(w, r))
}

func (s *Server) mcpMessages(w http.ResponseWriter, r *http.Request) error {
	if err := s.mcpAdmits(r); err != nil {
		return err
	}
	if mediaType(r.Header.Get("Content-Type")) != "application/json" {
		return badMCP(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	}
	stream, ok := mcpAccepts(r)
	if !ok {
		return badMCP(http.StatusNotAcceptable, "Accept must have application/json and text/event-stream")
	}
	version := r.Header.Get(mcpVersion)
	sess, peer, err := s.mcpPeer(r, version)
	if err != nil {
		return err
	}
	body, err := s.read(w, r, peer.Engine, s.Limits.MCP)
	if err != nil {
		return err
	}
	list, batch, err := mcp.Decode(body, rpc.DecodingOf(peer.Engine, s.decode.MaxDepth))
	if err != nil {
		return faulty(http.StatusBadRequest, err)
	}
	if err := charge(intake(w), len(body)); err != nil { // its parts are kept beside it
		return err
	}
	if batch && sess != nil && !sess.Batches() {
		return badMCP(http.StatusBadRequest, "A body is one message, except in sessions of 2025-03-26")
	}
	m := list[0]
	switch {
	case batch && slices.ContainsFunc(list, func(m *mcp.Message) bool { return m.Alone || m.Method == "initialize" }):
		return badMCP(http.StatusBadRequest, "A batch has neither initialize nor messages without a session")
	case m.Alone || version != "" && !mcp.Supported(version):
		return s.mcpAlone(w, r, peer, m, stream)
	case m.Method == "initialize" && m.ID != nil:
		return s.mcpBegin(w, r, peer, m, stream)
	case sess == nil && r.Header.Get(mcpSession) != "":
		return badMCP(http.StatusNotFound, "MCP session not found: send `initialize` again")
	case sess == nil && !(len(list) == 1 && m.Method == "ping"):
		return badMCP(http.StatusBadRequest, "MCP session not initialized: send `initialize` first")
	}
	return s.mcpInSession(w, r, sess, peer, list, batch, stream)
}

// mcpPeer finds the caller and the session of a request. In a session that a guest began, the caller stays that guest:
// credentials of the request are ignored.
func (s *Server) mcpPeer(r *http.Request, version string) (*mcp.Session, *mcp.Peer, error) {
	var sess *mcp.Session
	if id := r.Header.Get(mcpSession); id != "" && version != mcpAlone {
		sess = s.MCP.Sessions.Find(id)
	}
	peer := &mcp.Peer{NS: toText(header(r, "NS")), DB: toText(header(r, "DB"))}
	if sess != nil && sess.Guest() {
		peer.Engine = s.RPC.Session(s.client(r), r.Header.Get("Origin"))
	} else {
		session, err := s.identified(r)
		if err != nil {
			return nil, nil, err
		}
		peer.Engine = session
	}
	if sess == nil { // a session of a user says by itself that there are no credentials
		if err := peer.Engine.MayEnter(); err != nil {
			return nil, nil, err // SECURITY: the body of an anonymous client is not read
		}
	}
	return sess, peer, nil
}

// mcpAccepts reads the header Accept: whether the client takes answers, and whether only as a stream.
func mcpAccepts(r *http.Request) (stream, ok bool) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if accept == "" {
		return false, true
	}
	var plain, events bool
	for part := range strings.SplitSeq(accept, ",") {
		switch mediaType(part) {
		case "*/*":
			plain, events = true, true
		case "application/json", "application/*":
			plain = true
		case "text/event-stream", "text/*":
			events = true
		}
	}
	return !plain, events
}

// mcpAlone answers a message of the revision without sessions.
func (s *Server) mcpAlone(w http.ResponseWriter, r *http.Request, peer *mcp.Peer, m *mcp.Message, stream bool) error {
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	err := m.CheckAlone(r.Header.Get)
	if err == nil {
		err = peer.Engine.MayEnter()
	}
	if f, ok := errors.AsType[*mcp.Fault](err); ok {
		return &mcpRefusal{status: http.StatusBadRequest, fault: &mcp.Reply{ID: m.ID, Fault: f}}
	} else if err != nil {
		return err
	}
	reply := s.MCP.Handle(r.Context(), peer, nil, m)
	return s.mcpReply(w, reply.Status(), []*mcp.Reply{reply}, false, stream || reply.Several())
}

// mcpBegin begins a session.
func (s *Server) mcpBegin(w http.ResponseWriter, r *http.Request, peer *mcp.Peer, m *mcp.Message, stream bool) error {
	if r.Header.Get(mcpSession) != "" {
		return badMCP(http.StatusBadRequest, "initialize begins a session: it has no Mcp-Session-Id")
	}
	agreed, err := mcp.Agreed(m)
	if err != nil {
		f, _ := errors.AsType[*mcp.Fault](err)
		return s.mcpReply(w, http.StatusOK, []*mcp.Reply{{ID: m.ID, Fault: f}}, false, stream)
	}
	sess, err := s.MCP.Sessions.Begin(peer, agreed)
	if err != nil {
		return unavailable(w)
	}
	reply := s.MCP.Handle(r.Context(), peer, sess, m)
	w.Header().Set(mcpSession, sess.ID)
	return s.mcpReply(w, http.StatusOK, []*mcp.Reply{reply}, false, stream)
}

// mcpInSession answers messages of a client that has shaken hands; sess is nil for a ping of one that has not.
func (s *Server) mcpInSession(w http.ResponseWriter, r *http.Request, sess *mcp.Session, peer *mcp.Peer,
	list []*mcp.Message,
	batch, stream bool) error {
	var replies []*mcp.Reply
	var refused *mcp.Fault
	if sess != nil {
		refused, _ = errors.AsType[*mcp.Fault](sess.Admit(peer))
	}
	for _, m := range list {
		switch {
		case refused != nil && m.ID != nil:
			replies = append(replies, &mcp.Reply{ID: m.ID, Fault: refused})
		case refused != nil, m.Method == "":
			// A notification of somebody else is taken and does nothing.
		default:
			if reply := s.MCP.Handle(r.Context(), peer, sess, m); reply != nil {
				replies = append(replies, reply)
			}
		}
	}
	if len(replies) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	return s.mcpReply(w, http.StatusOK, replies, batch, stream)
}

// mcpReply sends answers: as JSON, or as a stream that ends with them.
func (s *Server) mcpReply(w http.ResponseWriter, status int, replies []*mcp.Reply, batch, stream bool) error {
	var all []byte
	kind := "application/json"
	switch {
	case stream:
		kind = eventStream
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("X-Accel-Buffering", "no")
		for _, r := range replies {
			for _, m := range r.Messages() {
				all = append(append(append(all, "data: "...), m...), "\n\n"...)
			}
		}
	case batch:
		for i, r := range replies {
			all = r.Append(append(all, "[,"[min(i, 1)]))
		}
		all = append(all, ']')
	default:
		all = replies[0].Append(nil)
	}
	defer s.RPC.Engine.Hold(2 * len(all)).Release()
	return s.reply(w, status, kind, func(b []byte) ([]byte, error) { return append(b, all...), nil })
}

const eventStream = "text/event-stream"

// mcpKnown is the session that a GET or DELETE is about, for its owner alone.
func (s *Server) mcpKnown(r *http.Request) (*mcp.Session, error) {
	if err := s.mcpAdmits(r); err != nil {
		return nil, err
	}
	version := r.Header.Get(mcpVersion)
	switch {
	case version == mcpAlone, r.Method != http.MethodDelete && r.Header.Get(mcpSession) == "",
		r.Method == http.MethodHead:
		return nil, &refusal{status: http.StatusMethodNotAllowed}
	case version != "" && !mcp.Supported(version):
		return nil, badMCP(http.StatusBadRequest, "Unsupported MCP-Protocol-Version")
	case r.Header.Get(mcpSession) == "":
		return nil, badMCP(http.StatusBadRequest, "Mcp-Session-Id is missing")
	}
	sess, peer, err := s.mcpPeer(r, version)
	switch {
	case err != nil:
		return nil, err
	case sess == nil:
		return nil, badMCP(http.StatusNotFound, "MCP session not found")
	}
	if err := sess.Admit(peer); err != nil {
		return nil, faulty(http.StatusForbidden, err)
	}
	return sess, nil
}

// mcpStream keeps the event stream of a session. The server has nothing to say by itself: comments keep it open.
func (s *Server) mcpStream(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.mcpKnown(r)
	if err != nil {
		return s.mcpDone(w, err)
	}
	if accept := strings.Join(r.Header.Values("Accept"), ","); accept != "" && !strings.Contains(accept, "*/*") &&
		!strings.Contains(strings.ToLower(accept), eventStream) {
		return s.mcpDone(w, badMCP(http.StatusNotAcceptable, "Accept must have text/event-stream"))
	}
	ctrl, begun := http.NewResponseController(w), false
	taken := sess.Stream(r.Context(), mcpBeat, func() error {
		if !begun {
			begun = true
			h := w.Header()
			h.Set("Content-Type", eventStream)
			h.Set("Cache-Control", "no-cache")
			h.Set("X-Accel-Buffering", "no")
			h.Set("Content-Encoding", "identity")
			w.WriteHeader(http.StatusOK)
		}
		if _, err := io.WriteString(w, ":\n\n"); err != nil {
			return err
		}
		return ctrl.Flush()
	})
	if taken {
		return s.mcpDone(w, badMCP(http.StatusConflict, "The session has an event stream already"))
	}
	return nil
}

// mcpEnd ends a session.
func (s *Server) mcpEnd(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.mcpKnown(r)
	if err != nil {
		return s.mcpDone(w, err)
	}
	sess.End()
	w.WriteHeader(http.StatusNoContent)
	return nil
}
