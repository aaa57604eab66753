package bolt

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// replayNews is how often a long replay says how far it is.
const replayNews = 2 * time.Second

// replayReport tells the operator how the replay of a log goes on. It belongs to the goroutine that opens the store.
type replayReport struct {
	log    *slog.Logger
	began  time.Time
	next   time.Time // when to say something again
	total  int64     // bytes in the log's files, also those that hold nothing new
	frames int
	bytes  int64
}

func newReplayReport(log *slog.Logger, dir string) *replayReport {
	r := &replayReport{log: log, began: time.Now()}
	r.next = r.began.Add(replayNews)
	// The sizes only give an idea: what cannot be read here is an error of the replay itself.
	names, _ := filepath.Glob(filepath.Join(dir, "wal-*.log"))
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			r.total += info.Size()
		}
	}
	return r
}

// count notes a frame that was replayed.
func (r *replayReport) count(f *wal.Frame) {
	r.frames++
	r.bytes += int64(f.Size())
	if now := time.Now(); now.After(r.next) {
		r.next = now.Add(replayNews)
		r.log.Info("replaying the log", "commits", r.frames, "mib", r.bytes>>20, "of_mib_at_most", r.total>>20)
	}
}

// done says what there was to replay; a store that was stopped cleanly says nothing.
func (r *replayReport) done(rec wal.Recovery) {
	if rec.Frames == 0 && rec.Dropped == 0 {
		return
	}
	r.log.Info("the store was not stopped cleanly: the commits in its log were replayed", "commits", rec.Frames,
		"mib", rec.Bytes>>20, "version", uint64(rec.Last), "took", time.Since(r.began).Round(time.Millisecond))
}

// roomAgain is how many groups of commits in a row are taken before a disk is told to have room again: where there is
// next to none, small ones go through between large ones that do not.
const roomAgain = 64

// noteRoom says when the store begins to refuse writes for want of space and when it takes them again: once each,
// however many are refused. err is what became of the last ones.
func (c *committer) noteRoom(err error) {
	switch {
	case errors.Is(err, kv.ErrNoSpace):
		if !c.noRoom {
			c.s.opt.Log.Error("no space left: writes are refused until there is some", "err", err)
		}
		c.noRoom, c.taken = true, 0
	case c.noRoom && err == nil:
		if c.taken++; c.taken == roomAgain {
			c.noRoom = false
			c.s.opt.Log.Info("there is space again: writes are taken")
		}
	}
}
