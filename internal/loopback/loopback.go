// Package loopback finds addresses for servers that are started in processes of their own.
//
// A port that was free a moment ago may be taken when the server binds it: mostly by an outgoing connection, for those
// take their ports from the same range, on 127.0.0.1. So the address is one of the many others that lead to the machine
// itself, which nothing goes out from. Where the system knows 127.0.0.1 only it is that.
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Free is a host:port of the machine itself without a listener right now.
func Free() (string, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.1:0", 1+rand.IntN(250), rand.IntN(250)))
	if err != nil {
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return "", err
		}
	}
	defer l.Close()
	return l.Addr().String(), nil
}
