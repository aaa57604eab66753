package cli

import (
	"fmt"
	"time"

	"github.com/nacredb/nacre/cli/process"
	"github.com/nacredb/nacre/engine/dump/physical"
)

// physicalError gives an error of a command on store files its exit code, and says what to do.
func physicalError(err error) error {
	if err == nil {
		return nil
	}
	code, hint := exitOther, ""
	switch physical.TroubleOf(err) {
	case physical.InUse:
		code, hint = exitConflict, "stop that process first; 'nacre backup -e http://HOST:PORT' saves a server that runs"
	case physical.Exists:
		code = exitConflict
	case physical.Absent:
		code, hint = exitNotFound, "check the path"
	case physical.NoBackup:
		code, hint = exitInvalid, "nothing was written; take another backup"
	case physical.NoStore:
		code, hint = exitInvalid, "name the directory of a store"
	case physical.Newer:
		code, hint = exitInvalid, "use that version"
	case physical.Damaged:
		code, hint = exitInvalid, "restore a backup, or see what can be saved with 'nacre check' and its --repair"
	default:
		return err
	}
	if hint != "" {
		err = fmt.Errorf("%w: %s", err, hint)
	}
	return exitError{code, err}
}

// stages shows the progress of a run that goes through several stages, each with its own line.
type stages struct {
	s     *streams
	stage string
	line  *progress
	began time.Time
}

func newStages(s *streams) *stages { return &stages{s: s, began: time.Now()} }

// tell is a physical.Progress.
func (p *stages) tell(stage string, _, bytes, total uint64) {
	if stage != p.stage {
		p.stop()
		p.stage, p.line = stage, newProgress(p.s, stage, int64(total))
	}
	p.line.n.Store(int64(bytes))
}

func (p *stages) stop() {
	if p.line != nil {
		p.line.stop()
		p.line = nil
	}
}

// took is the time so far, for a closing line.
func (p *stages) took() time.Duration { return time.Since(p.began).Round(time.Millisecond) }

// manifestText says in words what a backup holds.
func manifestText(m *physical.Manifest) string {
	return fmt.Sprintf("%d keys, %s, of a %s store at version %d, %s", m.Keys, process.Size(int64(m.Bytes)),
		m.Store, m.Version,
		m.Created.Format("2006-01-02 15:04:05 UTC"))
}
