package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// outcome is the result of a tool.
type outcome struct {
	structured object
	text       string
	failed     bool
	kind       string // of the error
}

func (o *outcome) object() object {
	out := object{"content": []object{{"type": "text", "text": o.text}}, "structuredContent": o.structured}
	if o.failed {
		out["isError"] = true
	}
	return out
}

// allResults is how many times the limit of one value all values of an answer may have together.
const allResults = 16

// shaper makes results out of values, within the limits.
type shaper struct {
	limit int // bytes of a value; 0: none
	left  int // bytes of all of them
	whole int
}

func (s *Server) shaper() *shaper {
	limit := max(s.Limits.ResultBytes, 0)
	return &shaper{limit: limit, left: limit * allResults, whole: limit * allResults}
}

// value is v as JSON, or what says that it is too large.
func (s *shaper) value(v value.Value) (raw json.RawMessage, cut bool) {
	return s.json(value.AppendJSON(nil, v))
}

func (s *shaper) json(b []byte) (raw json.RawMessage, cut bool) {
	limit := s.limit
	if limit == 0 || len(b) <= min(limit, s.left) {
		s.left -= len(b)
		return b, false
	}
	what := "The value is larger than the limit. Ask for less: name fields, add a condition, or page with LIMIT " +
		"and START."
	if len(b) <= limit {
		what, limit = "The values before this one reached the limit of an answer. Ask for it alone.", s.whole
	}
	return encode(object{"$truncated": true, "original_bytes": len(b), "limit_bytes": limit, "message": what}), true
}

// indented is raw for people to read.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// failed is the result of a tool that failed as a whole.
func (s *Server) failed(e *errs.Error, spent time.Duration) *outcome {
	if e.Kind == errs.KindInternal && e.Err != nil {
		s.Log.Error("MCP tool failed", "err", e.Err)
	}
	e = e.Brief()
	return &outcome{failed: true, kind: e.Kind.String(), text: "Error (" + e.Kind.String() + "): " + e.Msg,
		structured: object{"status": "error", "error": e.Msg, "kind": e.Kind.String(), "time_ms": millis(spent)}}
}

// single is the result of one statement.
func (s *Server) single(v value.Value, spent time.Duration) *outcome {
	raw, cut := s.shaper().value(v)
	return &outcome{text: indented(raw), structured: object{"status": "ok", "value": raw, "truncated": cut,
		"time_ms": millis(spent)}}
}

// outcomeOf is the result of statements: of one alone in the short form.
func (c *call) outcomeOf(results []engine.Result) *outcome {
	if len(results) == 1 {
		if e := results[0].Err; e != nil {
			return c.srv.failed(e, results[0].Time)
		}
		return c.srv.single(results[0].Value, results[0].Time)
	}
	out := &outcome{failed: len(results) > 0}
	shape := c.srv.shaper()
	list := make([]object, 0, len(results))
	blocks := make([]string, 0, len(results))
	wrong := false
	for i := range results {
		r := &results[i]
		one := object{"index": i, "time_ms": millis(r.Time)}
		if e := r.Err; e != nil {
			e = c.srv.shown(e)
			wrong, out.kind = true, e.Kind.String()
			one["status"], one["error"], one["kind"] = "error", e.Msg, e.Kind.String()
			blocks = append(blocks, fmt.Sprintf("Statement %d (error, %s): %s", i+1, e.Kind, e.Msg))
		} else {
			raw, cut := shape.value(r.Value)
			out.failed = false
			one["status"], one["value"], one["truncated"] = "ok", raw, cut
			blocks = append(blocks, "Statement "+strconv.Itoa(i+1)+" (ok):\n"+indented(raw))
		}
		list = append(list, one)
	}
	out.structured = object{"results": list, "has_errors": wrong}
	out.text = strings.Join(blocks, "\n")
	return out
}

// shown is an error as clients may see it; what has no business outside is logged.
func (s *Server) shown(e *errs.Error) *errs.Error {
	if e.Kind == errs.KindInternal && e.Err != nil {
		s.Log.Error("statement of an MCP tool failed", "err", e.Err)
	}
	return e.Brief()
}

// mirrored is a result whose text is the same as its structured form.
func mirrored(structured object) *outcome {
	return &outcome{structured: structured, text: indented(encode(structured))}
}
