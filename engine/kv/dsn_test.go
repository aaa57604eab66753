package kv_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/kv"
)

func TestParseDSN(t *testing.T) {
	for _, tc := range []struct {
		in     string
		want   kv.DSN
		notice bool
	}{
		{in: "memory", want: kv.DSN{Kind: "memory"}},
		{in: "mem://", want: kv.DSN{Kind: "memory"}},
		{in: "memory://", want: kv.DSN{Kind: "memory"}},
		{in: "x.db", want: kv.DSN{Kind: "bolt", Path: "x.db"}},
		{in: "/var/lib/x", want: kv.DSN{Kind: "bolt", Path: "/var/lib/x"}},
		{in: `C:\data\x`, want: kv.DSN{Kind: "bolt", Path: `C:\data\x`}},
		{in: "bolt://x.db?sync=never", want: kv.DSN{Kind: "bolt", Path: "x.db", Sync: kv.SyncNever}},
		{in: "bolt:///var/x?sync=100ms",
			want: kv.DSN{Kind: "bolt", Path: "/var/x", Sync: kv.Sync(100 * time.Millisecond)}},
		{in: "file:x.db?sync=every&versioned=true&retention=24h",
			want: kv.DSN{Kind: "bolt", Path: "x.db", Versioned: true, Retention: 24 * time.Hour}},
		{in: "mem://?versioned=true&retention=90d",
			want: kv.DSN{Kind: "memory", Versioned: true, Retention: 90 * 24 * time.Hour}},
		{in: "mem://?retention=2w", want: kv.DSN{Kind: "memory", Retention: 14 * 24 * time.Hour}},
		{in: "rocksdb:/tmp/r", want: kv.DSN{Kind: "bolt", Path: "/tmp/r"}, notice: true},
		{in: "surrealkv://s", want: kv.DSN{Kind: "bolt", Path: "s"}, notice: true},
		{in: "surrealkv+versioned://s", want: kv.DSN{Kind: "bolt", Path: "s", Versioned: true}, notice: true},
		{in: "tikv://pd:2379", want: kv.DSN{Kind: "tikv", Path: "pd:2379"}},
		{in: "tikv:pd:2379", want: kv.DSN{Kind: "tikv", Path: "pd:2379"}},
		{in: "tikv://pd1:2379,[::1]:2380/a-b_c.9?isolation=snapshot&timeout=5s", want: kv.DSN{Kind: "tikv",
			Path: "pd1:2379,[::1]:2380", Prefix: "a-b_c.9", Isolation: kv.SnapshotIsolation, Timeout: 5 * time.Second}},
		{in: "tikv://pd:2379/p?gc=1h", want: kv.DSN{Kind: "tikv", Path: "pd:2379", Prefix: "p", GC: time.Hour}},
		{in: "tikv://pd:2379?gc=7d", want: kv.DSN{Kind: "tikv", Path: "pd:2379", GC: 7 * 24 * time.Hour}},
		{in: "tikv://pd:2379?gc=off", want: kv.DSN{Kind: "tikv", Path: "pd:2379", GC: -1}},
		{in: "tikv://pd:2379/?isolation=serializable", want: kv.DSN{Kind: "tikv", Path: "pd:2379"}},
	} {
		got, err := kv.ParseDSN(tc.in)
		if err != nil || (got.Notice != "") != tc.notice {
			t.Errorf("%s: got notice %q, error %v", tc.in, got.Notice, err)
		}
		if got.Notice = ""; got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.in, got, tc.want)
		}
	}
	for in, want := range map[string]string{
		"":                       "empty",
		"mem://?retention=9q":    "want a duration like 72h",
		"mem://?retention=-1h":   "want a duration like 72h",
		"mem://?retention=400y":  "want a duration like 72h",
		"redis://x":              "accepted are memory, bolt://PATH",
		"bolt://":                "no path",
		"bolt://x?sync=sometime": "want every, never",
		"bolt://x?sync=-1s":      "want every, never",
		"bolt://x?colour=red":    "unknown option",
		"bolt://x?timeout=1s":    "a bolt store has no such option",

		"tikv://":                 "no path",
		"tikv://pd":               "no HOST:PORT",
		"tikv://pd:0":             "no HOST:PORT",
		"tikv://pd:2379,":         "no HOST:PORT",
		"tikv://pd:2379,pd:99999": "no HOST:PORT",
		"tikv://pd:2379/" + strings.Repeat("a", 65): "at most 64",
		"tikv://pd:2379/a/b":                        "letters, digits",
		"tikv://pd:2379/\x00":                       "letters, digits",
		"tikv://pd:2379/é":                          "letters, digits",
		"tikv://pd:2379?isolation=none":             "want serializable or snapshot",
		"tikv://pd:2379?timeout=1ms":                "at least 100ms",
		"tikv://pd:2379?timeout=for ever":           "at least 100ms",
		"tikv://pd:2379?gc=59m":                     "option gc: want off or a duration of at least 1h",
		"tikv://pd:2379?gc=0":                       "at least 1h",
		"tikv://pd:2379?gc=-1":                      "at least 1h",
		"tikv://pd:2379?gc=":                        "at least 1h",
		"tikv://pd:2379?gc=never":                   "at least 1h",
		"bolt://x?gc=24h":                           "a bolt store has no such option",
		"tikv://pd:2379?sync=every":                 "a tikv store has no such option",
	} {
		if _, err := kv.ParseDSN(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", in, err, want)
		}
	}
}

func TestPrefix(t *testing.T) {
	for p, end := range map[string]string{"a": "b", "a\xff": "b", "ab": "ac"} {
		if r := kv.Prefix([]byte(p)); string(r.End) != end {
			t.Errorf("%q: got end %q, want %q", p, r.End, end)
		}
	}
	for _, p := range []string{"", "\xff\xff"} {
		if r := kv.Prefix([]byte(p)); r.End != nil {
			t.Errorf("%q: got end %q, want none", p, r.End)
		}
	}
}
