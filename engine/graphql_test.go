package engine_test

import (
	"bufio"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/value"
)

var updateGraphQL = flag.Bool("update-graphql", false, "write the answers of today into the files of testdata/graphql")

// graphQLDatabase is a session of the owner in a database that a file of statements makes.
func graphQLDatabase(t testing.TB, opt engine.Options, file string) (*engine.Engine, *engine.Session) {
	t.Helper()
	e, err := engine.Open(context.Background(), "memory", opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	s := e.SessionAs(auth.RootOwner(), "main", "main")
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		mustRun(t, s, string(text))
	}
	return e, s
}

// askGraphQL runs a request with variables in JSON.
func askGraphQL(t testing.TB, s *engine.Session, query, vars string) *engine.GraphQLResponse {
	t.Helper()
	req := &engine.GraphQLRequest{Query: query}
	if vars != "" {
		v, err := value.DecodeJSONValue([]byte(vars), value.DecodeLimits{})
		if err != nil {
			t.Fatal(err)
		}
		req.Variables = v.Object()
	}
	g, err := s.GraphQL(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.Execute(context.Background(), req)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return resp
}

// TestGraphQLFiles runs the files of testdata/graphql, each in a database that the file of its name makes.
func TestGraphQLFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/graphql/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { runGraphQLFile(t, file) })
	}
}

func runGraphQLFile(t *testing.T, file string) {
	_, s := graphQLDatabase(t, engine.Options{}, strings.TrimSuffix(file, ".txt")+".surql")
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var query, vars string
	var out []string
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		line := sc.Text()
		head, rest, _ := strings.Cut(line, " ")
		switch head {
		case ">":
			query, vars = rest, ""
		case "$":
			vars = rest
		case "!":
			mustRun(t, s, rest)
		case "=":
			got := string(askGraphQL(t, s, query, vars).AppendJSON(nil))
			if got != rest && !*updateGraphQL {
				t.Errorf("%s:%d: %s\n got %s\nwant %s", file, n, query, got, rest)
			}
			line = "= " + got
		}
		out = append(out, line)
	}
	if *updateGraphQL {
		if err := os.WriteFile(file, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// worked are the requests of the worked example.
func worked(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/graphql/worked.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "> "); ok {
			out = append(out, strings.TrimSpace(rest))
		}
	}
	return out
}

// TestGraphQLSDL compares the schema of the worked example with the recorded one, also where a table has another name.
func TestGraphQLSDL(t *testing.T) {
	_, s := graphQLDatabase(t, engine.Options{}, "testdata/graphql/worked.surql")
	for _, tc := range []struct{ ddl, file string }{
		{"", "worked.graphql"},
		{`DEFINE TABLE OVERWRITE customer_order SCHEMAFULL GRAPHQL_ALIAS "Purchase" GRAPHQL_DEPRECATED "use invoices";
			DEFINE FIELD OVERWRITE old_code ON book TYPE option<string> GRAPHQL_ALIAS "oldCode"`, "renamed.graphql"},
	} {
		mustRun(t, s, tc.ddl)
		g, err := s.GraphQL(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata/graphql", tc.file)
		if *updateGraphQL {
			if err := os.WriteFile(file, []byte(g.SDL()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.SDL(); got != string(want) {
			t.Errorf("%s differs; go test ./engine -run %s -update-graphql writes it anew: %s", tc.file, t.Name(), differing(string(want), got))
		}
	}
}
