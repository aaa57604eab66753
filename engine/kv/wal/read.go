package wal

import (
	"fmt"
	"os"

	"github.com/nacredb/nacre/engine/kv"
)

// readOnlyOS is OS for files that nothing may change.
type readOnlyOS struct{ OS }

// Open implements FS.
func (readOnlyOS) Open(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return &osFile{File: f}, nil
}

// Read is Open without the log: it hands the frames newer than applied to replay and leaves the
// files as they are. Errors: as Open; what was replayed before stays right.
func Read(opt Options, applied kv.Version, replay func(*Frame) error) (Recovery, error) {
	if opt.FS == nil {
		opt.FS = readOnlyOS{}
	}
	rec := Recovery{Last: applied}
	l := &Log{opt: opt, fs: opt.FS}
	defer l.closeFiles()
	segments, err := l.list()
	if err != nil {
		return rec, fmt.Errorf("read log: %w", err)
	}
	l.free = segments
	r := reader{want: applied + 1, applied: applied, replay: replay, rec: &rec}
	for _, s := range segments {
		if s.seq == 0 {
			continue
		}
		p, err := s.read()
		if err == nil {
			_, err = r.segment(s, p)
		}
		rec.Last = r.want - 1
		if err != nil {
			return rec, fmt.Errorf("read log: %s: %w", s.name, err)
		}
	}
	return rec, nil
}
