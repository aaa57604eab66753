package cli

import (
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

func TestHowToUpgrade(t *testing.T) {
	file := &fstest.MapFile{}
	for _, tc := range []struct {
		name, exe string
		root      fstest.MapFS
		want      string
	}{
		{"Debian", "/usr/bin/nacre", fstest.MapFS{"var/lib/dpkg/info/nacre.list": file, "var/lib/rpm/x": file},
			"sudo dpkg -i nacre_*_" + runtime.GOARCH + ".deb"},
		{"Alpine", "/usr/bin/nacre", fstest.MapFS{"lib/apk/db/installed": &fstest.MapFile{Data: []byte("\nP:nacre\n")}},
			"apk add"},
		{"another package of Alpine", "/usr/bin/nacre",
			fstest.MapFS{"lib/apk/db/installed": &fstest.MapFile{Data: []byte("\nP:nacrelike\n")}}, "Put the binary"},
		{"Fedora", "/usr/bin/nacre", fstest.MapFS{"usr/lib/sysimage/rpm/x": file}, "sudo rpm -U"},
		{"Homebrew", "/opt/homebrew/Cellar/nacre/1.0.0/bin/nacre", nil, "brew upgrade nacre"},
		{"go install", "/home/ada/go/bin/nacre", nil, "go install"},
		{"an image", "/nacre", nil, "Pull the image"},
		{"a binary", "/opt/nacre", fstest.MapFS{"var/lib/dpkg/info/nacre.list": file}, "in place of /opt/nacre"},
	} {
		if got := howToUpgrade(tc.root, tc.exe, "/home/ada/go/bin"); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s", tc.name, got)
		}
	}
}
