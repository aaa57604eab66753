//go:build linux || windows || cgo

package engine

import (
	"context"
	"strings"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/record"
)

// clusterOptions are those of the store on a cluster.
func clusterOptions(d kv.DSN, opt Options) tikv.Options {
	return tikv.Options{PD: strings.Split(d.Path, ","), Prefix: d.Prefix, Isolation: d.Isolation, Timeout: d.Timeout,
		GC: d.GC, TLS: tikv.TLS(opt.Cluster), Log: opt.Log, Counter: record.MayCount, Steady: catalog.Steady}
}

// buildCluster begins to build a store on a cluster.
func buildCluster(ctx context.Context, d kv.DSN, opt Options, version kv.Version) (physical.Builder, error) {
	b, err := tikv.NewBuilder(ctx, clusterOptions(d, opt), version)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// openCluster opens a store on a TiKV cluster.
func openCluster(ctx context.Context, d kv.DSN, opt Options) (kv.Store, error) {
	st, err := tikv.Open(ctx, clusterOptions(d, opt))
	if err != nil {
		return nil, err
	}
	return st, nil
}
