//go:build linux || windows || cgo

package engine

import (
	"context"
	"strings"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/record"
)

// openCluster opens a store on a TiKV cluster.
func openCluster(ctx context.Context, d kv.DSN, opt Options) (kv.Store, error) {
	st, err := tikv.Open(ctx, tikv.Options{PD: strings.Split(d.Path, ","), Prefix: d.Prefix, Isolation: d.Isolation,
		Timeout: d.Timeout, TLS: tikv.TLS(opt.Cluster), Log: opt.Log, Counter: record.MayCount})
	if err != nil {
		return nil, err
	}
	return st, nil
}
