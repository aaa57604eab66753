// Package residence keeps the memory that a process occupies near what it uses.
package residence
