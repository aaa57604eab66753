// Package sql is a small reader of SQL: queries over relations that its user provides.
//
// The catalogs of PostgreSQL and the tables of the product are such relations. A text is cut into tokens, parsed to a
// tree, bound to relations (every expression gets a type, every name its column) and run by operators that pull rows.
// It is no engine: what a relation filters itself is pushed down to it, and the rest is done in memory within limits.
package sql
