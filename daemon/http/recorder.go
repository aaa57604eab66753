package http

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/internal/span"
)

// recorder remembers the status of an answer and gives every write its deadline.
type recorder struct {
	http.ResponseWriter
	timeout time.Duration
	mem     engine.Account // of what came in; see intake
	status  int
	sent    int64 // bytes of the body, as they went out
	// cborCall: the request is a CBOR call of /rpc, see plainProblem.
	cborCall bool
	span     *span.Span // of the request, or nil
}

// Unwrap lets http.ResponseController through.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 || status == http.StatusSwitchingProtocols {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// sendPiece is the most that must pass within one timeout.
const sendPiece = 1 << 20

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	rc := http.NewResponseController(r.ResponseWriter)
	sent := 0
	for {
		// A writer in a test may know no deadlines; a real one always does.
		_ = rc.SetWriteDeadline(time.Now().Add(r.timeout))
		n, err := r.ResponseWriter.Write(b[:min(len(b), sendPiece)])
		sent += n
		r.sent += int64(n)
		b = b[n:]
		if err != nil || len(b) == 0 {
			return sent, err
		}
	}
}

func (r *recorder) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

// withRoute hands chi a route context that outlives the routing, so that its pattern can be counted.
func withRoute(ctx context.Context, rc *chi.Context) context.Context {
	return context.WithValue(ctx, chi.RouteCtxKey, rc)
}
