package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/tikv/client-go/v2/testutils"
)

// admin is how a test makes trouble:
//
//	/split?key=HEX             a region ends at the key
//	/leaders                   all regions get another leader
//	/stop?store=N /start?store=N
//	/commits?lose=N&refuse=N   the connections of so many commits break, after or before they are executed
//	/slow?times=N&ms=N         so many requests that lock wait so long before they are executed
//	/hold /go                  commits wait, or go on
//	/safepoint?ts=N            what is older may be gone
func admin(cl *testutils.MockCluster, stores []uint64, flaw *flaws, driver *pdServer) http.Handler {
	mux := http.NewServeMux()
	number := func(r *http.Request, name string) int { n, _ := strconv.Atoi(r.FormValue(name)); return n }
	mux.HandleFunc("/split", func(w http.ResponseWriter, r *http.Request) {
		key, err := hex.DecodeString(r.FormValue("key"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		region, _, _ := cl.GetRegionByKey(memcomparable(key))
		peers := cl.AllocIDs(len(region.Peers))
		cl.Split(region.Id, cl.AllocID(), key, peers, peers[0])
	})
	mux.HandleFunc("/leaders", func(w http.ResponseWriter, _ *http.Request) {
		for _, r := range cl.ScanRegions(nil, nil, 0) {
			peers := r.Meta.Peers
			for i, p := range peers {
				if p.Id == r.Leader.Id {
					cl.ChangeLeader(r.Meta.Id, peers[(i+1)%len(peers)].Id)
				}
			}
		}
	})
	mux.HandleFunc("/regions", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, len(cl.ScanRegions(nil, nil, 0)))
	})
	mux.HandleFunc("/stop", func(_ http.ResponseWriter, r *http.Request) { cl.StopStore(stores[number(r, "store")]) })
	mux.HandleFunc("/start", func(_ http.ResponseWriter, r *http.Request) {
		cl.StartStore(stores[number(r,
			"store")])
	})
	mux.HandleFunc("/commits", func(_ http.ResponseWriter, r *http.Request) {
		flaw.set(number(r, "lose"), number(r, "refuse"))
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		flaw.delayPrewrites(number(r, "times"), time.Duration(number(r, "ms"))*time.Millisecond)
	})
	mux.HandleFunc("/hold", func(http.ResponseWriter, *http.Request) { flaw.holdCommits(true) })
	mux.HandleFunc("/go", func(http.ResponseWriter, *http.Request) { flaw.holdCommits(false) })
	mux.HandleFunc("/safepoint", func(w http.ResponseWriter, r *http.Request) {
		ts, err := strconv.ParseUint(r.FormValue("ts"), 10, 64)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		driver.mu.Lock()
		defer driver.mu.Unlock()
		driver.safe = ts
	})
	return mux
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
