package grpc

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/internal/pb/rpcpb"
	"github.com/nacredb/nacre/internal/protobuf"
	"github.com/nacredb/nacre/internal/wire"
)

// A directory is schema.surql, a file for each table in tables/, and manifest.json, which lists them in the order in
// which they are to be imported. All of it is of one snapshot.

// directoryFormat is the version of the layout.
const directoryFormat = "1"

// The members of the oneof in ExportDirectoryResponse.
const (
	dirBegin = 1
	dirFile  = 2
	dirChunk = 3
	dirEnded = 4
	dirEnd   = 5
	dirError = 6
)

const (
	compressionNone = 1
	compressionZstd = 2
)

// directory is an export at work: an io.Writer of the file at hand.
type directory struct {
	c           *call
	compression uint64
	begun       bool
	id          uint64 // of the file at hand; 0: none
	file        manifestFile
	out         *chunks
	pack        *zstd.Encoder // nil: files are stored as they are
	files       []manifestFile
	total       uint64
}

// manifestFile is a file in the manifest.
type manifestFile struct {
	Path   string `json:"path"`
	Table  string `json:"table,omitempty"`
	Bytes  uint64 `json:"bytes"`
	Blake3 string `json:"blake3"`
}

// manifest is manifest.json.
type manifest struct {
	Format      string         `json:"format"`
	Namespace   string         `json:"namespace"`
	Database    string         `json:"database"`
	Version     string         `json:"version"`
	Compression string         `json:"compression"`
	Files       []manifestFile `json:"files"`
}

func exportDirectory(c *call, message []byte) error {
	req := &rpcpb.ExportDirectoryRequest{}
	if err := c.read(message, req); err != nil {
		return err
	}
	if _, ok := req.GetDestination().GetDestination().(*rpcpb.ExportDestination_Bucket); ok {
		return &failure{code: wire.GRPCUnimplemented,
			err: errs.Validation("Exports to buckets are not supported: leave destination out, or use client_stream")}
	}
	if v := req.GetFormatVersion(); v != "" && v != directoryFormat {
		return errs.InvalidParams("The format_version '%s' is not known: the server has '%s'", v, directoryFormat)
	}
	d := &directory{c: c, compression: compressionNone}
	switch req.GetCompression() {
	case rpcpb.ExportCompression_EXPORT_COMPRESSION_UNSPECIFIED, rpcpb.ExportCompression_EXPORT_COMPRESSION_NONE:
	case rpcpb.ExportCompression_EXPORT_COMPRESSION_ZSTD:
		d.compression = compressionZstd
	default:
		return errs.InvalidParams("The compression is not known: use NONE or ZSTD")
	}
	s, release, err := c.known()
	if err != nil {
		return err
	}
	defer release()
	opt := exportOptions(req.GetConfig())
	opt.Part = d.table
	ns, db := s.Place()
	m := manifest{Format: directoryFormat, Namespace: ns, Database: db, Version: rpc.Version, Compression: "none"}
	if d.compression == compressionZstd {
		m.Compression = "zstd"
	}
	return c.timed(func(ctx context.Context) error {
		err := s.Export(ctx, d, opt)
		if err == nil {
			err = d.finish(&m)
		}
		if err != nil {
			return c.brokeOff(err, d.begun, dirError)
		}
		return nil
	})
}

// Write implements io.Writer: of the schema until the first table begins.
func (d *directory) Write(p []byte) (int, error) {
	if d.id == 0 {
		if err := d.open("schema.surql", ""); err != nil {
			return 0, err
		}
	}
	if d.pack != nil {
		return d.pack.Write(p)
	}
	return d.out.Write(p)
}

// table begins the file of a table.
func (d *directory) table(name string) error {
	if d.id == 0 { // the schema has no text
		if err := d.open("schema.surql", ""); err != nil {
			return err
		}
	}
	if err := d.close(); err != nil {
		return err
	}
	return d.open("tables/"+fileName(name)+".surql", name)
}

// fileName is a name that file systems take, and that no other table has: what is not a lower-case letter, a digit, a
// hyphen or an underscore is written as in an address.
func fileName(table string) string {
	var b strings.Builder
	for _, c := range []byte(table) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-':
			b.WriteByte(c)
		case c >= 'A' && c <= 'Z': // file systems may not tell them from lower-case ones
			b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		default:
			b.WriteString(strings.ReplaceAll(escape(c), "+", "%20"))
		}
	}
	return b.String()
}

func escape(c byte) string {
	if e := url.QueryEscape(string([]byte{c})); len(e) == 3 {
		return e
	}
	return "%" + strings.ToUpper(hex.EncodeToString([]byte{c}))
}

// send sends a frame with one member.
func (d *directory) send(member protowire.Number, content func(b []byte) []byte) error {
	return d.c.out.message(func(b []byte) ([]byte, error) {
		b, at := protobuf.Open(b, member)
		return protobuf.Seal(content(b), at), nil
	})
}

// open begins a file.
func (d *directory) open(path, table string) error {
	if err := d.begin(); err != nil {
		return err
	}
	d.id++
	if d.compression == compressionZstd {
		path += ".zst"
	}
	return d.openAs(path, table, d.compression)
}

func (d *directory) openAs(path, table string, compression uint64) error {
	d.file = manifestFile{Path: path, Table: table}
	d.out = &chunks{c: d.c, sum: newHash(), frame: d.chunk}
	if d.pack = nil; compression == compressionZstd {
		var err error
		if d.pack, err = zstd.NewWriter(d.out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20)); err != nil {
			return err
		}
	}
	return d.send(dirFile, func(b []byte) []byte {
		b = protobuf.AppendUint(b, 1, d.id)
		b = protobuf.AppendString(b, 2, path)
		b = protobuf.AppendString(b, 3, table)
		return protobuf.AppendUint(b, 4, compression)
	})
}

// begin sends the first frame.
func (d *directory) begin() error {
	if d.begun {
		return nil
	}
	d.begun = true
	s, release, err := d.c.entry.conn.Engine(d.c.session)
	if err != nil {
		return err
	}
	release()
	ns, db := s.Place()
	return d.send(dirBegin, func(b []byte) []byte {
		b = protobuf.AppendString(b, 1, directoryFormat)
		b = protobuf.AppendString(b, 2, ns)
		b = protobuf.AppendString(b, 3, db)
		b = protobuf.AppendString(b, 4, rpc.Version)
		return protobuf.AppendUint(b, 5, d.compression)
	})
}

// chunk appends the message of a chunk of the file at hand.
func (d *directory) chunk(b, data []byte) []byte {
	b, at := protobuf.Open(b, dirChunk)
	b = protobuf.AppendUint(b, 1, d.id)
	b = protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), data)
	return protobuf.Seal(b, at)
}

// close ends the file at hand.
func (d *directory) close() error {
	if d.pack != nil {
		if err := d.pack.Close(); err != nil {
			return err
		}
	}
	if err := d.out.flush(); err != nil {
		return err
	}
	d.file.Bytes, d.file.Blake3 = d.out.total, hex.EncodeToString(d.out.sum.Sum(nil))
	d.files = append(d.files, d.file)
	d.total += d.file.Bytes
	return d.send(dirEnded, func(b []byte) []byte {
		b = protobuf.AppendUint(b, 1, d.id)
		b = protobuf.AppendUint(b, 2, d.file.Bytes)
		return protobuf.AppendString(b, 3, d.file.Blake3)
	})
}

// finish sends the manifest and the last frame.
func (d *directory) finish(m *manifest) error {
	if err := d.close(); err != nil {
		return err
	}
	m.Files = d.files
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	d.id++
	if err := d.openAs("manifest.json", "", compressionNone); err != nil {
		return err
	}
	if _, err := d.out.Write(append(text, '\n')); err != nil {
		return err
	}
	if err := d.close(); err != nil {
		return err
	}
	return d.send(dirEnd, func(b []byte) []byte {
		b = protobuf.AppendUint(b, 1, uint64(len(d.files)))
		return protobuf.AppendUint(b, 2, d.total)
	})
}
