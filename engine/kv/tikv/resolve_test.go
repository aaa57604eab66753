package tikv

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/metapb"
	client "github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
)

// region answers requests that end locks, after a while, with the same news of regions.
type region struct {
	client.Client
	asked int
}

// SendRequest implements client.Client.
func (r *region) SendRequest(context.Context, string, *tikvrpc.Request, time.Duration) (*tikvrpc.Response, error) {
	r.asked++
	time.Sleep(50 * time.Millisecond)
	return &tikvrpc.Response{Resp: &kvrpcpb.ResolveLockResponse{RegionError: &errorpb.Error{Message: "moved",
		EpochNotMatch: &errorpb.EpochNotMatch{CurrentRegions: []*metapb.Region{{Id: 7}}}}}}, nil
}

// TestSharedAnswersAreCopies: those who share one request get an answer each, which they may change.
func TestSharedAnswersAreCopies(t *testing.T) {
	of := &region{}
	r := &resolver{Client: of, ctx: t.Context()}
	var got [8]*kvrpcpb.ResolveLockResponse
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			req := tikvrpc.NewRequest(tikvrpc.CmdResolveLock, &kvrpcpb.ResolveLockRequest{StartVersion: 1})
			resp, err := r.SendRequest(t.Context(), "store", req, time.Second)
			if err != nil {
				t.Error(err)
				return
			}
			got[i] = resp.Resp.(*kvrpcpb.ResolveLockResponse)
			got[i].RegionError.EpochNotMatch.CurrentRegions[0].Id++ // as the client does
		})
	}
	wg.Wait()
	if of.asked == len(got) {
		t.Fatal("none has shared a request: the test shows nothing")
	}
	for _, g := range got {
		if g == nil || g.RegionError.Message != "moved" || g.RegionError.EpochNotMatch.CurrentRegions[0].Id != 8 {
			t.Errorf("got %v", g)
		}
	}
}
