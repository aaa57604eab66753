package tikv

import (
	"sync/atomic"

	"github.com/tikv/client-go/v2/tikvrpc"
)

// Trips counts requests to stores, repetitions included, by what they are.
type Trips struct {
	Reads, Prewrites, Validations, Commits, Others atomic.Uint64

	Stamps atomic.Uint64 // timestamps that snapshots have waited for; those of commits are not counted

	together atomic.Uint64 // see Together
}

// Together is how many reads went out beside another one, so that nothing waited for them alone.
func (t *Trips) Together() uint64 { return t.together.Load() }

func (t *Trips) count(c tikvrpc.CmdType, validating bool) {
	if validating {
		t.Validations.Add(1)
		return
	}
	switch c {
	case tikvrpc.CmdGet, tikvrpc.CmdBatchGet, tikvrpc.CmdScan:
		t.Reads.Add(1)
	case tikvrpc.CmdPrewrite:
		t.Prewrites.Add(1)
	case tikvrpc.CmdCommit:
		t.Commits.Add(1)
	default:
		t.Others.Add(1)
	}
}

// Trips gives the counters of the store.
func (s *Store) Trips() *Trips { return &s.trips }
