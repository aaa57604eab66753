package fn

import (
	"sync"

	"github.com/nacredb/nacre/engine/value"
)

const (
	regexesCache = 256     // compiled patterns that a table keeps
	regexesSteps = 100_000 // of their programs together, about 4 MB
)

// regexes keeps the compiled form of patterns that come as text. It is safe for concurrent use; when full it starts
// anew, so that a stream of different patterns costs a compilation each but never grows.
type regexes struct {
	mu    sync.RWMutex // guards the rest; a leaf lock
	m     map[string]*value.Regex
	steps int // of all in m
}

// compile is the compiled form of a pattern in the language's syntax (RE2, named groups as (?<x>…)).
func (c *regexes) compile(pattern string) (*value.Regex, error) {
	c.mu.RLock()
	re := c.m[pattern]
	c.mu.RUnlock()
	if re != nil {
		return re, nil
	}
	re, err := value.CompileRegex(pattern)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= regexesCache || c.steps+re.Steps > regexesSteps {
		c.m, c.steps = make(map[string]*value.Regex, regexesCache), 0
	}
	if c.m[pattern] == nil {
		c.steps += re.Steps
	}
	c.m[pattern] = re
	return re, nil
}
