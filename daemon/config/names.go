package config

import "strings"

// Names is a list of names of routes, methods or targets: all of them, none, or those listed.
type Names struct {
	All     bool
	Default bool // not set by the operator: any general rule wins over it
	List    []string
}

// ParseNames reads "", "*" and "all" (everything), "none", or names separated by commas.
func ParseNames(text string) Names {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "*", "all", "true":
		return Names{All: true}
	case "none", "false":
		return Names{}
	}
	var n Names
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.ToLower(strings.TrimSpace(part)); part != "" {
			n.List = append(n.List, part)
		}
	}
	return n
}

// Has reports whether name is among n.
func (n Names) Has(name string) bool {
	if n.All {
		return true
	}
	for _, x := range n.List {
		if x == name {
			return true
		}
	}
	return false
}

// names reports whether n lists name itself, not just everything.
func (n Names) names(name string) bool { return Names{List: n.List}.Has(name) }

// String writes the names in the form that ParseNames reads.
func (n Names) String() string {
	switch {
	case n.All:
		return "all"
	case len(n.List) == 0:
		return "none"
	}
	return strings.Join(n.List, ",")
}

// Allowed decides whether name may be used: what is named beats what is general, and a denial beats a
// permission of the same depth.
func Allowed(allow, deny Names, name string) bool {
	switch {
	case deny.names(name):
		return false
	case allow.names(name):
		return true
	case deny.All:
		return false
	}
	return allow.All
}
