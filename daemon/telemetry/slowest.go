package telemetry

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/engine/parse"
)

// Limits of the list of slowest texts: its length, its age and the bytes of a text.
const (
	slowestKept = 20
	slowestAge  = 10 * time.Minute
	slowestText = 1024
)

// Slowest is a text that took long, for operators. Text is its shape, without data.
type Slowest struct {
	Text                string
	Spent               time.Duration
	Ended               time.Time
	OK                  bool
	Namespace, Database string
}

// slowest keeps the texts of the last ten minutes that took longest. Most texts are faster than all of them, and cost
// two atomic loads.
type slowest struct {
	floor   atomic.Int64 // nanoseconds: faster texts are not kept
	expires atomic.Int64 // Unix nanoseconds: then the oldest is too old

	mu   sync.Mutex // guards list; a leaf lock
	list []Slowest
}

// AmongSlowest reports whether a text that took d is one of the slowest of the last ten minutes.
func (m *Metrics) AmongSlowest(d time.Duration) bool {
	return m != nil && (int64(d) > m.slowest.floor.Load() || time.Now().UnixNano() >= m.slowest.expires.Load())
}

// KeepSlow adds a text to the slowest ones. A list that is full loses its fastest.
func (m *Metrics) KeepSlow(q SlowQuery, ok bool) {
	if m == nil {
		return
	}
	s, now := &m.slowest, time.Now()
	text := q.Text
	if len(text) > slowestText {
		text = strings.ToValidUTF8(text[:slowestText], "") + "…"
	}
	one := Slowest{Text: parse.Shape(text), Spent: q.Spent, Ended: now, OK: ok, Namespace: q.Namespace,
		Database: q.Database}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.fresh(now), one)
	slices.SortStableFunc(s.list, func(a, b Slowest) int { return cmp.Compare(b.Spent, a.Spent) })
	s.list = s.list[:min(len(s.list), slowestKept)]
	s.bound()
}

// fresh is the list without what is too old; the lock is held.
func (s *slowest) fresh(now time.Time) []Slowest {
	return slices.DeleteFunc(s.list, func(q Slowest) bool { return now.Sub(q.Ended) > slowestAge })
}

// bound sets what a text needs to be kept; the lock is held.
func (s *slowest) bound() {
	floor, oldest := int64(0), s.list[0].Ended
	for _, q := range s.list {
		if q.Ended.Before(oldest) {
			oldest = q.Ended
		}
	}
	if len(s.list) == slowestKept {
		floor = int64(s.list[slowestKept-1].Spent)
	}
	s.floor.Store(floor)
	s.expires.Store(oldest.Add(slowestAge).UnixNano())
}

// SlowestTexts are the slowest texts of the last ten minutes, the slowest first.
func (m *Metrics) SlowestTexts() []Slowest {
	if m == nil {
		return nil
	}
	m.slowest.mu.Lock()
	defer m.slowest.mu.Unlock()
	m.slowest.list = m.slowest.fresh(time.Now())
	return slices.Clone(m.slowest.list)
}
