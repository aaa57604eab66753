package bucket

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// id is a bucket in memory.
func id(name string) ID { return ID{NS: 1, DB: 1, Name: name} }

// inFolder is a bucket in the folder name of dir.
func inFolder(dir, name string) ID {
	return ID{NS: 1, DB: 1, Name: name, Folder: filepath.Join(dir, name)}
}

// The store must agree with a map after any operations, for every kind of bucket.
func TestStoreAgainstAMap(t *testing.T) {
	top := t.TempDir()
	for _, tc := range []struct {
		name string
		ids  func(dir string) []ID
	}{
		{"memory", func(string) []ID { return []ID{id("a"), id("b"), {NS: 1, DB: 2, Name: "a"}} }},
		{"folders", func(dir string) []ID { return []ID{inFolder(dir, "a"), inFolder(dir, "b")} }},
		{"both", func(dir string) []ID { return []ID{inFolder(dir, "a"), id("a")} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				dir, err := os.MkdirTemp(top, "")
				if err != nil {
					t.Fatal(err)
				}
				defer os.RemoveAll(dir)
				againstAMap(t, New(Limits{}, []string{dir}, nil), tc.ids(dir))
			})
		})
	}
}

func againstAMap(t *rapid.T, s *Store, ids []ID) {
	model := map[string]string{}
	name := func(id ID, key string) string { return fmt.Sprint(id, key) }
	anID := rapid.SampledFrom(ids)
	aKey := rapid.SampledFrom([]string{"/a", "/b/c", "/b/cd", "/b-c", "/bc", "/d/e/f/g"})
	t.Repeat(map[string]func(*rapid.T){
		"put": func(t *rapid.T) {
			id, key, data, over := anID.Draw(t, "id"), aKey.Draw(t, "key"), rapid.String().Draw(t,
				"data"), rapid.Bool().Draw(t, "over")
			if err := s.Put(id, key, []byte(data), over); err != nil {
				t.Fatal(err, errors.Unwrap(err))
			}
			if _, ok := model[name(id, key)]; !ok || over {
				model[name(id, key)] = data
			}
		},
		"copy": func(t *rapid.T) {
			from, to, a, b := anID.Draw(t, "from"), anID.Draw(t, "to"), aKey.Draw(t, "a"), aKey.Draw(t, "b")
			over, move := rapid.Bool().Draw(t, "over"), rapid.Bool().Draw(t, "move")
			data, found := model[name(from, a)]
			err := s.Copy(from, a, to, b, over, move)
			if (err != nil) != (!found && (over || move)) {
				t.Fatal(err)
			}
			if err != nil &&
				err.Error() != "Operation for bucket `"+from.Name+"` failed: Source key does not exist: "+a {
				t.Fatal(err, errors.Unwrap(err))
			}
			_, taken := model[name(to, b)]
			if !found || name(from, a) == name(to, b) || taken && !over {
				return
			}
			model[name(to, b)] = data
			if move {
				delete(model, name(from, a))
			}
		},
		"delete": func(t *rapid.T) {
			id, key := anID.Draw(t, "id"), aKey.Draw(t, "key")
			if err := s.Delete(id, key); err != nil {
				t.Fatal(err)
			}
			delete(model, name(id, key))
		},
		"drop": func(t *rapid.T) {
			id := anID.Draw(t, "id")
			id.Folder = "" // folders stay
			s.Drop(id)
			maps.DeleteFunc(model, func(k, _ string) bool { return strings.HasPrefix(k, fmt.Sprint(id)) })
		},
		"": func(t *rapid.T) {
			all, size := map[string]string{}, int64(0)
			for _, id := range ids {
				infos, err := s.List(context.Background(), id, Listing{Limit: -1})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.IsSortedFunc(infos, func(a, b Info) int { return strings.Compare(a.Key, b.Key) }) {
					t.Fatalf("not in order: %v", infos)
				}
				for _, info := range infos {
					data, ok, err := s.Get(id, info.Key)
					head, _, err2 := s.Head(id, info.Key)
					if err != nil || err2 != nil || !ok || int64(len(data)) != info.Size || head != info {
						t.Fatalf("%v is listed as %v: %v, %v", head, info, err, err2)
					}
					all[name(id, info.Key)] = string(data)
					if id.Folder == "" {
						size += info.Size + int64(len(info.Key))
					}
				}
			}
			if !maps.Equal(all, model) || size != s.memory.size {
				t.Fatalf("holds %v (%d bytes), want %v", all, s.memory.size, model)
			}
		},
	})
}

func TestListNarrows(t *testing.T) {
	dir := t.TempDir()
	s := New(Limits{}, []string{dir}, nil)
	for _, id := range []ID{id("b"), inFolder(dir, "b")} {
		for _, key := range []string{"/a", "/c-d", "/c/d", "/c/e/f", "/cd", "/d"} {
			if err := s.Put(id, key, nil, true); err != nil {
				t.Fatal(err)
			}
		}
		for _, tc := range []struct {
			opt  Listing
			want string
		}{
			{Listing{Limit: -1}, "/a /c-d /c/d /c/e/f /cd /d"}, {Listing{Limit: 2}, "/a /c-d"}, {Listing{}, ""},
			{Listing{Prefix: "c", Limit: -1}, "/c-d /c/d /c/e/f /cd"}, {Listing{Prefix: "/c/", Limit: -1},
				"/c/d /c/e/f"},
			{Listing{Prefix: "/c/e", Limit: -1}, "/c/e/f"}, {Listing{After: "/c/e", Limit: -1}, "/c/e/f /cd /d"},
			{Listing{After: "c", Limit: -1}, "/c-d /c/d /c/e/f /cd /d"}, {Listing{Prefix: "c", After: "a", Limit: -1},
				"/c-d /c/d /c/e/f /cd"},
			{Listing{After: "/c/d", Limit: 1}, "/c/e/f"}, {Listing{Prefix: "c", After: "/cc", Limit: 1},
				"/cd"}, {Listing{Prefix: "x", Limit: -1}, ""},
		} {
			infos, err := s.List(t.Context(), id, tc.opt)
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			for _, info := range infos {
				keys = append(keys, info.Key)
			}
			if got := strings.Join(keys, " "); got != tc.want {
				t.Errorf("%q, %+v: got %q, want %q", id.Folder, tc.opt, got, tc.want)
			}
		}
	}
}

func TestSizeIsBounded(t *testing.T) {
	s, id := New(Limits{File: 10, Total: 24}, nil, nil), id("b")
	for _, tc := range []struct {
		key  string
		size int
		ok   bool
	}{
		{"/a", 11, false}, {"/a", 10, true}, {"/b", 10, true}, {"/c", 0, false}, {"/a", 0, true}, {"/c", 8,
			true}, {"/d", 0, false},
	} {
		if err := s.Put(id, tc.key, make([]byte, tc.size), true); (err == nil) != tc.ok {
			t.Errorf("%d bytes in %s: %v", tc.size, tc.key, err)
		}
	}
}
