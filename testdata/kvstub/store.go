package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/tikvpb"
	"github.com/tikv/client-go/v2/testutils"
	"github.com/tikv/client-go/v2/tikvrpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// store is one TiKV server: each request goes to the mock store, under the address of this one.
type store struct {
	tikvpb.UnimplementedTikvServer
	addr string
	cli  *testutils.MockClient
	flaw *flaws
}

type hasCtx interface{ GetContext() *kvrpcpb.Context }

func do[R any](s *store, ctx context.Context, t tikvrpc.CmdType, q hasCtx) (R, error) {
	var zero R
	req := tikvrpc.NewRequest(t, q)
	if c := q.GetContext(); c != nil {
		req.Context = *c
	}
	r, err := s.cli.SendRequest(ctx, s.addr, req, time.Minute)
	if err != nil {
		return zero, err
	}
	return r.Resp.(R), nil
}

func (s *store) KvGet(c context.Context, q *kvrpcpb.GetRequest) (*kvrpcpb.GetResponse, error) {
	return do[*kvrpcpb.GetResponse](s, c, tikvrpc.CmdGet, q)
}

func (s *store) KvScan(c context.Context, q *kvrpcpb.ScanRequest) (*kvrpcpb.ScanResponse, error) {
	return do[*kvrpcpb.ScanResponse](s, c, tikvrpc.CmdScan, q)
}

func (s *store) KvPrewrite(c context.Context, q *kvrpcpb.PrewriteRequest) (*kvrpcpb.PrewriteResponse, error) {
	r, err := do[*kvrpcpb.PrewriteResponse](s, c, tikvrpc.CmdPrewrite, q)
	if err == nil {
		for _, e := range r.Errors {
			undone(e)
		}
	}
	return r, err
}

func (s *store) KvPessimisticLock(c context.Context,
	q *kvrpcpb.PessimisticLockRequest) (*kvrpcpb.PessimisticLockResponse, error) {
	return do[*kvrpcpb.PessimisticLockResponse](s, c, tikvrpc.CmdPessimisticLock, q)
}

func (s *store) KVPessimisticRollback(c context.Context,
	q *kvrpcpb.PessimisticRollbackRequest) (*kvrpcpb.PessimisticRollbackResponse, error) {
	return do[*kvrpcpb.PessimisticRollbackResponse](s, c, tikvrpc.CmdPessimisticRollback, q)
}

func (s *store) KvTxnHeartBeat(c context.Context,
	q *kvrpcpb.TxnHeartBeatRequest) (*kvrpcpb.TxnHeartBeatResponse, error) {
	return do[*kvrpcpb.TxnHeartBeatResponse](s, c, tikvrpc.CmdTxnHeartBeat, q)
}

func (s *store) KvCheckTxnStatus(c context.Context,
	q *kvrpcpb.CheckTxnStatusRequest) (*kvrpcpb.CheckTxnStatusResponse, error) {
	return do[*kvrpcpb.CheckTxnStatusResponse](s, c, tikvrpc.CmdCheckTxnStatus, q)
}

func (s *store) KvCommit(c context.Context, q *kvrpcpb.CommitRequest) (*kvrpcpb.CommitResponse, error) {
	r, err := do[*kvrpcpb.CommitResponse](s, c, tikvrpc.CmdCommit, q)
	if err == nil {
		undone(r.Error)
	}
	return r, err
}

// undone makes the error of a transaction that somebody else has undone what TiKV says of it: it may be tried again.
func undone(e *kvrpcpb.KeyError) {
	if e != nil && strings.Contains(e.Abort, "already rolled back") {
		e.Abort, e.Retryable = "", e.Abort
	}
}

func (s *store) KvCleanup(c context.Context, q *kvrpcpb.CleanupRequest) (*kvrpcpb.CleanupResponse, error) {
	return do[*kvrpcpb.CleanupResponse](s, c, tikvrpc.CmdCleanup, q)
}

func (s *store) KvBatchGet(c context.Context, q *kvrpcpb.BatchGetRequest) (*kvrpcpb.BatchGetResponse, error) {
	return do[*kvrpcpb.BatchGetResponse](s, c, tikvrpc.CmdBatchGet, q)
}

func (s *store) KvBatchRollback(c context.Context,
	q *kvrpcpb.BatchRollbackRequest) (*kvrpcpb.BatchRollbackResponse, error) {
	return do[*kvrpcpb.BatchRollbackResponse](s, c, tikvrpc.CmdBatchRollback, q)
}

func (s *store) KvScanLock(c context.Context, q *kvrpcpb.ScanLockRequest) (*kvrpcpb.ScanLockResponse, error) {
	s.flaw.scan(c)
	return do[*kvrpcpb.ScanLockResponse](s, c, tikvrpc.CmdScanLock, q)
}

func (s *store) KvResolveLock(c context.Context,
	q *kvrpcpb.ResolveLockRequest) (*kvrpcpb.ResolveLockResponse, error) {
	if len(q.Keys) > 0 {
		return s.resolveKeys(c, q)
	}
	if len(q.TxnInfos) > 0 {
		return s.resolveSeveral(c, q)
	}
	return do[*kvrpcpb.ResolveLockResponse](s, c, tikvrpc.CmdResolveLock, q)
}

// resolveSeveral ends the locks of several transactions in a region. The mock store knows only requests for one.
func (s *store) resolveSeveral(c context.Context, q *kvrpcpb.ResolveLockRequest) (*kvrpcpb.ResolveLockResponse, error) {
	for _, one := range q.TxnInfos {
		r, err := do[*kvrpcpb.ResolveLockResponse](s, c, tikvrpc.CmdResolveLock, &kvrpcpb.ResolveLockRequest{
			Context: q.Context, StartVersion: one.Txn, CommitVersion: one.Status})
		if err != nil || r.RegionError != nil || r.Error != nil {
			return r, err
		}
	}
	return &kvrpcpb.ResolveLockResponse{}, nil
}

// resolveKeys ends the locks at some keys. The mock store would look through all keys of the region for them.
func (s *store) resolveKeys(c context.Context, q *kvrpcpb.ResolveLockRequest) (*kvrpcpb.ResolveLockResponse, error) {
	if q.CommitVersion == 0 {
		r, err := do[*kvrpcpb.BatchRollbackResponse](s, c, tikvrpc.CmdBatchRollback,
			&kvrpcpb.BatchRollbackRequest{Context: q.Context, StartVersion: q.StartVersion, Keys: q.Keys})
		if err != nil {
			return nil, err
		}
		return &kvrpcpb.ResolveLockResponse{RegionError: r.RegionError}, nil // an error of a key: it was ended already
	}
	r, err := do[*kvrpcpb.CommitResponse](s, c, tikvrpc.CmdCommit,
		&kvrpcpb.CommitRequest{Context: q.Context, StartVersion: q.StartVersion, Keys: q.Keys,
			CommitVersion: q.CommitVersion})
	if err != nil {
		return nil, err
	}
	return &kvrpcpb.ResolveLockResponse{RegionError: r.RegionError}, nil
}

func (s *store) KvGC(c context.Context, q *kvrpcpb.GCRequest) (*kvrpcpb.GCResponse, error) {
	return do[*kvrpcpb.GCResponse](s, c, tikvrpc.CmdGC, q)
}

func (s *store) KvDeleteRange(c context.Context,
	q *kvrpcpb.DeleteRangeRequest) (*kvrpcpb.DeleteRangeResponse, error) {
	return do[*kvrpcpb.DeleteRangeResponse](s, c, tikvrpc.CmdDeleteRange, q)
}

func (s *store) SplitRegion(c context.Context, q *kvrpcpb.SplitRegionRequest) (*kvrpcpb.SplitRegionResponse, error) {
	return do[*kvrpcpb.SplitRegionResponse](s, c, tikvrpc.CmdSplitRegion, q)
}

func (s *store) one(ctx context.Context,
	q *tikvpb.BatchCommandsRequest_Request) (*tikvpb.BatchCommandsResponse_Response, error) {
	type R = tikvpb.BatchCommandsResponse_Response
	switch c := q.Cmd.(type) {
	case *tikvpb.BatchCommandsRequest_Request_Get:
		r, e := s.KvGet(ctx, c.Get)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_Get{Get: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_Scan:
		r, e := s.KvScan(ctx, c.Scan)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_Scan{Scan: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_Prewrite:
		r, e := s.KvPrewrite(ctx, c.Prewrite)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_Prewrite{Prewrite: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_Commit:
		r, e := s.KvCommit(ctx, c.Commit)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_Commit{Commit: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_Cleanup:
		r, e := s.KvCleanup(ctx, c.Cleanup)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_Cleanup{Cleanup: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_BatchGet:
		r, e := s.KvBatchGet(ctx, c.BatchGet)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_BatchGet{BatchGet: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_BatchRollback:
		r, e := s.KvBatchRollback(ctx, c.BatchRollback)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_BatchRollback{BatchRollback: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_ScanLock:
		r, e := s.KvScanLock(ctx, c.ScanLock)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_ScanLock{ScanLock: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_ResolveLock:
		r, e := s.KvResolveLock(ctx, c.ResolveLock)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_ResolveLock{ResolveLock: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_GC:
		r, e := s.KvGC(ctx, c.GC)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_GC{GC: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_DeleteRange:
		r, e := s.KvDeleteRange(ctx, c.DeleteRange)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_DeleteRange{DeleteRange: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_PessimisticLock:
		r, e := s.KvPessimisticLock(ctx, c.PessimisticLock)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_PessimisticLock{PessimisticLock: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_PessimisticRollback:
		r, e := s.KVPessimisticRollback(ctx, c.PessimisticRollback)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_PessimisticRollback{PessimisticRollback: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_CheckTxnStatus:
		r, e := s.KvCheckTxnStatus(ctx, c.CheckTxnStatus)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_CheckTxnStatus{CheckTxnStatus: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_TxnHeartBeat:
		r, e := s.KvTxnHeartBeat(ctx, c.TxnHeartBeat)
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_TxnHeartBeat{TxnHeartBeat: r}}, e
	case *tikvpb.BatchCommandsRequest_Request_Empty:
		return &R{Cmd: &tikvpb.BatchCommandsResponse_Response_Empty{
			Empty: &tikvpb.BatchCommandsEmptyResponse{TestId: c.Empty.TestId}}}, nil
	}
	return nil, fmt.Errorf("kvstub: unsupported batch command %T", q.Cmd)
}

func (s *store) BatchCommands(st tikvpb.Tikv_BatchCommandsServer) error {
	var mu sync.Mutex
	fail := make(chan error, 1)
	recv := make(chan *tikvpb.BatchCommandsRequest)
	rerr := make(chan error, 1)
	go func() {
		for {
			b, err := st.Recv()
			if err != nil {
				rerr <- err
				return
			}
			select {
			case recv <- b:
			case <-st.Context().Done():
				return
			}
		}
	}()
	for {
		var b *tikvpb.BatchCommandsRequest
		var err error
		select {
		case e := <-fail:
			return status.Error(codes.Unavailable, e.Error())
		case err = <-rerr:
		case b = <-recv:
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		for i := range b.Requests {
			go func(id uint64, q *tikvpb.BatchCommandsRequest_Request) {
				r, err := s.flaw.around(q, func() (*tikvpb.BatchCommandsResponse_Response, error) {
					return s.one(st.Context(), q)
				})
				if err != nil {
					select {
					case fail <- err:
					default:
					}
					return
				}
				mu.Lock()
				defer mu.Unlock()
				_ = st.Send(&tikvpb.BatchCommandsResponse{RequestIds: []uint64{id},
					Responses: []*tikvpb.BatchCommandsResponse_Response{r}})
			}(b.RequestIds[i], b.Requests[i])
		}
	}
}
