//go:build !unix

package telemetry

import "time"

// processTime reports that the system does not tell.
func processTime() (time.Duration, bool) { return 0, false }
