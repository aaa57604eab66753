// Package vector finds nearest neighbours: by comparing with everything, and by graphs in memory that
// are kept in step with what is stored.
package vector
