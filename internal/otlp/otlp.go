// Package otlp has what every signal needs that goes to a collector of OpenTelemetry by OTLP over HTTP in JSON: the
// forms of attributes and one request (OpenTelemetry Protocol 1.x).
package otlp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"
)

// maxAnswer is how many bytes are read of an answer.
const maxAnswer = 64 << 10

// MaxText bounds a text, in bytes.
const MaxText = 16 << 10

// Value is an AnyValue. 64-bit numbers are strings in JSON.
type Value struct {
	String *string  `json:"stringValue,omitempty"`
	Bool   *bool    `json:"boolValue,omitempty"`
	Int    *string  `json:"intValue,omitempty"`
	Double *float64 `json:"doubleValue,omitempty"`
}

// Attr is a KeyValue.
type Attr struct {
	Key   string `json:"key"`
	Value Value  `json:"value"`
}

// Text is a text, cut where it is too long.
func Text(s string) Value {
	if len(s) > MaxText {
		n := MaxText
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return Value{String: &s}
}

// Bool is a truth value.
func Bool(b bool) Value { return Value{Bool: &b} }

// Int is a whole number.
func Int(n int64) Value {
	s := strconv.FormatInt(n, 10)
	return Value{Int: &s}
}

// Double is a number, neither infinite nor NaN: JSON has no form for those.
func Double(f float64) Value { return Value{Double: &f} }

// NewClient makes the client for a collector, whose requests take at most limit. It follows no redirect: headers are
// for the collector's address alone.
func NewClient(limit time.Duration) *http.Client {
	return &http.Client{
		Timeout: limit,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: maxAnswer,
			IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Failure is a request that the collector did not take.
type Failure struct {
	Err   error
	Again bool          // the same may succeed later (OTLP/HTTP: without an answer, and with 429, 502, 503 and 504)
	After time.Duration // not before that time, where the collector says so
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap gives Err.
func (f *Failure) Unwrap() error { return f.Err }

// Post makes one request and gives the beginning of the answer. The failure is nil where the collector took the body.
func Post(ctx context.Context, c *http.Client, url string, headers map[string]string, body []byte) ([]byte, *Failure) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, &Failure{Err: fmt.Errorf("make a request: %w", err)}
	}
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.Do(req)
	if err != nil {
		return nil, &Failure{Err: err, Again: true}
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case res.StatusCode/100 == 2:
		return answer, nil
	case err != nil:
		return nil, &Failure{Err: fmt.Errorf("read the answer: %w", err), Again: true}
	}
	f := &Failure{Err: fmt.Errorf("it answers %s", res.Status)}
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		f.Again = true
	}
	if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && n > 0 {
		f.After = time.Duration(min(n, 3600)) * time.Second
	}
	return nil, f
}
