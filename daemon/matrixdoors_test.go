package daemon_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// door is a way into the server. It takes the actions of one section of the matrix.
type door struct {
	name, section string
	act           func(c *caller, r *row, action string) outcome
}

var doors = []door{
	{"/sql", "statements", (*caller).sql},
	{"the socket at /sql", "statements", (*caller).sqlSocket},
	{"query over HTTP in JSON", "statements", httpQuery(wire.JSON)},
	{"query over HTTP in CBOR", "statements", httpQuery(wire.CBOR)},
	{"query over WebSocket in JSON", "statements", socketQuery("json")},
	{"query over WebSocket in CBOR", "statements", socketQuery("cbor")},
	{"query_stream", "statements", (*caller).stream},
	{"query in a transaction", "statements", (*caller).transaction},
	{"embedded", "statements", (*caller).embedded},
	{postgresDoor, "statements", (*caller).postgres},
	{postgresDoor + " in SQL", "sql", (*caller).postgresSQL},
	{"methods over HTTP in JSON", "methods", httpMethod(wire.JSON)},
	{"methods over HTTP in CBOR", "methods", httpMethod(wire.CBOR)},
	{"methods over WebSocket in JSON", "methods", socketMethod("json")},
	{"methods over WebSocket in CBOR", "methods", socketMethod("cbor")},
	{"methods that need a connection, in JSON", "connection", socketMethod("json")},
	{"methods that need a connection, in CBOR", "connection", socketMethod("cbor")},
	{"/gql", "gql", (*caller).gql},
	{"gql over HTTP in JSON", "gql", httpGQL(wire.JSON)},
	{"gql over HTTP in CBOR", "gql", httpGQL(wire.CBOR)},
	{"gql over WebSocket in CBOR", "gql", socketGQL("cbor")},
	{"gql in a transaction", "gql", (*caller).gqlTransaction},
	{"routes", "routes", (*caller).route},
	{"/graphql", "graphql", (*caller).graphQL},
	{"graphql over HTTP in JSON", "graphql", (*caller).graphQLCall},
	{"the socket at /graphql", "graphql", (*caller).graphQLSocket},
	{"Query of gRPC, by headers", "statements", (*caller).grpcHeaders},
	{"Query of gRPC, in a session", "statements", (*caller).grpcSession},
	{"Query of gRPC, in a transaction", "statements", (*caller).grpcTransaction},
	{"methods of gRPC", "grpc", (*caller).grpcMethod},
	{"query of MCP, in a session", "statements", (*caller).mcpQuery},
	{"query of MCP, without a session", "statements", (*caller).mcpAlone},
	{"gql of MCP", "gql", (*caller).mcpGQL},
	{"graphql of MCP", "graphql", (*caller).mcpGraphQL},
}

// caller is one principal at one door.
type caller struct {
	s       *scene
	d       *door
	who     credentials
	k       *socket        // of doors with a connection
	place   string         // that the connection was opened for
	pg      *pgconn.PgConn // of the PostgreSQL wire
	broken  bool           // a new one is needed
	leave   func()
	rpc     *rpcClient // of doors of gRPC
	dialect string     // of the PostgreSQL wire; "": that of the server
}

// headers say who is there and where.
func (c *caller) headers(place string, more ...string) []string {
	if c.who.token != "" {
		more = append(more, "Authorization: Bearer "+c.who.token)
	}
	if ns, db, ok := strings.Cut(place, "/"); ok {
		more = append(more, "Service-NS: "+ns, "Service-DB: "+db)
	}
	return more
}

// ofHTTP is the outcome of an answer over HTTP.
func ofHTTP(r reply) outcome {
	if r.StatusCode >= 400 && r.StatusCode != 422 {
		var p struct{ Information, Details string }
		if json.Unmarshal([]byte(r.body), &p) != nil || p.Details == "" {
			p.Information = r.body
		}
		if p.Information == "" {
			p.Information = p.Details
		}
		return outcome{status: r.StatusCode, msg: p.Information, raw: r.body}
	}
	v, err := wire.JSON.Decode([]byte(r.body), value.DecodeLimits{})
	if err != nil || v.Kind() != value.KindArray {
		return outcome{answer: r.body, raw: r.body, empty: r.body == ""}
	}
	if v.Len() == 0 {
		return outcome{raw: r.body, empty: true}
	}
	last := v.Elems()[v.Len()-1]
	if last.Kind() == value.KindObject {
		if _, ok := last.Object().Get("status"); ok {
			return ofStatement(last, r.body)
		}
	}
	return outcome{answer: v.Text(), empty: emptyValue(v), raw: r.body}
}

// ofStatement is the outcome of the result of a statement.
func ofStatement(v value.Value, raw string) outcome {
	o := outcome{raw: raw}
	if v.Kind() != value.KindObject {
		o.answer = v.Text()
		return o
	}
	status, _ := v.Object().Get("status")
	result, _ := v.Object().Get("result")
	if status.Kind() == value.KindString && status.Str() == "ERR" {
		o.msg = result.Str()
		kind, _ := v.Object().Get("kind")
		o.kind = kind.Str()
		return o
	}
	o.answer, o.empty = result.Text(), emptyValue(result)
	return o
}

// ofRPC is the outcome of a response; statements says that its result is the results of a text.
func ofRPC(t testing.TB, b []byte, f wire.Format, statements bool) outcome {
	t.Helper()
	v, err := f.Decode(b, value.DecodeLimits{})
	if err != nil || v.Kind() != value.KindObject {
		return outcome{msg: string(b), raw: string(b)}
	}
	if e, ok := v.Object().Get("error"); ok && e.Kind() == value.KindObject {
		msg, _ := e.Object().Get("message")
		kind, _ := e.Object().Get("kind")
		return outcome{msg: msg.Str(), kind: kind.Str(), raw: string(b)}
	}
	result, _ := v.Object().Get("result")
	if statements && result.Kind() == value.KindArray && result.Len() > 0 {
		return ofStatement(result.Elems()[result.Len()-1], string(b))
	}
	return outcome{answer: result.Text(), empty: emptyValue(result), raw: string(b)}
}

func (c *caller) sql(r *row, text string) outcome {
	return ofHTTP(c.s.do("POST", "/sql", text, c.headers(r.place, "Accept: application/json")...))
}

// request is a message of the RPC protocol.
func request(t testing.TB, f wire.Format, method string, params value.Value, more ...value.Field) []byte {
	t.Helper()
	fields := append(more, value.Field{Name: "id", Value: value.Int(1)}, value.Field{Name: "method", Value: value.Str(method)},
		value.Field{Name: "params", Value: params})
	b, err := f.Append(nil, value.ObjectOf(value.NewObject(fields...)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (c *caller) post(r *row, f wire.Format, method string, params value.Value) outcome {
	body := string(request(c.s.t, f, method, params))
	got := c.s.do("POST", "/rpc", body, c.headers(r.place, "Content-Type: "+f.ContentType(), "Accept: "+f.ContentType())...)
	if got.StatusCode != 200 {
		return ofHTTP(got)
	}
	o := ofRPC(c.s.t, []byte(got.body), f, method == "query" || method == "gql")
	o.empty = o.empty || method == "use" // its answer differs by format
	return o
}

func httpQuery(f wire.Format) func(*caller, *row, string) outcome {
	return func(c *caller, r *row, text string) outcome {
		return c.post(r, f, "query", value.Array(value.Str(text)))
	}
}

func (c *caller) gql(r *row, text string) outcome {
	return ofHTTP(c.s.do("POST", "/gql", text, c.headers(r.place, "Accept: application/json")...))
}

func httpGQL(f wire.Format) func(*caller, *row, string) outcome {
	return func(c *caller, r *row, text string) outcome {
		return c.post(r, f, "gql", value.Array(value.Str(text)))
	}
}

func socketGQL(protocol string) func(*caller, *row, string) outcome {
	return func(c *caller, r *row, text string) outcome {
		if o, ok := c.connect(r, protocol); !ok {
			return o
		}
		return c.ask(protocol, "gql", value.Array(value.Str(text)))
	}
}

func httpMethod(f wire.Format) func(*caller, *row, string) outcome {
	return func(c *caller, r *row, action string) outcome {
		method, params := methodOf(c.s.t, f, action)
		return c.post(r, f, method, params)
	}
}

var recordLike = regexp.MustCompile(`^[a-z]+:[0-9a-z]+$`)

// methodOf reads "select [\"t\"]". Texts that look like a record are one: JSON has no other form, CBOR gets the record.
func methodOf(t testing.TB, f wire.Format, action string) (string, value.Value) {
	t.Helper()
	method, text, _ := strings.Cut(action, " ")
	params, err := wire.JSON.Decode([]byte(text), value.DecodeLimits{})
	if err != nil {
		t.Fatalf("%s: %v", action, err)
	}
	if f == wire.CBOR {
		params = withRecords(params)
	}
	return method, params
}

func withRecords(v value.Value) value.Value {
	switch v.Kind() {
	case value.KindString:
		if recordLike.MatchString(v.Str()) {
			table, key, _ := strings.Cut(v.Str(), ":")
			if key == "1" || key == "2" {
				return value.Record(table, value.Int(int64(key[0]-'0')))
			}
			return value.Record(table, value.Str(key))
		}
	case value.KindArray:
		var out []value.Value
		for _, e := range v.Elems() {
			out = append(out, withRecords(e))
		}
		return value.ArrayOf(out)
	case value.KindObject:
		var out []value.Field
		for _, f := range v.Object().Fields() {
			out = append(out, value.Field{Name: f.Name, Value: withRecords(f.Value)})
		}
		return value.ObjectOf(value.NewObject(out...))
	}
	return v
}

func formatOf(protocol string) wire.Format {
	if protocol == "cbor" {
		return wire.CBOR
	}
	return wire.JSON
}

// ask sends a message over the connection and gives the answer.
func (c *caller) ask(protocol, method string, params value.Value, more ...value.Field) outcome {
	f, op := formatOf(protocol), byte(opText)
	if f == wire.CBOR {
		op = opBinary
	}
	if err := c.k.conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		c.s.t.Fatal(err)
	}
	c.k.write(frame(op, true, request(c.s.t, f, method, params, more...)))
	for {
		_, b := c.k.message()
		if v, err := f.Decode(b, value.DecodeLimits{}); err == nil && v.Kind() == value.KindObject {
			if _, answers := v.Object().Get("id"); !answers {
				continue // a notification
			}
		}
		return ofRPC(c.s.t, b, f, method == "query" || method == "gql")
	}
}

// connect opens the connection, or moves it back to its place. In JSON the principal says who it is by messages, in CBOR
// by the headers of the upgrade. The outcome is for a principal that may not be there.
func (c *caller) connect(r *row, protocol string) (bad outcome, ok bool) {
	if c.k != nil && (r.place == "" || c.place != r.place) {
		_ = c.k.conn.Close()
		c.k = nil
	}
	c.place = r.place
	ns, db, _ := strings.Cut(r.place, "/")
	if c.k != nil {
		o := c.ask(protocol, "use", value.Array(value.Str(ns), value.Str(db)))
		return o, o.msg == ""
	}
	if protocol == "cbor" {
		k := c.s.upgrade(protocol, c.headers(r.place)...)
		if k.resp.StatusCode != 101 {
			return ofHTTP(reply{k.resp, readAll(k)}), false
		}
		c.k, c.leave = k, func() { _ = k.conn.Close() }
		return outcome{}, true
	}
	k := c.s.dial(protocol)
	c.k, c.leave = k, func() { _ = k.conn.Close() }
	if c.who.token != "" {
		if o := c.ask(protocol, "authenticate", value.Array(value.Str(c.who.token))); o.msg != "" {
			c.leave()
			c.k = nil
			return o, false
		}
	}
	if r.place != "" {
		if o := c.ask(protocol, "use", value.Array(value.Str(ns), value.Str(db))); o.msg != "" {
			c.leave()
			c.k = nil
			return o, false
		}
	}
	return outcome{}, true
}

// readAll reads the body of a refused upgrade.
func readAll(k *socket) string {
	var b strings.Builder
	buf := make([]byte, 1024)
	for {
		n, err := k.resp.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return b.String()
		}
	}
}

func socketQuery(protocol string) func(*caller, *row, string) outcome {
	return func(c *caller, r *row, text string) outcome {
		if o, ok := c.connect(r, protocol); !ok {
			return o
		}
		return c.ask(protocol, "query", value.Array(value.Str(text)))
	}
}

func socketMethod(protocol string) func(*caller, *row, string) outcome {
	return func(c *caller, r *row, action string) outcome {
		if o, ok := c.connect(r, protocol); !ok {
			return o
		}
		method, params := methodOf(c.s.t, formatOf(protocol), action)
		o := c.ask(protocol, method, params)
		o.empty = o.empty || method == "use" // its answer differs by format
		return o
	}
}

// stream gathers the frames of a streaming query: the last statement counts.
func (c *caller) stream(r *row, text string) outcome {
	if o, ok := c.connect(r, "json"); !ok {
		return o
	}
	c.k.write(frame(opText, true, request(c.s.t, wire.JSON, "query_stream", value.Array(value.Str(text)))))
	var o outcome
	filled := false // the statement at hand has answered something
	for {
		_, b := c.k.message()
		var f struct {
			ID     int
			Error  *struct{ Kind, Message string }
			Result struct {
				Stream string
				Error  *struct{ Kind, Message string }
				Value  json.RawMessage
				Values []json.RawMessage
			}
		}
		if err := json.Unmarshal(b, &f); err != nil {
			c.s.t.Fatal(err)
		}
		if f.ID == 0 {
			continue // a notification
		}
		o.raw += string(b)
		switch e := f.Error; {
		case e != nil:
			return outcome{kind: e.Kind, msg: e.Message, raw: o.raw}
		case f.Result.Stream == "value":
			filled = string(f.Result.Value) != "null"
		case f.Result.Stream == "rows":
			filled = filled || slices.ContainsFunc(f.Result.Values, func(v json.RawMessage) bool { return string(v) != "null" })
		case f.Result.Stream == "finished":
			o.kind, o.msg, o.empty, filled = "", "", !filled, false
			if e := f.Result.Error; e != nil {
				o.kind, o.msg = e.Kind, e.Message
			}
		case f.Result.Stream == "end":
			return o
		}
	}
}

// transaction runs a text in an interactive transaction and commits it.
func (c *caller) transaction(r *row, text string) outcome { return c.inTransaction(r, "query", text) }

func (c *caller) gqlTransaction(r *row, text string) outcome { return c.inTransaction(r, "gql", text) }

func (c *caller) inTransaction(r *row, method, text string) outcome {
	if o, ok := c.connect(r, "json"); !ok {
		return o
	}
	begun := c.ask("json", "begin", value.Array())
	if begun.msg != "" {
		return begun
	}
	id, err := value.ParseUUID(strings.Trim(begun.answer, `'"`))
	if err != nil {
		c.s.t.Fatalf("begin: %s", begun.answer)
	}
	o := c.ask("json", method, value.Array(value.Str(text)), value.Field{Name: "txn", Value: value.Str(id.String())})
	if end := c.ask("json", "commit", value.Array(value.Str(id.String()))); end.msg != "" && o.msg == "" {
		return end
	}
	return o
}

// sqlSocket sends the text as it is.
func (c *caller) sqlSocket(r *row, text string) outcome {
	k := c.s.upgradeAt("/sql", "", c.headers(r.place)...)
	defer func() { _ = k.conn.Close() }()
	if k.resp.StatusCode != 101 {
		return ofHTTP(reply{k.resp, readAll(k)})
	}
	got := k.say(text)
	v, err := wire.JSON.Decode([]byte(got), value.DecodeLimits{})
	if err != nil || v.Kind() != value.KindArray || v.Len() == 0 {
		return outcome{msg: got, raw: got}
	}
	return ofStatement(v.Elems()[v.Len()-1], got)
}

// embedded is a session in the process itself.
func (c *caller) embedded(r *row, text string) outcome {
	ctx, s := c.s.t.Context(), c.s.Engine().Session()
	defer s.Close()
	s.Notify(func(*engine.Notification) error { return nil })
	fail := func(err error) outcome {
		e := errs.As(err)
		return outcome{kind: e.Kind.String(), msg: e.Msg, raw: e.Msg}
	}
	if c.who.token != "" {
		if err := s.Authenticate(ctx, c.who.token); err != nil {
			return fail(err)
		}
	}
	if ns, db, ok := strings.Cut(r.place, "/"); ok {
		if err := s.Use(ctx, &ns, &db); err != nil {
			return fail(err)
		}
	}
	results, err := s.Execute(ctx, text, nil)
	if err != nil {
		return fail(err)
	}
	last := results[len(results)-1]
	if last.Err != nil {
		return fail(last.Err)
	}
	return outcome{answer: last.Value.Text(), empty: emptyValue(last.Value), raw: last.Value.Text()}
}

// route is "METHOD /path body".
func (c *caller) route(r *row, action string) outcome {
	method, rest, _ := strings.Cut(action, " ")
	path, body, _ := strings.Cut(rest, " ")
	if name, ok := strings.CutPrefix(body, "@"); ok {
		body = modelFile(c.s.t, name)
	}
	headers := c.headers(r.place, "Accept: application/json")
	if body != "" {
		headers = append(headers, "Content-Type: application/json")
	}
	return ofHTTP(c.s.do(method, path, body, headers...))
}
