package parse

import (
	"strings"
	"testing"
)

func TestShape(t *testing.T) {
	for in, want := range map[string]string{
		`SELECT * FROM t WHERE n = 5`:                  `SELECT * FROM t WHERE n = …`,
		`DEFINE USER u PASSWORD 'hunter2' ROLES OWNER`: `DEFINE USER u PASSWORD '…' ROLES OWNER`,
		`RETURN "a\"b" + 'c'`:                          `RETURN "…" + '…'`,
		`RETURN ''`:                                    `RETURN ''`,
		`RETURN 'open`:                                 `RETURN…`,
		`SELECT * FROM person:4111, person:ada, person:⟨a b⟩`:                                     `SELECT * FROM person:…, person:…, person:…`,
		"SELECT * FROM person:`a b`.name":                                                         `SELECT * FROM person:….name`,
		`SELECT * FROM person:u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab', r'a:secret', f'b:/secret'`: `SELECT * FROM person:u'…', r'…', f'…'`,
		`SELECT * FROM person:['x', 7]..[d'2024-01-01T00:00:00Z']`:                                `SELECT * FROM person:['…', …]..[d'…']`,
		`SELECT * FROM t:1a2b..=9z`:                                                               `SELECT * FROM t:…..=…`,
		"RETURN 1 -- the secret\n+ 2 /* secret */ # secret":                                       "RETURN … + …",
		`RETURN [1.5dec, -3e5, 1h30m, 5µs, 1_000, 0.5f, NaN]`:                                     `RETURN […, -…, …, …, …, …, NaN]`,
		`UPDATE t SET a = { name: $x, b: c } WHERE a.b[0] = /sec'ret/`:                            `UPDATE t SET a = { name: $x, b: c } WHERE a.b[…] = /…/`,
		`RETURN a / b / c`: `RETURN a / b / c`,
		`RETURN function($x) { return "secret" + secret } + 1`: `RETURN function($x) {…} + …`,
		`RETURN fn::a::b($x) + math::pi`:                       `RETURN fn::a::b($x) + math::pi`,
		`RETURN ^secret`:                                       `RETURN…`,
	} {
		if got := Shape(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// FuzzShape: for any text, a secret in a place of data does not show.
func FuzzShape(f *testing.F) {
	for _, s := range seedTexts() {
		f.Add(s)
	}
	const secret = "s3cr3tcanary"
	f.Fuzz(func(t *testing.T, before string) {
		if strings.Contains(before, secret) || strings.Contains(before, "function") {
			return
		}
		if _, err := Query(before, Options{}); err != nil {
			return
		}
		for _, data := range []string{"'" + secret + "'", "t:" + secret, "/" + secret + "/", "7 -- " + secret,
			"d\"" + secret + "\""} {
			if got := Shape(before + "; RETURN " + data); strings.Contains(got, secret) {
				t.Fatalf("%q and %q show %q", before, data, got)
			}
		}
	})
}
