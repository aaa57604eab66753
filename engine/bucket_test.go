package engine_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
)

// openFiles opens an engine whose buckets may be in folder, with or without the feature.
func openFiles(t *testing.T, dsn, folder string, features ...string) *engine.Engine {
	t.Helper()
	caps := auth.DefaultCapabilities()
	caps.Experimental.Allow = auth.NewSet(features...)
	e, err := engine.Open(t.Context(), dsn, engine.Options{Capabilities: caps, BucketFolders: []string{folder}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Statements answer the same, wherever a bucket is; what is in a folder is there afterwards.
func TestFilesOfBothBackends(t *testing.T) {
	folder := t.TempDir()
	for _, backend := range []string{"memory", "file:" + filepath.Join(folder, "in"), "file://" + filepath.Join(folder, "in2")} {
		e := openFiles(t, "memory", folder, "files")
		s := owner(t, e)
		run(t, s, "DEFINE BUCKET b BACKEND '"+backend+"'")
		for _, tc := range []struct{ text, want string }{
			{"file::put(f'b:/d/a', 'text')", "NONE"}, {"<string> file::get(f'b:/d/a')", "'text'"}, {"f'b:/d/a'.head().size", "4"},
			{"file::put_if_not_exists(f'b:/d/a', 'x')", "NONE"}, {"file::copy(f'b:/d/a', 'e')", "NONE"}, {"file::rename(f'b:/e', '/d/b')", "NONE"},
			{"file::list('b').map(|$f| $f.file)", "[f\"b:/d/a\", f\"b:/d/b\"]"}, {"file::list('b', {start: 'd/a', limit: 5}).len()", "1"},
			{"file::exists(f'b:/e')", "false"}, {"file::get(f'b:/e')", "NONE"}, {"file::head(f'b:/e')", "NONE"}, {"file::delete(f'b:/e')", "NONE"},
			{"file::rename_if_not_exists(f'b:/d/a', 'd/b')", "NONE"}, {"file::exists(f'b:/d/a')", "true"},
			{"file::copy(f'b:/none', 'x')", "Operation for bucket `b` failed: Source key does not exist: /none"},
			{"file::get(f'c:/e')", "The bucket 'c' does not exist"},
		} {
			res, err := s.Execute(t.Context(), "RETURN "+tc.text, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := res[0].Value.String()
			if res[0].Err != nil {
				got = res[0].Err.Error()
			}
			if got != tc.want {
				t.Errorf("%s, %s: got %s, want %s", backend, tc.text, got, tc.want)
			}
		}
		run(t, s, "DEFINE BUCKET OVERWRITE r BACKEND '"+backend+"' READONLY")
		if res, err := s.Execute(t.Context(), "file::put(f'r:/x', '')", nil); err != nil || res[0].Err == nil ||
			res[0].Err.Error() != "Write operation is not supported, as bucket `r` is in read-only mode" {
			t.Errorf("%s: %v, %v", backend, res, err)
		}
		run(t, s, "REMOVE BUCKET b")
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(folder, "in", "d", "b")); err != nil || string(data) != "text" {
		t.Errorf("after its bucket was removed: %q, %v", data, err)
	}
}

// Without the feature nothing can be defined, and what was defined cannot be used.
func TestBucketsNeedTheFilesFeature(t *testing.T) {
	folder, dsn := t.TempDir(), "bolt://"+t.TempDir()
	e := openFiles(t, dsn, folder, "files")
	s := owner(t, e)
	run(t, s, "DEFINE BUCKET b BACKEND 'file:"+folder+"'; DEFINE FUNCTION fn::f() { file::put(f'b:/a', 'x') }; fn::f()")
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	e = openFiles(t, dsn, folder)
	defer e.Close(context.Background())
	s = owner(t, e)
	const off = "There was a problem running the file::*() function. Experimental capability `files` is not enabled"
	for _, tc := range []struct{ text, err string }{
		{"DEFINE BUCKET c BACKEND 'memory'", "Parse error: Unexpected token `BUCKET`, expected the experimental files feature to be enabled"},
		{"RETURN f'b:/a'", "Parse error: Unexpected token `a file`, expected the experimental files feature to be enabled"},
		{"RETURN file::list('b')", off}, {"RETURN fn::f()", off}, {"RETURN type::file('b', 'a').exists()", off},
		{"RETURN type::file('b', 'a').key()", "<nil>"}, {"REMOVE BUCKET b", "<nil>"},
	} {
		res, err := s.Execute(t.Context(), tc.text, nil)
		if err == nil && res[0].Err != nil {
			err = res[0].Err
		}
		if got := fmt.Sprint(err); !strings.HasPrefix(got, tc.err) {
			t.Errorf("%s: %s", tc.text, got)
		}
	}
}

// A folder that is no longer allowed cannot be used by the bucket that was defined there.
func TestBucketFolderThatIsNoLongerAllowed(t *testing.T) {
	folder, dsn := t.TempDir(), "bolt://"+t.TempDir()
	e := openFiles(t, dsn, folder, "files")
	run(t, owner(t, e), "DEFINE BUCKET b BACKEND 'file:"+folder+"/b'; file::put(f'b:/a', 'x')")
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	e = openFiles(t, dsn, t.TempDir(), "files")
	defer e.Close(context.Background())
	res, err := owner(t, e).Execute(t.Context(), "file::get(f'b:/a')", nil)
	if err != nil || res[0].Err == nil || res[0].Err.Error() != "File access denied: "+folder+"/b" {
		t.Errorf("%v, %v", res, err)
	}
}

// TestBucketFoldersOfTenants: the owner of a database opens folders of its own alone, and a folder that all share is for
// those of the root.
func TestBucketFoldersOfTenants(t *testing.T) {
	dir := t.TempDir()
	caps := auth.DefaultCapabilities()
	caps.Experimental.Allow = auth.NewSet("files")
	e, err := engine.Open(t.Context(), "memory", engine.Options{Capabilities: caps, Log: slog.New(slog.DiscardHandler),
		BucketFolders: []string{filepath.Join(dir, "own", "{ns}", "{db}"), filepath.Join(dir, "all")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"own", "all"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { _ = e.Close(t.Context()) }()
	run(t, e.RootSession(), "DEFINE NAMESPACE n; USE NS n; DEFINE DATABASE a; DEFINE DATABASE b")
	of := func(db string) *engine.Session {
		return e.SessionAs(auth.Principal{Level: auth.DatabaseUser, Roles: auth.Owner, NS: "n", DB: db, Name: "ow"}, "n", db)
	}
	define := func(s *engine.Session, path ...string) bool {
		res := run(t, s, "DEFINE BUCKET OVERWRITE x BACKEND 'file:"+filepath.ToSlash(filepath.Join(append([]string{dir}, path...)...))+"'", allowErrors)
		return res[0].Err == nil
	}
	a, b, root := of("a"), of("b"), e.SessionAs(auth.RootOwner(), "n", "a")
	if !define(a, "own", "n", "a", "x") {
		t.Fatal("the owner may not use the folder of its database")
	}
	run(t, a, "f'x:/secret'.put('canary')")
	for _, path := range [][]string{{"own", "n", "a", "x"}, {"own", "n", "a"}, {"own", "n"}, {"own"}, {"all"}, {"all", "b"}, {"own", "n", "b", "..", "a"}} {
		if define(b, path...) {
			t.Errorf("%v: taken from the owner of another database: %s", path, texts(run(t, b, "file::list('x')", allowErrors)))
		}
	}
	if !define(b, "own", "n", "b") || define(b, "all", "x") || !define(root, "all", "x") {
		t.Error("its own folder is refused, or a shared one is taken from others than the root")
	}
	if res := run(t, b, "ALTER BUCKET x BACKEND 'file:"+filepath.ToSlash(filepath.Join(dir, "own", "n", "a", "x"))+"'", allowErrors); res[0].Err == nil {
		t.Error("ALTER BUCKET leads to the folder of another database")
	}
}
