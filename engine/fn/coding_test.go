package fn_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

func TestEncodingsAreInverse(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		b := value.BytesOf(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		padded := value.Bool(rapid.Bool().Draw(t, "padded"))
		if back := l.call("encoding::base64::decode",
			l.call("encoding::base64::encode", b, padded)); value.Compare(back, b) != 0 {
			t.Fatalf("base64 of %s gives %s", b, back)
		}
		v := valuetest.Value(3).Draw(t, "value")
		if back := l.call("encoding::cbor::decode", l.call("encoding::cbor::encode", v)); back.Text() != v.Text() {
			t.Fatalf("CBOR of %s gives %s", v, back)
		}
		o := valuetest.Object(2).Draw(t, "object")
		if back := l.call("object::from_entries", l.call("object::entries", o)); value.Compare(back, o) != 0 {
			t.Fatalf("entries of %s make %s", o, back)
		}
	})
}

func TestObjectsExtend(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		a, b := valuetest.Object(1).Draw(t, "a"), valuetest.Object(1).Draw(t, "b")
		both := l.call("object::extend", a, b)
		want := a.Object()
		for _, f := range b.Object().Fields() {
			want = want.With(f.Name, f.Value)
		}
		if value.Compare(both, value.ObjectOf(want)) != 0 {
			t.Fatalf("%s and %s: %s", a, b, both)
		}
		rest := l.call("object::remove", both, l.call("object::keys", b))
		for _, f := range rest.Object().Fields() {
			if _, ok := b.Object().Get(f.Name); ok {
				t.Fatalf("%s was not removed from %s", f.Name, both)
			}
		}
	})
}

// The hashes were made by the reference from the password "pässword".
func TestPasswordsOfTheReferenceAreRecognised(t *testing.T) {
	l := newLibrary(t)
	for family, hash := range map[string]string{
		"argon2": "$argon2id$v=19$m=19456,t=2,p=1$fc4vI/BawnOKD3eSVXqEeA$1mND51W4cZiUjjNCr99avOA+IFe8/q1Er86O0PJ6YOM",
		"bcrypt": "$2b$12$0CS92chVWhDCFX2ezNTeFua4/QFpwbdrC.SoAmdIevkqPjhekOKui",
		"pbkdf2": "$pbkdf2-sha256$i=600000,l=32$PXzROcYq0JJ9rzCmSfqrgA$so6ozAh7hdLNP2oEoSx3qC1vFv7SZ1l13GMPn/wXAn4",
		"scrypt": "$scrypt$ln=17,r=8,p=1$P+ZQJCjeN3jlRPQC8wqnKA$NQiMrlEHPIse3AYGl9rJBI514Q0nn6ytm9AsgVfqQEg",
	} {
		compare := "crypto::" + family + "::compare"
		if !l.call(compare, value.Str(hash), value.Str("pässword")).Bool() {
			t.Errorf("%s does not recognise the password", family)
		}
		if l.call(compare, value.Str(hash), value.Str("Pässword")).Bool() {
			t.Errorf("%s takes a wrong password", family)
		}
		fresh := l.call("crypto::"+family+"::generate", value.Str("x"))
		if !l.call(compare, fresh, value.Str("x")).Bool() {
			t.Errorf("%s does not recognise its own hash %s", family, fresh)
		}
	}
	long := value.Str(strings.Repeat("x", 80))
	if !l.call("crypto::bcrypt::compare", value.Str("$2b$12$vE57HZks0WuMQY/tOW4aA.u1Q1cay8IMAOr1Dio0Lp5AUbNnP75XG"), long).Bool() {
		t.Error("bcrypt does not recognise a long password")
	}
}

func TestCostlyHashesAreRefused(t *testing.T) {
	l := newLibrary(t)
	for family, hash := range map[string]string{
		"argon2": "$argon2id$v=19$m=4294967295,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"bcrypt": "$2b$31$0CS92chVWhDCFX2ezNTeFua4/QFpwbdrC.SoAmdIevkqPjhekOKui",
		"pbkdf2": "$pbkdf2-sha256$i=4000000000,l=32$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"scrypt": "$scrypt$ln=63,r=64,p=16$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	} {
		if l.call("crypto::"+family+"::compare", value.Str(hash), value.Str("x")).Bool() {
			t.Errorf("%s took %s", family, hash)
		}
	}
}
