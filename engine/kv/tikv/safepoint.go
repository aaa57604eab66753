package tikv

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	client "github.com/tikv/client-go/v2/tikv"
	pd "github.com/tikv/pd/client"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/nacredb/nacre/engine/kv"
)

// safePoint tells the client which snapshots are too old. There are two places for that: the placement driver has
// what the stores go by, and a key in its etcd what all clients go by, those of other programs too. Who collects
// garbage moves the second one first, and waits until all clients have seen it: a snapshot is refused before its
// versions go. Both are asked here, since a program may move only the first. It implements client.SafePointKV.
type safePoint struct {
	driver pd.Client
	etcd   *etcd
	ctx    context.Context // of the store
	wait   time.Duration
	known  atomic.Uint64 // what was seen last
}

var _ client.SafePointKV = (*safePoint)(nil)

var errSafePoint = errors.New("the safe point is only read")

// Get implements client.SafePointKV for the one key that the client asks for.
func (p *safePoint) Get(string) (string, error) {
	moved, told, err := p.look(p.ctx)
	if err != nil && moved == 0 {
		return "", err
	}
	// Without an answer of etcd what the stores go by will do: a client that hears of nothing reads nothing.
	return strconv.FormatUint(max(moved, told), 10), nil
}

// look asks for the safe point of the stores, and for that of clients. Where only the second one is not to be had, the
// error comes with the first one.
func (p *safePoint) look(ctx context.Context) (moved, told uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	if moved, err = p.driver.UpdateGCSafePoint(ctx, 0); err != nil { // it never goes back: this only asks
		return 0, 0, fmt.Errorf("ask for the safe point: %w", err)
	}
	if told, _, err = p.told(ctx); err != nil {
		return moved, 0, err
	}
	p.known.Store(max(moved, told))
	return moved, told, nil
}

// told reads the safe point of clients, with the revision of its key. Both are 0 where there is none.
func (p *safePoint) told(ctx context.Context) (ts uint64, revision int64, err error) {
	text, revision, err := p.etcd.get(ctx, client.GcSavedSafePoint)
	if err != nil {
		return 0, 0, fmt.Errorf("ask for the safe point of clients: %w", err)
	}
	if text != "" {
		if ts, err = strconv.ParseUint(text, 10, 64); err != nil {
			return 0, 0, fmt.Errorf("the safe point of clients: %w: %w", kv.ErrCorrupt, err)
		}
	}
	return ts, revision, nil
}

// tell moves the safe point of clients to ts, never back: others may move it at the same time.
func (p *safePoint) tell(ctx context.Context, ts uint64) error {
	ctx, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	for {
		told, revision, err := p.told(ctx)
		if err != nil || told >= ts {
			return err
		}
		did, err := p.etcd.replace(ctx, client.GcSavedSafePoint, strconv.FormatUint(ts, 10), revision)
		if err != nil {
			return fmt.Errorf("move the safe point of clients: %w", err)
		}
		if did {
			return nil
		}
	}
}

// Put implements client.SafePointKV.
func (*safePoint) Put(string, string) error { return errSafePoint }

// GetWithPrefix implements client.SafePointKV.
func (*safePoint) GetWithPrefix(string) ([]*mvccpb.KeyValue, error) { return nil, errSafePoint }

// Close implements client.SafePointKV.
func (p *safePoint) Close() error { return p.etcd.Close() }
