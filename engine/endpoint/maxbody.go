package endpoint

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// maxBody is api::req::max_body: a body of more bytes than the limit, as it was received, is answered with 413. Only
// bytes and strings have a size; anything else passes.
func (c *apiCall) maxBody(ctx context.Context, i int, req value.Value, args []value.Value) (*apiAnswer, error) {
	limit, err := bodyLimit(args[0])
	if err != nil {
		return nil, err
	}
	if bodySize(req) > limit {
		return nil, &apiFailure{413, "Invalid request body: The body exceeded the max payload size of " + sizeText(limit)}
	}
	return c.next(ctx, i+1, req)
}

// bodySize is the number of bytes of the raw body of a request; 0 when there is none.
func bodySize(req value.Value) int64 {
	if req.Kind() != value.KindObject {
		return 0
	}
	body, _ := req.Object().Get("body")
	switch body.Kind() {
	case value.KindBytes:
		return int64(len(body.Bytes()))
	case value.KindString:
		return int64(len(body.Str()))
	}
	return 0
}

// sizeUnits are the units of sizes in bytes, from the largest on. Each is 1024 of the next.
var sizeUnits = [...]string{"pb", "tb", "gb", "mb", "kb", "b"}

// bodyLimit reads a limit: a number of bytes, or a size such as "512kb" with a unit of sizeUnits in any case.
func bodyLimit(v value.Value) (int64, error) {
	if v.Kind() == value.KindString {
		return parseSize(v.Str())
	}
	if n := v.Int(); n >= 0 {
		return n, nil
	}
	return 0, noLimit(v.Text())
}

func parseSize(text string) (int64, error) {
	s := strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz ")
	unit := strings.TrimSpace(s[len(digits):])
	n, err := strconv.ParseUint(digits, 10, 63)
	for i, name := range sizeUnits {
		shift := 10 * (len(sizeUnits) - 1 - i)
		if err == nil && name == unit && int64(n) <= math.MaxInt64>>shift {
			return int64(n) << shift, nil
		}
	}
	return 0, noLimit(text)
}

// sizeText writes a size with the largest unit that divides it.
func sizeText(n int64) string {
	for i, name := range sizeUnits {
		shift := 10 * (len(sizeUnits) - 1 - i)
		if n > 0 && n&(1<<shift-1) == 0 {
			return strconv.FormatInt(n>>shift, 10) + name
		}
	}
	return "0b"
}

func noLimit(text string) error {
	return errs.Internal("Incorrect arguments for function api::req::max_body(). %s is no size of a body", text)
}
