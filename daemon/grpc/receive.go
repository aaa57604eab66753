package grpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/daemon/unpack"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
)

// A message is a byte that says whether it is compressed, its length in four bytes, and its bytes.
const headSize = 5

// receiver reads the messages of a call. What it gives counts for the request until next is called again.
type receiver struct {
	body     io.Reader
	ctrl     *http.ResponseController
	encoding string
	mem      *engine.Account
	longest  int // bytes of a message
	window   time.Duration
	demand   int64

	came   int64
	mark   int64 // of mem, before the message at hand
	late   *time.Timer
	missed atomic.Bool
}

func (in *receiver) init(w http.ResponseWriter, r *http.Request, s *Server, mem *engine.Account) {
	in.body, in.ctrl, in.mem, in.longest = r.Body, http.NewResponseController(w), mem, s.Limits.Message
	in.encoding = strings.ToLower(r.Header.Get("Grpc-Encoding"))
	in.window, in.demand = s.Limits.BodyWindow, s.Limits.BodyProgress
	in.mark = mem.Mark()
}

// knownEncoding reports whether messages in that encoding can be read.
func knownEncoding(name string) bool {
	switch strings.ToLower(name) {
	case "", "identity", "gzip", "zstd":
		return true
	}
	return false
}

// close ends the demand of progress.
func (in *receiver) close() {
	if in.late != nil {
		in.late.Stop()
	}
}

// hurry makes reads fail where the window passes without progress.
func (in *receiver) hurry() {
	if in.late == nil {
		in.late = time.AfterFunc(in.window, func() {
			in.missed.Store(true)
			_ = in.ctrl.SetReadDeadline(time.Now())
		})
		return
	}
	in.late.Reset(in.window)
}

// only reads the one message of a call whose client sends no more.
func (in *receiver) only() ([]byte, error) {
	b, err := in.next()
	if err == io.EOF {
		return nil, errs.InvalidParams("The call has no message")
	}
	return b, err
}

// next reads a message; io.EOF is the end of the stream. The bytes are the caller's, and count until the next call.
func (in *receiver) next() ([]byte, error) {
	in.mem.Rewind(in.mark)
	in.hurry()
	defer in.close()
	var head [headSize]byte
	n, err := io.ReadFull(in.body, head[:])
	in.came += int64(n)
	if err != nil {
		return nil, in.broken(err)
	}
	length := binary.BigEndian.Uint32(head[1:])
	switch {
	case head[0] > 1:
		return nil, errs.InvalidParams("A message has an unknown flag")
	case head[0] == 1 && (in.encoding == "" || in.encoding == "identity"):
		return nil, errs.InvalidParams("A message is compressed, but the header grpc-encoding names no encoding")
	case int64(length) > int64(in.longest):
		return nil, in.tooLong()
	}
	b, err := in.bytes(int(length))
	if err != nil || head[0] == 0 {
		return b, err
	}
	return in.unpack(b)
}

func (in *receiver) tooLong() error {
	return exhausted("Message too long: a message has at most %d bytes", in.longest)
}

// broken is the error of a read that failed.
func (in *receiver) broken(err error) error {
	switch {
	case in.missed.Load():
		return errLate
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errs.InvalidParams("The stream ends inside of a message")
	}
	return err
}

var errLate = &failure{code: 4, err: errs.Validation("The message did not come in time")}

// What is made room for at first: a length is only what the client says.
const firstRoom = 64 << 10

// bytes reads n bytes, and counts them before there is room for them.
func (in *receiver) bytes(n int) ([]byte, error) {
	b := make([]byte, 0, min(n, firstRoom))
	if in.mem.Charge(cap(b)) != nil {
		return nil, unpack.NoMemory{}
	}
	owed := in.demand
	for len(b) < n {
		if len(b) == cap(b) {
			more := min(n-len(b), cap(b))
			if in.mem.Charge(more) != nil {
				return nil, unpack.NoMemory{}
			}
			b = append(make([]byte, 0, cap(b)+more), b...)
		}
		k, err := in.body.Read(b[len(b):min(cap(b), n)])
		b = b[:len(b)+k]
		in.came += int64(k)
		if owed -= int64(k); owed <= 0 {
			owed = in.demand
			in.hurry()
		}
		if err != nil && len(b) < n {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, in.broken(err)
		}
	}
	return b, nil
}

// unpack gives what a compressed message unpacks to, under the limit of a message.
func (in *receiver) unpack(packed []byte) ([]byte, error) {
	r := unpack.Reader(in.encoding, bytes.NewReader(packed), in.mem)
	if c, ok := r.(io.Closer); ok {
		defer c.Close() // of a decoder that only reads
	}
	b := make([]byte, 0, min(max(4*len(packed), 512), firstRoom))
	if in.mem.Charge(cap(b)) != nil {
		return nil, unpack.NoMemory{}
	}
	for {
		n, err := r.Read(b[len(b):min(cap(b), in.longest+1)])
		b = b[:len(b)+n]
		switch {
		case len(b) > in.longest:
			return nil, in.tooLong()
		case err == io.EOF:
			return b, nil
		case errors.Is(err, unpack.NoMemory{}):
			return nil, err
		case err != nil:
			return nil, errs.InvalidParams("A message cannot be unpacked")
		}
		if len(b) == cap(b) {
			more := cap(b)
			if in.mem.Charge(more) != nil {
				return nil, unpack.NoMemory{}
			}
			b = append(make([]byte, 0, cap(b)+more), b...)
		}
	}
}
