package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/tikv/client-go/v2/testutils"
	"github.com/tikv/client-go/v2/tikvrpc"
)

// boss makes the trouble that a test asks for.
type boss struct {
	mu       sync.Mutex // guards what orders change in machines and regions
	cl       *testutils.MockCluster
	cli      *testutils.MockClient
	ids      []uint64 // of the stores
	machines []*machine
	flaw     *flaws
	driver   *pdServer
	etcd     *etcdKV
}

// orders is how a test makes trouble:
//
//	/split?key=HEX             a region ends at the key; without one at a key that was locked lately
//	/leaders                   all regions get another leader, of the stores that are on
//	/regions                   how many there are
//	/stop?store=N /start?store=N
//	                           a store goes off with all its connections, or on again; what it leads
//	                           waits for /leaders, as it does for an election
//	/commits?lose=N&refuse=N   the connections of so many commits break, after or before they are executed
//	/slow?times=N&ms=N         so many requests that lock wait so long before they are executed
//	/hold /go                  commits wait, or go on
//	/safepoint?ts=N            what is older may be gone
//	/service?id=NAME&ts=N&ttl=S
//	                           a program needs what is visible since then, for so many seconds
//	/safepoints                all of them, as JSON: driver, services, and what clients are told
//	/driver?moves=N&services=N&ahead=MS
//	                           the placement driver refuses to move the safe point so often, or to change what a
//	                           service needs; its clock is ahead
//	/collect                   the stores clear away what the safe point lets them; not where there are older locks
//	/scans?hold=1              requests that look for locks wait, until hold=0; the answer is how many wait
//	/debug/pprof/              profiles of the stubs
func (b *boss) orders() http.Handler {
	mux := http.NewServeMux()
	number := func(r *http.Request, name string) int { n, _ := strconv.Atoi(r.FormValue(name)); return n }
	order := func(path string, do func(r *http.Request) error) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if err := do(r); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		})
	}
	order("/split", func(r *http.Request) error { return b.split(r.FormValue("key")) })
	order("/leaders", func(*http.Request) error { b.elect(); return nil })
	order("/stop", func(r *http.Request) error { return b.turn(number(r, "store"), false) })
	order("/start", func(r *http.Request) error { return b.turn(number(r, "store"), true) })
	order("/commits", func(r *http.Request) error {
		b.flaw.set(number(r, "lose"), number(r, "refuse"))
		return nil
	})
	order("/slow", func(r *http.Request) error {
		b.flaw.delayPrewrites(number(r, "times"), time.Duration(number(r, "ms"))*time.Millisecond)
		return nil
	})
	order("/hold", func(*http.Request) error { b.flaw.holdCommits(true); return nil })
	order("/go", func(*http.Request) error { b.flaw.holdCommits(false); return nil })
	order("/safepoint", func(r *http.Request) error {
		ts, err := strconv.ParseUint(r.FormValue("ts"), 10, 64)
		if err != nil {
			return err
		}
		b.driver.mu.Lock()
		defer b.driver.mu.Unlock()
		b.driver.safe = ts
		return nil
	})
	b.collection(mux, order)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/regions", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, len(b.cl.ScanRegions(nil, nil, 0)))
	})
	return mux
}

// collection takes the orders about old versions.
func (b *boss) collection(mux *http.ServeMux, order func(string, func(*http.Request) error)) {
	number := func(r *http.Request, name string) int64 {
		n, _ := strconv.ParseInt(r.FormValue(name), 10, 64)
		return n
	}
	order("/service", func(r *http.Request) error {
		at, err := strconv.ParseUint(r.FormValue("ts"), 10, 64)
		if err != nil {
			return err
		}
		b.driver.mu.Lock()
		defer b.driver.mu.Unlock()
		b.driver.services[r.FormValue("id")] = newService(at, number(r, "ttl"))
		return nil
	})
	order("/driver", func(r *http.Request) error {
		b.driver.mu.Lock()
		defer b.driver.mu.Unlock()
		b.driver.moves, b.driver.changes = int(number(r, "moves")), int(number(r, "services"))
		b.driver.ahead = number(r, "ahead")
		return nil
	})
	order("/collect", func(r *http.Request) error { return b.collect(r.Context()) })
	mux.HandleFunc("/safepoints", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(b.safePoints())
	})
	mux.HandleFunc("/scans", func(w http.ResponseWriter, r *http.Request) {
		if hold := r.FormValue("hold"); hold != "" {
			b.flaw.holdScans(hold == "1")
		}
		fmt.Fprint(w, b.flaw.waiting.Load())
	})
}

// safePoints is the answer to /safepoints.
type safePoints struct {
	Driver   uint64            `json:"driver"`
	Services map[string]uint64 `json:"services"`
	Told     string            `json:"told"` // in etcd, where clients look
}

func (b *boss) safePoints() safePoints {
	b.etcd.mu.Lock()
	told := string(b.etcd.m[savedSafePoint].value)
	b.etcd.mu.Unlock()
	b.driver.mu.Lock()
	defer b.driver.mu.Unlock()
	b.driver.least() // forgets those whose time is over
	out := safePoints{Driver: b.driver.safe, Services: map[string]uint64{}, Told: told}
	for id, s := range b.driver.services {
		out.Services[id] = s.at
	}
	return out
}

// collect clears old versions away, as TiKV does by itself once the safe point has moved.
func (b *boss) collect(ctx context.Context) error {
	b.driver.mu.Lock()
	safe := b.driver.safe
	b.driver.mu.Unlock()
	for _, r := range b.cl.ScanRegions(nil, nil, 0) {
		at := slices.Index(b.ids, r.Leader.StoreId)
		req := tikvrpc.NewRequest(tikvrpc.CmdGC, &kvrpcpb.GCRequest{SafePoint: safe},
			kvrpcpb.Context{RegionId: r.Meta.Id, RegionEpoch: r.Meta.RegionEpoch, Peer: r.Leader})
		resp, err := b.cli.SendRequest(ctx, b.machines[at].addr, req, time.Minute)
		if err != nil {
			return err
		}
		if did := resp.Resp.(*kvrpcpb.GCResponse); did.Error != nil || did.RegionError != nil {
			return fmt.Errorf("collect: %v", did)
		}
	}
	return nil
}

// split ends a region at a key, in hex.
func (b *boss) split(text string) error {
	key, err := hex.DecodeString(text)
	if err != nil {
		return err
	}
	if text == "" {
		if key = b.flaw.lockedLately(); key == nil {
			return errors.New("nothing was locked yet")
		}
	}
	region, leader, _ := b.cl.GetRegionByKey(memcomparable(key))
	if bytes.Equal(region.StartKey, memcomparable(key)) {
		return nil // one begins there
	}
	place := 0
	for i, p := range region.Peers {
		if leader != nil && p.Id == leader.Id {
			place = i
		}
	}
	peers := b.cl.AllocIDs(len(region.Peers))
	b.cl.Split(region.Id, b.cl.AllocID(), key, peers, peers[place])
	return nil
}

// elect gives each region another leader, on a store that is on.
func (b *boss) elect() {
	for _, r := range b.cl.ScanRegions(nil, nil, 0) {
		peers := r.Meta.Peers
		at := 0
		for i, p := range peers {
			if r.Leader != nil && p.Id == r.Leader.Id {
				at = i
			}
		}
		for i := range peers {
			p := peers[(at+1+i)%len(peers)]
			if n := slices.Index(b.ids, p.StoreId); n >= 0 && b.machines[n].server != nil {
				b.cl.ChangeLeader(r.Meta.Id, p.Id)
				break
			}
		}
	}
}

// turn switches a store off, or on.
func (b *boss) turn(n int, on bool) error {
	if n < 0 || n >= len(b.machines) {
		return fmt.Errorf("there is no store %d", n)
	}
	m := b.machines[n]
	switch {
	case on && m.server == nil:
		if err := m.start(m.addr); err != nil {
			return err
		}
		b.cl.StartStore(b.ids[n])
	case !on && m.server != nil:
		b.cl.StopStore(b.ids[n])
		m.stop()
	}
	return nil
}

// memcomparable is the form that keys have in regions: groups of eight bytes, each with the number of bytes that fill
// it up.
func memcomparable(key []byte) []byte {
	var out []byte
	for ; ; key = key[8:] {
		n := min(len(key), 8)
		out = append(append(out, key[:n]...), bytes.Repeat([]byte{0}, 8-n)...)
		if out = append(out, byte(0xff-(8-n))); n < 8 {
			return out
		}
	}
}
