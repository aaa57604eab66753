package main

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"time"

	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/pingcap/kvproto/pkg/pdpb"
	"github.com/tikv/client-go/v2/testutils"
	etcdpb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// pdServer is a placement driver: timestamps, regions, stores and safe points.
type pdServer struct {
	pdpb.UnimplementedPDServer
	url      string
	cluster  *testutils.MockCluster
	mu       sync.Mutex // guards all below
	phys     int64
	logical  int64
	ahead    int64 // milliseconds by which its clock is ahead
	safe     uint64
	services map[string]service
	moves    int // so many moves of the safe point are refused
	changes  int // so many changes of services
}

// service is what one program that reads old versions needs: those that are visible at a timestamp and later.
type service struct {
	at    uint64
	until time.Time // zero: for ever
}

// collector is the service of those who move the safe point. It is always there.
const collector = "gc_worker"

func newDriver(cluster *testutils.MockCluster) *pdServer {
	return &pdServer{cluster: cluster, services: map[string]service{collector: {}}}
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
	now := time.Now().UnixMilli() + s.ahead
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
		if s.moves > 0 {
			s.moves--
			return nil, status.Error(codes.Unknown, "the safe point is not moved, for a test")
		}
		s.safe = q.SafePoint
	}
	return &pdpb.UpdateGCSafePointResponse{Header: hdr(), NewSafePoint: s.safe}, nil
}

// UpdateServiceGCSafePoint sets what a service needs, or forgets it where the time is not positive, and answers the
// least that any of them needs. What is less than that already changes nothing.
func (s *pdServer) UpdateServiceGCSafePoint(_ context.Context,
	q *pdpb.UpdateServiceGCSafePointRequest) (*pdpb.UpdateServiceGCSafePointResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := string(q.ServiceId)
	if s.changes > 0 {
		s.changes--
		return nil, status.Error(codes.Unknown, "the service is not changed, for a test")
	}
	if id == collector && q.TTL != math.MaxInt64 {
		return nil, status.Error(codes.InvalidArgument, collector+" is there for ever")
	}
	if q.TTL <= 0 {
		delete(s.services, id)
	} else if _, least := s.least(); q.SafePoint >= least {
		s.services[id] = newService(q.SafePoint, q.TTL)
	}
	first, least := s.least()
	return &pdpb.UpdateServiceGCSafePointResponse{Header: hdr(), ServiceId: []byte(first), TTL: q.TTL,
		MinSafePoint: least}, nil
}

// newService gives one for so many seconds.
func newService(at uint64, seconds int64) service {
	if seconds == math.MaxInt64 {
		return service{at: at}
	}
	return service{at: at, until: time.Now().Add(time.Duration(seconds) * time.Second)}
}

// least gives the service that needs the oldest versions. Those whose time is over are forgotten. s.mu is held.
func (s *pdServer) least() (id string, at uint64) {
	at = math.MaxUint64
	for name, one := range s.services {
		switch {
		case !one.until.IsZero() && time.Now().After(one.until):
			delete(s.services, name)
		case one.at < at:
			id, at = name, one.at
		}
	}
	return id, at
}

// etcdKV is the part of etcd that the client uses at the address of the placement driver: the safe point that clients
// go by is kept there.
type etcdKV struct {
	etcdpb.UnimplementedKVServer
	mu       sync.Mutex // guards all below
	m        map[string]pair
	revision int64
}

// pair is a value with the revision that has written it.
type pair struct {
	value    []byte
	revision int64
}

func (e *etcdKV) Range(_ context.Context, r *etcdpb.RangeRequest) (*etcdpb.RangeResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := &etcdpb.RangeResponse{Header: &etcdpb.ResponseHeader{Revision: e.revision}}
	for k, v := range e.m {
		if k == string(r.Key) || len(r.RangeEnd) > 0 && k >= string(r.Key) && k < string(r.RangeEnd) {
			o.Kvs = append(o.Kvs, &mvccpb.KeyValue{Key: []byte(k), Value: v.value, ModRevision: v.revision})
			o.Count++
		}
	}
	return o, nil
}

func (e *etcdKV) Put(_ context.Context, r *etcdpb.PutRequest) (*etcdpb.PutResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.put(r)
	return &etcdpb.PutResponse{Header: &etcdpb.ResponseHeader{Revision: e.revision}}, nil
}

// put writes a pair; e.mu is held.
func (e *etcdKV) put(r *etcdpb.PutRequest) {
	e.revision++
	e.m[string(r.Key)] = pair{r.Value, e.revision}
}

// Txn writes pairs where keys have still the revisions that it names. There is no other kind of it.
func (e *etcdKV) Txn(_ context.Context, r *etcdpb.TxnRequest) (*etcdpb.TxnResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range r.Compare {
		if c.Target != etcdpb.Compare_MOD || c.Result != etcdpb.Compare_EQUAL || len(r.Failure) > 0 {
			return nil, status.Error(codes.Unimplemented, "only the revision of a key is compared")
		}
		if e.m[string(c.Key)].revision != c.GetModRevision() {
			return &etcdpb.TxnResponse{Header: &etcdpb.ResponseHeader{Revision: e.revision}}, nil
		}
	}
	o := &etcdpb.TxnResponse{Header: &etcdpb.ResponseHeader{}, Succeeded: true}
	for _, op := range r.Success {
		put := op.GetRequestPut()
		if put == nil {
			return nil, status.Error(codes.Unimplemented, "only pairs are written")
		}
		e.put(put)
		did := &etcdpb.ResponseOp_ResponsePut{ResponsePut: &etcdpb.PutResponse{Header: &etcdpb.ResponseHeader{}}}
		o.Responses = append(o.Responses, &etcdpb.ResponseOp{Response: did})
	}
	o.Header.Revision = e.revision
	return o, nil
}

// savedSafePoint is the key of the safe point that clients go by.
const savedSafePoint = "/tidb/store/gcworker/saved_safe_point"

// etcdCluster says where the placement driver is.
type etcdCluster struct {
	etcdpb.UnimplementedClusterServer
	url string
}

func (c *etcdCluster) MemberList(context.Context, *etcdpb.MemberListRequest) (*etcdpb.MemberListResponse, error) {
	return &etcdpb.MemberListResponse{Header: &etcdpb.ResponseHeader{}, Members: []*etcdpb.Member{{ID: 1,
		Name: "pd-0", ClientURLs: []string{c.url}}}}, nil
}
