package doctor

import (
	"fmt"
	"syscall"
)

// kinds are the magic numbers of file systems (statfs(2)).
var kinds = map[uint32]string{
	0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x2fc12fc1: "zfs", 0xf2f52010: "f2fs", 0x01021994: "tmpfs",
	0x6969: "nfs", 0xff534d42: "cifs", 0xfe534d42: "cifs", 0x65735546: "fuse", 0x794c7630: "overlay",
}

// diskOf asks for the file system that a folder is on.
func diskOf(dir string) (disk, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return disk{}, fmt.Errorf("ask for the disk of %s: %w", dir, err)
	}
	block := uint64(s.Bsize)
	return disk{free: s.Bavail * block, size: s.Blocks * block, kind: kinds[uint32(s.Type)]}, nil
}

// manyFiles is how many open files a busy server needs: connections, and the files of the store.
const manyFiles = 4096

func openFiles() Finding {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return Finding{"limits", Note, "the limit of open files is not known: " + err.Error(), ""}
	}
	text := fmt.Sprintf("%d open files", l.Cur)
	if l.Max < manyFiles {
		return Finding{"limits", Warning, text, "raise it (ulimit -n, LimitNOFILE of the unit): a connection takes one"}
	}
	return Finding{"limits", OK, text, ""}
}
