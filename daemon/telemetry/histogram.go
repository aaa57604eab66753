package telemetry

import (
	"io"
	"strconv"
	"sync/atomic"
	"time"
)

// bounds are the upper bounds of all duration histograms, in seconds.
var bounds = [...]float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
	10, 30, 60}

// histogram counts durations. The zero histogram is ready; it is safe for concurrent use.
type histogram struct {
	buckets [len(bounds) + 1]atomic.Uint64
	nanos   atomic.Uint64
}

func (h *histogram) observe(d time.Duration) {
	s := d.Seconds()
	i := 0
	for i < len(bounds) && s > bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.nanos.Add(uint64(max(d, 0)))
}

// write prints h as name with labels ("" or `a="b"`).
func (h *histogram) write(w io.Writer, name, labels string) {
	comma := ""
	if labels != "" {
		comma = ","
	}
	var count uint64
	for i := range h.buckets {
		count += h.buckets[i].Load()
		le := "+Inf"
		if i < len(bounds) {
			le = strconv.FormatFloat(bounds[i], 'g', -1, 64)
		}
		line(w, name+"_bucket", labels+comma+`le="`+le+`"`, float64(count))
	}
	line(w, name+"_sum", labels, time.Duration(h.nanos.Load()).Seconds())
	line(w, name+"_count", labels, float64(count))
}
