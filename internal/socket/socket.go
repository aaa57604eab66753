// Package socket has TCP connections whose reads and writes cost less than those of package net.
//
// A read or write of package net enters its system call in a way that lets the scheduler of Go give the processor to
// another goroutine, should the call block. After a pause that wakes the monitor thread of the runtime, which then
// looks at the processors every 20 microseconds. A server whose requests take less than a millisecond pays for that
// with a sixth of its CPU. The calls on sockets of Go never block: they say that there is nothing yet, and the
// goroutine waits in the poller. So those of this package enter the system directly, and the monitor goes on sleeping.
//
// The monitor also stops goroutines that compute for long, and looks for messages where all processors are busy. It
// wakes by itself when the next timer is due. A server that runs requests of such connections tells a Pulse of each one
// that begins: that keeps a timer running meanwhile, and wakes the monitor where it has none.
package socket

import "net"

// Listener gives the connections that l accepts, those of TCP in the form of this package. On other systems than Linux
// they stay as they are.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return direct(c), nil
}
