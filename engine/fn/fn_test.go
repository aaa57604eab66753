package fn_test

import (
	"context"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/value"
)

// host is an evaluator without a database, for functions that need none.
type host struct{}

func (host) Context() context.Context { return context.Background() }
func (host) Invoke(closure value.Value, args ...value.Value) (value.Value, error) {
	return args[0], nil
}
func (host) Fetch(*value.RecordID) (value.Value, error) { return value.None, nil }
func (host) Param(string) value.Value                   { return value.None }
func (host) Now() time.Time                             { return time.Unix(1700000000, 0) }

func TestEveryFunctionHasAnImplementationAndADoc(t *testing.T) {
	for _, f := range fn.Library().Functions() {
		if f.Impl == nil || f.Doc == "" || f.Result == "" {
			t.Errorf("%s: incomplete entry", f.Name)
		}
	}
}
