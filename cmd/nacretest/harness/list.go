package harness

import (
	"fmt"
	"strconv"
	"strings"
)

// Among reports whether name is in a list with commas; every name is in an empty one.
func Among(list, name string) bool {
	if list == "" {
		return true
	}
	for w := range strings.SplitSeq(list, ",") {
		if w == name {
			return true
		}
	}
	return false
}

// Clients reads a list of numbers of clients: "1,16,64".
func Clients(list string) (out []int, err error) {
	for c := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(c)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-clients: %q is no number of clients", c)
		}
		out = append(out, n)
	}
	return out, nil
}
