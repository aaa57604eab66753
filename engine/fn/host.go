package fn

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/value"
)

// Host is what every function may ask of the evaluator that runs it. The further interfaces of this file are optional:
// a function that needs one asks the Host for it and answers as it does outside a query when the Host has none.
type Host interface {
	// Context is cancelled with the statement.
	Context() context.Context
	// Invoke calls a closure value.
	Invoke(closure value.Value, args ...value.Value) (value.Value, error)
	// Fetch reads a record as the session may see it; NONE when missing or hidden.
	Fetch(id *value.RecordID) (value.Value, error)
	// Param is a session-level parameter such as "session", "auth", "token", "access".
	Param(name string) value.Value
	// Now is the clock of the statement.
	Now() time.Time
}
