package bucket

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestOnlyAllowedFoldersAreBackends(t *testing.T) {
	none, s := New(Limits{}, nil, nil), New(Limits{}, []string{"/data/x"}, nil)
	for _, tc := range []struct{ backend, folder, err string }{
		{"memory", "", ""}, {"file:/data/x", "/data/x", ""}, {"file:///data/x/y", "/data/x/y",
			""}, {"file://localhost/data/x", "/data/x", ""},
		{"file:/data/x/../x/y", "/data/x/y", ""}, {"file:/data/x/a%20b", "/data/x/a b", ""}, {"FILE:/data/x",
			"/data/x", ""},
		{"file:/data/x/../y", "", "File access denied: /data/y"}, {"file:/data/xy", "", "File access denied: /data/xy"},
		{"file:/data", "", "File access denied: /data"}, {"file:/", "", "File access denied: /"}, {"file:", "",
			"File access denied: /"},
		{"file:/data/x/%2e%2e/y", "", "File access denied: /data/y"}, {"file:rel", "", "File access denied: /rel"},
		{"file://host/data/x", "", "File access denied: /data/x"}, {"file:/data/x/%00", "",
			"File access denied: /data/x/\x00"},
		{"s3://data/x", "", "Bucket backend is not supported"}, {"Memory", "", "Bucket backend is not supported"},
		{"", "", "Bucket backend is not supported"}, {"file:/%zz", "", "Bucket backend is not supported"},
	} {
		got, err := folderOf(s, tc.backend)
		if text := fmt.Sprint(err); got != filepath.FromSlash(tc.folder) || text != tc.err &&
			(err != nil || tc.err != "") {
			t.Errorf("%s: %q, %v; want %q, %s", tc.backend, got, err, tc.folder, tc.err)
		}
		if _, err := folderOf(none, tc.backend); err == nil && tc.backend != "memory" {
			t.Errorf("%s is allowed where nothing is", tc.backend)
		}
	}
}

func folderOf(s *Store, backend string) (string, error) {
	folder, _, err := s.Folder(backend, Place{NS: "n", DB: "d"})
	return folder, err
}

// TestFoldersOfADatabase: {ns} and {db} are the names of the database, and nothing that leads elsewhere.
func TestFoldersOfADatabase(t *testing.T) {
	allowed, err := Folders([]string{"/data/{ns}/{db}", "/ns/{ns}/common", "/all", "/data/n/open"})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Limits{}, allowed, nil)
	for _, tc := range []struct {
		of     Place
		folder string
		reach  Reach
		ok     bool
	}{
		{Place{"n", "d"}, "/data/n/d", ReachDatabase, true}, {Place{"n", "d"}, "/data/n/d/b/c", ReachDatabase, true},
		{Place{"n", "d"}, "/data/n", 0, false}, {Place{"n", "d"}, "/data", 0, false}, {Place{"n", "d"}, "/data/n/e", 0,
			false},
		{Place{"n", "d"}, "/data/n/d/../e", 0, false}, {Place{"n", "d"}, "/data/m/d", 0, false}, {Place{"n", "d"},
			"/data/n/dd", 0, false},
		{Place{"n", "d"}, "/data/{ns}/{db}", 0, false}, {Place{"n", "d"}, "/ns/n/common/x", ReachNamespace, true},
		{Place{"n", "d"}, "/ns/m/common", 0, false}, {Place{"n", "d"}, "/all/n", ReachAll, true}, {Place{"n", "open"},
			"/data/n/open/x", ReachDatabase, true},
		{Place{"n", "d"}, "/data/n/open/x", ReachAll, true}, {Place{"..", "d"}, "/data/../d", 0,
			false}, {Place{"n", ".."}, "/data", 0, false},
		{Place{"n", "."}, "/data/n", 0, false}, {Place{"n", ""}, "/data/n", 0, false}, {Place{"n/d", "e"},
			"/data/n/d/e", 0, false},
		{Place{"n", "d/e"}, "/data/n/d/e", 0, false}, {Place{"n", "a\\b"}, "/data/n/a/b", 0, false}, {Place{"", "d"},
			"/data/d", 0, false},
	} {
		_, reach, err := s.Folder("file:"+tc.folder, tc.of)
		if (err == nil) != tc.ok || reach != tc.reach {
			t.Errorf("%v in %v: %v, %v", tc.folder, tc.of, reach, err)
		}
	}
	for _, bad := range []string{"/data/{db}", "/data/{ns}-{db}", "/data/{tenant}", "/data/x{ns}/{db}", "/data/{ns",
		"/data/{NS}/{DB}"} {
		if _, err := Folders([]string{bad}); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	dir := t.TempDir()
	s = New(Limits{}, []string{filepath.Join(dir, "{ns}", "{db}")}, nil)
	own := ID{NS: 1, DB: 1, Name: "b", Folder: filepath.Join(dir, "n", "d", "b"), Place: Place{"n", "d"}}
	if err := s.Put(own, "/x", []byte("secret"), true); err != nil ||
		read(t, filepath.Join(dir, "n", "d", "b", "x")) != "secret" {
		t.Fatal(err)
	}
	for _, folder := range []string{own.Folder, filepath.Join(dir, "n", "d"), filepath.Join(dir, "n"), dir} {
		refused(t, s, ID{NS: 1, DB: 2, Name: "b", Folder: folder, Place: Place{"n", "e"}}, "/x")
	}
}

func TestNothingLeadsOutOfAFolder(t *testing.T) {
	top := t.TempDir()
	allowed, secret := filepath.Join(top, "allowed"), filepath.Join(top, "secret")
	for _, dir := range []string{filepath.Join(allowed, "b"), secret} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(secret, "f"), "secret")
	for link, target := range map[string]string{"b/dir": secret, "b/file": filepath.Join(secret, "f"),
		"b/up": "../../secret", "bucket": secret} {
		if err := os.Symlink(target, filepath.Join(allowed, link)); err != nil {
			t.Skip("this system has no links:", err)
		}
	}
	s, b := New(Limits{}, []string{allowed}, nil), inFolder(allowed, "b")
	for _, key := range []string{"/file", "/dir/f", "/up/f", "/../../secret/f", "/dir/new", "/../x", "/a/../b", "//a",
		"/a//b", "/a/", "/", "/.", "/a\\b", "/a\x00", "/" + tempPrefix + "x"} {
		refused(t, s, b, key)
	}
	refused(t, s, inFolder(allowed, "bucket"), "/f")
	refused(t, s, inFolder(top, "secret"), "/f")
	if infos, err := s.List(t.Context(), b, Listing{Limit: -1}); err != nil || len(infos) != 0 {
		t.Errorf("listed: %v, %v", infos, err)
	}
	if names, err := os.ReadDir(secret); err != nil || len(names) != 1 ||
		read(t, filepath.Join(secret, "f")) != "secret" {
		t.Errorf("the folder outside was changed: %v, %v", names, err)
	}
}

// refused checks that nothing can be read or written at key.
func refused(t *testing.T, s *Store, b ID, key string) {
	t.Helper()
	check := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s of %q succeeds", what, key)
		} else if strings.Contains(err.Error(), b.Folder) {
			t.Errorf("%s of %q names the folder: %v", what, key, err)
		}
	}
	if data, found, _ := s.Get(b, key); found {
		t.Errorf("%q reads %q", key, data)
	}
	if _, found, _ := s.Head(b, key); found {
		t.Errorf("%q is there", key)
	}
	check("put", s.Put(b, key, []byte("x"), true))
	memory := id("m")
	if err := s.Put(memory, "/m", nil, true); err != nil {
		t.Fatal(err)
	}
	check("copy", s.Copy(memory, "/m", b, key, true, false))
	check("rename", s.Copy(b, key, b, "/new", true, true))
	_ = s.Delete(b, key) // what it may not do is seen in the folder
}

func TestFoldersAndFilesDoNotMix(t *testing.T) {
	dir := t.TempDir()
	s, b := New(Limits{File: 4}, []string{dir}, nil), inFolder(dir, "b")
	for _, tc := range []struct{ key, data, err string }{
		{"/a", "x", ""}, {"/a/b", "x", "a part of the key is taken by a file"}, {"/c/d", "x", ""},
		{"/c", "x", "the key is taken by a folder or link"}, {"/e", "12345", "the bucket is full"},
	} {
		for _, over := range []bool{true, false} {
			err := s.Put(b, tc.key, []byte(tc.data), over)
			if got := fmt.Sprint(err); tc.err == "" && err != nil || tc.err != "" &&
				got != "Operation for bucket `b` failed: "+tc.err {
				t.Errorf("%s: %v", tc.key, err)
			}
		}
	}
	for _, key := range []string{"/c", "/a/b", "/none/x"} {
		if _, found, err := s.Get(b, key); found || err != nil {
			t.Errorf("%s: %v, %v", key, found, err)
		}
	}
	write(t, filepath.Join(b.Folder, "large"), "12345")
	if _, _, err := s.Get(b, "/large"); fmt.Sprint(err) != "Operation for bucket `b` failed: the file is too large" {
		t.Error(err)
	}
	if err := s.Delete(b, "/c/d"); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(b, "/c", nil, true); err != nil {
		t.Errorf("an empty folder keeps its name from a file: %v", err)
	}
}

func TestStaleFilesOfWritersGo(t *testing.T) {
	dir := t.TempDir()
	s, b := New(Limits{}, []string{dir}, nil), inFolder(dir, ".")
	young, old := filepath.Join(dir, tempPrefix+"young"), filepath.Join(dir, tempPrefix+"old")
	write(t, young, "x")
	write(t, old, "x")
	past := time.Now().Add(-2 * staleAfter)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(b, "/a", nil, true); err != nil {
		t.Fatal(err)
	}
	if infos, err := s.List(t.Context(), b, Listing{Limit: -1}); err != nil || len(infos) != 1 {
		t.Errorf("listed: %v, %v", infos, err)
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 2 {
		t.Errorf("in the folder: %v, %v", names, err)
	}
}

// Readers see whole files while writers, movers and deletes of the same folders are at work.
func TestFolderUnderConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	s, b := New(Limits{}, []string{dir}, nil), inFolder(dir, "b")
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			data := bytes.Repeat([]byte{byte('a' + w)}, 5000)
			for i := range 25 {
				key := fmt.Sprintf("/x/y/%d", i%2)
				if err := s.Put(b, key, data, i%3 != 0); err != nil {
					t.Error("put:", err)
				}
				got, found, err := s.Get(b, key)
				if err != nil || found && (len(got) != 5000 || bytes.Count(got, got[:1]) != 5000) {
					t.Errorf("read %d bytes, %v", len(got), err)
				}
				if err := s.Delete(b, key); err != nil {
					t.Error("delete:", err)
				}
			}
		})
	}
	all.Wait()
	if names, err := os.ReadDir(b.Folder); err != nil || len(names) != 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
