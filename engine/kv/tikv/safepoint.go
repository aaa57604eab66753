package tikv

import (
	"context"
	"errors"
	"strconv"
	"time"

	client "github.com/tikv/client-go/v2/tikv"
	pd "github.com/tikv/pd/client"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// safePoint tells the client which snapshots are too old. It asks the placement driver for what the stores go by,
// and not a key in etcd where a program for SQL notes it: no such program need be there. It implements
// client.SafePointKV.
type safePoint struct {
	driver pd.Client
	ctx    context.Context
	wait   time.Duration
}

var _ client.SafePointKV = safePoint{}

var errSafePoint = errors.New("the safe point is only read")

// Get implements client.SafePointKV for the one key that the client asks for.
func (p safePoint) Get(string) (string, error) {
	ctx, cancel := context.WithTimeout(p.ctx, p.wait)
	defer cancel()
	ts, err := p.driver.UpdateGCSafePoint(ctx, 0) // it never goes back: this only asks
	if err != nil {
		return "", err
	}
	return strconv.FormatUint(ts, 10), nil
}

// Put implements client.SafePointKV.
func (safePoint) Put(string, string) error { return errSafePoint }

// GetWithPrefix implements client.SafePointKV.
func (safePoint) GetWithPrefix(string) ([]*mvccpb.KeyValue, error) { return nil, errSafePoint }

// Close implements client.SafePointKV.
func (safePoint) Close() error { return nil }
