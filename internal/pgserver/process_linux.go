package pgserver

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// attributes makes the programs end with this process. Where this one is of root they run as the user postgres, who
// gets dir: they refuse root.
func attributes(dir string) (*syscall.SysProcAttr, error) {
	as := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return as, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return as, os.Chown(dir, uid, gid)
}
