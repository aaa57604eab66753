// Package wire is the form of every message between a client and the daemon: request and response
// envelopes, statement results, notifications and errors, as JSON and as CBOR, with the one table
// that gives each error its RPC code and the one that gives it its HTTP status.
//
// Encoders append to the caller's buffer and walk values as they are (encoded rows are copied, not
// decoded); nothing here reflects. Decoders promise an error, never a panic, for any input, and
// allocate in proportion to it. The package knows no transport, session or engine.
package wire

import "github.com/nacredb/nacre/engine/value"

// Format is how a message is written.
type Format uint8

// The formats.
const (
	JSON Format = iota
	CBOR
)

// String is the name of f as a WebSocket subprotocol.
func (f Format) String() string {
	if f == CBOR {
		return "cbor"
	}
	return "json"
}

// ContentType is the media type of f.
func (f Format) ContentType() string {
	if f == CBOR {
		return "application/cbor"
	}
	return "application/json"
}

// Append writes v in format f. What cannot be written (a closure) is an *errs.Error of kind Serialization.
func (f Format) Append(dst []byte, v value.Value) ([]byte, error) {
	if f == CBOR {
		return value.AppendCBOR(dst, v)
	}
	return value.AppendJSON(dst, v), nil
}

// Decode reads exactly one value in format f from b.
func (f Format) Decode(b []byte, lim value.DecodeLimits) (value.Value, error) {
	if f == CBOR {
		return value.DecodeCBORValue(b, lim)
	}
	return value.DecodeJSONValue(b, lim)
}
