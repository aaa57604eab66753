package tikv

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/tikv/client-go/v2/config"
	etcdpb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// etcd asks the etcd that placement drivers have inside, at their own addresses. Its requests are few and simple: the
// client of etcd, with all that hangs on it, would make the program half a megabyte larger.
type etcd struct {
	members []*grpc.ClientConn
	last    atomic.Uint64 // the member that has answered last
}

// openEtcd connects to members when they are first asked.
func openEtcd(addrs []string, security config.Security) (*etcd, error) {
	tls, err := security.ToTLSConfig()
	if err != nil {
		return nil, fmt.Errorf("TLS to the cluster: %w", err)
	}
	creds := insecure.NewCredentials()
	if tls != nil {
		creds = credentials.NewTLS(tls)
	}
	e := &etcd{}
	for _, addr := range addrs {
		conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(creds),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepAlive, Timeout: keepAliveWait}))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("connect to the placement driver %s: %w", addr, err), e.Close())
		}
		e.members = append(e.members, conn)
	}
	return e, nil
}

// get reads a key, with the revision that wrote it: 0 where there is none.
func (e *etcd) get(ctx context.Context, key string) (value string, revision int64, err error) {
	err = e.ask(ctx, func(ctx context.Context, c etcdpb.KVClient) error {
		got, err := c.Range(ctx, &etcdpb.RangeRequest{Key: []byte(key)})
		if err == nil && len(got.Kvs) > 0 {
			value, revision = string(got.Kvs[0].Value), got.Kvs[0].ModRevision
		}
		return err
	})
	return value, revision, err
}

// replace writes a key that was last written by a revision, 0: by none. If another one has written it since, it reports
// false.
func (e *etcd) replace(ctx context.Context, key, value string, revision int64) (did bool, err error) {
	err = e.ask(ctx, func(ctx context.Context, c etcdpb.KVClient) error {
		got, err := c.Txn(ctx, &etcdpb.TxnRequest{
			Compare: []*etcdpb.Compare{{Key: []byte(key), Result: etcdpb.Compare_EQUAL, Target: etcdpb.Compare_MOD,
				TargetUnion: &etcdpb.Compare_ModRevision{ModRevision: revision}}},
			Success: []*etcdpb.RequestOp{{Request: &etcdpb.RequestOp_RequestPut{
				RequestPut: &etcdpb.PutRequest{Key: []byte(key), Value: []byte(value)}}}}})
		if err == nil {
			did = got.Succeeded
		}
		return err
	})
	return did, err
}

// ask asks one member after the other until one answers, the one first that has answered last.
func (e *etcd) ask(ctx context.Context, request func(context.Context, etcdpb.KVClient) error) error {
	var failed error
	first := e.last.Load()
	for i := range uint64(len(e.members)) {
		n := (first + i) % uint64(len(e.members))
		within, cancel := context.WithTimeout(ctx, keepAliveWait)
		err := request(within, etcdpb.NewKVClient(e.members[n]))
		cancel()
		if err == nil {
			e.last.Store(n)
			return nil
		}
		if failed = errors.Join(failed, err); ctx.Err() != nil {
			break
		}
	}
	return failed
}

// Close ends the connections.
func (e *etcd) Close() error {
	var failed error
	for _, c := range e.members {
		failed = errors.Join(failed, c.Close())
	}
	return failed
}
