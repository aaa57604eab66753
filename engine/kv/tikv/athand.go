package tikv

// atHand is what Prefetch has read for Get, and what Get has taken of it last. The zero value is empty.
type atHand struct {
	answers map[string]*held // by key

	ahead      int // answers that Get was not asked for
	aheadBytes int // about what they take
	givenBytes int // about what the others take
}

// held is an answer that is kept.
type held struct {
	answer
	given bool // Get was asked for it
}

// answer is what Get gives.
type answer struct {
	value []byte
	there bool
}

// How much of what Prefetch has read is kept for Get: beyond it all of it is forgotten.
const (
	maxAhead      = 1024
	maxAheadBytes = 2 * batchBytes
)

// maxGivenBytes bounds what is kept of what Get has given: a path often asks for a record twice, one time after the
// other. It is little, for a transaction may lie idle.
const maxGivenBytes = 64 << 10

// givenCost is about what an answer that is kept takes beside its bytes.
const givenCost = 96

// room makes room for n answers more.
func (a *atHand) room(n int) {
	if a.answers == nil || a.ahead+n > maxAhead || a.aheadBytes > maxAheadBytes {
		*a = atHand{answers: make(map[string]*held, n)}
	}
}

// again keeps the answer for a key for the next Get, if it is there.
func (a *atHand) again(key []byte) bool {
	h := a.answers[string(key)]
	if h == nil {
		return false
	}
	if h.given {
		h.given = false
		a.givenBytes -= givenCost + len(key) + len(h.value)
		a.ahead++
		a.aheadBytes += len(h.value)
	}
	return true
}

// expect makes h, which is nothing yet, the answer for a key that has none.
func (a *atHand) expect(key []byte, h *held) {
	a.answers[string(key)] = h
	a.ahead++
}

// found sets the answer for a key that is expected.
func (a *atHand) found(key, value []byte) {
	if h := a.answers[string(key)]; h != nil {
		h.answer = answer{value, true}
		a.aheadBytes += len(value)
	}
}

// drop forgets the answer for a key that is expected.
func (a *atHand) drop(key []byte) {
	if h := a.answers[string(key)]; h != nil {
		delete(a.answers, string(key))
		a.ahead--
	}
}

// take gives the answer for a key, and forgets it soon.
func (a *atHand) take(key []byte) (answer, bool) {
	h := a.answers[string(key)]
	if h == nil {
		return answer{}, false
	}
	if h.given {
		return h.answer, true
	}
	a.ahead--
	a.aheadBytes -= len(h.value)
	n := givenCost + len(key) + len(h.value)
	if a.givenBytes+n > maxGivenBytes {
		for k, old := range a.answers {
			if old.given {
				delete(a.answers, k)
			}
		}
		a.givenBytes = 0
	}
	if n > maxGivenBytes {
		delete(a.answers, string(key))
		return h.answer, true
	}
	h.given = true
	a.givenBytes += n
	return h.answer, true
}

// keep keeps an answer as one that Get has given.
func (a *atHand) keep(key []byte, of answer) {
	if a.room(1); a.answers[string(key)] == nil {
		a.expect(key, &held{answer: of})
		a.aheadBytes += len(of.value)
		a.take(key)
	}
}

// look gives the answer for a key.
func (a *atHand) look(key []byte) (answer, bool) {
	h := a.answers[string(key)]
	if h == nil {
		return answer{}, false
	}
	return h.answer, true
}
