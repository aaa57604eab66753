package mem_test

import (
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/mem"
)

func BenchmarkStore(b *testing.B) {
	kvtest.Bench(b, func(testing.TB) kv.Store { return mem.New() }, nil)
}
