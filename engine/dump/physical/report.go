package physical

import (
	"encoding/json"
	"fmt"

	"github.com/nacredb/nacre/engine/kv/bolt"
)

// The kinds of findings.
const (
	FindPage       = "page"       // the tree of data.db, its values, or the log
	FindKey        = "key"        // a key that no part of the database makes
	FindOrphan     = "orphan"     // data of a table or index that is not defined
	FindDefinition = "definition" // a definition that cannot be read
	FindRecord     = "record"
	FindMissing    = "index missing" // a record without an entry that it should have
	FindExtra      = "index extra"   // an entry that no record accounts for
	FindEdge       = "edge"
	FindReference  = "reference"
	FindCounter    = "counter"
	FindView       = "view" // a row that is not what the records behind it give
)

// Finding is one thing that is wrong.
type Finding struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// maxFindings are kept; more are only counted.
const maxFindings = 1000

// Report is the result of a check.
type Report struct {
	Path     string          `json:"path"`
	Format   uint32          `json:"format"`
	Version  uint64          `json:"version"`
	Pages    bolt.PageReport `json:"pages"`
	Keys     uint64          `json:"keys"`
	Tables   int             `json:"tables"`
	Indexes  int             `json:"indexes"`
	Records  uint64          `json:"records"`
	Edges    uint64          `json:"edges"`   // adjacency entries
	Entries  uint64          `json:"entries"` // of indexes
	Findings []Finding       `json:"findings"`
	Found    int             `json:"found"`   // all of them, also those that were not kept
	Skipped  []string        `json:"skipped"` // what was not checked, and why
}

// Clean reports whether nothing is wrong.
func (r *Report) Clean() bool { return r.Found == 0 }

// MarshalJSON writes the fields of r after "sound", which is what Clean says. Lists without elements are [].
func (r *Report) MarshalJSON() ([]byte, error) {
	type fields Report
	plain := fields(*r)
	if plain.Findings == nil {
		plain.Findings = []Finding{}
	}
	if plain.Skipped == nil {
		plain.Skipped = []string{}
	}
	return json.Marshal(struct {
		Sound bool `json:"sound"`
		fields
	}{r.Clean(), plain})
}

func (r *Report) find(kind, format string, args ...any) {
	r.Found++
	if len(r.Findings) < maxFindings {
		r.Findings = append(r.Findings, Finding{kind, fmt.Sprintf(format, args...)})
	}
}

func (r *Report) skip(format string, args ...any) {
	r.Skipped = append(r.Skipped, fmt.Sprintf(format, args...))
}
