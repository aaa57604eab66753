package socket

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// direct is c with reads and writes that enter the system directly, where that can be.
func direct(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	d := &conn{TCPConn: tcp, raw: raw}
	d.in.init(syscall.SYS_READ)
	d.out.init(syscall.SYS_WRITE)
	return d
}

// conn is a TCP connection.
type conn struct {
	*net.TCPConn
	raw     syscall.RawConn
	in, out direction
}

// direction is what reads need, or what writes need.
type direction struct {
	mu   sync.Mutex // held during a call; guards the rest
	buf  []byte
	n    int
	err  syscall.Errno
	once func(fd uintptr) bool // makes the call for buf; false: it has to wait
}

func (d *direction) init(call uintptr) {
	d.once = func(fd uintptr) bool {
		for {
			start, size := unsafe.Pointer(unsafe.SliceData(d.buf)), uintptr(len(d.buf))
			n, _, err := syscall.RawSyscall(call, fd, uintptr(start), size)
			if err == syscall.EINTR {
				continue
			}
			d.n, d.err = int(n), err
			return err != syscall.EAGAIN
		}
	}
}

// do makes one call for p with wait, which repeats it until it need not wait. name is that of the call.
func (d *direction) do(c *conn, name string, wait func(func(fd uintptr) bool) error, p []byte) (int, error) {
	d.buf = p
	err := wait(d.once)
	d.buf = nil
	if err == nil && d.err != 0 {
		err = os.NewSyscallError(name, d.err)
	}
	if err != nil {
		if op, ok := err.(*net.OpError); ok { // that of the wait
			err = op.Err
		}
		here, there := c.LocalAddr(), c.RemoteAddr()
		return 0, &net.OpError{Op: name, Net: here.Network(), Source: here, Addr: there, Err: err}
	}
	return d.n, nil
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	n, err := c.in.do(c, "read", c.raw.Read, p)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (written int, err error) {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	for written < len(p) {
		n, err := c.out.do(c, "write", c.raw.Write, p[written:])
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// Rouse wakes the monitor of the runtime.
func Rouse() {
	_, _, _ = syscall.Syscall(syscall.SYS_GETPID, 0, 0, 0) // any call does that the scheduler hears of
}
