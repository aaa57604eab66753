package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/internal/vectors"
)

var vectorRenew = flag.String("renew", "", "give the vectors that fail the answers of today, with this reason in their field since")

// renew writes the answers of today into the failed vectors of a file.
func renew(t *testing.T, file string, run []*vectors.Vector, failed []string, d door) {
	answers := map[string]map[string]any{}
	for _, v := range run {
		for _, name := range failed {
			if v.Name != name {
				continue
			}
			now, err := answersToday(v, d)
			if err != nil {
				t.Errorf("%s: %v", v.Name, err)
				continue
			}
			answers[name] = now
		}
	}
	path := vectors.Path(t, "testdata", "conformance", filepath.FromSlash(file)+".jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		out.Write(renewedLine(t, line, answers))
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// renewedLine is the line of a vector with its new answers, if it has any. The fields keep their order.
func renewedLine(t *testing.T, line []byte, answers map[string]map[string]any) []byte {
	var v struct{ Name string }
	if err := json.Unmarshal(line, &v); err != nil {
		t.Fatal(err)
	}
	now, ok := answers[v.Name]
	if !ok {
		return line
	}
	var old map[string]json.RawMessage
	if err := json.Unmarshal(line, &old); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	out.WriteByte('{')
	field := func(name string, value any) {
		if out.Len() > 1 {
			out.WriteString(",")
		}
		for i, x := range []any{name, value} {
			if i > 0 {
				out.WriteString(":")
			}
			if err := enc.Encode(x); err != nil {
				t.Fatal(err)
			}
			out.Truncate(out.Len() - 1) // the line feed of Encode
		}
	}
	for _, name := range []string{"name", "setup", "sql", "auth"} {
		if value, ok := old[name]; ok {
			field(name, value)
		}
	}
	for _, name := range []string{"expect", "error", "parse", "answers"} {
		if value, ok := now[name]; ok {
			field(name, value)
		}
	}
	field("since", *vectorRenew)
	out.WriteString("}\n")
	return out.Bytes()
}

// answersToday is what a vector is answered today, in the fields that record it.
func answersToday(v *vectors.Vector, d door) (map[string]any, error) {
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	if v.Setup != "" {
		if _, err := d.as(ctx, "", v.Setup); err != nil {
			return nil, err
		}
	}
	res, err := d.as(ctx, v.Auth, v.SQL)
	if fresh := d.fresh(); fresh != nil {
		return nil, fresh
	}
	if !strings.HasPrefix(v.File, "statements/") {
		text, failed := firstError(res, err)
		switch {
		case err != nil:
			return map[string]any{"error": text, "parse": true}, nil
		case failed:
			return map[string]any{"error": text}, nil
		}
		return map[string]any{"expect": res[len(res)-1].Value.Text()}, nil
	}
	if err != nil {
		return map[string]any{"parse": firstLine(err.Error())}, nil
	}
	for _, a := range v.Answers {
		if a.Expect != nil && placeholder.MatchString(*a.Expect) {
			return nil, errors.New("has generated parts: renew it by hand")
		}
	}
	return map[string]any{"answers": answersOf(res)}, nil
}

func answersOf(res []engine.Result) []map[string]string {
	out := make([]map[string]string, len(res))
	for i, r := range res {
		if r.Err != nil {
			out[i] = map[string]string{"error": r.Err.Msg}
		} else {
			out[i] = map[string]string{"expect": r.Value.Text()}
		}
	}
	return out
}
