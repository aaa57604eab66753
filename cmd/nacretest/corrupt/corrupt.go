package corrupt

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/engine/kv"
)

func flags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	flips := fs.Int("flips", 1000, "bytes of a backup to flip, one at a time")
	records := fs.Int("records", 3000, "size of the store")
	var o harness.RunOptions
	o.Flags(fs, "")
	return func(ctx context.Context, out io.Writer) error { return corruptSuite(ctx, out, *flips, *records, o) }
}

// damage is one way to spoil a store.
type damage struct {
	name string
	want []string // kinds of findings; at least one must be reported
	do   func(s *spoiler) error
	// keeps says that a repair brings everything back: the check of the result must be clean.
	keeps bool
}

// corruptSuite spoils copies of a sound store: check must find each damage, and repair must make
// a store of it that can be used.
func corruptSuite(ctx context.Context, out io.Writer, flips, records int, o harness.RunOptions) error {
	dir, done, err := o.Scratch("corrupt")
	if err != nil {
		return err
	}
	defer done()
	sound := filepath.Join(dir, "sound")
	if err := makeRichStore(ctx, sound, records); err != nil {
		return err
	}
	if rep, err := engine.Check(ctx, sound, nil); err != nil || !rep.Clean() {
		return fmt.Errorf("the sound store: %+v %w", rep, err)
	}
	var missed []string
	all := append(logicalDamages(), physicalDamages()...)
	repaired := 0
	for i, d := range all {
		found, clean, err := tryDamage(ctx, sound, filepath.Join(dir, "spoiled"), d,
			rand.New(rand.NewPCG(o.Seed, uint64(i))))
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		if clean {
			repaired++
		}
		fmt.Fprintf(out, "%-55s %-30s repaired %v\n", d.name, found, clean)
		if found == "" || d.keeps && !clean {
			missed = append(missed, d.name)
		}
	}
	fmt.Fprintf(out, "%d of %d kinds of damage are found, %d stores are clean after a repair\n", len(all)-len(missed), len(all), repaired)
	if len(missed) > 0 {
		return fmt.Errorf("not found, or not repaired: %q", missed)
	}
	return flipBackup(ctx, out, sound, flips, o.Seed)
}

// tryDamage spoils a copy, checks and repairs it. found is the kinds of the findings, "" when none
// of those that were wanted is there.
func tryDamage(ctx context.Context, sound, path string, d damage,
	rnd *rand.Rand) (found string, clean bool, err error) {
	if err := os.CopyFS(path, os.DirFS(sound)); err != nil {
		return "", false, err
	}
	defer os.RemoveAll(path)
	defer os.RemoveAll(path + ".repaired")
	s := &spoiler{path: path, rnd: rnd}
	if err := d.do(s); err != nil {
		return "", false, err
	}
	rep, err := engine.Check(ctx, path, nil)
	if err != nil {
		return "", false, err
	}
	var kinds []string
	wanted := false
	for _, f := range rep.Findings {
		wanted = wanted || slices.Contains(d.want, f.Kind)
		if !slices.Contains(kinds, f.Kind) {
			kinds = append(kinds, f.Kind)
		}
	}
	if wanted {
		found = fmt.Sprint(kinds)
	}
	fixed, err := engine.Repair(ctx, path, path+".repaired", nil)
	if errors.Is(err, kv.ErrCorrupt) { // there is nothing to start from
		return found, false, nil
	}
	if err != nil {
		return found, false, err
	}
	return found, fixed.After.Clean(), nil
}

// flipBackup flips one bit in n bytes of a backup, one at a time: none may pass.
func flipBackup(ctx context.Context, out io.Writer, path string, n int, seed uint64) error {
	var buf bytes.Buffer
	if _, err := physical.BackupPath(ctx, path, &buf, physical.BackupOptions{}); err != nil {
		return err
	}
	p := buf.Bytes()
	if _, err := physical.Verify(ctx, bytes.NewReader(p), nil); err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(seed, 1000))
	passed := 0
	for range n {
		at, bit := rnd.IntN(len(p)), byte(1)<<rnd.IntN(8)
		p[at] ^= bit
		_, err := physical.Verify(ctx, bytes.NewReader(p), nil)
		p[at] ^= bit
		if err == nil {
			passed++
		} else if !errors.Is(err, physical.ErrBackup) && physical.TroubleOf(err) != physical.Damaged &&
			physical.TroubleOf(err) != physical.NoStore {
			return err
		}
	}
	fmt.Fprintf(out, "%d of %d flipped bytes of a backup of %d bytes are found\n", n-passed, n, len(p))
	if passed > 0 {
		return fmt.Errorf("%d flipped bytes pass", passed)
	}
	return nil
}
