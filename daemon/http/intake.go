package http

import (
	"net/http"

	"github.com/nacredb/nacre/daemon/unpack"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// What requests take in counts against the memory of the engine as it grows, and until the request has been answered. A
// client without an identity has part of the anonymous clients' share; so handlers find out who asks before they read a
// body.

// intake is the account of the request that w answers; nil where it has none.
func intake(w http.ResponseWriter) *engine.Account {
	for {
		if rec, ok := w.(*recorder); ok {
			return &rec.mem
		}
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil
		}
		w = inner.Unwrap()
	}
}

// headSize is about how many bytes the head of a request takes.
func headSize(r *http.Request) int {
	n := len(r.RequestURI)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v)
		}
	}
	return n
}

// errNoMemory says that the bytes of a request do not fit.
type errNoMemory = unpack.NoMemory

// noMemory answers 503. What is left of the body is not read: the connection ends.
func (s *Server) noMemory(w http.ResponseWriter) {
	s.RPC.Metrics.Limited("memory")
	w.Header().Set("Connection", "close")
	w.Header().Set("Retry-After", "1")
	s.refuse(w, http.StatusServiceUnavailable, "The server has no memory for this request now. Try again.")
}

// decoded counts values that were decoded of a body of n bytes, in its place: the body is garbage.
func decoded(w http.ResponseWriter, n int, values ...value.Value) error {
	mem := intake(w)
	mem.Release(n)
	if n <= smallBody {
		return nil // so are its values
	}
	for _, v := range values {
		if mem.Charge(value.Weight(v)) != nil {
			return errNoMemory{}
		}
	}
	return nil
}

// smallBody is the size of a body whose values are not worth counting.
const smallBody = 4 << 10

// charge counts n bytes of the request that w answers.
func charge(mem *engine.Account, n int) error {
	if mem.Charge(n) != nil {
		return errNoMemory{}
	}
	return nil
}
