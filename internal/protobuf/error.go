package protobuf

import (
	"time"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// kinds are the numbers of ErrorKind.
var kinds = [...]uint64{
	errs.KindValidation: 1, errs.KindConfiguration: 2, errs.KindQuery: 3, errs.KindSerialization: 4,
	errs.KindNotAllowed: 5,
	errs.KindNotFound:   6, errs.KindAlreadyExists: 7, errs.KindConnection: 8, errs.KindThrown: 9, errs.KindInternal: 10,
}

// Hint says that the same request may succeed later, and how long to wait; 0: the client decides.
type Hint struct{ After time.Duration }

// HintOf is the hint that the kind of an error gives; nil: the request may not succeed later.
func HintOf(e *errs.Error) *Hint {
	if e.Kind == errs.KindQuery && e.Detail != nil &&
		(e.Detail.Kind == "TransactionConflict" || e.Detail.Kind == "OutOfMemory") {
		return &Hint{}
	}
	return nil
}

// AppendError appends the content of a SurrealError message. Causes are logged, never sent.
func AppendError(dst []byte, e *errs.Error, hint *Hint) []byte {
	kind := kinds[e.Kind]
	if e.Kind == errs.KindConnection { // for clients; the server never sends it
		kind = kinds[errs.KindInternal]
	}
	dst = AppendUint(dst, 1, kind)
	dst = AppendString(dst, 2, e.Msg)
	dst = AppendUint(dst, 3, uint64(int64(wire.Code(e))))
	if d := e.Detail; d != nil {
		var at int
		dst, at = Open(dst, 4)
		dst = AppendString(dst, 1, d.Kind)
		if content := wire.DetailContent(d); !content.IsNone() {
			dst, _ = AppendField(dst, 2, content) // of texts and durations, which all have a form
		}
		dst = Seal(dst, at)
	}
	if hint != nil {
		var at int
		dst, at = Open(dst, 6)
		if hint.After > 0 {
			dst = AppendDuration(dst, 1, value.DurationFrom(hint.After))
		}
		dst = Seal(dst, at)
	}
	return dst
}

// DecodeError reads the content of a SurrealError message. The hint is nil where there is none.
func DecodeError(b []byte) (*errs.Error, *Hint, error) {
	e, hint := &errs.Error{Kind: errs.KindInternal}, (*Hint)(nil)
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return nil, nil, err
		}
		if !more {
			return e, hint, nil
		}
		switch {
		case s.Num == 1 && s.B == nil:
			for k, n := range kinds {
				if n == s.N {
					e.Kind = errs.Kind(k)
				}
			}
		case s.Num == 2 && s.B != nil:
			e.Msg, err = plain(s.B)
		case s.Num == 4 && s.B != nil:
			e.Detail, err = detail(s.B)
		case s.Num == 6 && s.B != nil:
			hint, err = hintIn(s.B)
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

func hintIn(b []byte) (*Hint, error) {
	h := &Hint{}
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil || !more {
			return h, err
		}
		if s.Num == 1 && s.B != nil {
			d, err := DecodeDuration(s.B)
			if err != nil {
				return nil, err
			}
			h.After = d.Std()
		}
	}
}

func detail(b []byte) (*errs.Detail, error) {
	d := &errs.Detail{}
	content := value.None
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		switch {
		case s.B == nil:
		case s.Num == 1:
			d.Kind, err = plain(s.B)
		case s.Num == 2:
			content, err = DecodeValue(s.B, value.DecodeLimits{MaxValues: 1 << 10})
		}
		if err != nil {
			return nil, err
		}
	}
	if content.Kind() == value.KindObject {
		d.Inner, d.Fields = wire.ReadDetail(content.Object())
	}
	return d, nil
}
