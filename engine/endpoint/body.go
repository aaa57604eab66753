package endpoint

import (
	"context"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// requestHeader is a header of a request, or "".
func requestHeader(req value.Value, name string) string {
	if req.Kind() != value.KindObject {
		return ""
	}
	headers, _ := req.Object().Get("headers")
	if headers.Kind() != value.KindObject {
		return ""
	}
	v, _ := headers.Object().Get(name)
	if v.Kind() != value.KindString {
		return ""
	}
	return v.Str()
}

// strategy is the argument of api::req::body and api::res::body; "auto" when there is none.
func strategy(args []value.Value) (string, bool) {
	if len(args) == 0 {
		return "auto", true
	}
	if len(args) != 1 || args[0].Kind() != value.KindString {
		return "", false
	}
	switch s := args[0].Str(); s {
	case "auto", "json", "cbor", "plain", "bytes", "native", flat:
		return s, true
	}
	return "", false
}

// flat is the strategy of a format that only the reference writes and reads: clients are told so.
const flat = "flatbuffers"

// media is the media type of a strategy.
func media(strategy string) string {
	switch strategy {
	case "json":
		return mediaJSON
	case "cbor":
		return mediaCBOR
	case "plain":
		return mediaPlain
	case "bytes":
		return mediaBytes
	case flat:
		return mediaFlat
	}
	return mediaNative
}

// strategyFor is the strategy of a media type.
func strategyFor(mediaType string) (string, bool) {
	for _, s := range []string{"json", "cbor", "plain", "bytes", "native", flat} {
		if media(s) == mediaType {
			return s, true
		}
	}
	return "", false
}

// requestBody is api::req::body: it reads the body's bytes by a strategy, or by the content type.
func (c *apiCall) requestBody(ctx context.Context, i int, req value.Value, args []value.Value) (*apiAnswer, error) {
	how, ok := strategy(args)
	if !ok {
		return nil, noStrategy()
	}
	if req.Kind() != value.KindObject {
		return nil, hidden()
	}
	body, _ := req.Object().Get("body")
	sent, _, _ := strings.Cut(requestHeader(req, "content-type"), ";")
	sent = strings.TrimSpace(sent)
	switch {
	case how != "auto":
		if sent != media(how) {
			return nil, &apiFailure{400, "Expected Content-Type to be " + media(how)}
		}
	case sent == "" && body.IsNone():
		how = "native" // nothing was sent, and nothing said of it
	case !isMediaType(sent):
		return nil, &apiFailure{400, "Missing required Content-Type header"}
	default:
		if how, ok = strategyFor(sent); !ok {
			return nil, &apiFailure{415, "Unsupported Content-Type: " + sent}
		}
	}
	if how == "native" {
		return c.next(ctx, i+1, req)
	}
	if body.Kind() != value.KindBytes {
		return nil, &apiFailure{400, "Request body must be binary data"}
	}
	body, err := decodeBody(how, body.Bytes())
	if err != nil || how == flat {
		return nil, &apiFailure{400, "Failed to decode the request body"}
	}
	return c.next(ctx, i+1, value.ObjectOf(req.Object().With("body", body)))
}

func decodeBody(how string, b []byte) (value.Value, error) {
	switch how {
	case "json":
		return value.DecodeJSONValue(b, value.DecodeLimits{MaxValues: value.SaneMaxValues})
	case "cbor":
		return value.DecodeCBORValue(b, value.DecodeLimits{MaxValues: value.SaneMaxValues})
	case "plain":
		if !utf8.Valid(b) {
			return value.None, hidden()
		}
		return value.Str(string(b)), nil
	}
	return value.BytesOf(b), nil
}

func noStrategy() error { return errs.Internal("Failed to decode BodyStrategy, no variants matched") }

// encode is api::res::body: it writes the body by a strategy, or by what the request accepts.
func (a *apiAnswer) encode(req value.Value, args []value.Value) error {
	how, ok := strategy(args)
	if !ok {
		return noStrategy()
	}
	accept := requestHeader(req, "accept")
	switch {
	case how == "auto":
		how, ok = acceptable(accept)
	default:
		ok = accepts(accept, media(how))
	}
	if !ok || how == flat {
		return &apiFailure{406, "No output strategy was possible for this API request"}
	}
	switch how {
	case "json":
		a.body = value.BytesOf(value.AppendJSON(nil, a.body))
	case "cbor":
		b, err := value.AppendCBOR(nil, a.body)
		if err != nil {
			return hidden()
		}
		a.body = value.BytesOf(b)
	case "plain":
		if a.body.Kind() != value.KindBytes {
			a.body = value.BytesOf([]byte(value.ToString(a.body)))
		}
	case "bytes":
		b, err := value.Cast(a.body, value.Simple(value.TypeBytes), nil)
		if err != nil {
			return &apiFailure{500, "Failed to encode the response body"}
		}
		a.body = b
	}
	a.headers = a.headers.With("content-type", value.Str(media(how)))
	return nil
}

// isMediaType reports whether a text has the form type/subtype.
func isMediaType(text string) bool {
	first, second, ok := strings.Cut(text, "/")
	return ok && httpguts.ValidHeaderFieldName(first) && httpguts.ValidHeaderFieldName(second)
}

// choice is one media range of an Accept header, and how much it is wanted.
type choice struct {
	media string
	q     float64
}

// accepts reports whether an Accept header takes a media type.
func accepts(accept, mediaType string) bool {
	kind, _, _ := strings.Cut(mediaType, "/")
	for _, c := range choicesOf(accept) {
		if c.q > 0 && (c.media == mediaType || c.media == "*/*" || c.media == kind+"/*") {
			return true
		}
	}
	return false
}

// choicesOf are the media ranges of an Accept header, the most wanted first.
func choicesOf(accept string) []choice {
	var choices []choice
	for part := range strings.SplitSeq(accept, ",") {
		mediaType, params, _ := strings.Cut(part, ";")
		q := 1.0
		for param := range strings.SplitSeq(params, ";") {
			if text, ok := strings.CutPrefix(strings.TrimSpace(param), "q="); ok {
				if f, err := strconv.ParseFloat(text, 64); err == nil {
					q = f
				}
			}
		}
		choices = append(choices, choice{strings.TrimSpace(mediaType), q})
	}
	sort.SliceStable(choices, func(i, j int) bool { return choices[i].q > choices[j].q })
	return choices
}

// acceptable is the strategy that an Accept header likes best.
func acceptable(accept string) (string, bool) {
	for _, c := range choicesOf(accept) {
		if c.q <= 0 {
			continue
		}
		if c.media == "*/*" || c.media == "application/*" {
			return "json", true
		}
		if c.media == "text/*" {
			return "plain", true
		}
		if how, ok := strategyFor(c.media); ok && how != flat {
			return how, true
		}
	}
	return "", false
}
