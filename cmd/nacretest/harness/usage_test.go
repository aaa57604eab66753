package harness

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// TestCPUTimeIsFine: short work is seen, which /proc/PID/stat counts as nothing or as a hundredth of a second.
func TestCPUTimeIsFine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("of Linux alone")
	}
	const looks = 20
	differ := 0
	last, err := cpuTime(os.Getpid())
	for range looks {
		for began := time.Now(); time.Since(began) < time.Millisecond; { // computes
		}
		now, e := cpuTime(os.Getpid())
		if e != nil || err != nil {
			t.Fatal(err, e)
		}
		if now < last {
			t.Fatalf("%v after %v", now, last)
		}
		if now%(10*time.Millisecond) != 0 && now > last {
			differ++
		}
		last = now
	}
	if differ < looks/2 {
		t.Errorf("%d of %d looks saw time go by", differ, looks)
	}
}

// TestUsageOfAnEndedProcess: a Family asks for children that may have ended, and tells that from other errors.
func TestUsageOfAnEndedProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("of Linux alone")
	}
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := UsageOf(cmd.Process.Pid); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := cpuTime(cmd.Process.Pid); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
