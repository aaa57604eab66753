package grpc

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/protobuf"
	"github.com/nacredb/nacre/internal/wire"
)

// text is a text with its variables.
type text struct {
	query string
	vars  *value.Object
}

// textIn reads a text from two fields of a message; more gets the others.
func (c *call) textIn(message []byte, query, vars int, more func(s *protobuf.Scan) error) (t text, err error) {
	for s := protobuf.Fields(message); ; {
		next, err := s.Next()
		if err != nil || !next {
			return t, err
		}
		switch {
		case int(s.Num) == query && s.B != nil:
			t.query, err = utf8Text(s.B)
		case int(s.Num) == vars && s.B != nil:
			if t.vars, err = protobuf.DecodeVariables(s.B, c.srv.decoding(c.entry.session)); err == nil {
				err = c.holds(value.ObjectOf(t.vars))
			}
		default:
			err = more(&s)
		}
		if err != nil {
			return t, err
		}
	}
}

// request is the RPC request of a text.
func (c *call) request(t text) *wire.Request {
	params := []value.Value{value.Str(t.query)}
	if t.vars != nil {
		params = append(params, value.ObjectOf(t.vars))
	}
	return &wire.Request{Method: "query", Params: params, Session: c.session, Txn: c.txn, Format: wire.CBOR}
}

// The numbers of ResultEncoding.
const (
	encodingValues = 1
	encodingArrow  = 2
)

// encodings reads accepted_encodings: packed or one by one.
type encodings struct{ values, others bool }

func (e *encodings) read(s *protobuf.Scan) error {
	if s.Num != 4 {
		return nil
	}
	if s.B == nil {
		e.add(s.N)
		return nil
	}
	for b := s.B; len(b) > 0; {
		n, size := protowire.ConsumeVarint(b)
		if size < 0 {
			return errs.With(errs.KindSerialization, "Deserialization", nil, "The request cannot be read: accepted_encodings is broken")
		}
		e.add(n)
		b = b[size:]
	}
	return nil
}

func (e *encodings) add(n uint64) {
	e.values = e.values || n == encodingValues
	e.others = e.others || n == encodingArrow
}

func query(c *call, message []byte) error {
	var accepted encodings
	t, err := c.textIn(message, 2, 3, accepted.read)
	if err != nil {
		return err
	}
	if accepted.others && !accepted.values {
		return errs.InvalidParams("accepted_encodings must contain RESULT_ENCODING_VALUES: results have no other form here")
	}
	_, release, err := c.entry.conn.Engine(c.session)
	if err != nil {
		return err
	}
	defer release()
	out := &results{c: c}
	failed := c.entry.conn.Feed(c.ctx, c.request(t), out)
	return out.end(failed)
}

// The numbers of QueryResponseKind and QueryStatementKind.
const (
	kindSingle       = 1
	kindBatched      = 2
	kindBatchedFinal = 3

	ofOther = 1
	ofLive  = 2
	ofKill  = 3
)

// What a batch has at most, and from when it need not wait for more.
const (
	mostRecords   = 256
	mostBytes     = 256 << 10
	enoughRecords = 64
	enoughBytes   = 32 << 10
	// batchRoom is the part of a message that a batch leaves for its envelope.
	batchRoom = 8 << 10
)

// results is an engine.Sink that sends a result in batches. Its last batch says how the statement ended, so the records
// that have come are held back until there are enough of them.
type results struct {
	c        *call
	begun    bool
	count    int // results that were announced
	finished int

	// Of the statement at work.
	batch   uint64      // that was sent last, plus one
	values  []byte      // the fields of a ValueBatch that wait
	records int         // so many
	total   int64       // records so far
	bytes   int64       // of their values
	unfit   *errs.Error // a record that has no form, or does not fit into a message
}

// Begin implements engine.Sink.
func (r *results) Begin(statements int) error {
	r.begun, r.count = true, statements
	return r.c.out.message(func(b []byte) ([]byte, error) {
		b, at := protobuf.Open(b, 1)
		b = protobuf.AppendUUID(b, 1, value.UUIDv7(value.Datetime{Secs: time.Now().Unix()}))
		b = protobuf.AppendUint(b, 2, uint64(statements))
		return protobuf.Seal(b, at), nil
	})
}

// room is how many bytes of values fit into one message.
func (r *results) room() int { return r.c.srv.Limits.Message - batchRoom }

// add appends a value to the batch at hand.
func (r *results) add(v value.Value) {
	before := len(r.values)
	b, err := protobuf.AppendField(r.values, 1, v)
	switch {
	case err != nil:
		r.unfit = errs.With(errs.KindSerialization, "Serialization", nil, "%s", errs.As(err).Msg)
	case len(b)-before > r.room():
		r.unfit = errs.With(errs.KindSerialization, "Serialization", nil,
			"A value has %d bytes, more than a message may have: raise SERVICE_GRPC_MAX_MESSAGE_SIZE, or select less at a time", len(b)-before)
	}
	if r.unfit != nil {
		return
	}
	r.values = b
	r.records++
	r.total++
	r.bytes += int64(len(b) - before)
}

// Rows implements engine.Sink.
func (r *results) Rows(i int, rows []value.Value) error {
	for _, v := range rows {
		if err := r.record(i, v); err != nil || r.unfit != nil {
			return err
		}
	}
	if r.records >= enoughRecords || len(r.values) >= enoughBytes {
		return r.send(i, kindBatched, ofOther, nil)
	}
	return nil
}

// record adds one record of a list; the batch before it leaves where it would get too large.
func (r *results) record(i int, v value.Value) error {
	most := min(mostBytes, r.c.srv.Limits.Message/2)
	before := len(r.values)
	if r.add(v); r.unfit != nil || r.records <= mostRecords && len(r.values) <= most || r.records == 1 {
		return nil
	}
	last := append([]byte(nil), r.values[before:]...)
	r.values, r.records = r.values[:before], r.records-1
	err := r.send(i, kindBatched, ofOther, nil)
	r.values, r.records = append(r.values, last...), 1
	return err
}

// Finished implements engine.Sink.
func (r *results) Finished(i int, res *engine.Result, inRows bool) error {
	of := uint64(ofOther)
	switch res.Type {
	case "live":
		of = ofLive
		if res.Value.Kind() == value.KindUUID {
			r.c.notes(res.Value.UUID())
		}
	case "kill":
		of = ofKill
	}
	kind := uint64(kindBatchedFinal)
	switch {
	case res.Err != nil || inRows:
	case res.List:
		for _, v := range res.Value.Elems() {
			if err := r.record(i, v); err != nil {
				return err
			}
			if r.unfit != nil {
				break
			}
		}
	default:
		kind = kindSingle
		r.add(res.Value)
	}
	failed := res.Err
	if failed == nil {
		failed = r.unfit
	}
	err := r.send(i, kind, of, &final{failed, res.Time})
	r.finished++
	r.batch, r.total, r.bytes, r.unfit = 0, 0, 0, nil
	return err
}

// final is the end of a result.
type final struct {
	err   *errs.Error
	spent time.Duration
}

// send sends the batch at hand. last is nil where more follow.
func (r *results) send(i int, kind, of uint64, last *final) error {
	if last != nil && last.err != nil {
		kind, r.values, r.records, r.total, r.bytes = kindBatchedFinal, r.values[:0], 0, 0, 0
	}
	err := r.c.out.message(func(b []byte) ([]byte, error) {
		b, frame := protobuf.Open(b, 2)
		b = protobuf.AppendUint(b, 1, uint64(i))
		b = protobuf.AppendUint(b, 2, r.batch)
		b = protobuf.AppendUint(b, 3, kind)
		b = protobuf.AppendUint(b, 4, of)
		if last != nil {
			b = r.stats(b, last)
		}
		b = protowire.AppendTag(b, 7, protowire.BytesType)
		b = protowire.AppendBytes(b, r.values)
		return protobuf.Seal(b, frame), nil
	})
	r.batch++
	r.values, r.records = r.values[:0], 0
	if cap(r.values) > keptBuffer {
		r.values = nil
	}
	return err
}

// stats appends QueryStats and the error of a result.
func (r *results) stats(b []byte, last *final) []byte {
	const unknown = ^uint64(0) // -1
	b, at := protobuf.Open(b, 5)
	b = protobuf.AppendUint(b, 1, uint64(r.total))
	b = protobuf.AppendUint(b, 2, uint64(r.bytes))
	b = protobuf.AppendUint(b, 3, unknown)
	b = protobuf.AppendUint(b, 4, unknown)
	b = protobuf.AppendDuration(b, 5, value.DurationFrom(last.spent))
	b = protobuf.Seal(b, at)
	if last.err == nil {
		return b
	}
	b, at = protobuf.Open(b, 6)
	return protobuf.Seal(protobuf.AppendError(b, last.err, protobuf.HintOf(last.err)), at)
}

// end closes the stream; failed is why the text broke off.
func (r *results) end(failed *errs.Error) error {
	switch {
	case !r.begun && failed != nil:
		return failed
	case !r.begun: // a text without statements
		if err := r.Begin(0); err != nil {
			return err
		}
	case r.c.out.lost() != nil:
		return r.c.out.lost()
	case failed != nil && !timedOut(failed):
		return r.c.out.message(func(b []byte) ([]byte, error) {
			b, at := protobuf.Open(b, 4)
			return protobuf.Seal(protobuf.AppendError(b, failed, protobuf.HintOf(failed)), at), nil
		})
	}
	// Statements that came to nothing: the first one because the time ran out, those after it with it.
	r.values, r.records = r.values[:0], 0
	for i := r.finished; i < r.count; i++ {
		why := errs.NotExecuted()
		if failed != nil {
			why, failed = failed, nil
		}
		if err := r.send(i, kindBatchedFinal, ofOther, &final{err: why}); err != nil {
			return err
		}
		r.batch = 0
	}
	return r.c.out.message(func(b []byte) ([]byte, error) {
		b, at := protobuf.Open(b, 3)
		return protobuf.Seal(b, at), nil
	})
}

func timedOut(e *errs.Error) bool {
	return e.Kind == errs.KindQuery && e.Detail != nil && e.Detail.Kind == "TimedOut"
}
