package http

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/internal/wire"
)

// errorBody is the form of every error that concerns a whole request.
type errorBody struct {
	Code        int    `json:"code"`
	Details     string `json:"details"`
	Description string `json:"description,omitempty"`
	Information string `json:"information,omitempty"`
}

// problems are details and description by status.
var problems = map[int][2]string{
	http.StatusBadRequest: {"Request problems dectected", // sic: clients compare it
		"There is a problem with your request. Refer to the documentation for further information."},
	http.StatusUnauthorized:         {"Authentication failed", "Your authentication details are invalid. Authenticate again with valid ones."},
	http.StatusForbidden:            {"Forbidden", "Not allowed to do this."},
	http.StatusNotFound:             {"Not found", "The requested resource does not exist. Check that the address is right."},
	http.StatusMethodNotAllowed:     {"Method not allowed", "The resource does not answer requests of this method."},
	http.StatusUnsupportedMediaType: {"Unsupported media type", "The request must name content types that the resource knows."},
	http.StatusTooManyRequests:      {"Too many requests", "Wait before the next attempt."},
	http.StatusInternalServerError:  {"Internal server error", "There was a problem with the server. It has been logged."},
	http.StatusServiceUnavailable:   {"Service unavailable", "The server is starting, stopping or overloaded. Try again in a moment."},
	http.StatusGatewayTimeout:       {"Query timeout", "The request took longer than the server allows."},
}

// refuse answers status with an error body.
func (s *Server) refuse(w http.ResponseWriter, status int, information string) {
	s.problem(w, status, problems[status][0], information)
}

// problem is refuse with details of its own.
func (s *Server) problem(w http.ResponseWriter, status int, details, information string) {
	if toClient(w) {
		if information == "" {
			information = details
		}
		plainProblem(w, status, information)
		return
	}
	b, err := json.Marshal(errorBody{Code: status, Details: details, Description: problems[status][1],
		Information: information})
	if err != nil { // strings always marshal
		status, b = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client may be gone
}

// plainProblem answers a bare text without a content type, which is all that the official clients understand on /rpc:
// the JavaScript one takes the body for the message, the Go one ends its process over an error body that is not CBOR.
func plainProblem(w http.ResponseWriter, status int, text string) {
	w.Header()["Content-Type"] = nil // keeps net/http from guessing one
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may be gone
}

// toClient reports whether w answers a CBOR request to /rpc.
func toClient(w http.ResponseWriter) bool {
	for {
		if rec, ok := w.(*recorder); ok {
			return rec.cborCall
		}
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = inner.Unwrap()
	}
}

// refusal is an error with a status of its own.
type refusal struct {
	status      int
	information string // "": what the status says is all
}

// Error implements error.
func (e *refusal) Error() string { return http.StatusText(e.status) + ": " + e.information }

// errMedia refuses a request that names formats we do not have.
var errMedia error = &refusal{status: http.StatusUnsupportedMediaType}

// unavailable is 503, and tells the client when to come again.
func unavailable(w http.ResponseWriter) error {
	w.Header().Set("Retry-After", "1")
	return &refusal{status: http.StatusServiceUnavailable}
}

// fail answers a request that failed as a whole with err.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errTooLarge) {
		s.tooLarge(w)
		return
	}
	if errors.Is(err, errBody) {
		s.refuse(w, http.StatusBadRequest, "The request body contains invalid data")
		return
	}
	if errors.Is(err, errNoMemory{}) {
		s.noMemory(w)
		return
	}
	var no *refusal
	if errors.As(err, &no) {
		s.refuse(w, no.status, no.information)
		return
	}
	e := errs.As(err)
	status := wire.Status(e)
	information := e.Msg
	switch {
	case status == http.StatusUnauthorized && e.Detail.Inner.Kind == "TooManyAttempts":
		status = http.StatusTooManyRequests
		var wait rpc.Wait
		if errors.As(e, &wait) {
			w.Header().Set("Retry-After", strconv.Itoa(wait.Seconds()))
		}
	case status == http.StatusUnauthorized:
		information = authProblem
	case status == http.StatusInternalServerError:
		s.Log.Error("request failed", "path", r.URL.Path, "request_id", w.Header().Get("X-Request-Id"), "err", e.Err)
		information = ""
	}
	s.refuse(w, status, information)
}

// authProblem is the one answer to every failed login.
const authProblem = "There was a problem with authentication."

// tooLarge answers 413. What is left of the body is not read: the connection ends.
func (s *Server) tooLarge(w http.ResponseWriter) {
	s.RPC.Metrics.Limited("body")
	w.Header().Set("Connection", "close")
	if toClient(w) {
		plainProblem(w, http.StatusRequestEntityTooLarge, "length limit exceeded")
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusRequestEntityTooLarge)
	_, _ = w.Write([]byte("length limit exceeded"))
}

// accepted is the format that the client wants its answer in; the error is a refusal.
func accepted(r *http.Request) (wire.Format, bool) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if accept == "" || strings.Contains(accept, ",") || strings.Contains(accept, "q=") {
		return wire.JSON, true
	}
	media := mediaType(accept)
	if media == "*/*" || media == "application/*" {
		return wire.JSON, true
	}
	return formatOf(media)
}

// mediaType is the type in a header, without parameters and in lower case.
func mediaType(header string) string {
	media, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// keptBuffer is the largest buffer that goes back to the pool.
const keptBuffer = 4 << 20

// reply sends what fill appends to a buffer of the pool.
func (s *Server) reply(w http.ResponseWriter, status int, contentType string, fill func([]byte) ([]byte, error)) error {
	buf := buffers.Get().(*[]byte)
	b, err := fill((*buf)[:0])
	if cap(b) <= keptBuffer {
		*buf = b
		defer buffers.Put(buf)
	}
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	n, _ := w.Write(b) // the client may be gone
	s.RPC.Metrics.Network(0, n)
	return nil
}
