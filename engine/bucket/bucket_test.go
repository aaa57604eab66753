package bucket

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The store must agree with a map, whatever is done to it.
func TestStoreAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(Limits{}, func() time.Time { return time.Unix(1, 0) })
		ids := []ID{{1, 1, "a"}, {1, 1, "b"}, {1, 2, "a"}}
		model := map[string]string{}
		name := func(id ID, key string) string { return fmt.Sprint(id, key) }
		anID := rapid.SampledFrom(ids)
		aKey := rapid.SampledFrom([]string{"/", "/a", "/a/b", "/ab", "/b"})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				id, key, data, over := anID.Draw(t, "id"), aKey.Draw(t, "key"), rapid.String().Draw(t, "data"), rapid.Bool().Draw(t, "over")
				if err := s.Put(id, key, []byte(data), over); err != nil {
					t.Fatal(err)
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
				s.Delete(id, key)
				delete(model, name(id, key))
			},
			"drop": func(t *rapid.T) {
				id := anID.Draw(t, "id")
				s.Drop(id)
				maps.DeleteFunc(model, func(k, _ string) bool { return strings.HasPrefix(k, fmt.Sprint(id)) })
			},
			"": func(t *rapid.T) {
				all, size := map[string]string{}, int64(0)
				for _, id := range ids {
					for _, info := range s.List(id, Options{Limit: -1}) {
						data, ok := s.Get(id, info.Key)
						head, _ := s.Head(id, info.Key)
						if !ok || int64(len(data)) != info.Size || head != info {
							t.Fatalf("%v is listed as %v", head, info)
						}
						all[name(id, info.Key)] = string(data)
						size += info.Size + int64(len(info.Key))
					}
				}
				if !maps.Equal(all, model) || size != s.size {
					t.Fatalf("holds %v (%d bytes), want %v", all, s.size, model)
				}
			},
		})
	})
}

func TestListNarrows(t *testing.T) {
	s, id := New(Limits{}, nil), ID{Name: "b"}
	for _, key := range []string{"/a", "/c", "/c/d", "/cd", "/d"} {
		if err := s.Put(id, key, nil, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		opt  Options
		want string
	}{
		{Options{Limit: -1}, "/a /c /c/d /cd /d"}, {Options{Limit: 2}, "/a /c"}, {Options{}, ""},
		{Options{Prefix: "c", Limit: -1}, "/c /c/d /cd"}, {Options{Prefix: "/c/", Limit: -1}, "/c/d"},
		{Options{After: "c", Limit: -1}, "/c/d /cd /d"}, {Options{Prefix: "c", After: "a", Limit: -1}, "/c /c/d /cd"},
		{Options{Prefix: "c", After: "/cc", Limit: 1}, "/cd"}, {Options{Prefix: "x", Limit: -1}, ""},
	} {
		var keys []string
		for _, info := range s.List(id, tc.opt) {
			keys = append(keys, info.Key)
		}
		if got := strings.Join(keys, " "); got != tc.want || !slices.IsSorted(keys) {
			t.Errorf("%+v: got %q, want %q", tc.opt, got, tc.want)
		}
	}
}

func TestSizeIsBounded(t *testing.T) {
	s, id := New(Limits{File: 10, Total: 24}, nil), ID{Name: "b"}
	for _, tc := range []struct {
		key  string
		size int
		ok   bool
	}{
		{"/a", 11, false}, {"/a", 10, true}, {"/b", 10, true}, {"/c", 0, false}, {"/a", 0, true}, {"/c", 8, true}, {"/d", 0, false},
	} {
		if err := s.Put(id, tc.key, make([]byte, tc.size), true); (err == nil) != tc.ok {
			t.Errorf("%d bytes in %s: %v", tc.size, tc.key, err)
		}
	}
}
