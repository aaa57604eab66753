package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

func TestDuration(t *testing.T) {
	for _, tc := range []struct {
		in   time.Duration
		want string
	}{
		{0, "0ns"}, {1, "1ns"}, {999, "999ns"}, {1000, "1µs"}, {243750, "243.75µs"}, {32461, "32.461µs"},
		{1500 * time.Microsecond, "1.5ms"}, {time.Millisecond, "1ms"}, {1000001, "1.000001ms"},
		{time.Second, "1s"}, {1050 * time.Millisecond, "1.05s"}, {time.Hour, "3600s"}, {-5, "0ns"},
		{math.MaxInt64, "9223372036.854775807s"},
	} {
		if got := string(AppendDuration(nil, tc.in)); got != tc.want {
			t.Errorf("%d: got %s, want %s", tc.in, got, tc.want)
		}
	}
}

func TestDurationReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "d"))
		got, err := time.ParseDuration(string(AppendDuration(nil, d)))
		if err != nil || got != d {
			t.Fatalf("%d reads back as %d, %v", d, got, err)
		}
	})
}

func auth(inner string) *errs.Error {
	return &errs.Error{Kind: errs.KindNotAllowed, Detail: &errs.Detail{Kind: "Auth", Inner: &errs.Detail{Kind: inner}}}
}

// One row for each line of the protocol's error catalogue.
func TestCodeAndStatus(t *testing.T) {
	with := func(k errs.Kind, detail string) *errs.Error { return errs.With(k, detail, nil, "x") }
	for _, tc := range []struct {
		name   string
		err    *errs.Error
		code   int
		status int
	}{
		{"Validation/Parse", with(errs.KindValidation, "Parse"), -32700, 400},
		{"Validation/InvalidRequest", with(errs.KindValidation, "InvalidRequest"), -32600, 400},
		{"Validation/NamespaceEmpty", with(errs.KindValidation, "NamespaceEmpty"), -32600, 400},
		{"Validation/DatabaseEmpty", with(errs.KindValidation, "DatabaseEmpty"), -32600, 400},
		{"Validation/InvalidParameter", with(errs.KindValidation, "InvalidParameter"), -32600, 400},
		{"Validation/InvalidContent", with(errs.KindValidation, "InvalidContent"), -32600, 400},
		{"Validation/InvalidMerge", with(errs.KindValidation, "InvalidMerge"), -32600, 400},
		{"Validation/InvalidParams", errs.InvalidParams("x"), -32603, 400},
		{"Validation", errs.Validation("x"), -32000, 400},
		{"NotFound/Method", with(errs.KindNotFound, "Method"), -32601, 404},
		{"NotFound/Session", with(errs.KindNotFound, "Session"), -32000, 400},
		{"NotFound/Table", errs.TableNotFound("t"), -32000, 400},
		{"NotAllowed/Method", with(errs.KindNotAllowed, "Method"), -32602, 403},
		{"NotAllowed/Scripting", with(errs.KindNotAllowed, "Scripting"), -32602, 403},
		{"NotAllowed/Function", with(errs.KindNotAllowed, "Function"), -32602, 403},
		{"NotAllowed/Target", with(errs.KindNotAllowed, "Target"), -32602, 403},
		{"NotAllowed/Auth/InvalidAuth", errs.InvalidAuth(), -32002, 401},
		{"NotAllowed/Auth/TokenExpired", auth("TokenExpired"), -32002, 401},
		{"NotAllowed/Auth/NotAllowed", auth("NotAllowed"), -32002, 403},
		{"NotAllowed/Auth/SessionExpired", auth("SessionExpired"), -32000, 401},
		{"Configuration/LiveQueryNotSupported", with(errs.KindConfiguration, "LiveQueryNotSupported"), -32604, 400},
		{"Configuration/BadLiveQueryConfig", with(errs.KindConfiguration, "BadLiveQueryConfig"), -32605, 400},
		{"Configuration/BadGraphqlConfig", with(errs.KindConfiguration, "BadGraphqlConfig"), -32606, 400},
		{"Query/NotExecuted", errs.NotExecuted(), -32003, 400},
		{"Query/TimedOut", errs.TimedOut(time.Second, "1s"), -32004, 504},
		{"Query/OutOfMemory", errs.OutOfMemory(), -32000, 503},
		{"Query/Cancelled", errs.Cancelled(), -32005, 400},
		{"Query/TransactionConflict", errs.Conflict(), -32009, 400},
		{"Thrown", errs.Thrown("x"), -32006, 400},
		{"Serialization/Serialization", with(errs.KindSerialization, "Serialization"), -32007, 400},
		{"Serialization/Deserialization", with(errs.KindSerialization, "Deserialization"), -32008, 400},
		{"AlreadyExists/Record", errs.RecordExists("t:1"), -32000, 400},
		{"Connection", errs.New(errs.KindConnection, "x"), -32001, 400},
		{"Internal of a statement", errs.Internal("x"), -32000, 400},
		{"Internal of ours", errs.As(http.ErrBodyNotAllowed), -32000, 500},
	} {
		if got := Code(tc.err); got != tc.code {
			t.Errorf("%s: code %d, want %d", tc.name, got, tc.code)
		}
		if got := Status(tc.err); got != tc.status {
			t.Errorf("%s: status %d, want %d", tc.name, got, tc.status)
		}
	}
}

// The bytes below were recorded from the reference engine.
func TestStatementsInCBOR(t *testing.T) {
	id, err := value.ParseUUID("d32f521e-ccf7-4ba1-9708-ad6ba77f8600")
	if err != nil {
		t.Fatal(err)
	}
	got, err := AppendStatements(nil, CBOR, []Statement{
		{Value: value.Int(1), Time: 80483},
		{Err: errs.Thrown("2"), Time: 79197},
		{Err: errs.TableNotFound("nope"), Time: 129205},
		{Value: value.UUIDOf(id), Time: 101279, Type: "live"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = "84a466726573756c740166737461747573624f4b6474696d656938302e343833c2b5736474797065c6f6" +
		"a5646b696e64665468726f776e66726573756c7474416e206572726f72206f636375727265643a203266737461747573634552526474696d656937392e313937c2b5736474797065c6f6" +
		"a66764657461696c73a26764657461696c73a1646e616d65646e6f7065646b696e64655461626c65646b696e64684e6f74466f756e6466726573756c74781f546865207461626c6520276e6f70652720646f6573206e6f7420657869737466737461747573634552526474696d656a3132392e323035c2b5736474797065c6f6" +
		"a466726573756c74d82550d32f521eccf74ba19708ad6ba77f860066737461747573624f4b6474696d656a3130312e323739c2b5736474797065646c697665"
	if hex.EncodeToString(got) != want {
		t.Errorf("got  %x\nwant %s", got, want)
	}
}

func TestErrorResponseInCBOR(t *testing.T) {
	e := auth("MissingUserOrPass")
	e.Msg = "Username or Password was not provided"
	r := Response{Err: e}
	const want = "a1656572726f72a5656361757365c6f664636f6465397d016764657461696c73a26764657461696c73a1646b696e64714d697373696e67557365724f7250617373646b696e646441757468646b696e646a4e6f74416c6c6f776564676d6573736167657825557365726e616d65206f722050617373776f726420776173206e6f742070726f7669646564"
	if got := hex.EncodeToString(r.Append(nil, CBOR)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestResponseInJSON(t *testing.T) {
	session := value.UUID{15: 1}
	for _, tc := range []struct {
		name string
		in   Response
		want string
	}{
		{"result", Response{ID: value.Str("a"), Result: value.Int(1)}, `{"id":"a","result":1}`},
		{"no id", Response{Result: value.None}, `{"result":null}`},
		{"null id", Response{ID: value.Null, Result: value.Bool(true)}, `{"id":null,"result":true}`},
		{"session", Response{ID: value.Int(7), Session: &session, Result: value.None},
			`{"id":7,"result":null,"session":"00000000-0000-0000-0000-000000000001"}`},
		{"query", Response{ID: value.Int(7), IsQuery: true,
			Statements: []Statement{{Value: value.Str("x\n"), Time: 1500}}},
			`{"id":7,"result":[{"result":"x\n","status":"OK","time":"1.5µs","type":null}]}`},
		{"error", Response{ID: value.Int(7), Err: errs.InvalidParams("Expected (ns, db)")},
			`{"error":{"cause":null,"code":-32603,"details":{"kind":"InvalidParams"},"kind":"Validation","message":"Expected (ns, db)"},"id":7}`},
		{"timeout", Response{Err: errs.TimedOut(1500*time.Millisecond, "1s500ms")},
			`{"error":{"cause":null,"code":-32004,"details":{"details":{"duration":"1s500ms"},"kind":"TimedOut"},"kind":"Query","message":"The query was not executed because it exceeded the timeout: 1s500ms"}}`},
		{"failed statement", Response{IsQuery: true, Statements: []Statement{{Err: errs.RecordExists("t:1"), Time: 5}}},
			"{\"result\":[{\"details\":{\"details\":{\"id\":\"t:1\"},\"kind\":\"Record\"},\"kind\":\"AlreadyExists\",\"result\":\"Database record `t:1` already exists\",\"status\":\"ERR\",\"time\":\"5ns\",\"type\":null}]}"},
	} {
		got := tc.in.Append(nil, JSON)
		if string(got) != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
		if !json.Valid(got) {
			t.Errorf("%s: not JSON", tc.name)
		}
	}
}

type closure struct{}

func (closure) Text() string { return "|$x| $x" }
func (closure) Size() int    { return 8 }

func TestUnsendableResultIsAnErrorResponse(t *testing.T) {
	r := Response{ID: value.Int(1), IsQuery: true,
		Statements: []Statement{{Value: value.Int(1)}, {Value: value.ClosureOf(closure{})}}}
	got := r.Append([]byte("kept"), CBOR)
	var m map[string]any
	if err := cbor.Unmarshal(got[4:], &m); err != nil {
		t.Fatal(err)
	}
	e, ok := m["error"].(map[any]any)
	if !ok || e["kind"] != "Serialization" || m["result"] != nil || string(got[:4]) != "kept" {
		t.Errorf("got %v", m)
	}
}

func TestNotification(t *testing.T) {
	session := value.UUID{2}
	record, result := value.Record("person", value.Int(1)), value.ObjectOf(nil)
	note := func(f Format, n Notification, record, result value.Value) []byte {
		t.Helper()
		body, err := AppendNotificationBody(nil, f, record, result)
		if err != nil {
			t.Fatal(err)
		}
		n.Live, n.Body = value.UUID{1}, body
		return AppendNotification(nil, f, &n)
	}
	for _, tc := range []struct {
		n              Notification
		record, result value.Value
		want           string
	}{
		{Notification{Action: "CREATE"}, record, result,
			`{"result":{"action":"CREATE","id":"01000000-0000-0000-0000-000000000000","record":"person:1","result":{},"session":null}}`},
		{Notification{Action: "UPDATE", Session: &session}, record, result,
			`{"result":{"action":"UPDATE","id":"01000000-0000-0000-0000-000000000000","record":"person:1","result":{},"session":"02000000-0000-0000-0000-000000000000"}}`},
		{Notification{Action: "KILLED"}, value.None, value.None,
			`{"result":{"action":"KILLED","id":"01000000-0000-0000-0000-000000000000","record":null,"result":null,"session":null}}`},
	} {
		if got := note(JSON, tc.n, tc.record, tc.result); string(got) != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
		// In CBOR it is the same value as one that the general encoder writes.
		got, err := value.DecodeCBORValue(note(CBOR, tc.n, tc.record, tc.result), value.DecodeLimits{})
		if err != nil {
			t.Fatal(err)
		}
		owner := value.None
		if tc.n.Session != nil {
			owner = value.UUIDOf(session)
		}
		want := value.ObjectOf(value.NewObject(value.Field{Name: "result", Value: value.ObjectOf(value.NewObject(
			value.Field{Name: "action", Value: value.Str(tc.n.Action)},
			value.Field{Name: "id", Value: value.UUIDOf(value.UUID{1})},
			value.Field{Name: "record", Value: tc.record}, value.Field{Name: "result", Value: tc.result},
			value.Field{Name: "session", Value: owner}))}))
		if value.Compare(got, want) != 0 {
			t.Errorf("got  %s\nwant %s", got.Text(), want.Text())
		}
	}
}

func TestDecodeRequest(t *testing.T) {
	const txn = `"01a1ff8e-6163-7761-a50f-13f3db900459"`
	for _, tc := range []struct {
		name, in, bad string
		check         func(Request) bool
	}{
		{name: "all fields", in: `{"id":"1","method":"query","params":["RETURN 1"],"session":` + txn + `,"txn":` + txn + `,"version":2}`,
			check: func(r Request) bool {
				return r.ID.Str() == "1" && r.Method == "query" && len(r.Params) == 1 && r.Session != nil &&
					*r.Txn == *r.Session
			}},
		{name: "only a method", in: `{"method":"ping"}`,
			check: func(r Request) bool { return r.ID.IsNone() && r.Params == nil && r.Txn == nil }},
		{name: "null id", in: `{"id":null,"method":"ping"}`, check: func(r Request) bool { return r.ID.IsNull() }},
		{name: "params are no array", in: `{"id":1,"method":"ping","params":{"a":1}}`,
			check: func(r Request) bool { return len(r.Params) == 0 }},
		{name: "null txn", in: `{"id":1,"method":"ping","txn":null,"session":null}`,
			check: func(r Request) bool { return r.Txn == nil && r.Session == nil }},
		{name: "not JSON", in: `{"id":1`, bad: "Parse error"},
		{name: "empty", in: ``, bad: "Parse error"},
		{name: "two values", in: `{"method":"ping"}{}`, bad: "Parse error"},
		{name: "not an object", in: `[1]`, bad: "Invalid request"},
		{name: "no method", in: `{"id":1}`, bad: "Invalid request"},
		{name: "method is a number", in: `{"id":1,"method":2}`, bad: "Invalid request"},
		{name: "id is a list", in: `{"id":[1],"method":"ping"}`, bad: "Invalid request"},
		{name: "id is a float", in: `{"id":1.5,"method":"ping"}`, bad: "Invalid request"},
		{name: "txn is no uuid", in: `{"id":1,"method":"ping","txn":"x"}`, bad: "Invalid request"},
		{name: "session is a number", in: `{"id":1,"method":"ping","session":5}`, bad: "Invalid request"},
		{name: "too deep", in: `{"method":"ping","params":` + strings.Repeat("[", 5000) + strings.Repeat("]",
			5000) + `}`, bad: "Parse error"},
	} {
		r, bad := DecodeRequest([]byte(tc.in), JSON, value.DecodeLimits{})
		switch {
		case tc.bad == "" && bad != nil:
			t.Errorf("%s: %s", tc.name, bad.Msg)
		case tc.bad != "" && (bad == nil || bad.Msg != tc.bad):
			t.Errorf("%s: got %v, want %s", tc.name, bad, tc.bad)
		case tc.check != nil && !tc.check(r):
			t.Errorf("%s: got %+v", tc.name, r)
		}
	}
}

func TestDecodeRequestTakesNONEForAbsent(t *testing.T) {
	none := cbor.RawTag{Number: 6, Content: cbor.RawMessage{0xf6}}
	b, err := cbor.Marshal(map[string]any{"id": "1", "method": "ping", "session": none, "txn": none})
	if err != nil {
		t.Fatal(err)
	}
	r, bad := DecodeRequest(b, CBOR, value.DecodeLimits{})
	if bad != nil || r.Session != nil || r.Txn != nil || r.ID.Str() != "1" {
		t.Errorf("got %+v, %v", r, bad)
	}
}

func TestJSONStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "s"))
		var back string
		if err := json.Unmarshal(appendJSONString(nil, s), &back); err != nil {
			t.Fatal(err)
		}
		if want := strings.ToValidUTF8(s, "\uFFFD"); strings.ToValidUTF8(back, "\uFFFD") != back ||
			(want == s && back != s) {
			t.Fatalf("%q became %q", s, back)
		}
	})
}

func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"query","params":["RETURN 1",{"a":[1,2.5,null,"x"]}]}`), false)
	f.Add([]byte("\xa3\x62id\x61a\x66method\x64ping\x66params\x81\xd8\x25\x50aaaaaaaaaaaaaaaa"), true)
	f.Add([]byte{0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, true)
	f.Add(bytes.Repeat([]byte{0x81}, 10000), true)
	f.Fuzz(func(t *testing.T, b []byte, binary bool) {
		format := JSON
		if binary {
			format = CBOR
		}
		r, bad := DecodeRequest(b, format, value.DecodeLimits{})
		if bad != nil {
			return
		}
		// What was accepted can be answered: the id goes back as it came.
		resp := Response{ID: r.ID, Session: r.Session, Result: value.ArrayOf(r.Params)}
		out := resp.Append(nil, format)
		v, err := format.Decode(out, value.DecodeLimits{MaxDepth: value.DefaultMaxDepth + 8})
		if err != nil {
			t.Fatalf("own answer does not decode: %v\n%q", err, out)
		}
		id, _ := v.Object().Get("id")
		if binary && value.Compare(id, r.ID) != 0 {
			t.Fatalf("id %s came back as %s", r.ID, id)
		}
	})
}

func BenchmarkDecodeRequest(b *testing.B) {
	for _, f := range []Format{JSON, CBOR} {
		msg := []byte(`{"id":"12","method":"query","params":["SELECT * FROM person WHERE age > $min",{"min":18}]}`)
		if f == CBOR {
			v, err := JSON.Decode(msg, value.DecodeLimits{})
			if err != nil {
				b.Fatal(err)
			}
			if msg, err = CBOR.Append(nil, v); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(f.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, bad := DecodeRequest(msg, f, value.DecodeLimits{}); bad != nil {
					b.Fatal(bad)
				}
			}
		})
	}
}

func BenchmarkAppendResponse(b *testing.B) {
	row := value.ObjectOf(value.NewObject(
		value.Field{Name: "id", Value: value.Record("person", value.Str("01a1ff8e61637761a50f"))},
		value.Field{Name: "name", Value: value.Str("Ada Lovelace")},
		value.Field{Name: "age", Value: value.Int(36)},
		value.Field{Name: "score", Value: value.Float(0.75)},
	))
	rows := make([]value.Value, 100)
	for i := range rows {
		rows[i] = row
	}
	for _, tc := range []struct {
		name string
		resp Response
	}{
		{"one", Response{ID: value.Str("12"), IsQuery: true,
			Statements: []Statement{{Value: value.Int(1), Time: 32461}}}},
		{"rows", Response{ID: value.Str("12"), IsQuery: true,
			Statements: []Statement{{Value: value.ArrayOf(rows), Time: 32461}}}},
	} {
		for _, f := range []Format{JSON, CBOR} {
			b.Run(tc.name+"/"+f.String(), func(b *testing.B) {
				b.ReportAllocs()
				var buf []byte
				for b.Loop() {
					buf = tc.resp.Append(buf[:0], f)
				}
				b.SetBytes(int64(len(buf)))
			})
		}
	}
}

// Rows that are packed already make the same messages as values do.
func TestPackedRowsInResponses(t *testing.T) {
	rows := []value.Value{value.Int(1), value.ObjectOf(value.NewObject(value.Field{Name: "a", Value: value.Str("x")}))}
	var p value.Packed
	for _, v := range rows {
		p.Append(v)
	}
	list := value.ArrayOf(rows)
	for name, pair := range map[string][2]Response{
		"result": {{ID: value.Int(1), Rows: &p}, {ID: value.Int(1), Result: list}},
		"statements": {{Statements: []Statement{{Rows: &p}, {Value: list}}, IsQuery: true},
			{Statements: []Statement{{Value: list}, {Value: list}}, IsQuery: true}},
	} {
		got, want := pair[0].Append([]byte("kept"), CBOR), pair[1].Append([]byte("kept"), CBOR)
		if string(got) != string(want) {
			t.Errorf("%s: %x, want %x", name, got, want)
		}
		if pair[0].Weight() < p.Size() {
			t.Errorf("%s weighs %d", name, pair[0].Weight())
		}
	}
}
