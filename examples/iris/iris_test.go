// Package iris_test runs the iris example: a model is trained, imported, and asked by statements.
package iris_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestIris runs the script as a reader would, with the nacre of this tree: 148 of 150 flowers are named as they were,
// and the 667 copies of the table are scored in one SELECT, in which each species has about a third.
func TestIris(t *testing.T) {
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "nacre"), "github.com/nacredb/nacre/cmd/nacre")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command("./run.sh", dir)
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		`148 of 150 flowers are named as they were`,
		`(?m)^operators +Add, MatMul, Softmax$`,
		`ml::iris<1.0.0> was imported`,
		`(?m)^148$`,
		`\{ flowers: 100050, setosa: 0\.33\d*f, versicolor: 0\.33\d*f, virginica: 0\.33\d*f \}`,
		`(?m)^3$`,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("no %s in: %s", want, out)
		}
	}
}
