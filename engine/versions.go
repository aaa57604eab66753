package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/history"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// historySetting is where a store says that it keeps its past, and for how long.
const historySetting = "history"

// keepPast wraps a store so that it keeps its past, where d asks for it or the store has kept it so far. What a store
// holds when the keeping begins gets its first version then. retention is for how long versions are kept; 0: for ever.
func keepPast(ctx context.Context, store kv.Store, d kv.DSN,
	log *slog.Logger) (_ kv.Store, retention time.Duration, err error) {
	kept, retention, err := historyOf(ctx, store)
	if err != nil {
		return store, 0, err
	}
	if !kept && !d.Versioned {
		if d.Retention > 0 {
			log.Warn("retention has no meaning: the store keeps no versions (versioned=true)")
		}
		return store, 0, nil
	}
	if d.Kind != "memory" && d.Kind != "bolt" {
		return store, 0, fmt.Errorf("a %s store cannot keep versions", d.Kind)
	}
	past, err := history.Wrap(ctx, store, nil)
	if err != nil {
		return store, 0, err
	}
	if !d.Versioned {
		log.Info("the store keeps its past: it was opened with versioned=true before", "retention", retention)
	}
	if !kept {
		n, err := past.Adopt(ctx)
		if err != nil {
			return store, 0, err
		}
		if n > 0 {
			log.Info("the store keeps its past from now on", "versions", n)
		}
	}
	if d.Retention > 0 {
		retention = d.Retention
	}
	return past, retention, saveHistory(ctx, store, retention)
}

// versioned reports whether the store keeps its past.
func (e *Engine) versioned() bool {
	_, ok := e.store.(*history.Store)
	return ok
}

// historyOf reads whether a store keeps its past, and for how long.
func historyOf(ctx context.Context, store kv.Store) (kept bool, retention time.Duration, err error) {
	tx, err := txn.Begin(ctx, store, txn.Options{})
	if err != nil {
		return false, 0, err
	}
	defer tx.Cancel()
	o, err := catalog.NewCache(nil).View(tx).Setting(historySetting)
	if err != nil {
		return false, 0, fmt.Errorf("read the history's setting: %w", err)
	}
	v, kept := o.Get("retention")
	if !kept {
		return false, 0, nil
	}
	if v.Kind() != value.KindInt {
		return false, 0, fmt.Errorf("read the history's setting: retention is a %s", v.Kind())
	}
	return true, time.Duration(v.Int()), nil
}

func saveHistory(ctx context.Context, store kv.Store, retention time.Duration) error {
	return txn.Retry(ctx, store, txn.Options{Write: true}, func(tx *txn.Tx) error {
		return catalog.NewCache(nil).View(tx).PutSetting(historySetting,
			value.NewObject(value.Field{Name: "retention", Value: value.Int(int64(retention))}))
	})
}
