// Package tikv is the store on a TiKV cluster: snapshots at timestamps of its placement driver, and two-phase
// commits. Any number of processes may have one open; what they commit is serializable. DESIGN.md says how.
package tikv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tikv/client-go/v2/config"
	"github.com/tikv/client-go/v2/oracle"
	client "github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/util"
	pd "github.com/tikv/pd/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/nacredb/nacre/engine/kv"
)

// Options says which cluster to open, and how.
type Options struct {
	PD        []string      // addresses of placement drivers, host:port
	Prefix    string        // tells databases in one cluster apart; letters, digits, '-', '_', '.'; may be empty
	Isolation kv.Isolation  // what commits validate
	Timeout   time.Duration // for one request with all its repetitions; 0: 15 s
	GC        time.Duration // how long old versions are kept, at least kv.MinGC; 0: 24 h, negative: for ever
	TLS       TLS
	Log       *slog.Logger          // nil: slog.Default
	Counter   func(key []byte) bool // the keys that batches may add to; nil: none
	Steady    func(key []byte) bool // keys whose changes may take their time, see steady; nil: none

	pace *pace // nil: defaultPace
}

// TLS names the files, in PEM, for connections to a cluster that wants TLS. CA alone checks the cluster; Cert and
// Key are shown to it. All empty: no TLS.
type TLS struct{ CA, Cert, Key string }

// defaultTimeout is that of Options.
const defaultTimeout = 15 * time.Second

// keepAlive is after how long an idle connection is tried, and for how long.
const (
	keepAlive     = 10 * time.Second
	keepAliveWait = 3 * time.Second
)

// latches is the number of slots in which commits of this process wait for each other before they meet in the
// cluster, where a wait is longer.
const latches = 1 << 13

// Store implements kv.Store.
type Store struct {
	opt    Options
	space  space
	client *client.KVStore
	safe   *safePoint
	ctx    context.Context // ends with the store
	cancel context.CancelFunc
	gate   gate
	groups groups
	order  order
	folder folder
	gc     collector
	trips  Trips
	lease  lease
	tales  tales
	spares spares
	steady steady

	mu     sync.Mutex // guards all down to end; a leaf lock
	open   map[kv.Version]*snapshot
	shared context.Context // see limited
	renew  time.Time       // when another one follows it
	end    context.CancelFunc

	begun atomic.Uint64

	newest    atomic.Uint64 // the newest commit of this process
	commits   atomic.Uint64
	conflicts atomic.Uint64

	transactions atomic.Uint64 // that have committed batches
}

var (
	_ kv.Store    = (*Store)(nil)
	_ kv.Presumer = (*Store)(nil)
	_ kv.Holder   = (*Store)(nil)
)

// Open connects to a cluster. Errors: kv.ErrUnavailable where no placement driver answers in time, kv.ErrLocked
// where a process of an earlier version has the prefix; what is wrong with opt.
func Open(ctx context.Context, opt Options) (*Store, error) {
	if opt.Log == nil {
		opt.Log = slog.Default()
	}
	if opt.Timeout <= 0 {
		opt.Timeout = defaultTimeout
	}
	if opt.Counter == nil {
		opt.Counter = func([]byte) bool { return false }
	}
	if opt.Steady == nil {
		opt.Steady = func([]byte) bool { return false }
	}
	if opt.GC == 0 {
		opt.GC = defaultGC
	}
	if opt.GC > 0 && opt.GC < kv.MinGC {
		return nil, fmt.Errorf("old versions are kept for at least %v, not %v", kv.MinGC, opt.GC)
	}
	if opt.pace == nil {
		opt.pace = defaultPace()
	}
	if err := opt.TLS.check(); err != nil {
		return nil, err
	}
	bridge(opt.Log)
	s := &Store{opt: opt, space: newSpace(opt.Prefix), open: map[kv.Version]*snapshot{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.gate.init()
	s.steady.init(opt.Prefix)
	s.order.init()
	if err := s.connect(ctx); err != nil {
		s.cancel()
		return nil, err
	}
	if err := s.lease.take(ctx, s); err != nil {
		s.cancel()
		return nil, errors.Join(err, s.client.Close())
	}
	s.folder.start(s)
	s.gc.start(s)
	return s, nil
}

// check refuses half a pair, which would mean a connection without what was asked for.
func (t TLS) check() error {
	if (t.Cert == "") != (t.Key == "") {
		return errors.New("TLS to the cluster: a certificate and its key belong together")
	}
	if t.Cert != "" && t.CA == "" {
		return errors.New("TLS to the cluster: a certificate needs the authority of the cluster beside it")
	}
	return nil
}

// connect opens the client. It gives up after the time-out or with ctx.
func (s *Store) connect(ctx context.Context) error {
	security := config.NewSecurity(s.opt.TLS.CA, s.opt.TLS.Cert, s.opt.TLS.Key, nil)
	if _, err := security.ToTLSConfig(); err != nil { // before the client, which says less
		return fmt.Errorf("TLS to the cluster: %w", err)
	}
	var err error
	found := make(chan error, 1)
	go func() { found <- s.dial(security) }()
	timer := time.NewTimer(s.opt.Timeout)
	defer timer.Stop()
	select {
	case err = <-found:
	case <-timer.C:
		err = fmt.Errorf("no placement driver at %v answers within %v: %w", s.opt.PD, s.opt.Timeout, kv.ErrUnavailable)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		return s.greet()
	}
	return err
}

// greet asks for a first timestamp: what listens there is a placement driver.
func (s *Store) greet() error {
	ts, err := s.now(s.ctx)
	if err != nil {
		return errors.Join(err, s.client.Close())
	}
	s.newest.Store(ts)
	return nil
}

// dial connects to the placement drivers. It ends with s.ctx.
func (s *Store) dial(security config.Security) error {
	alive := keepalive.ClientParameters{Time: keepAlive, Timeout: keepAliveWait}
	driver, err := pd.NewClientWithContext(s.ctx, s.opt.PD,
		pd.SecurityOption{CAPath: s.opt.TLS.CA, CertPath: s.opt.TLS.Cert, KeyPath: s.opt.TLS.Key},
		pd.WithGRPCDialOptions(grpc.WithKeepaliveParams(alive)), pd.WithCustomTimeoutOption(keepAliveWait))
	if err != nil {
		return fmt.Errorf("connect to the placement drivers %v: %w: %w", s.opt.PD, kv.ErrUnavailable, err)
	}
	conn, err := openEtcd(s.opt.PD, security)
	if err != nil {
		driver.Close()
		return err
	}
	s.safe = &safePoint{driver: driver, etcd: conn, ctx: s.ctx, wait: s.opt.Timeout}
	codec := client.NewCodecPDClient(client.ModeTxn, util.InterceptedPDClient{Client: driver})
	rpc := &resolver{ctx: s.ctx,
		Client: client.NewRPCClient(client.WithSecurity(security), client.WithCodec(codec.GetCodec()))}
	id := fmt.Sprintf("tikv-%d", driver.GetClusterID(s.ctx))
	if s.client, err = client.NewKVStore(id, codec, s.safe, rpc); err != nil {
		driver.Close()
		return fmt.Errorf("open the cluster: %w", errors.Join(err, s.safe.Close()))
	}
	s.client.EnableTxnLocalLatches(latches)
	return nil
}

// now asks the cluster for a timestamp.
func (s *Store) now(ctx context.Context) (uint64, error) {
	ctx, cancel := s.limited(ctx)
	defer cancel()
	ts, err := s.client.GetTimestampWithRetry(s.patience(ctx), oracle.GlobalTxnScope)
	if err != nil {
		return 0, s.failure(ctx, err)
	}
	return ts, nil
}

// limited gives a context that ends with ctx, and after the time-out. Those of the store's own share one for a while:
// it ends up to an eighth later. A point read would spend a twentieth of its work on such contexts.
func (s *Store) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx != s.ctx {
		return context.WithTimeout(ctx, s.opt.Timeout)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.After(s.renew) {
		spare := s.opt.Timeout / 8
		s.renew = now.Add(spare)
		s.shared, s.end = context.WithDeadline(s.ctx, s.renew.Add(s.opt.Timeout))
	}
	return s.shared, func() {} // others go by it: it ends by itself
}

// patience is how long one request is repeated.
func (s *Store) patience(ctx context.Context) *client.Backoffer {
	return client.NewBackofferWithVars(ctx, int(s.opt.Timeout.Milliseconds()), nil)
}

// Begin implements kv.Store: the snapshot is that of a timestamp which the placement driver gives out now.
func (s *Store) Begin(ctx context.Context) (kv.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.ctx.Err() != nil {
		return nil, kv.ErrClosed
	}
	s.trips.Stamps.Add(1)
	ts, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	return s.opened(newSnapshot(s, ts)), nil
}

// opened counts a snapshot that begins.
func (s *Store) opened(sn *snapshot) *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun.Add(1)
	s.open[sn.Base()] = sn
	return sn
}

// Time implements kv.Dated: versions are timestamps of the placement driver.
func (s *Store) Time(v kv.Version) time.Time { return oracle.GetTimeFromTS(uint64(v)) }

// Exclusive implements kv.Store. Commits of other processes do not wait for the turn: they may still be met as
// conflicts.
func (s *Store) Exclusive(ctx context.Context) (*kv.Turn, error) { return s.gate.exclusive(ctx) }

// Stats implements kv.Store. Version is the newest commit of this process.
func (s *Store) Stats() kv.Stats {
	st := kv.Stats{Kind: "tikv", Version: kv.Version(s.newest.Load()), Commits: s.commits.Load(),
		Conflicts: s.conflicts.Load(), Begun: s.begun.Load(), Groups: s.transactions.Load()}
	if safe := s.safe.known.Load(); safe > 0 {
		st.SafePoint = oracle.GetTimeFromTS(safe)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Snapshots = int64(len(s.open))
	oldest := time.Time{}
	for v := range s.open {
		if at := oracle.GetTimeFromTS(uint64(v)); oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	if !oldest.IsZero() {
		st.Oldest = max(0, time.Since(oldest))
	}
	return st
}

// Close implements kv.Store.
func (s *Store) Close() error {
	if !s.gate.close() {
		return nil
	}
	s.gc.stop()
	s.folder.stop()
	s.lease.drop()
	s.cancel()
	s.spares.asking.Wait()
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("close the cluster: %w", err)
	}
	return nil
}
