//go:build linux || windows || cgo

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
	"github.com/nacredb/nacre/engine/record"
)

// backedUp is a backup of an engine with many records.
func backedUp(t *testing.T, e *engine.Engine) *bytes.Reader {
	t.Helper()
	s := e.RootSession()
	mustDo(t, s, "USE NS test DB test; DEFINE TABLE p; DEFINE INDEX n ON p FIELDS n; DEFINE INDEX c ON p COUNT; "+
		"FOR $i IN 0..3000 { CREATE p SET id = $i, n = $i % 10, text = string::repeat('x', 200) }; "+
		"DEFINE SEQUENCE s; RELATE p:1->likes->p:2")
	var b bytes.Buffer
	if _, err := e.Backup(t.Context(), &b, physical.BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

// openAs opens a prefix as a server does.
func openAs(t *testing.T, c *stub.Cluster, prefix string) (*engine.Engine, error) {
	t.Helper()
	st, err := tikv.Open(t.Context(), tikv.Options{PD: []string{c.PD}, Prefix: prefix, Counter: record.MayCount, Steady: catalog.Steady})
	if err != nil {
		return nil, err
	}
	return openStore(t, st), nil
}

// A backup of a file, and one of a cluster, become the store of an empty prefix, and of no other one.
func TestRestoreIntoACluster(t *testing.T) {
	c, prefix := stub.Shared(t)
	dsn := func(more string) string { return "tikv://" + c.PD + "/" + prefix + more }
	restore := func(more string, f *bytes.Reader) error {
		_, err := engine.RestoreCluster(t.Context(), dsn(more), engine.ClusterTLS{}, f, nil)
		return err
	}
	file := openAt(t, t.TempDir()+"/a.db")
	f := backedUp(t, file)
	if err := file.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	look := func(prefix string) *engine.Engine {
		t.Helper()
		e, err := openAs(t, c, prefix)
		if err != nil {
			t.Fatal(err)
		}
		s := e.RootSession()
		mustDo(t, s, "USE NS test DB test")
		for text, want := range map[string]int64{
			"count(SELECT * FROM p WHERE n = 3)":              300,
			"count(SELECT * FROM p WITH NOINDEX WHERE n = 3)": 300,
			"(SELECT count() FROM p GROUP ALL)[0].count":      3000,
			"count(SELECT VALUE id FROM p:1->likes->p)":       1,
		} {
			if got := mustDo(t, s, text); got.Int() != want {
				t.Errorf("%s: %s, want %d", text, got.Text(), want)
			}
		}
		mustDo(t, s, "CREATE p SET id = 'new', n = 3; UPDATE p:3 SET n = 4")
		if got := mustDo(t, s, "(SELECT count() FROM p GROUP ALL)[0].count"); got.Int() != 3001 {
			t.Errorf("a count goes on with %s", got.Text())
		}
		return e
	}
	if err := restore("a", f); err != nil {
		t.Fatal(err)
	}
	e := look(prefix + "a")
	if err := restore("a", f); !errors.Is(err, kv.ErrLocked) {
		t.Errorf("where servers are: %v", err)
	}
	var again bytes.Buffer
	m, err := engine.BackupCluster(t.Context(), dsn("a"), engine.ClusterTLS{}, &again, physical.BackupOptions{})
	if err != nil || m.Store != "tikv" || m.Keys < 3000 {
		t.Fatalf("%+v, %v", m, err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := restore("b", bytes.NewReader(again.Bytes())); err != nil {
		t.Fatal(err)
	}
	b, err := openAs(t, c, prefix+"b")
	if err != nil {
		t.Fatal(err)
	}
	s := b.RootSession()
	mustDo(t, s, "USE NS test DB test")
	if got := mustDo(t, s, "(SELECT count() FROM p GROUP ALL)[0].count"); got.Int() != 3001 {
		t.Errorf("of the cluster's backup there are %s", got.Text())
	}
	spoilt := append([]byte(nil), again.Bytes()...)
	spoilt[len(spoilt)/2] ^= 1
	if err := restore("c", bytes.NewReader(spoilt)); !errors.Is(err, physical.ErrBackup) {
		t.Errorf("a damaged backup: %v", err)
	}
	if e, err := openAs(t, c, prefix+"c"); err != nil {
		t.Errorf("a refused backup leaves something: %v", err)
	} else if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := engine.BackupCluster(t.Context(), dsn("d"), engine.ClusterTLS{}, &again,
		physical.BackupOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a backup of nothing: %v", err)
	}
}

// What an interrupted restore has left no server serves, and the next restore removes it.
func TestInterruptedRestoreIntoACluster(t *testing.T) {
	c, prefix := stub.Shared(t)
	f := backedUp(t, openAt(t, t.TempDir()+"/a.db"))
	dsn := "tikv://" + c.PD + "/" + prefix
	ctx, stop := context.WithCancel(t.Context())
	_, err := engine.RestoreCluster(ctx, dsn, engine.ClusterTLS{}, f, func(stage string, keys, _, _ uint64) {
		if stage == "restore" && keys > 5000 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := openAs(t, c, prefix); !errors.Is(err, engine.ErrUnfinished) {
		t.Errorf("a server serves half of it: %v", err)
	}
	if _, err := engine.RestoreCluster(t.Context(), dsn, engine.ClusterTLS{}, f, nil); err != nil {
		t.Fatal(err)
	}
	e, err := openAs(t, c, prefix)
	if err != nil {
		t.Fatal(err)
	}
	s := e.RootSession()
	mustDo(t, s, "USE NS test DB test")
	if got := mustDo(t, s, "count(SELECT VALUE id FROM p WITH NOINDEX)"); got.Int() != 3000 {
		t.Errorf("%s records", got.Text())
	}
}
