package mem_test

import (
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/mem"
)

func TestStore(t *testing.T) {
	kvtest.Run(t, func(testing.TB) kv.Store { return mem.New() })
}
