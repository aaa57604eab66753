package tikv

import (
	"context"
	"errors"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/tikv/client-go/v2/config"
	"github.com/tikv/client-go/v2/tikvrpc"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/nacredb/nacre/engine/kv"
)

// Lapse lets others take the place of the builder, as time does when its program stands still.
func (b *Builder) Lapse() error {
	return b.try(func(tx *transaction.KVTxn, _ holder) error { return b.note(tx, 0) })
}

// IsEarly reports whether a snapshot has a timestamp from before it began.
func IsEarly(sn kv.Snapshot) bool { return sn.(*snapshot).early }

// Paced makes the store work at old versions so often, the first time at once, and wait so long for clients.
func Paced(opt Options, every, settle time.Duration) Options {
	opt.pace = &pace{every: every, settle: settle, renew: time.Millisecond}
	return opt
}

// Unpaced makes the store leave old versions alone until Turn. It waits for no client then.
func Unpaced(opt Options) Options {
	opt.pace = &pace{first: 240 * time.Hour, every: time.Minute, renew: time.Minute}
	return opt
}

// Turn works at old versions once.
func (s *Store) Turn(ctx context.Context) error { return s.gc.turn(ctx) }

// Leave leaves locks at the keys of pairs, as a process does that dies while it commits: with a commit timestamp it
// has committed the first one.
func (s *Store) Leave(ctx context.Context, start, commit uint64, pairs ...string) error {
	var primary []byte
	for i := 0; i < len(pairs); i += 2 {
		k := s.space.base([]byte(pairs[i]))
		if i == 0 {
			primary = k
		}
		req := tikvrpc.NewRequest(tikvrpc.CmdPrewrite, &kvrpcpb.PrewriteRequest{PrimaryLock: primary,
			StartVersion: start, LockTtl: 1000, TxnSize: uint64(len(pairs) / 2), Mutations: []*kvrpcpb.Mutation{
				{Op: kvrpcpb.Op_Put, Key: k, Value: seal(k, []byte(pairs[i+1]))}}})
		resp, err := s.send(ctx, k, req)
		if err != nil {
			return err
		}
		if refused := resp.(*kvrpcpb.PrewriteResponse).Errors; len(refused) > 0 {
			return errors.New(refused[0].String())
		}
	}
	if commit == 0 {
		return nil
	}
	resp, err := s.send(ctx, primary, tikvrpc.NewRequest(tikvrpc.CmdCommit, &kvrpcpb.CommitRequest{
		StartVersion: start, CommitVersion: commit, Keys: [][]byte{primary}}))
	if err == nil && resp.(*kvrpcpb.CommitResponse).Error != nil {
		err = errors.New(resp.(*kvrpcpb.CommitResponse).Error.String())
	}
	return err
}

// send sends a request to the region of a key.
func (s *Store) send(ctx context.Context, k []byte, req *tikvrpc.Request) (any, error) {
	bo := s.patience(ctx)
	at, err := s.client.GetRegionCache().LocateKey(bo, k)
	if err != nil {
		return nil, err
	}
	answer, again, err := s.reader(0).ask(bo, req, at.Region)
	if again {
		return s.send(ctx, k, req)
	}
	return answer, err
}

// SafePointWithoutEtcd is the safe point that clients are told while no etcd answers.
func (s *Store) SafePointWithoutEtcd() (string, error) {
	dead, err := openEtcd([]string{"127.0.0.1:1"}, config.Security{})
	if err != nil {
		return "", err
	}
	defer func() { _ = dead.Close() }()
	p := &safePoint{driver: s.safe.driver, etcd: dead, ctx: s.ctx, wait: s.opt.Timeout}
	return p.Get("")
}

// AnnounceFor sets how many milliseconds changes of steady keys may commit after they are announced.
func (s *Store) AnnounceFor(ms int64) { s.steady.span = ms }

// Announced gives when changes of steady keys by this process may commit.
func (s *Store) Announced() (from, until kv.Version) {
	s.steady.turn <- struct{}{}
	defer func() { <-s.steady.turn }()
	return kv.Version(s.steady.from), kv.Version(s.steady.until)
}
