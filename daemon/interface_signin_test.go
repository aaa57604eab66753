package daemon_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

const signinSetup = `DEFINE USER n ON NAMESPACE PASSWORD 'n' ROLES VIEWER; DEFINE USER d ON DATABASE PASSWORD 'd' ROLES VIEWER; DEFINE TABLE user;
	DEFINE ACCESS account ON DATABASE TYPE RECORD SIGNUP (CREATE user SET name = $user, pass = $pass, city = $city)
		SIGNIN (SELECT * FROM user WHERE name = $user AND pass = $pass);
	DEFINE ACCESS words ON DATABASE TYPE RECORD SIGNIN { THROW 'closed on Sundays' }; DEFINE ACCESS shut ON DATABASE TYPE RECORD`

// POST /signin and POST /signup: the fields of the body, for each kind of user.
func TestSigninFields(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, signinSetup)
	const who = "RETURN [session::ns(), session::db(), $access, $auth]"
	for _, tc := range []struct {
		row, path, body string
		status          int
		want            string // what who answers with the token, or what the refusal says
	}{
		{"root user: user, pass", "/signin", `{"user":"root","pass":"root"}`, 200, `[null,null,null,null]`},
		{"namespace user: ns, user, pass", "/signin", `{"ns":"test","user":"n","pass":"n"}`, 200, `["test",null,null,null]`},
		{"database user: ns, db, user, pass", "/signin", `{"ns":"test","db":"test","user":"d","pass":"d"}`, 200, `["test","test",null,null]`},
		{"names in capitals", "/signin", `{"NS":"test","DB":"test","user":"d","pass":"d"}`, 200, `["test","test",null,null]`},
		{"record user: signup with ac and variables", "/signup", `{"ns":"test","db":"test","ac":"account","user":"ada","pass":"x","city":"London"}`, 200, `["test","test","account","user:`},
		{"record user: signup with access", "/signup", `{"ns":"test","db":"test","access":"account","user":"bob","pass":"x"}`, 200, `["test","test","account","user:`},
		{"record user: signin", "/signin", `{"ns":"test","db":"test","ac":"account","user":"ada","pass":"x"}`, 200, `["test","test","account","user:`},
		{"a namespace user is none of root", "/signin", `{"user":"n","pass":"n"}`, 401, "There was a problem with authentication."},
		{"a namespace user is none of a database", "/signin", `{"ns":"test","db":"test","user":"n","pass":"n"}`, 401, "There was a problem with authentication."},
		{"a database without a namespace", "/signin", `{"db":"test","user":"d","pass":"d"}`, 401, "There was a problem with authentication."},
		{"no password", "/signin", `{"user":"root"}`, 401, "There was a problem with authentication."},
		{"a password of another type", "/signin", `{"user":"root","pass":1}`, 401, "There was a problem with authentication."},
		{"an access method that does not exist", "/signin", `{"ns":"test","db":"test","ac":"none"}`, 401, "There was a problem with authentication."},
		{"a database that does not exist", "/signin", `{"ns":"test","db":"none","ac":"account","user":"ada","pass":"x"}`, 401, "There was a problem with authentication."},
		{"an access method without sign-up", "/signup", `{"ns":"test","db":"test","ac":"shut"}`, 401, "There was a problem with authentication."},
		{"sign up without an access method", "/signup", `{"ns":"test","db":"test","user":"eve","pass":"x"}`, 401, "There was a problem with authentication."},
		{"what the access method itself says", "/signin", `{"ns":"test","db":"test","ac":"words"}`, 400, "An error occurred: closed on Sundays"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			r := s.do("POST", tc.path, tc.body, "Accept: application/json")
			if r.StatusCode != tc.status {
				t.Fatalf("%d %s", r.StatusCode, r.body)
			}
			if tc.status != 200 {
				if got := problemOf(t, r).Information; got != tc.want {
					t.Errorf("%s", r.body)
				}
				return
			}
			var got struct{ Token string }
			if err := json.Unmarshal([]byte(r.body), &got); err != nil {
				t.Fatal(err)
			}
			if r := s.do("POST", "/sql", who, "Authorization: Bearer "+got.Token); !strings.Contains(r.body, `"result":`+tc.want) {
				t.Errorf("with the token: %s", r.body)
			}
		})
	}
	if r := s.do("POST", "/sql", "SELECT VALUE city FROM user WHERE name = 'ada'", at()...); timeless(r.body) != "["+ok(`["London"]`)+"]" {
		t.Errorf("a variable of the sign-up: %s", r.body)
	}
}

// Bodies and answers of /signin in every form.
func TestSigninForms(t *testing.T) {
	s := start(t)
	inCBOR, err := cbor.Marshal(map[string]string{"user": "root", "pass": "root"})
	if err != nil {
		t.Fatal(err)
	}
	const inJSON = `{"user":"root","pass":"root"}`
	for _, tc := range []struct {
		row, body string
		headers   []string
		media     string
	}{
		{"JSON, JSON", inJSON, []string{"Content-Type: application/json", "Accept: application/json"}, "application/json"},
		{"nothing said", inJSON, nil, "application/json"},
		{"CBOR, CBOR", string(inCBOR), []string{"Content-Type: application/cbor", "Accept: application/cbor"}, "application/cbor"},
		{"CBOR, JSON", string(inCBOR), []string{"Content-Type: application/cbor", "Accept: application/json"}, "application/json"},
		{"JSON, text", inJSON, []string{"Accept: text/plain"}, "text/plain; charset=utf-8"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			r := s.do("POST", "/signin", tc.body, tc.headers...)
			if r.StatusCode != 200 || r.Header.Get("Content-Type") != tc.media {
				t.Fatalf("%d %s %q", r.StatusCode, r.Header.Get("Content-Type"), r.body)
			}
			token := r.body
			switch tc.media {
			case "application/json":
				var got struct{ Token string }
				err = json.Unmarshal([]byte(r.body), &got)
				token = got.Token
			case "application/cbor":
				var got struct {
					Code  int
					Token string
				}
				if err = cbor.Unmarshal([]byte(r.body), &got); got.Code != 200 {
					t.Errorf("code %d", got.Code)
				}
				token = got.Token
			}
			if in, _ := s.lets(token); err != nil || !in {
				t.Errorf("the token %q does not let in: %v", token, err)
			}
		})
	}
}
