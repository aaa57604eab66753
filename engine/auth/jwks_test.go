package auth

import (
	"strings"
	"testing"
)

func TestKeySetsThatAreNone(t *testing.T) {
	const rsaTail = `"e":"AQAB","kty":"RSA"}]}`
	for name, text := range map[string]string{
		"not JSON":       `keys`,
		"no keys":        `{"keys":[]}`,
		"symmetric":      `{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`,
		"for encryption": `{"keys":[{"use":"enc","n":"` + strings.Repeat("v", 342) + `",` + rsaTail,
		"signs only":     `{"keys":[{"key_ops":["sign"],"n":"` + strings.Repeat("v", 342) + `",` + rsaTail,
		"short RSA":      `{"keys":[{"n":"` + strings.Repeat("v", 100) + `",` + rsaTail,
		"huge RSA":       `{"keys":[{"n":"` + strings.Repeat("v", 5000) + `",` + rsaTail,
		"even exponent":  `{"keys":[{"kty":"RSA","n":"` + strings.Repeat("v", 342) + `","e":"AA"}]}`,
		"off the curve": `{"keys":[{"kty":"EC","crv":"P-256","x":"` + strings.Repeat("A",
			43) + `","y":"` + strings.Repeat("A", 43) + `"}]}`,
		"another curve": `{"keys":[{"kty":"EC","crv":"secp256k1","x":"` + strings.Repeat("A",
			43) + `","y":"` + strings.Repeat("A", 43) + `"}]}`,
		"short Edwards key": `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AAAA"}]}`,
		"wrong algorithm":   `{"keys":[{"alg":"ES256","n":"` + strings.Repeat("v", 342) + `",` + rsaTail,
	} {
		if set, err := ParseKeySet([]byte(text)); err == nil {
			t.Errorf("%s: %d keys", name, len(set.keys))
		}
	}
}

func FuzzParseKeySet(f *testing.F) {
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AAAA"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},{"kty":"EC","crv":"P-521","x":"A","y":"A"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		set, err := ParseKeySet(b)
		if err == nil && len(set.keys) == 0 {
			t.Error("a set without keys")
		}
	})
}
