package daemon_test

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// A thousand idle sockets, each with a live query, cost little, are told when the server stops, and leave nothing running.
// nacretest idle does the same with many more, in a process of their own.
func TestManyIdleSockets(t *testing.T) {
	const sockets = 1000
	before := runtime.NumGoroutine()
	s := start(t)
	boss := s.dial("json").root()
	boss.say(`{"id":1,"method":"query","params":["DEFINE TABLE ev PERMISSIONS FULL; DEFINE ACCESS a ON DATABASE TYPE RECORD SIGNUP (CREATE ONLY user)"]}`)
	runtime.GC()
	var empty, full runtime.MemStats
	runtime.ReadMemStats(&empty)
	all := make([]*socket, sockets)
	for i := range all {
		k := s.dial("json")
		k.say(`{"id":1,"method":"signup","params":[{"NS":"test","DB":"test","AC":"a"}]}`)
		if got := k.say(`{"id":2,"method":"live","params":["ev"]}`); len(got) < 36 {
			t.Fatal(got)
		}
		all[i] = k
	}
	runtime.GC()
	runtime.ReadMemStats(&full)
	each := (full.HeapAlloc + full.StackInuse - empty.HeapAlloc - empty.StackInuse) / sockets
	t.Logf("%d bytes a socket, the client's buffers included", each)
	if each > 64<<10 {
		t.Errorf("%d bytes a socket", each)
	}
	boss.say(`{"id":3,"method":"query","params":["CREATE ev:1"]}`)
	for _, k := range all {
		if n := k.note(); n.ID != nil {
			t.Fatalf("got %s instead of a notification", n.Result)
		}
	}
	done := s.closing(20 * time.Second)
	var wg sync.WaitGroup
	for _, k := range append(all, boss) {
		wg.Go(func() {
			if code := k.closeCode(); code != 1001 {
				t.Errorf("closed with %d", code)
			}
			_, _ = k.conn.Write(frame(opClose, true, []byte{3, 0xe9}))
			_ = k.conn.Close()
		})
	}
	wg.Wait()
	if err := <-done; err != nil {
		t.Error(err)
	}
	eventually(t, "nothing is left running", func() bool { return runtime.NumGoroutine() <= before+5 })
}
