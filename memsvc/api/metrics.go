package api

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
)

// Metrics counts and times things, in the text form of Prometheus.
type Metrics struct {
	mu       sync.Mutex // guards the maps; a leaf lock
	counters map[string]float64
	times    map[string]*histogram
}

var buckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10}

type histogram struct {
	counts [13]uint64
	sum    float64
	n      uint64
}

// NewMetrics makes an empty registry.
func NewMetrics() *Metrics {
	return &Metrics{counters: map[string]float64{}, times: map[string]*histogram{}}
}

// Add adds to a counter. labels are name, value, name, value.
func (m *Metrics) Add(name string, n float64, labels ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counters[series(name, labels)] += n
}

// Observe adds a duration in seconds to a histogram.
func (m *Metrics) Observe(name string, seconds float64, labels ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := series(name, labels)
	h := m.times[key]
	if h == nil {
		h = &histogram{}
		m.times[key] = h
	}
	i := sort.SearchFloat64s(buckets, seconds)
	h.counts[i]++
	h.sum += seconds
	h.n++
}

func series(name string, labels []string) string {
	var b strings.Builder
	b.WriteString(name)
	b.WriteByte('{')
	for i := 0; i+1 < len(labels); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s=%q", labels[i], labels[i+1])
	}
	b.WriteByte('}')
	return b.String()
}

// Write writes every series in order.
func (m *Metrics) Write(w io.Writer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	family := func(key, kind string, last *string) {
		if name, _, _ := strings.Cut(key, "{"); name != *last {
			fmt.Fprintf(&b, "# TYPE %s %s\n", name, kind)
			*last = name
		}
	}
	var last string
	for _, key := range keysOf(m.counters) {
		family(key, "counter", &last)
		fmt.Fprintf(&b, "%s %g\n", strings.TrimSuffix(key, "{}"), m.counters[key])
	}
	for _, key := range keysOf(m.times) {
		family(key, "histogram", &last)
		h := m.times[key]
		name, labels, _ := strings.Cut(strings.TrimSuffix(key, "}"), "{")
		if labels != "" {
			labels += ","
		}
		var sum uint64
		for i, le := range buckets {
			sum += h.counts[i]
			fmt.Fprintf(&b, "%s_bucket{%sle=\"%g\"} %d\n", name, labels, le, sum)
		}
		plain := strings.TrimSuffix(labels, ",")
		fmt.Fprintf(&b, "%s_bucket{%sle=\"+Inf\"} %d\n%s_sum{%s} %g\n%s_count{%s} %d\n", name, labels, h.n, name, plain, h.sum, name,
			plain, h.n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func keysOf[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
