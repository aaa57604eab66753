package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/pingcap/kvproto/pkg/pdpb"
	"github.com/tikv/client-go/v2/testutils"
	etcdpb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// pdServer is a placement driver: timestamps, regions, stores and the safe point.
type pdServer struct {
	pdpb.UnimplementedPDServer
	url     string
	cluster *testutils.MockCluster
	mu      sync.Mutex
	phys    int64
	logical int64
	safe    uint64
}

const clusterID = 7_000_001

func hdr() *pdpb.ResponseHeader { return &pdpb.ResponseHeader{ClusterId: clusterID} }
func (s *pdServer) member() *pdpb.Member {
	return &pdpb.Member{Name: "pd-0", MemberId: 1, ClientUrls: []string{s.url}, PeerUrls: []string{s.url}}
}

func (s *pdServer) GetMembers(context.Context, *pdpb.GetMembersRequest) (*pdpb.GetMembersResponse, error) {
	m := s.member()
	return &pdpb.GetMembersResponse{Header: hdr(), Members: []*pdpb.Member{m}, Leader: m, EtcdLeader: m,
		TsoAllocatorLeaders: map[string]*pdpb.Member{"global": m}}, nil
}

func (s *pdServer) ts(n uint32) *pdpb.Timestamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().UnixMilli()
	if now > s.phys {
		s.phys, s.logical = now, 0
	}
	s.logical += int64(n)
	if s.logical >= 1<<18 {
		s.phys++
		s.logical = int64(n)
	}
	return &pdpb.Timestamp{Physical: s.phys, Logical: s.logical}
}

func (s *pdServer) Tso(st pdpb.PD_TsoServer) error {
	for {
		r, err := st.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := st.Send(&pdpb.TsoResponse{Header: hdr(), Count: r.Count, Timestamp: s.ts(r.Count)}); err != nil {
			return err
		}
	}
}

func reg(r *metapb.Region, p *metapb.Peer) *pdpb.GetRegionResponse {
	return &pdpb.GetRegionResponse{Header: hdr(), Region: r, Leader: p}
}

func (s *pdServer) GetRegion(_ context.Context, q *pdpb.GetRegionRequest) (*pdpb.GetRegionResponse, error) {
	r, p, _ := s.cluster.GetRegionByKey(q.RegionKey)
	return reg(r, p), nil
}

func (s *pdServer) GetPrevRegion(_ context.Context, q *pdpb.GetRegionRequest) (*pdpb.GetRegionResponse, error) {
	r, p, _ := s.cluster.GetPrevRegionByKey(q.RegionKey)
	return reg(r, p), nil
}

func (s *pdServer) GetRegionByID(_ context.Context, q *pdpb.GetRegionByIDRequest) (*pdpb.GetRegionResponse, error) {
	r, p, _ := s.cluster.GetRegionByID(q.RegionId)
	return reg(r, p), nil
}

func (s *pdServer) ScanRegions(_ context.Context, q *pdpb.ScanRegionsRequest) (*pdpb.ScanRegionsResponse, error) {
	o := &pdpb.ScanRegionsResponse{Header: hdr()}
	for _, r := range s.cluster.ScanRegions(q.StartKey, q.EndKey, int(q.Limit)) {
		o.Regions = append(o.Regions, &pdpb.Region{Region: r.Meta, Leader: r.Leader})
		o.RegionMetas = append(o.RegionMetas, r.Meta)
		o.Leaders = append(o.Leaders, r.Leader)
	}
	return o, nil
}

func (s *pdServer) GetStore(_ context.Context, q *pdpb.GetStoreRequest) (*pdpb.GetStoreResponse, error) {
	return &pdpb.GetStoreResponse{Header: hdr(), Store: s.cluster.GetStore(q.StoreId)}, nil
}

func (s *pdServer) GetAllStores(context.Context, *pdpb.GetAllStoresRequest) (*pdpb.GetAllStoresResponse, error) {
	return &pdpb.GetAllStoresResponse{Header: hdr(), Stores: s.cluster.GetAllStores()}, nil
}

func (s *pdServer) AllocID(context.Context, *pdpb.AllocIDRequest) (*pdpb.AllocIDResponse, error) {
	return &pdpb.AllocIDResponse{Header: hdr(), Id: s.cluster.AllocID()}, nil
}

func (s *pdServer) GetGCSafePoint(context.Context,
	*pdpb.GetGCSafePointRequest) (*pdpb.GetGCSafePointResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &pdpb.GetGCSafePointResponse{Header: hdr(), SafePoint: s.safe}, nil
}

func (s *pdServer) UpdateGCSafePoint(_ context.Context,
	q *pdpb.UpdateGCSafePointRequest) (*pdpb.UpdateGCSafePointResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.SafePoint > s.safe {
		s.safe = q.SafePoint
	}
	return &pdpb.UpdateGCSafePointResponse{Header: hdr(), NewSafePoint: s.safe}, nil
}

func (s *pdServer) UpdateServiceGCSafePoint(_ context.Context,
	q *pdpb.UpdateServiceGCSafePointRequest) (*pdpb.UpdateServiceGCSafePointResponse, error) {
	return &pdpb.UpdateServiceGCSafePointResponse{Header: hdr(), ServiceId: q.ServiceId, TTL: q.TTL,
		MinSafePoint: q.SafePoint}, nil
}

// etcdKV is the part of etcd that the client uses at the address of the placement driver: the safe point is kept there.
type etcdKV struct {
	etcdpb.UnimplementedKVServer
	mu sync.Mutex
	m  map[string][]byte
}

func (e *etcdKV) Range(_ context.Context, r *etcdpb.RangeRequest) (*etcdpb.RangeResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := &etcdpb.RangeResponse{Header: &etcdpb.ResponseHeader{}}
	for k, v := range e.m {
		if k == string(r.Key) || len(r.RangeEnd) > 0 && k >= string(r.Key) && k < string(r.RangeEnd) {
			o.Kvs = append(o.Kvs, &mvccpb.KeyValue{Key: []byte(k), Value: v})
			o.Count++
		}
	}
	return o, nil
}

// etcdCluster says where the placement driver is.
type etcdCluster struct {
	etcdpb.UnimplementedClusterServer
	url string
}

func (c *etcdCluster) MemberList(context.Context, *etcdpb.MemberListRequest) (*etcdpb.MemberListResponse, error) {
	return &etcdpb.MemberListResponse{Header: &etcdpb.ResponseHeader{}, Members: []*etcdpb.Member{{ID: 1,
		Name: "pd-0", ClientURLs: []string{c.url}}}}, nil
}

func (e *etcdKV) Put(_ context.Context, r *etcdpb.PutRequest) (*etcdpb.PutResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.m[string(r.Key)] = r.Value
	return &etcdpb.PutResponse{Header: &etcdpb.ResponseHeader{}}, nil
}
