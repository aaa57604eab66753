package grpc

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacredb/nacre/internal/blake3"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/internal/pb/rpcpb"
	"github.com/nacredb/nacre/internal/protobuf"
)

// A byte stream is chunks, and a trailer with their number of bytes and their hash.

func newHash() hash.Hash { return blake3.New() }

// chunkSize is how many bytes a chunk gets.
const chunkSize = 256 << 10

// known is the session of a call that moves whole databases: its client must have an identity.
func (c *call) known() (*engine.Session, func(), error) {
	s, release, err := c.entry.conn.Engine(c.session)
	if err != nil {
		return nil, nil, err
	}
	if err = s.MayAct(); err == nil && s.Anonymous() {
		err = errs.NotAllowed("IAM error: Not enough permissions to perform this action")
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return s, release, nil
}

// The members of the oneof in ImportSqlRequest.
const (
	importBegin   = 1
	importChunk   = 2
	importTrailer = 3
)

func importSQL(c *call) error {
	member, begin, err := c.importFrame()
	if err != nil && err != io.EOF {
		return err
	}
	if member != importBegin {
		return errs.InvalidParams("An import begins with the frame begin")
	}
	context, err := submessage(begin, 1)
	if err != nil {
		return err
	}
	if err := c.within(context, method{}); err != nil {
		return err
	}
	s, release, err := c.known()
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := c.srv.RPC.Deadline(c.ctx)
	defer cancel()
	in := &importReader{c: c, sum: newHash()}
	err = s.ImportWhole(ctx, in, in.verify, func() { _ = c.in.ctrl.SetReadDeadline(time.Now()) })
	if in.failed != nil { // the reason for what the parser made of it
		return in.failed
	}
	if err != nil {
		return c.srv.RPC.Cause(ctx, err)
	}
	return c.answer(&rpcpb.ImportSqlResponse{})
}

// importFrame reads the next frame of an import; io.EOF is the end of the stream.
func (c *call) importFrame() (member protowire.Number, content []byte, err error) {
	b, err := c.in.next()
	if err != nil {
		return 0, nil, err
	}
	for s := protobuf.Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return 0, nil, err
		}
		if !more {
			break
		}
		if s.B != nil && s.Num <= importTrailer {
			member, content = s.Num, s.B
		}
	}
	if member == 0 {
		return 0, nil, errs.InvalidParams("A frame of the import has no member")
	}
	return member, content, nil
}

// importReader is the text of an import.
type importReader struct {
	c      *call
	sum    hash.Hash
	rest   []byte // of the chunk at hand
	total  uint64
	whole  bool  // the trailer has come
	failed error // why the stream is not whole
}

// Read implements io.Reader.
func (r *importReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.failed != nil {
			return 0, r.failed
		}
		if r.whole {
			return 0, io.EOF
		}
		if r.failed = r.next(); r.failed != nil {
			return 0, r.failed
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *importReader) next() error {
	member, content, err := r.c.importFrame()
	switch {
	case err == io.EOF:
		return errs.InvalidParams("The stream ended without a trailer: nothing was imported")
	case err != nil:
		return err
	case member == importBegin:
		return errs.InvalidParams("An import has one frame begin")
	case member == importTrailer:
		return r.trailer(content)
	}
	chunk, err := submessage(content, 1)
	if err != nil {
		return err
	}
	if len(chunk) > r.c.srv.chunk() {
		return errs.InvalidParams("A chunk has %d bytes: it may have %d", len(chunk), r.c.srv.chunk())
	}
	r.total += uint64(len(chunk))
	if r.total > uint64(r.c.srv.Limits.Import) {
		return exhausted("The text is longer than %d bytes: raise SERVICE_HTTP_MAX_IMPORT_BODY_SIZE", r.c.srv.Limits.Import)
	}
	_, err = r.sum.Write(chunk)
	r.rest = chunk
	return err
}

// trailer compares what the client says of its stream with what has come.
func (r *importReader) trailer(content []byte) error {
	t := &rpcpb.DataTrailer{}
	if err := r.c.read(content, t); err != nil {
		return err
	}
	sum := hex.EncodeToString(r.sum.Sum(nil))
	if t.GetBytes() != r.total || subtle.ConstantTimeCompare([]byte(t.GetBlake3()), []byte(sum)) != 1 {
		return errs.InvalidParams("The trailer does not fit what has come (%d bytes): nothing was imported", r.total)
	}
	switch _, _, err := r.c.importFrame(); {
	case err == nil:
		return errs.InvalidParams("A frame comes behind the trailer")
	case err != io.EOF:
		return err
	}
	r.whole = true
	return nil
}

// verify reports whether the stream came whole: the parser may have stopped before its end.
func (r *importReader) verify() error {
	_, err := io.Copy(io.Discard, r)
	return err
}

// chunks sends bytes in chunks, each a message: an io.Writer.
type chunks struct {
	c     *call
	sum   hash.Hash
	total uint64
	buf   []byte
	begun bool
	frame func(b, data []byte) []byte // appends the message of a chunk
}

// Write implements io.Writer.
func (w *chunks) Write(p []byte) (int, error) {
	n := len(p)
	size := min(chunkSize, w.c.srv.chunk())
	for len(p) > 0 {
		k := min(size-len(w.buf), len(p))
		w.buf = append(w.buf, p[:k]...)
		p = p[k:]
		if len(w.buf) == size {
			if err := w.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

func (w *chunks) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	w.begun = true
	if _, err := w.sum.Write(w.buf); err != nil {
		return err
	}
	w.total += uint64(len(w.buf))
	err := w.c.out.message(func(b []byte) ([]byte, error) { return w.frame(b, w.buf), nil })
	w.buf = w.buf[:0]
	return err
}

// dataChunk appends a frame {1: DataChunk}.
func dataChunk(b, data []byte) []byte {
	b, at := protobuf.Open(b, 1)
	b = protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), data)
	return protobuf.Seal(b, at)
}

// streamed sends what write writes as a byte stream.
func (c *call) streamed(write func(io.Writer) error) error {
	w := &chunks{c: c, sum: newHash(), frame: dataChunk}
	err := write(w)
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		return c.brokeOff(err, w.begun, 3)
	}
	return c.out.message(func(b []byte) ([]byte, error) {
		b, at := protobuf.Open(b, 2)
		b = protobuf.AppendUint(b, 1, w.total)
		return protobuf.Seal(protobuf.AppendString(b, 2, hex.EncodeToString(w.sum.Sum(nil))), at), nil
	})
}

// brokeOff ends a stream that failed: by a status where nothing was sent, else by the frame error, whose number is
// given.
func (c *call) brokeOff(err error, begun bool, number protowire.Number) error {
	if !begun || c.out.lost() != nil || c.ctx.Err() != nil {
		return err
	}
	f := c.status(err)
	return c.out.message(func(b []byte) ([]byte, error) {
		b, at := protobuf.Open(b, number)
		return protobuf.Seal(protobuf.AppendError(b, f.err, f.hint), at), nil
	})
}

// exportOptions reads an ExportConfig; nil is everything but old versions.
func exportOptions(cfg *rpcpb.ExportConfig) engine.ExportOptions {
	if cfg == nil {
		return engine.DefaultExport()
	}
	opt := engine.ExportOptions{
		Users: cfg.GetUsers(), Accesses: cfg.GetAccesses(), Params: cfg.GetParams(), Functions: cfg.GetFunctions(),
		Analyzers: cfg.GetAnalyzers(), Sequences: cfg.GetSequences(), APIs: cfg.GetApis(), Buckets: cfg.GetBuckets(),
		Configs: cfg.GetConfigs(), Versions: cfg.GetVersions(), Records: cfg.GetRecords(),
	}
	switch t := cfg.GetTables().GetSelection().(type) {
	case *rpcpb.ExportConfig_Tables_None:
	case *rpcpb.ExportConfig_Tables_Selected:
		opt.Tables = t.Selected.GetTables()
	default:
		opt.AllTables = true
	}
	return opt
}

func exportSQL(c *call, message []byte) error {
	req := &rpcpb.ExportSqlRequest{}
	if err := c.read(message, req); err != nil {
		return err
	}
	s, release, err := c.known()
	if err != nil {
		return err
	}
	defer release()
	return c.timed(func(ctx context.Context) error {
		return c.streamed(func(w io.Writer) error { return s.Export(ctx, w, exportOptions(req.GetConfig())) })
	})
}

// timed bounds f by the wall-clock limit, where there is one.
func (c *call) timed(f func(context.Context) error) error {
	ctx, cancel := c.srv.RPC.Deadline(c.ctx)
	defer cancel()
	return c.srv.RPC.Cause(ctx, f(ctx))
}

// exportModel sends the file of a model, as GET /ml/export does.
func exportModel(c *call, message []byte) error {
	req := &rpcpb.ExportMlModelRequest{}
	if err := c.read(message, req); err != nil {
		return err
	}
	s, release, err := c.known()
	if err != nil {
		return err
	}
	defer release()
	name, version := req.GetName(), req.GetVersion()
	if name == "" || version == "" {
		return errs.InvalidParams("Expected the name and the version of a model")
	}
	full := "ml::" + name + "<" + version + ">"
	unknown := errs.With(errs.KindNotFound, "Model", map[string]any{"name": errs.Brief(full, longestStatus)},
		"The model '%s' does not exist", errs.Brief(full, longestStatus))
	if _, err := ml.ParseVersion(version); err != nil || !ml.ValidName(name) {
		return unknown
	}
	return c.timed(func(ctx context.Context) error {
		return c.streamed(func(w io.Writer) error {
			err := s.ExportModel(ctx, name, version, w)
			if e, ok := errors.AsType[*errs.Error](err); ok && e.Kind == errs.KindNotFound && e.Detail == nil {
				return unknown
			}
			return err
		})
	})
}
