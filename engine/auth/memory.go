package auth

import (
	"container/list"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// Memory remembers a number of credentials that were right, without holding them: it keeps keyed hashes, and forgets
// those that were not used for the longest time. It is safe for concurrent use.
type Memory struct {
	secret [32]byte
	most   int

	mu    sync.Mutex // guards the rest; a leaf lock
	known map[MemoryID]*list.Element
	order *list.List // of ids, the one used last first
}

// MemoryID stands for credentials in one Memory.
type MemoryID [sha256.Size]byte

// NewMemory makes a Memory for at most most credentials.
func NewMemory(most int) *Memory {
	m := &Memory{most: most, known: map[MemoryID]*list.Element{}, order: list.New()}
	rand.Read(m.secret[:]) // never fails: it ends the process instead
	return m
}

// ID returns the identifier that stands for credentials of some parts.
func (m *Memory) ID(parts ...string) (id MemoryID) {
	h := hmac.New(sha256.New, m.secret[:])
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	h.Sum(id[:0])
	return id
}

// Has reports whether the credentials were added and are not forgotten.
func (m *Memory) Has(id MemoryID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.known[id]
	if ok {
		m.order.MoveToFront(e)
	}
	return ok
}

// Add remembers credentials.
func (m *Memory) Add(id MemoryID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.known[id]; ok {
		return
	}
	m.known[id] = m.order.PushFront(id)
	if m.order.Len() > m.most {
		m.remove(m.order.Back())
	}
}

// Drop forgets credentials.
func (m *Memory) Drop(id MemoryID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.known[id]; ok {
		m.remove(e)
	}
}

// remove takes out an element; m.mu is held.
func (m *Memory) remove(e *list.Element) {
	delete(m.known, e.Value.(MemoryID))
	m.order.Remove(e)
}
