package engine_test

import (
	"context"
	"regexp"
	"testing"
)

// The answers are those of the reference, without the ids of requests.
func TestAPIEndpoints(t *testing.T) {
	id := regexp.MustCompile(`,? ?"?(x-surreal-request-id|request_id)"?: '[0-9a-f-]+'`)
	for _, tc := range []struct{ define, call, want string }{
		{`"/t" FOR get THEN { { body: $request } }`, `('/t',{headers:{'X-Foo':'a','content-type':'text/plain'},query:{a:'1'},body:'x',context:{q:1}}).body`,
			`{ body: 'x', context: { q: 1 }, headers: { accept: 'application/vnd.surrealdb.native;q=0.9, */*;q=0.8', "content-type": 'text/plain', "x-foo": 'a' }, method: 'get', params: {  }, query: { a: '1' } }`},
		{`"/t" FOR get THEN { { status: 'x' } }`, `('/t')`, `{ body: 'Failed to convert public value to ApiResponse', headers: { }, status: 500 }`},
		{`"/t" FOR get THEN { { headers: {'a b':'1'} } }`, `('/t').status`, `500`},
		{`"/t" FOR get THEN { NONE }`, `('/t').status`, `500`},
		{`"/t" FOR get THEN { {body:1} }`, `('/t/').body`, `1`},
		{`"/t" FOR get THEN { {body:1} }`, `('t')`, `The string could not be parsed into a path: Segment should start with /`},
		{`"/t" FOR get THEN { {body:1} }`, `('/T')`, `{ body: 'Not found', headers: {  }, status: 404 }`},
		{`"/t" FOR get THEN { {body:1} }`, `('/t',{method:'GET'})`, `Failed to deserialize field 'method' on type 'ApiRequest': Failed to decode ApiMethod, no variants matched`},
		{`"/t" FOR get THEN { {body:1} }`, `('/t',{query:{a:1}})`, `Failed to deserialize field 'query' on type 'ApiRequest': Failed to convert to object: Expected string, got number`},
		{`"/t" FOR get THEN { {body:1} }`, `('/t',NONE)`, `Expected object, got none`},
		{`"/a/:b" FOR get THEN { {body:'p'} }; DEFINE API "/a/x" FOR get THEN { {body:'s'} }; DEFINE API "/a/*r" FOR get THEN { {body:'r'} }`,
			`('/a/x').body + api::invoke('/a/y').body + api::invoke('/a/y/z').body + api::invoke('/a').body`, `'sprNot found'`},
		{`"/a/*r" FOR get THEN { {body:$request.params} }`, `('/a/b/').body`, `{ r: ['b'] }`},
		{`"/a/:x<datetime>/:y<record>" FOR get THEN { {body:$request.params} }`, `('/a/2024-01-01T00:00:00Z/p:1').body`, `{ x: d'2024-01-01T00:00:00Z', y: p:1 }`},
		{`"/a/:x<bool>" FOR get THEN { {body:1} }`, `('/a/1').body`, `'Not found'`},
		{`"/t" FOR any MIDDLEWARE api::res::status(201), api::res::header('x-any','1') FOR get MIDDLEWARE api::res::status(202) THEN { { body: 1 } }`, `('/t')`,
			`{ body: 1, headers: { "x-any": '1' }, status: 201 }`},
		{`"/t" FOR any THEN { { body: 'any' } } FOR get THEN { { body: 1 } }`, `('/t',{method:'post'}).body`, `'any'`},
		{`"/t" FOR get MIDDLEWARE api::res::headers({'x-b':NONE,'x-c':'1'}) THEN { { headers: {'x-b':'1'} } }`, `('/t').headers`, `{ "x-c": '1' }`},
		{`"/t" FOR get MIDDLEWARE api::res::header('x b','1') THEN { {} }`, `('/t').body`, `'Invalid header name: x b: invalid HTTP header name'`},
		{`"/t" FOR get MIDDLEWARE api::timeout(1) THEN { {} }`, `('/t')`, `{ body: NONE, headers: { }, status: 500 }`},
		{`"/t" FOR get MIDDLEWARE api::timeout(1ms), api::res::header('a','1') THEN { SLEEP 10s; { headers: { b: '1' } } }`, `('/t')`, `{ body: 'deadline has elapsed', headers: { a: '1' }, status: 500 }`},
		{`"/t" FOR get MIDDLEWARE api::res::header('a','1'), api::timeout(1ms), api::timeout(1ms) THEN { CREATE t:1; SLEEP 10s }; DEFINE TABLE t`, `('/t').status + count(SELECT * FROM t)`, `500`},
		{`"/t" FOR get MIDDLEWARE api::res::body('foo') THEN { { body: 1 } }`, `('/t')`, `{ body: NONE, headers: { }, status: 500 }`},
		{`"/t" FOR get MIDDLEWARE api::res::body('bytes') THEN { { body: 1 } }`, `('/t')`, `{ body: 'Failed to encode the response body', headers: { }, status: 500 }`},
		{`"/t" FOR get MIDDLEWARE api::res::body('plain') THEN { { body: b'6100' } }`, `('/t').body`, `b"6100"`},
		{`"/t" FOR get MIDDLEWARE api::res::body('auto') THEN { { body:{a:1} } }`, `('/t',{headers:{accept:'text/html'}})`,
			`{ body: 'No output strategy was possible for this API request', headers: { }, status: 406 }`},
		{`"/t" FOR get MIDDLEWARE api::res::body('auto') THEN { { body:{a:1} } }`, `('/t',{headers:{accept:'text/html, */*;q=0.1'}}).body`, `b"7B2261223A317D"`},
		{`"/t" FOR get MIDDLEWARE api::res::body() THEN { { body:{a:1} } }`, `('/t').body`, `{ a: 1 }`},
		{`"/t" FOR post MIDDLEWARE api::req::body('json') THEN { { body: $request.body } }`,
			`('/t',{method:'post',headers:{'content-type':'application/json'},body:<bytes>'{"a":1}'}).body`, `{ a: 1 }`},
		{`"/t" FOR post MIDDLEWARE api::req::body('json') THEN { { body: $request.body } }`,
			`('/t',{method:'post',headers:{'content-type':'application/json'},body:<bytes>'{"a'}).body`, `'Failed to decode the request body'`},
		{`"/t" FOR post MIDDLEWARE api::req::body('auto') THEN { { body: $request.body } }`,
			`('/t',{method:'post',headers:{'content-type':'foo/bar'},body:<bytes>'x'})`, `{ body: 'Unsupported Content-Type: foo/bar', headers: { }, status: 415 }`},
		{`"/t" FOR get MIDDLEWARE fn::mw('z') THEN { { body: $request.context } }; DEFINE FUNCTION fn::mw($req: object, $next: function, $a: string) -> object { LET $r = $next($req); RETURN $r + { status: 299 } }`,
			`('/t')`, `{ body: {  }, headers: { }, status: 299 }`},
		{`"/t" FOR get THEN { RETURN 1/'a' + [] }`, `('/t').body`, `"Cannot perform addition with 'NaN' and '[]'"`},
		{`"/t" FOR get THEN { RETURN api::invoke('/t').body }`, `('/t').status`, `500`},
	} {
		s := owner(t, openQuiet(t))
		results, err := s.Execute(context.Background(), "DEFINE API "+tc.define+"; RETURN api::invoke"+tc.call, nil)
		if err != nil {
			t.Errorf("%s: %v", tc.define, err)
			continue
		}
		last := results[len(results)-1]
		got := id.ReplaceAllString(last.Value.Text(), "")
		if last.Err != nil {
			got = last.Err.Msg
		}
		if got != tc.want {
			t.Errorf("%s: invoke%s\ngot  %s\nwant %s", tc.define, tc.call, got, tc.want)
		}
	}
}

// An endpoint that fails takes back what it wrote; the statement around it goes on.
func TestAPIFailureLeavesNothing(t *testing.T) {
	s := owner(t, openQuiet(t))
	results, err := s.Execute(context.Background(), `DEFINE TABLE a; DEFINE API "/t" FOR get THEN { CREATE a:1; THROW 'x' };
		BEGIN; CREATE a:2; RETURN api::invoke('/t').body; COMMIT; SELECT VALUE id FROM a`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := results[len(results)-1].Value.Text(); got != "[a:2]" {
		t.Errorf("left behind: %s", got)
	}
}
