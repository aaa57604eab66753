package fn

import (
	"encoding/base64"
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

func encodingFuncs() []entry {
	return []entry{
		{sig: "encoding::base64::encode(bytes: bytes, padding?: bool) -> string", impl: base64Encode,
			doc: "Base64 text in the standard alphabet, padded if so told."},
		{sig: "encoding::base64::decode(text: string) -> bytes", impl: base64Decode,
			doc: "The bytes of Base64 text in the standard alphabet, padded or not."},
		{sig: "encoding::json::encode(value: any) -> string", impl: jsonEncode,
			doc: "The JSON text of a value, as the HTTP interface writes it: what JSON does not have becomes text, sets become arrays."},
		{sig: "encoding::json::decode(text: string) -> any", impl: jsonDecode,
			doc: "The value of a JSON text; whole numbers without fraction or exponent are ints."},
		{sig: "encoding::cbor::encode(value: any) -> bytes", impl: cborEncode, doc: "The CBOR form of a value."},
		{sig: "encoding::cbor::decode(bytes: bytes) -> any", impl: cborDecode, doc: "The value at the start of CBOR bytes."},
	}
}

func base64Encode(_ Call, args []value.Value) (value.Value, error) {
	enc := base64.RawStdEncoding
	if len(args) == 2 && args[1].Bool() {
		enc = base64.StdEncoding
	}
	return value.Str(enc.EncodeToString(args[0].Bytes())), nil
}

func base64Decode(c Call, args []value.Value) (value.Value, error) {
	s := args[0].Str()
	enc := base64.RawStdEncoding
	if strings.HasSuffix(s, "=") {
		enc = base64.StdEncoding
	}
	b, err := enc.Strict().DecodeString(s)
	// The decoder skips line ends; they are no part of the alphabet.
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return value.None, c.incorrect("invalid base64")
	}
	return value.BytesOf(b), nil
}

func cborEncode(c Call, args []value.Value) (value.Value, error) {
	b, err := value.AppendCBOR(nil, args[0])
	if err != nil {
		return value.None, c.incorrect("Value could not be encoded into CBOR")
	}
	return value.BytesOf(shortenFloats(b)), nil
}

func cborDecode(c Call, args []value.Value) (value.Value, error) {
	limits := value.DecodeLimits{MaxValues: value.SaneMaxValues}
	if p, ok := c.Host.(value.RecordParser); ok {
		limits.ParseRecord = func(text string) (*value.RecordID, error) {
			v, err := p.ParseRecord(text)
			if err != nil {
				return nil, err
			}
			return v.Record(), nil
		}
	}
	v, _, err := value.DecodeCBOR(args[0].Bytes(), limits)
	if err != nil {
		return value.None, c.incorrect("invalid cbor")
	}
	return v, nil
}

func jsonEncode(_ Call, args []value.Value) (value.Value, error) {
	return value.Str(string(value.AppendJSON(nil, args[0]))), nil
}

func jsonDecode(c Call, args []value.Value) (value.Value, error) {
	if args[0].Str() == "NONE" { // documented since 3.1
		return value.None, nil
	}
	v, err := value.DecodeJSONValue([]byte(args[0].Str()), value.DecodeLimits{MaxValues: value.SaneMaxValues})
	if err != nil {
		return value.None, c.incorrect("Invalid JSON")
	}
	return v, nil
}
