package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// revokingSink revokes something while the first rows are on their way.
type revokingSink struct {
	revoke        func()
	pieces, after int
	failed        []error
}

func (*revokingSink) Begin(int) error { return nil }

func (k *revokingSink) Rows(int, []value.Value) error {
	if k.pieces++; k.pieces == 1 {
		k.revoke()
	} else {
		k.after++
	}
	return nil
}

func (k *revokingSink) Finished(_ int, r *engine.Result, _ bool) error {
	if r.Err != nil {
		k.failed = append(k.failed, r.Err)
	}
	return nil
}

// A stream gives no more rows once the identity that asked for them is revoked: a client that reads slowly would go on for
// days on a statement that it may no longer make.
func TestRevocationEndsStreams(t *testing.T) {
	for _, tc := range []struct{ who, revoke string }{
		{"user", "REMOVE USER ed ON DATABASE"}, {"user", "ALTER USER ed ON DATABASE PASSWORD 'other'"},
		{"record", "REMOVE ACCESS acc ON DATABASE"}, {"record", "DELETE user:1"}, {"record", ""},
	} {
		t.Run(tc.who+" "+tc.revoke, func(t *testing.T) {
			e := openQuiet(t)
			root := owner(t, e)
			run(t, root, `DEFINE TABLE t PERMISSIONS FULL; CREATE |t:3000| RETURN NONE; DEFINE USER ed ON DATABASE PASSWORD 'ed' ROLES EDITOR;
				DEFINE TABLE user; CREATE user:1 SET pass = 'p'; DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass)`)
			fields := []value.Field{{Name: "ns", Value: value.Str("test")}, {Name: "db", Value: value.Str("test")}}
			if tc.who == "user" {
				fields = append(fields, value.Field{Name: "user", Value: value.Str("ed")}, value.Field{Name: "pass", Value: value.Str("ed")})
			} else {
				fields = append(fields, value.Field{Name: "ac", Value: value.Str("acc")}, value.Field{Name: "pass", Value: value.Str("p")})
			}
			s := e.Session()
			if _, err := s.Signin(t.Context(), value.NewObject(fields...)); err != nil {
				t.Fatal(err)
			}
			k := &revokingSink{revoke: func() { run(t, root, tc.revoke) }}
			err := s.Stream(t.Context(), "SELECT * FROM t; SELECT * FROM t", nil, k)
			said := errors.Join(append(k.failed, err)...)
			switch {
			case tc.revoke == "" && (said != nil || k.after == 0):
				t.Errorf("without revocation: %v, %d pieces", said, k.pieces)
			case tc.revoke != "" && (said == nil || !strings.Contains(said.Error(), "was revoked")):
				t.Errorf("%v", said)
			case tc.revoke != "" && k.after > 0:
				t.Errorf("%d pieces came after the revocation", k.after)
			}
		})
	}
}
