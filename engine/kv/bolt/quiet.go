package bolt

import "time"

// A store that has little to do writes a checkpoint before its limits are reached: what was changed is then read from
// data.db, its memory is free, and a start after a crash has nothing to replay. At a steady rate of commits that is at
// most once in quietAfter × quietShare, so a page that is changed again and again is not written for each change.
const (
	quietAfter = 2 * time.Second // how long commits are watched
	quietShare = 100             // quiet: the overlay grew by less than one part of so many meanwhile
	quietLeast = 64              // an overlay that has one part of so many of its limits is worth a checkpoint
	retryAfter = 15              // times quietAfter, after a checkpoint that found no space
)

// quiet watches for a time with few commits. It has a timer only while there is something to write.
type quiet struct {
	timed bool  // look is to be called
	bytes int64 // of the overlay, when it was timed
	now   bool  // the overlay is to be frozen although it has room
}

// worthWriting reports whether the active overlay is large enough to be written early.
func (c *committer) worthWriting() bool {
	opt := &c.s.opt
	return c.active.Len() >= max(leastChunk, opt.CheckpointKeys/quietLeast) || c.bytes >= opt.CheckpointBytes/quietLeast
}

// watch sets the timer for the next look for a quiet time, unless it is set.
func (c *committer) watch() {
	q, after := &c.quiet, c.s.opt.quietAfter
	if q.timed || c.shut || !c.worthWriting() && c.ckptErr == nil {
		return
	}
	if c.ckptErr != nil {
		after *= retryAfter
	}
	q.timed, q.bytes = true, c.bytes
	time.AfterFunc(after, c.look)
}

// look is called some time after watch: it begins a checkpoint if there were few commits since, or goes on watching.
func (c *committer) look() {
	c.mu.Lock()
	defer c.unlock()
	q := &c.quiet
	q.timed = false
	if c.shut || c.s.failed.Load() != nil {
		return
	}
	if grown := c.bytes - q.bytes; !c.running && grown >= 0 && grown <= c.bytes/quietShare {
		c.ckptErr = nil
		q.now = c.worthWriting()
		if !c.busy() {
			c.rest()
		}
	}
	c.watch()
}
