package physical

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
)

// BackupOptions tunes a backup. The zero value is a good one.
type BackupOptions struct {
	Compress bool // zstd, block by block
	Product  string
	Now      func() time.Time // nil = time.Now
	Progress Progress
}

// Backup writes all of store, as it is at one moment, to w. Others may write meanwhile. The
// manifest that it returns is the one that ends the backup. After an error what was written is no
// backup: it has no end.
func Backup(ctx context.Context, store kv.Store, w io.Writer, opt BackupOptions) (*Manifest, error) {
	snap, err := store.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	defer snap.Release()
	if h, ok := store.(kv.Holder); ok {
		release, err := h.Hold(ctx, snap)
		if err != nil {
			return nil, fmt.Errorf("backup: %w", err)
		}
		defer release()
	}
	st := store.Stats()
	return backupSnapshot(ctx, snap, st.Kind, uint64(max(0, st.FileBytes)), w, opt)
}

// BackupPath is Backup of the store at path, which must not be open; it stays as it is. Errors
// besides: kv.ErrLocked, kv.ErrFormat, kv.ErrCorrupt.
func BackupPath(ctx context.Context, path string, w io.Writer, opt BackupOptions) (m *Manifest, err error) {
	in, err := bolt.Inspect(path)
	if err != nil {
		return nil, err
	}
	m, err = Backup(ctx, in, w, opt)
	return m, errors.Join(err, in.Close())
}

// backupSnapshot writes snap. The caller's goroutine reads, a second one compresses, checks and
// writes; it has ended when this returns.
func backupSnapshot(ctx context.Context, snap kv.Snapshot, kind string, total uint64, w io.Writer,
	opt BackupOptions) (*Manifest, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	out := &writer{w: w}
	rand.Read(out.id[:]) // never fails
	if opt.Compress {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("backup: %w", err)
		}
		defer enc.Close()
		out.zstd = enc
	}
	if err := out.begin(); err != nil {
		return nil, err
	}
	m := &Manifest{Format: format, ID: hex.EncodeToString(out.id[:]), Created: opt.Now().UTC(), Product: opt.Product,
		Store:   kind,
		Version: uint64(snap.Version()), Classes: map[string]Count{}}
	if err := pump(ctx, snap, out, m, total, opt.Progress); err != nil {
		return nil, err
	}
	m.Blocks = out.number
	end, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	last := newBlock()
	last.buf = append(last.buf, end...)
	if err := out.block(kindManifest, last); err != nil {
		return nil, err
	}
	opt.Progress.tell("backup", m.Keys, m.Bytes, m.Bytes)
	return m, nil
}

// blocksInFlight is how many blocks the reader may be ahead of the writer.
const blocksInFlight = 4

// pump moves all of snap to out in data blocks, and counts in m.
func pump(ctx context.Context, snap kv.Snapshot, out *writer, m *Manifest, total uint64, progress Progress) error {
	full, empty := make(chan *block, blocksInFlight), make(chan *block, blocksInFlight)
	for range blocksInFlight {
		empty <- newBlock()
	}
	written := make(chan error, 1)
	go func() {
		var err error
		for b := range full {
			if err == nil {
				err = out.block(kindData, b)
			}
			b.reset()
			empty <- b
			if err != nil {
				break
			}
		}
		written <- err
	}()
	err := fill(ctx, snap, m, total, progress, func(b *block) (*block, error) {
		if b != nil {
			select {
			case full <- b:
			case err := <-written:
				written <- err
				return nil, err
			}
		}
		select {
		case b := <-empty:
			return b, nil
		case err := <-written:
			written <- err
			return nil, err
		}
	})
	close(full)
	if werr := <-written; werr != nil {
		return werr
	}
	return err
}

// fill puts all entries of snap into blocks: next takes a full one (or nil) and gives an empty one.
func fill(ctx context.Context, snap kv.Snapshot, m *Manifest, total uint64, progress Progress,
	next func(*block) (*block, error)) error {
	b, err := next(nil)
	if err != nil {
		return err
	}
	var classes [math.MaxUint8 + 1]Count
	c := snap.Scan(kv.Range{}, kv.ScanOptions{})
	defer c.Close()
	for c.Next() {
		k, v := c.Key(), c.Value()
		if b.size() > 0 && b.size()+len(k)+len(v) > blockSize {
			if err := ctx.Err(); err != nil {
				return err
			}
			progress.tell("backup", m.Keys, m.Bytes, total)
			if b, err = next(b); err != nil {
				return err
			}
		}
		b.add(k, v)
		m.Keys++
		m.Bytes += uint64(len(k) + len(v))
		n := &classes[k[0]]
		n.Keys++
		n.Bytes += uint64(len(k) + len(v))
	}
	if err := c.Err(); err != nil {
		return fmt.Errorf("backup: read the store: %w", err)
	}
	if b.entries > 0 {
		if _, err := next(b); err != nil {
			return err
		}
	}
	for c, n := range classes {
		if n.Keys > 0 {
			name := className(key.Class(c))
			sum := m.Classes[name]
			m.Classes[name] = Count{sum.Keys + n.Keys, sum.Bytes + n.Bytes}
		}
	}
	return nil
}
