//go:build !linux && !windows && !cgo

package engine

import (
	"context"
	"errors"

	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/engine/kv"
)

// openCluster says that this build has no client of TiKV: the official one does not compile for this system without
// cgo.
func openCluster(context.Context, kv.DSN, Options) (kv.Store, error) {
	return nil, errNoCluster()
}

func buildCluster(context.Context, kv.DSN, Options, kv.Version) (physical.Builder, error) {
	return nil, errNoCluster()
}

func errNoCluster() error {
	return errors.New("this build of nacre has no TiKV: use the one for Linux or Windows, or build with CGO_ENABLED=1")
}
