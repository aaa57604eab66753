package tikv

import (
	"context"
	"fmt"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	client "github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
	"golang.org/x/sync/singleflight"
)

// resolver sends one request at a time that ends the locks of one transaction in one region, for all who ask for
// that. A process that was killed leaves up to a whole transaction of locks behind, and each read that meets one of
// them sends such a request: hundreds of readers would make the cluster do the same work hundreds of times, all at
// once.
type resolver struct {
	client.Client
	ctx     context.Context // of the store
	flights singleflight.Group
}

// SendRequest implements client.Client.
func (r *resolver) SendRequest(ctx context.Context, addr string, req *tikvrpc.Request,
	timeout time.Duration) (*tikvrpc.Response, error) {
	if req.Type != tikvrpc.CmdResolveLock {
		return r.Client.SendRequest(ctx, addr, req, timeout)
	}
	q := req.ResolveLock()
	if len(q.Keys) > 0 || len(q.TxnInfos) > 0 { // a few keys, or several transactions
		return r.Client.SendRequest(ctx, addr, req, timeout)
	}
	epoch := req.Context.GetRegionEpoch()
	same := fmt.Sprint(addr, req.Context.GetRegionId(), epoch.GetConfVer(), epoch.GetVersion(), q.StartVersion,
		q.CommitVersion)
	answer := r.flights.DoChan(same, func() (any, error) { // the first who asks may leave before the answer
		return r.Client.SendRequest(r.ctx, addr, req, timeout)
	})
	select {
	case a := <-answer:
		if a.Err != nil {
			return nil, a.Err
		}
		return ownAnswer(a.Val.(*tikvrpc.Response))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ownAnswer is a copy for one of those who share an answer: the client changes what it is given.
func ownAnswer(shared *tikvrpc.Response) (*tikvrpc.Response, error) {
	m, ok := shared.Resp.(*kvrpcpb.ResolveLockResponse)
	if !ok { // an answer to something else, which the client refuses
		return &tikvrpc.Response{Resp: shared.Resp}, nil
	}
	raw, err := m.Marshal()
	if err != nil {
		return nil, fmt.Errorf("share an answer about locks: %w", err)
	}
	own := &kvrpcpb.ResolveLockResponse{}
	if err := own.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("share an answer about locks: %w", err)
	}
	return &tikvrpc.Response{Resp: own}, nil
}
