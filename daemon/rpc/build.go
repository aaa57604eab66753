package rpc

import "runtime/debug"

// buildInfo is the revision and commit time that the binary was built from; "" where it does not know.
func buildInfo() (revision, timestamp string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.time":
			timestamp = s.Value
		}
	}
	return revision, timestamp
}
