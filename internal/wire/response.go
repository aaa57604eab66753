package wire

import (
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Response answers one Request.
type Response struct {
	ID      value.Value // NONE: none is sent
	Session *value.UUID // nil: none is sent
	Err     *errs.Error // where the call failed
	// Result is the answer, unless IsQuery says that it is Statements, or there are Rows.
	Result     value.Value
	Rows       *value.Packed // a list that only CBOR has a form for
	Statements []Statement
	IsQuery    bool
}

// Weight is about how many bytes the answer keeps in memory.
func (r *Response) Weight() int {
	n := value.Weight(r.Result) + Weight(r.Statements) + r.Err.Weight()
	if r.Rows != nil {
		n += r.Rows.Size()
	}
	return n
}

// Append writes r. A result that has no encoded form makes the response an error response.
func (r *Response) Append(dst []byte, f Format) []byte {
	start := len(dst)
	dst, err := r.append(dst, f)
	if err == nil {
		return dst
	}
	failed := Response{ID: r.ID, Session: r.Session, Err: errs.As(err)}
	dst, err = failed.append(dst[:start], f)
	if err != nil { // Only an id can fail now, and none of the kinds an id has does.
		return dst[:start]
	}
	return dst
}

func (r *Response) append(dst []byte, f Format) ([]byte, error) {
	if f == JSON {
		return r.appendJSON(dst)
	}
	return r.appendCBOR(dst)
}

func (r *Response) appendJSON(dst []byte) ([]byte, error) {
	var err error
	dst = append(dst, '{')
	if r.Err != nil {
		dst = append(dst, `"error":`...)
		dst = AppendError(dst, JSON, r.Err)
	}
	if !r.ID.IsNone() {
		if r.Err != nil {
			dst = append(dst, ',')
		}
		dst = append(dst, `"id":`...)
		dst = value.AppendJSON(dst, r.ID)
	}
	if r.Err == nil {
		if !r.ID.IsNone() {
			dst = append(dst, ',')
		}
		dst = append(dst, `"result":`...)
		if dst, err = r.appendResult(dst, JSON); err != nil {
			return dst, err
		}
	}
	if r.Session != nil {
		dst = append(dst, `,"session":`...)
		dst = value.AppendJSON(dst, value.UUIDOf(*r.Session))
	}
	return append(dst, '}'), nil
}

func (r *Response) appendCBOR(dst []byte) ([]byte, error) {
	var err error
	n := 1
	if !r.ID.IsNone() {
		n++
	}
	if r.Session != nil {
		n++
	}
	dst = appendHead(dst, cborMap, n)
	if r.Err != nil {
		dst = append(dst, cborKeyError...)
		dst = AppendError(dst, CBOR, r.Err)
	}
	if !r.ID.IsNone() {
		dst = append(dst, cborKeyID...)
		if dst, err = value.AppendCBOR(dst, r.ID); err != nil {
			return dst, err
		}
	}
	if r.Err == nil {
		dst = append(dst, cborKeyResult...)
		if dst, err = r.appendResult(dst, CBOR); err != nil {
			return dst, err
		}
	}
	if r.Session != nil {
		dst = appendCBORText(dst, "session")
		return value.AppendCBOR(dst, value.UUIDOf(*r.Session))
	}
	return dst, nil
}

func (r *Response) appendResult(dst []byte, f Format) ([]byte, error) {
	switch {
	case r.IsQuery:
		return AppendStatements(dst, f, r.Statements)
	case r.Rows != nil:
		return appendRows(dst, r.Rows)
	}
	return f.Append(dst, r.Result)
}
