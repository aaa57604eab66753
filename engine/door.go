package engine

import (
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// Programs around the engine import this package and those of its texts and values (errs, value, ast, parse, fn, ml).
// The names below are the parts of the packages behind it that they need.
type (
	// Capabilities limit what a server allows, on top of the rights of its clients.
	Capabilities = auth.Capabilities
	// Filter is one capability over names: what it allows and what it denies.
	Filter = auth.Filter
	// BackupOptions are those of Engine.Backup.
	BackupOptions = physical.BackupOptions
	// Scram is the verifier of a password for SCRAM-SHA-256.
	Scram = auth.Scram
	// Preparation is the hash of a password, computed beside other work; see PreparePassword.
	Preparation = auth.Preparation
	// Work counts the reads and writes of a transaction, for a Meter.
	Work = txn.Work
)

// The reasons why a store cannot be opened or written, see package kv.
var (
	ErrLocked = kv.ErrLocked
	// ErrUnfinished: a restore into the store was interrupted, or is under way.
	ErrUnfinished = kv.ErrUnfinished
	ErrNewer      = kv.ErrNewer
	ErrCorrupt    = kv.ErrCorrupt
	ErrNoSpace    = kv.ErrNoSpace
	ErrFormat     = kv.ErrFormat

	ErrUnavailable = kv.ErrUnavailable
)

// FilterOf is a Filter of the names in allow and deny.
func FilterOf(allow, deny []string) Filter {
	return Filter{Allow: auth.NewSet(allow...), Deny: auth.NewSet(deny...)}
}

// PreparePassword begins to compute what is stored of the password of a user that is to be made in a store that is to
// be opened: for Options.Prepared.
func PreparePassword(password string) *Preparation { return auth.Prepare(password) }

// Classes are the kinds of clients that capabilities for texts tell apart.
func Classes() []string { return auth.Classes() }

// CheckPath refuses what Open could not read as the path of a store. It opens nothing.
func CheckPath(path string) error {
	_, err := kv.ParseDSN(path)
	return err
}
