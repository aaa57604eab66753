package fn

import (
	"errors"
	"sync"

	"github.com/nacredb/nacre/engine/value"
)

const (
	maxRegex     = 64 << 10 // bytes of a pattern
	regexesCache = 256      // compiled patterns that a table keeps
)

var errRegexTooLong = errors.New("regular expression too long")

// regexes keeps the compiled form of patterns that come as text. It is safe for concurrent use; when full it starts anew,
// so that a stream of different patterns costs a compilation each but never grows.
type regexes struct {
	mu sync.RWMutex // guards m; a leaf lock
	m  map[string]*value.Regex
}

// compile is the compiled form of a pattern in the language's syntax (RE2, named groups as (?<x>…)).
func (c *regexes) compile(pattern string) (*value.Regex, error) {
	c.mu.RLock()
	re := c.m[pattern]
	c.mu.RUnlock()
	if re != nil {
		return re, nil
	}
	if len(pattern) > maxRegex {
		return nil, errRegexTooLong
	}
	re, err := value.CompileRegex(pattern)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= regexesCache {
		c.m = make(map[string]*value.Regex, regexesCache)
	}
	c.m[pattern] = re
	return re, nil
}
