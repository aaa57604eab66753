// Package failpoint names the places at which a crash is worth a test.
//
// In a normal build every function here does nothing and costs nothing. With the build tag
// failpoint, NACRE_FAILPOINT=NAME:N makes the process kill itself, as kill -9 would, when it comes
// to the place NAME for the N-th time, and NACRE_FAILPOINT_LIMITS=NAME=VALUE,… makes limits small,
// so that a short run comes to all places. Only cmd/nacretest uses that.
package failpoint

// The places.
const (
	Append      = "append"      // a group is written to the log, not yet synced
	Publish     = "publish"     // it is synced, not yet visible
	Acknowledge = "acknowledge" // it is visible, and not acknowledged yet
	Checkpoint  = "checkpoint"  // a part of a checkpoint is made, not all of it written yet
	Meta        = "meta"        // it is written and synced, and no meta page tells of it yet
	Release     = "release"     // a checkpoint is done, its log not yet given up
	Recycle     = "recycle"     // a log segment has its new header, not yet synced
)

// Places lists them all, in the order in which a commit comes to them.
func Places() []string {
	return []string{Append, Publish, Acknowledge, Checkpoint, Meta, Release, Recycle}
}
