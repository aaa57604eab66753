//go:build !linux

package pgserver

import "syscall"

// attributes are those of this process.
func attributes(string) (*syscall.SysProcAttr, error) { return nil, nil }
