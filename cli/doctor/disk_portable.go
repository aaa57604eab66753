//go:build !linux

package doctor

import "errors"

func diskOf(string) (disk, error) { return disk{}, errors.ErrUnsupported }

func openFiles() Finding {
	return Finding{"limits", Note, "the limit of open files is not looked at on this system", ""}
}
