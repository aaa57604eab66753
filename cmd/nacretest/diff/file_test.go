package diff

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRunFile compares the lines of a file, as the owner and as a record user, with an engine that is wrong about INFO.
func TestRunFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "queries")
	text := "# left out: INFO FOR DB\nRETURN 1; RETURN [2]\n\nINFO FOR DB\nas user: DEFINE TABLE t PERMISSIONS FULL; ## CREATE t:1 SET by = $auth\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := Options{Timeout: 10 * time.Second, File: name}
	if err := RunFile(context.Background(), &out, o, &Embedded{}, wrong{}); err == nil {
		t.Error("no error where an answer differs")
	}
	if got := out.String(); !strings.HasPrefix(got, "INFO FOR DB\n  1 nacre:     {") ||
		!strings.HasSuffix(got, "reference: wrong about INFO\n\n3 queries, 1 differ\n") {
		t.Errorf("RunFile prints\n%s", got)
	}
	c := lineCase("as user: CREATE t:1 ## RETURN $auth")
	if got := answers(t, &Embedded{}, c); len(got) != 1 || got[0].Text != "user:1" {
		t.Errorf("a record user is %v", got)
	}
}
