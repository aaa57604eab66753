package torn

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// straceArgs are the arguments of strace that make a trace that parseTrace reads.
func straceArgs(out string) []string {
	return []string{"-f", "-y", "-xx", "-s", "100000000", "-o", out,
		"-e", "trace=pwrite64,write,fdatasync,fsync,ftruncate,openat,unlink,unlinkat,link,linkat,rename,renameat,renameat2"}
}

// traceParser turns the lines of strace into events on the files of one directory.
type traceParser struct {
	dir    string
	events []event
	open   map[string]openCall // by process: its call that has not returned
	forced map[string]bool     // by number: descriptors whose writes are durable when they return
}

type openCall struct {
	name, args string
	events     int // how many there were when it began
	own        int // the event that it is, where it is one
}

// parseTrace reads a trace and keeps what concerns dir.
func parseTrace(r io.Reader, dir string) ([]event, error) {
	p := &traceParser{dir: dir, open: map[string]openCall{}, forced: map[string]bool{}}
	in := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if perr := p.line(bytes.TrimRight(line, "\n")); perr != nil {
				return nil, fmt.Errorf("%w in %.200q", perr, line)
			}
		}
		if err == io.EOF {
			return p.events, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// line is "PID  call(args) = result", or a call that goes on in a later line of the same PID.
func (p *traceParser) line(line []byte) error {
	pid, rest, ok := strings.Cut(string(line), " ")
	rest = strings.TrimLeft(rest, " ")
	switch {
	case !ok, strings.HasPrefix(rest, "+++"), strings.HasPrefix(rest, "---"):
		return nil
	case strings.HasPrefix(rest, "<... "):
		call, going := p.open[pid]
		if !going {
			return nil
		}
		delete(p.open, pid)
		return p.returned(call, rest)
	}
	name, args, ok := strings.Cut(rest, "(")
	if !ok {
		return nil
	}
	call := openCall{name: name, args: args, events: len(p.events), own: len(p.events)}
	// What is written may reach the disk from the moment on at which the call begins.
	if err := p.began(call); err != nil {
		return err
	}
	if strings.HasSuffix(args, "<unfinished ...>") {
		call.events = len(p.events)
		p.open[pid] = call
		return nil
	}
	return p.returned(call, args)
}

func (p *traceParser) began(c openCall) error {
	switch c.name {
	case "pwrite64":
		file, rest, err := p.descriptor(c.args)
		if err != nil || file == "" {
			return err
		}
		data, rest, err := quoted(rest)
		if err != nil {
			return err
		}
		numbers := digits().FindAllString(rest, 2)
		if len(numbers) != 2 {
			return fmt.Errorf("pwrite64 without an offset")
		}
		at, err := strconv.ParseInt(numbers[1], 10, 64)
		if err != nil {
			return err
		}
		p.add(event{kind: evWrite, file: file, at: at, data: data})
	case "ftruncate":
		file, rest, err := p.descriptor(c.args)
		if err != nil || file == "" {
			return err
		}
		size, err := strconv.ParseInt(digits().FindString(rest), 10, 64)
		if err != nil {
			return err
		}
		p.add(event{kind: evTruncate, file: file, at: size})
	case "write":
		return p.mark(c.args)
	}
	return nil
}

// returned notes what counts only once a call has returned well.
func (p *traceParser) returned(c openCall, result string) error {
	// Calls that went on are padded: "<... fdatasync resumed>)          = 0".
	end := strings.LastIndex(result, "= ")
	if end < 0 || strings.HasPrefix(result[end+2:], "?") {
		return nil // the process ended in it
	}
	if strings.HasPrefix(result[end+2:], "-1") {
		if c.name == "pwrite64" {
			return fmt.Errorf("a write failed")
		}
		return nil
	}
	switch c.name {
	case "pwrite64":
		file, _, err := p.descriptor(c.args)
		if err == nil && file != "" && p.forced[number(c.args)] {
			p.add(event{kind: evSync, file: file, since: c.own, covers: c.own + 1})
		}
		return err
	case "fdatasync", "fsync":
		file, _, err := p.descriptor(c.args)
		if err != nil || file == "" {
			return err
		}
		kind := evSync
		if file == "." {
			kind = evSyncDir
		}
		p.add(event{kind: kind, file: file, covers: c.events})
	case "openat", "unlink", "unlinkat":
		if c.name == "openat" {
			p.forced[number(result[end+2:])] = strings.Contains(c.args, "O_DSYNC")
		}
		path, _, err := quoted(c.args[strings.IndexByte(c.args, '"'):])
		if err != nil || filepath.Dir(string(path)) != p.dir {
			return err
		}
		kind := evRemove
		if c.name == "openat" {
			kind = evCreate
			if !strings.Contains(c.args, "O_CREAT") {
				return nil
			}
		}
		p.add(event{kind: kind, file: filepath.Base(string(path))})
	case "link", "linkat", "rename", "renameat", "renameat2":
		return p.link(c)
	}
	return nil
}

// link gives a file a second name; a rename takes the first one away.
func (p *traceParser) link(c openCall) error {
	from, rest, err := quoted(c.args[strings.IndexByte(c.args, '"'):])
	if err != nil {
		return err
	}
	to, _, err := quoted(rest[strings.IndexByte(rest, '"'):])
	if err != nil || filepath.Dir(string(from)) != p.dir || filepath.Dir(string(to)) != p.dir {
		return err
	}
	p.add(event{kind: evLink, file: filepath.Base(string(from)), to: filepath.Base(string(to))})
	if strings.HasPrefix(c.name, "rename") {
		p.add(event{kind: evRemove, file: filepath.Base(string(from))})
	}
	return nil
}

func (p *traceParser) add(e event) { p.events = append(p.events, e) }

// mark reads what the process says on standard output.
func (p *traceParser) mark(args string) error {
	if !strings.HasPrefix(args, "1<") {
		return nil
	}
	_, rest, err := p.descriptor(args)
	if err != nil {
		return err
	}
	text, _, err := quoted(rest)
	if err != nil {
		return err
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		p.add(event{kind: evMark, mark: line})
	}
	return nil
}

// descriptor reads "N<path>, rest": the name of the file in the directory, "." for the directory
// itself, "" for anything else.
func (p *traceParser) descriptor(args string) (file, rest string, err error) {
	open, end := strings.IndexByte(args, '<'), strings.IndexByte(args, '>')
	if open < 0 || end < open {
		return "", "", nil
	}
	path, err := unescape(args[open+1 : end])
	rest = strings.TrimPrefix(args[end+1:], ", ")
	switch {
	case err != nil:
		return "", "", err
	case string(path) == p.dir:
		return ".", rest, nil
	case filepath.Dir(string(path)) == p.dir:
		return filepath.Base(string(path)), rest, nil
	}
	return "", rest, nil
}

// number reads N of "N<path>".
func number(descriptor string) string {
	n, _, _ := strings.Cut(descriptor, "<")
	return n
}

// quoted reads "\x00…" and gives what follows.
func quoted(s string) (data []byte, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		return nil, "", fmt.Errorf("no string at %.40q", s)
	}
	end := strings.IndexByte(s[1:], '"')
	if end < 0 {
		return nil, "", fmt.Errorf("a string without end")
	}
	data, err = unescape(s[1 : end+1])
	return data, s[end+2:], err
}

// unescape reads \x00\x01….
func unescape(s string) ([]byte, error) {
	return hex.DecodeString(strings.ReplaceAll(s, `\x`, ""))
}

func digits() *regexp.Regexp { return regexp.MustCompile(`[0-9]+`) }
