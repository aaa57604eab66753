package telemetry

import (
	"io"
	"sync/atomic"

	"github.com/nacredb/nacre/engine"
)

// verbs counts statements by what they do. Nothing is added to the map after newVerbs, so readers need no lock.
type verbs map[string]*atomic.Uint64

func newVerbs() verbs {
	v := verbs{}
	for _, name := range engine.Verbs() {
		v[name] = &atomic.Uint64{}
	}
	return v
}

// count counts a statement; what is no verb is another one.
func (v verbs) count(verb string) {
	n := v[verb]
	if n == nil {
		n = v["other"]
	}
	n.Add(1)
}

// write prints v as the counter of a name, with one label.
func (v verbs) write(w io.Writer, name, label, help string) {
	family(w, name, "counter", help)
	for _, verb := range engine.Verbs() {
		line(w, name, label+`="`+verb+`"`, float64(v[verb].Load()))
	}
}
