// Package telemetry shows a running daemon to its operator: structured logs, metrics in
// Prometheus text form and the slow-query log.
//
// Nothing here ever holds a password, token or key: log attributes with such names are masked and
// the texts of slow queries have their literals blanked. Every method works on a nil receiver, so
// embedding code needs no telemetry. Label sets are closed; no label comes from a client's text.
package telemetry
