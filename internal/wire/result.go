package wire

import (
	"slices"
	"time"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Statement is the answer to one statement of a query.
type Statement struct {
	Value value.Value
	Rows  *value.Packed // not nil: the answer, in place of Value, which only CBOR has a form for
	Err   *errs.Error   // nil when the statement succeeded
	Time  time.Duration
	Type  string // "", "live" or "kill"
	List  bool   // a list of records, not one value that happens to be an array; clients see no difference here
}

// Weight is about how many bytes the statements keep in memory.
func Weight(statements []Statement) int {
	n := 0
	for i := range statements {
		n += value.Weight(statements[i].Value) + statements[i].Err.Weight()
		if p := statements[i].Rows; p != nil {
			n += p.Size()
		}
	}
	return n
}

// AppendStatements writes the array of statement results. On an error (a value that has no encoded
// form) dst is returned as it was.
func AppendStatements(dst []byte, f Format, statements []Statement) ([]byte, error) {
	start := len(dst)
	if f == JSON {
		dst = append(dst, '[')
	} else {
		dst = appendHead(dst, cborArray, len(statements))
	}
	for i := range statements {
		if f == JSON && i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = AppendStatement(dst, f, &statements[i]); err != nil {
			return dst[:start], err
		}
	}
	if f == JSON {
		dst = append(dst, ']')
	}
	return dst, nil
}

// AppendStatement writes {result, status, time, type}, with kind and details where the statement failed
// (then result is the error's text).
func AppendStatement(dst []byte, f Format, s *Statement) ([]byte, error) {
	if f == JSON {
		return appendStatementJSON(dst, s), nil
	}
	return appendStatementCBOR(dst, s)
}

func appendStatementJSON(dst []byte, s *Statement) []byte {
	dst = append(dst, '{')
	if s.Err != nil {
		if s.Err.Detail != nil {
			dst = append(dst, `"details":`...)
			dst = append(appendDetailJSON(dst, s.Err.Detail), ',')
		}
		dst = append(dst, `"kind":"`...)
		dst = append(dst, s.Err.Kind.String()...)
		dst = append(dst, `","result":`...)
		dst = appendJSONString(dst, s.Err.Msg)
		dst = append(dst, `,"status":"ERR","time":"`...)
	} else {
		dst = append(dst, `"result":`...)
		dst = value.AppendJSON(dst, s.Value)
		dst = append(dst, `,"status":"OK","time":"`...)
	}
	dst = AppendDuration(dst, s.Time)
	if s.Type == "" {
		return append(dst, `","type":null}`...)
	}
	dst = append(dst, `","type":"`...)
	return append(append(dst, s.Type...), `"}`...)
}

// appendRows appends a list, and makes room for what follows it.
func appendRows(dst []byte, p *value.Packed) ([]byte, error) {
	return p.AppendTo(slices.Grow(dst, p.Size()+frameRoom))
}

// frameRoom is more than what stands around the rows of a message with one answer.
const frameRoom = 128

func appendStatementCBOR(dst []byte, s *Statement) ([]byte, error) {
	status := "OK"
	if e := s.Err; e != nil {
		status = "ERR"
		if e.Detail != nil {
			dst = appendHead(dst, cborMap, 6)
			dst = appendCBORText(dst, "details")
			dst = appendDetailCBOR(dst, e.Detail)
		} else {
			dst = appendHead(dst, cborMap, 5)
		}
		dst = appendCBORText(dst, "kind")
		dst = appendCBORText(dst, e.Kind.String())
		dst = append(dst, cborKeyResult...)
		dst = appendCBORText(dst, e.Msg)
	} else {
		dst = appendHead(dst, cborMap, 4)
		dst = append(dst, cborKeyResult...)
		var err error
		if s.Rows != nil {
			dst, err = appendRows(dst, s.Rows)
		} else {
			dst, err = value.AppendCBOR(dst, s.Value)
		}
		if err != nil {
			return dst, err
		}
	}
	dst = append(dst, cborKeyStatus...)
	dst = appendCBORText(dst, status)
	dst = append(dst, cborKeyTime...)
	var text [32]byte
	spent := AppendDuration(text[:0], s.Time)
	dst = append(appendHead(dst, cborText, len(spent)), spent...)
	dst = append(dst, cborKeyType...)
	if s.Type == "" {
		return append(dst, cborNone...), nil
	}
	return appendCBORText(dst, s.Type), nil
}
