package engine_test

import (
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// TestLiveQueries follows two live queries through the life of a record.
func TestLiveQueries(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	got := make(chan *engine.Notification, 16)
	s.Notify(func(n *engine.Notification) error { got <- n; return nil })
	run(t, s, "DEFINE TABLE lv")
	id := run(t, s, "LIVE SELECT VALUE x FROM lv WHERE x > $least", value.Field{Name: "least", Value: value.Int(1)})[0].Value
	info := run(t, s, "INFO FOR TABLE lv")[0].Value
	if lives, _ := info.Object().Get("lives"); lives.Text() != "{ \""+id.UUID().String()+"\": 'LIVE SELECT VALUE x FROM lv WHERE x > $least' }" {
		t.Errorf("INFO lists %s", lives.Text())
	}
	run(t, s, "CREATE lv:1 SET x = 2; UPDATE lv:1 SET x = 3; UPDATE lv:1 SET x = 3; UPDATE lv:1 SET x = 0; UPDATE lv:1 SET x = 5; DELETE lv:1")
	run(t, s, "BEGIN; CREATE lv:2 SET x = 9; CANCEL", allowErrors)
	run(t, s, "KILL $id", value.Field{Name: "id", Value: id})
	for i, want := range []string{"CREATE lv:1 2", "UPDATE lv:1 3", "UPDATE lv:1 5", "DELETE lv:1 5", "KILLED NONE NONE"} {
		select {
		case n := <-got:
			if text := n.Action + " " + n.Record.Text() + " " + n.Result.Text(); text != want {
				t.Errorf("notification %d is %s, want %s", i, text, want)
			}
			if n.Live != id.UUID() {
				t.Errorf("notification %d is for %s", i, n.Live)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("notification %d did not come, want %s", i, want)
		}
	}
}

func TestLiveDiff(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	got := make(chan *engine.Notification, 16)
	s.Notify(func(n *engine.Notification) error { got <- n; return nil })
	run(t, s, "DEFINE TABLE lv; LIVE SELECT DIFF FROM lv")
	run(t, s, "CREATE lv:1 SET x = 2; UPDATE lv:1 SET x = 3; DELETE lv:1")
	for i, want := range []string{
		"[{ op: 'replace', path: '', value: { id: lv:1, x: 2 } }]",
		"[{ op: 'replace', path: '/x', value: 3 }]",
		"[{ op: 'replace', path: '', value: NONE }]",
	} {
		select {
		case n := <-got:
			if n.Result.Text() != want {
				t.Errorf("notification %d is %s, want %s", i, n.Result.Text(), want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("notification %d did not come", i)
		}
	}
}

// TestLiveBeforeAndAfter: $before and $after are the record as the session sees it, with its COMPUTED fields.
func TestLiveBeforeAndAfter(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	got := make(chan *engine.Notification, 16)
	s.Notify(func(n *engine.Notification) error { got <- n; return nil })
	run(t, s, "DEFINE TABLE lv; DEFINE FIELD c ON lv COMPUTED x * 10; LIVE SELECT VALUE [$event, $before.c, $after.c, $value.x] FROM lv")
	run(t, s, "CREATE lv:1 SET x = 2; UPDATE lv:1 SET x = 3; DELETE lv:1")
	for i, want := range []string{"['CREATE', NONE, 20, 2]", "['UPDATE', 20, 30, 3]", "['DELETE', 30, NONE, 3]"} {
		select {
		case n := <-got:
			if n.Result.Text() != want {
				t.Errorf("notification %d is %s, want %s", i, n.Result.Text(), want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("notification %d did not come", i)
		}
	}
}

// TestLiveEndsWithItsSession: a closed session hears nothing more.
func TestLiveEndsWithItsSession(t *testing.T) {
	e := openQuiet(t)
	gone, stays := owner(t, e), owner(t, e)
	gone.Notify(func(n *engine.Notification) error { t.Errorf("a closed session heard of %s", n.Record); return nil })
	heard := make(chan *engine.Notification, 1)
	stays.Notify(func(n *engine.Notification) error { heard <- n; return nil })
	run(t, gone, "DEFINE TABLE lv; LIVE SELECT * FROM lv")
	run(t, stays, "LIVE SELECT * FROM lv")
	gone.Close()
	run(t, stays, "CREATE lv:1")
	select {
	case <-heard:
	case <-time.After(10 * time.Second):
		t.Fatal("the open session heard nothing")
	}
}
