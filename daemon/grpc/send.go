package grpc

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/internal/protobuf"
)

// sender writes the messages of a call. Small ones wait a moment for others, so that they share a frame.
type sender struct {
	w       http.ResponseWriter
	ctrl    *http.ResponseController
	patient time.Duration // how long the client may take no bytes
	pack    *packing      // nil: messages leave as they are
	sent    int64

	mu     sync.Mutex // guards the rest; held while a message is made and written
	buf    []byte     // messages that have not left
	begun  bool       // the head has left
	done   bool       // nothing is written any more
	failed error      // of the connection
	later  *time.Timer
	armed  bool // later will flush
}

const (
	// flushFrom is how many bytes leave at once.
	flushFrom = 32 << 10
	// flushAfter is how long fewer wait for others.
	flushAfter = 2 * time.Millisecond
	// keptBuffer is the largest buffer that is used again.
	keptBuffer = 1 << 20
)

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

func (out *sender) init(w http.ResponseWriter, r *http.Request, patient time.Duration) {
	out.w, out.ctrl, out.patient = w, http.NewResponseController(w), patient
	out.buf = (*buffers.Get().(*[]byte))[:0]
	h := w.Header()
	h["Content-Type"] = contentType
	h["Grpc-Accept-Encoding"] = acceptEncoding
	if out.pack = packingFor(r.Header.Get("Grpc-Accept-Encoding")); out.pack != nil {
		h["Grpc-Encoding"] = out.pack.names
	}
}

var (
	contentType    = []string{"application/grpc"}
	acceptEncoding = []string{"identity,gzip,zstd"}
)

// message sends a message, which is made by build. It waits as long as the client takes nothing; the error is that of
// build, or says that the client is gone.
func (out *sender) message(build func(b []byte) ([]byte, error)) error {
	out.mu.Lock()
	defer out.mu.Unlock()
	if out.failed != nil {
		return out.failed
	}
	start := len(out.buf)
	b, err := build(append(out.buf, 0, 0, 0, 0, 0))
	if err != nil {
		return err // what was made of it is thrown away
	}
	binary.BigEndian.PutUint32(b[start+1:], uint32(len(b)-start-headSize))
	if out.pack != nil {
		b = out.pack.shrink(b, start)
	}
	out.buf = b
	if len(b) >= flushFrom {
		return out.flush()
	}
	if !out.armed {
		out.armed = true
		if out.later == nil {
			out.later = time.AfterFunc(flushAfter, out.flushLate)
		} else {
			out.later.Reset(flushAfter)
		}
	}
	return nil
}

func (out *sender) flushLate() {
	out.mu.Lock()
	defer out.mu.Unlock()
	out.armed = false
	if !out.done && out.failed == nil {
		_ = out.flush() // the next message finds out
	}
}

// flush writes what waits; out.mu is held.
func (out *sender) flush() error {
	out.write()
	if out.failed == nil {
		out.failed = out.guarded(out.ctrl.Flush)
	}
	return out.failed
}

// write hands what waits to the connection; out.mu is held.
func (out *sender) write() {
	out.begun = true
	for rest := out.buf; len(rest) > 0 && out.failed == nil; {
		n := min(len(rest), writePiece)
		out.failed = out.guarded(func() error {
			_, err := out.w.Write(rest[:n])
			return err
		})
		out.sent += int64(n)
		rest = rest[n:]
	}
	if cap(out.buf) > keptBuffer {
		out.buf = nil
	}
	out.buf = out.buf[:0]
}

// writePiece is the most that must be taken in one patience.
const writePiece = 1 << 20

// guarded ends the stream where f waits for too long.
func (out *sender) guarded(f func() error) error {
	late := time.AfterFunc(out.patient, func() { _ = out.ctrl.SetWriteDeadline(time.Now()) })
	defer late.Stop()
	return f()
}

// finish sends what waits and the status; nil is OK.
func (out *sender) finish(f *failure) {
	out.mu.Lock()
	defer out.mu.Unlock()
	if out.later != nil {
		out.later.Stop()
	}
	out.done = true
	h := out.w.Header()
	if f == nil {
		h[http.TrailerPrefix+"Grpc-Status"] = statusOK
	} else {
		h.Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(f.code))
		h.Set(http.TrailerPrefix+"Grpc-Message", percent(errs.Brief(f.err.Msg, longestStatus)))
		h.Set(http.TrailerPrefix+"Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(details(f)))
	}
	if out.failed == nil {
		out.write()
	}
	if cap(out.buf) <= keptBuffer && out.buf != nil {
		b := out.buf
		buffers.Put(&b)
	}
	out.buf = nil
}

var statusOK = []string{"0"}

// longestStatus bounds the text of a status: clients limit the size of headers.
const longestStatus = 2 << 10

// errorType names the message in the details of a status, by the name that clients of the original interface look for.
const errorType = "type.googleapis.com/surrealdb.protocol.v1.SurrealError"

// details is a google.rpc.Status {code, message, details: [Any{type_url, value}]}.
func details(f *failure) []byte {
	e := *f.err
	e.Msg = errs.Brief(e.Msg, longestStatus)
	b := protobuf.AppendUint(nil, 1, uint64(f.code))
	b = protobuf.AppendString(b, 2, e.Msg)
	b, at := protobuf.Open(b, 3)
	b = protobuf.AppendString(b, 1, errorType)
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	b = protowire.AppendBytes(b, protobuf.AppendError(nil, &e, f.hint))
	return protobuf.Seal(b, at)
}

// percent writes a text as the header grpc-message wants it.
func percent(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '%' {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// lost is why nothing can be sent any more; nil while it can.
func (out *sender) lost() error {
	out.mu.Lock()
	defer out.mu.Unlock()
	return out.failed
}
