package tikv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	tikverr "github.com/tikv/client-go/v2/error"
	client "github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
	"github.com/tikv/client-go/v2/txnkv/txnlock"
	"github.com/tikv/client-go/v2/txnkv/txnsnapshot"
	"github.com/tikv/client-go/v2/util"
	"golang.org/x/sync/errgroup"

	"github.com/nacredb/nacre/engine/kv"
)

// reader reads the cluster as it is at one timestamp. It is safe for concurrent use. Keys and values are those in the
// cluster.
type reader struct {
	store  *Store
	at     uint64
	helper *txnsnapshot.ClientHelper

	through, committed util.TSSet // the start timestamps of those whose locks are no obstacle: to pass by, and to read

	validating bool // what it reads is counted as that
}

// reader gives one at a timestamp. Locks of the transactions that started at own are looked through: what they
// replace is read.
func (s *Store) reader(at uint64, own ...uint64) *reader {
	r := &reader{store: s, at: at}
	if len(own) > 0 {
		r.through.Put(own...)
	}
	r.helper = txnsnapshot.NewClientHelper(s.client, &r.through, &r.committed, true)
	return r
}

// lockWait is the longest pause before a read looks again at a lock of somebody else.
const lockWait = 200 * time.Millisecond

// ask sends a request to a region. again: there was no answer, and the region must be looked up anew.
func (r *reader) ask(bo *client.Backoffer, req *tikvrpc.Request, region client.RegionVerID) (answer any, again bool,
	err error) {
	r.store.trips.count(req.Type, r.validating)
	resp, _, _, err := r.helper.SendReqCtx(bo, req, region, r.store.opt.Timeout, tikvrpc.TiKV, "")
	if err != nil {
		return nil, false, err
	}
	wrong, err := resp.GetRegionError()
	if err != nil {
		return nil, false, err
	}
	if wrong != nil {
		if wrong.GetEpochNotMatch() == nil {
			err = bo.Backoff(client.BoRegionMiss(), errors.New(wrong.String()))
		}
		return nil, true, err
	}
	if resp.Resp == nil {
		return nil, false, tikverr.ErrBodyMissing
	}
	return resp.Resp, false, nil
}

// clear deals with a lock that a read has met: it ends the transaction that left it behind, waits for the outcome, or
// lets it commit later than what is read. errs are those of keys.
func (r *reader) clear(bo *client.Backoffer, errs ...*kvrpcpb.KeyError) error {
	locks := make([]*txnlock.Lock, 0, len(errs))
	for _, e := range errs {
		l, err := txnlock.ExtractLockFromKeyErr(e)
		if err != nil {
			return err
		}
		locks = append(locks, l)
	}
	helper := r.helper
	if len(locks) > 1 { // a process that was killed may have left thousands: all of a transaction are ended at once
		helper = txnsnapshot.NewClientHelper(r.store.client, &r.through, &r.committed, false)
	}
	wait, err := helper.ResolveLocks(bo, r.at, locks)
	if err != nil || wait <= 0 {
		return err
	}
	return bo.BackoffWithMaxSleepTxnLockFast(int(min(wait, lockWait.Milliseconds())), errors.New("a key is locked"))
}

// end is what every read does last: what the cluster may have collected is no answer.
func (r *reader) end(ctx context.Context, err error) error {
	if err == nil {
		err = r.store.client.CheckVisibility(r.at)
	}
	return r.store.failure(ctx, err)
}

// get gives what is stored at k, or nil.
func (r *reader) get(ctx context.Context, k []byte) ([]byte, error) {
	ctx, cancel := r.store.limited(ctx)
	defer cancel()
	v, err := r.tryGet(r.store.patience(ctx), k)
	return v, r.end(ctx, err)
}

func (r *reader) tryGet(bo *client.Backoffer, k []byte) ([]byte, error) {
	for {
		at, err := r.store.client.GetRegionCache().LocateKey(bo, k)
		if err != nil {
			return nil, err
		}
		req := tikvrpc.NewRequest(tikvrpc.CmdGet, &kvrpcpb.GetRequest{Key: k, Version: r.at})
		answer, again, err := r.ask(bo, req, at.Region)
		if err != nil {
			return nil, err
		}
		if again {
			continue
		}
		got := answer.(*kvrpcpb.GetResponse)
		if got.GetError() == nil {
			return got.GetValue(), nil
		}
		if err := r.clear(bo, got.GetError()); err != nil {
			return nil, err
		}
	}
}

// many bounds how many keys one request asks for, and how many requests go out at once.
const (
	keysPerRequest = 256
	requestsAtOnce = 16
)

// getAll calls found for each of keys that is there, in no order, one call after the other.
func (r *reader) getAll(ctx context.Context, keys [][]byte, found func(k, stored []byte)) error {
	ctx, cancel := r.store.limited(ctx)
	defer cancel()
	bo := r.store.patience(ctx)
	var err error
	for len(keys) > 0 && err == nil {
		keys, err = r.getRound(bo, keys, found)
	}
	return r.end(ctx, err)
}

// getRound asks each region for its part of keys, and gives those that have to be asked for again.
func (r *reader) getRound(bo *client.Backoffer, keys [][]byte, found func(k, stored []byte)) ([][]byte, error) {
	one, err := r.store.client.GetRegionCache().LocateKey(bo, keys[0])
	if err != nil {
		return nil, err
	}
	elsewhere := func(k []byte) bool { return !one.Contains(k) }
	if len(keys) <= keysPerRequest && !slices.ContainsFunc(keys, elsewhere) { // as nearly always
		pairs, left, err := r.getPart(bo, one.Region, keys)
		for _, kv := range pairs {
			found(kv.Key, kv.Value)
		}
		return left, err
	}
	return r.getParts(bo, keys, found)
}

// getParts is getRound for keys of several regions, or for many.
func (r *reader) getParts(bo *client.Backoffer, keys [][]byte, found func(k, stored []byte)) ([][]byte, error) {
	parts, _, err := r.store.client.GetRegionCache().GroupKeysByRegion(bo, keys, nil)
	if err != nil {
		return nil, err
	}
	type part struct {
		region client.RegionVerID
		keys   [][]byte
		pairs  []*kvrpcpb.KvPair
		left   [][]byte
	}
	var all []*part
	for region, of := range parts {
		for len(of) > 0 {
			n := min(len(of), keysPerRequest)
			all = append(all, &part{region: region, keys: of[:n]})
			of = of[n:]
		}
	}
	var group errgroup.Group
	group.SetLimit(requestsAtOnce)
	one := func(p *part, bo *client.Backoffer) (err error) {
		p.pairs, p.left, err = r.getPart(bo, p.region, p.keys)
		return err
	}
	for i, p := range all {
		if i == len(all)-1 {
			err = one(p, bo)
			break
		}
		fork, cancel := bo.Fork()
		group.Go(func() error { defer cancel(); return one(p, fork) })
	}
	if err = errors.Join(group.Wait(), err); err != nil {
		return nil, err
	}
	var left [][]byte
	for _, p := range all {
		left = append(left, p.left...)
		for _, kv := range p.pairs {
			found(kv.Key, kv.Value)
		}
	}
	return left, nil
}

// getPart asks a region for keys. left are those that must be asked for again, behind locks or in another region.
func (r *reader) getPart(bo *client.Backoffer, region client.RegionVerID, keys [][]byte) (pairs []*kvrpcpb.KvPair,
	left [][]byte, err error) {
	req := tikvrpc.NewRequest(tikvrpc.CmdBatchGet, &kvrpcpb.BatchGetRequest{Keys: keys, Version: r.at})
	answer, again, err := r.ask(bo, req, region)
	if again || err != nil {
		return nil, keys, err
	}
	got := answer.(*kvrpcpb.BatchGetResponse)
	if e := got.GetError(); e != nil {
		return nil, keys, r.clear(bo, e)
	}
	var locked []*kvrpcpb.KeyError
	for _, p := range got.Pairs {
		if e := p.GetError(); e != nil {
			l, err := txnlock.ExtractLockFromKeyErr(e)
			if err != nil {
				return nil, nil, err
			}
			locked, left = append(locked, e), append(left, l.Key)
			continue
		}
		pairs = append(pairs, p)
	}
	if len(locked) > 0 {
		err = r.clear(bo, locked...)
	}
	return pairs, left, err
}

// stretch is the rest of a scan: start ≤ k < end.
type stretch struct {
	start, end []byte
	reverse    bool
	keysOnly   bool
}

// next reads up to n pairs of st, in order, and takes the part that they come from off st. Without pairs st is at
// its end.
func (r *reader) next(ctx context.Context, st *stretch, n int) ([]*kvrpcpb.KvPair, error) {
	ctx, cancel := r.store.limited(ctx)
	defer cancel()
	bo := r.store.patience(ctx)
	for bytes.Compare(st.start, st.end) < 0 {
		pairs, err := r.tryNext(bo, st, n)
		if err != nil || len(pairs) > 0 {
			return pairs, r.end(ctx, err)
		}
	}
	return nil, r.end(ctx, nil)
}

func (r *reader) tryNext(bo *client.Backoffer, st *stretch, n int) ([]*kvrpcpb.KvPair, error) {
	at, err := r.locate(bo, st)
	if err != nil {
		return nil, err
	}
	part := *st // within the region
	if len(at.EndKey) > 0 && bytes.Compare(at.EndKey, part.end) < 0 {
		part.end = at.EndKey
	}
	if bytes.Compare(at.StartKey, part.start) > 0 {
		part.start = at.StartKey
	}
	ask := &kvrpcpb.ScanRequest{StartKey: part.start, EndKey: part.end, Limit: uint32(n), Version: r.at,
		KeyOnly: st.keysOnly, Reverse: st.reverse}
	if st.reverse {
		ask.StartKey, ask.EndKey = part.end, part.start
	}
	answer, again, err := r.ask(bo, tikvrpc.NewRequest(tikvrpc.CmdScan, ask), at.Region)
	if again || err != nil {
		return nil, err
	}
	got := answer.(*kvrpcpb.ScanResponse)
	if e := got.GetError(); e != nil {
		return nil, r.clear(bo, e)
	}
	pairs := got.Pairs
	if i, err := r.unlocked(bo, pairs); i < len(pairs) || err != nil {
		if i == 0 || err != nil {
			return nil, err
		}
		pairs = pairs[:i] // the rest is asked for again
		st.pass(pairs[i-1].Key)
		return pairs, nil
	}
	if len(pairs) < n {
		st.leave(part)
		return pairs, nil
	}
	st.pass(pairs[len(pairs)-1].Key)
	return pairs, nil
}

// locate finds the region at the side of st where the scan goes on.
func (r *reader) locate(bo *client.Backoffer, st *stretch) (*client.KeyLocation, error) {
	if st.reverse {
		return r.store.client.GetRegionCache().LocateEndKey(bo, st.end)
	}
	return r.store.client.GetRegionCache().LocateKey(bo, st.start)
}

// unlocked gives the number of pairs before the first one that is locked, and deals with the locks.
func (r *reader) unlocked(bo *client.Backoffer, pairs []*kvrpcpb.KvPair) (int, error) {
	first, locked := len(pairs), []*kvrpcpb.KeyError(nil)
	for i, p := range pairs {
		if e := p.GetError(); e != nil {
			first, locked = min(first, i), append(locked, e)
		}
	}
	if len(locked) == 0 {
		return first, nil
	}
	return first, r.clear(bo, locked...)
}

// pass takes off what the scan has seen up to k.
func (st *stretch) pass(k []byte) {
	if st.reverse {
		st.end = k
		return
	}
	st.start = append(bytes.Clone(k), 0)
}

// leave takes off a part at the side where the scan goes on.
func (st *stretch) leave(part stretch) {
	if st.reverse {
		st.end = part.start
		return
	}
	st.start = part.end
}

// value gives the value of key at the reader's timestamp: with all that was added to it, where it may be a counter.
func (r *reader) value(ctx context.Context, key []byte) ([]byte, bool, error) {
	base := r.store.space.base(key)
	if !r.store.opt.Counter(key) {
		stored, err := r.get(ctx, base)
		if err != nil || len(stored) == 0 {
			return nil, false, err
		}
		v, err := unseal(base, stored)
		return v, err == nil, err
	}
	start, end := entry(base)
	c := cursor{ctx: ctx, reader: r, left: -1, rest: stretch{start: start, end: end}}
	if !c.Next() {
		return nil, false, c.err
	}
	return c.val, true, nil
}

// sum adds up a counter's parts. base may be nil.
func sum(key, base []byte, deltas [][]byte) ([]byte, error) {
	total, ok := kv.Counter(base)
	for _, d := range deltas {
		n, good := kv.Counter(d)
		total, ok = total+n, ok && good
	}
	if !ok {
		return nil, fmt.Errorf("counter at key %x: %w", key, kv.ErrCounter)
	}
	return kv.AppendCounter(make([]byte, 0, 8), total), nil
}
