package daemon_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc/codes"
	"lukechampine.com/blake3"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/internal/pb/rpcpb"
)

const sumOfNothing = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"

// exported is the text of an export, whose trailer it checks.
func (c *rpcClient) exported(cfg *rpcpb.ExportConfig) (string, error) {
	c.s.t.Helper()
	stream, err := c.ExportSql(c.s.t.Context(), &rpcpb.ExportSqlRequest{Config: cfg})
	if err != nil {
		return "", err
	}
	var text []byte
	for {
		resp, err := stream.Recv()
		if err != nil {
			return "", err
		}
		if tr := resp.GetTrailer(); tr != nil {
			sum := blake3.Sum256(text)
			if tr.GetBytes() != uint64(len(text)) || tr.GetBlake3() != hex.EncodeToString(sum[:]) {
				c.s.t.Errorf("the trailer does not fit: %v", tr)
			}
			if _, err := stream.Recv(); err != io.EOF {
				c.s.t.Errorf("behind the trailer: %v", err)
			}
			return string(text), nil
		}
		text = append(text, resp.GetChunk().GetData()...)
	}
}

func TestGRPCTransfer(t *testing.T) {
	s := start(t)
	c := s.grpcRoot()
	c.texts("DEFINE TABLE a; DEFINE TABLE b; DEFINE PARAM $p VALUE 1; FOR $i IN 0..3000 { CREATE type::record('a', $i) SET x = string::repeat('x', 200) }; CREATE b:1")
	text, err := c.exported(nil)
	if err != nil {
		t.Fatal(err)
	}
	if http := s.do("GET", "/export", "", at()...); http.body != text {
		t.Errorf("%d bytes over gRPC, %d over HTTP", len(text), len(http.body))
	}
	some, err := c.exported(&rpcpb.ExportConfig{Records: true, Tables: &rpcpb.ExportConfig_Tables{
		Selection: &rpcpb.ExportConfig_Tables_Selected{Selected: &rpcpb.ExportConfig_SelectedTables{Tables: []string{"b"}}}}})
	if err != nil || strings.Contains(some, "PARAM") || strings.Contains(some, "TABLE a") || !strings.Contains(some, "b:1") {
		t.Errorf("%v: %s", err, some)
	}
	_, err = c.exported(&rpcpb.ExportConfig{Tables: &rpcpb.ExportConfig_Tables{
		Selection: &rpcpb.ExportConfig_Tables_Selected{Selected: &rpcpb.ExportConfig_SelectedTables{Tables: []string{"nowhere"}}}}})
	wantCode(t, "a table that does not exist", err, codes.NotFound, "does not exist")
	// And back.
	c.use(nil, "test", "copy")
	if err := c.importText(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if again, err := c.exported(nil); err != nil || again != text {
		t.Errorf("%v: %d bytes of %d came back", err, len(again), len(text))
	}
	_, err = firstOf(c.ExportMlModel(t.Context(), &rpcpb.ExportMlModelRequest{Name: "m", Version: "1.0.0"}))
	wantCode(t, "a model", err, codes.NotFound, "The model 'ml::m<1.0.0>' does not exist")
}

func firstOf[T any](stream interface{ Recv() (*T, error) }, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return stream.Recv()
}

// An import that is incomplete, or fails in part, leaves nothing behind.
func TestGRPCImportRefusals(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.ImportBody = 10_000 })
	c := s.grpcRoot()
	c.texts("DEFINE TABLE t")
	const text = "CREATE t:1;"
	sum := blake3.Sum256([]byte(text))
	good := hex.EncodeToString(sum[:])
	begin := &rpcpb.ImportSqlRequest{Frame: &rpcpb.ImportSqlRequest_Begin{Begin: &rpcpb.ImportSqlBegin{}}}
	chunk, end := importChunk(text), importTrailer(uint64(len(text)), good)
	for _, tc := range []struct {
		name   string
		frames []*rpcpb.ImportSqlRequest
		want   codes.Code
		text   string
	}{
		{"a chunk first", []*rpcpb.ImportSqlRequest{chunk, end}, codes.InvalidArgument, "begins with the frame begin"},
		{"begin twice", []*rpcpb.ImportSqlRequest{begin, chunk, begin, end}, codes.InvalidArgument, "one frame begin"},
		{"no trailer", []*rpcpb.ImportSqlRequest{begin, chunk}, codes.InvalidArgument, "without a trailer"},
		{"nothing", nil, codes.InvalidArgument, ""},
		{"a frame behind the trailer", []*rpcpb.ImportSqlRequest{begin, chunk, end, chunk}, codes.InvalidArgument, "behind the trailer"},
		{"a frame without a member", []*rpcpb.ImportSqlRequest{begin, {}, chunk, end}, codes.InvalidArgument, "no member"},
		{"another number of bytes", []*rpcpb.ImportSqlRequest{begin, chunk, importTrailer(1, good)}, codes.InvalidArgument, "does not fit"},
		{"another hash", []*rpcpb.ImportSqlRequest{begin, chunk, importTrailer(uint64(len(text)), sumOfNothing)}, codes.InvalidArgument, "does not fit"},
		{"upper case", []*rpcpb.ImportSqlRequest{begin, chunk, importTrailer(uint64(len(text)), strings.ToUpper(good))}, codes.InvalidArgument, "does not fit"},
		{"too long a text", []*rpcpb.ImportSqlRequest{begin, importChunk(text + strings.Repeat(" ", 10_000))}, codes.ResourceExhausted, "longer than 10000 bytes"},
	} {
		stream, err := c.ImportSql(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range tc.frames {
			if stream.Send(f) != nil {
				break
			}
		}
		_, err = stream.CloseAndRecv()
		wantCode(t, tc.name, err, tc.want, tc.text)
	}
	for text, want := range map[string]string{
		"CREATE t:1; CREATE t:1;":       "already exists",
		"CREATE t:1; THROW 'no';":       "no (statement at line 1)",
		"CREATE t:1;\nCREATE":           "Parse error",
		"CREATE t:1; BEGIN; COMMIT;":    "one transaction",
		"CREATE t:1; SELECT * FROM ((;": "Parse error",
	} {
		if err := c.importText(t.Context(), text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got := c.texts("SELECT * FROM t"); got[0] != "[]" {
		t.Errorf("something stays: %v", got)
	}
	if err := c.importText(t.Context(), "LET $x = 5; CREATE t:1 SET x = $x; CREATE t:2;"); err != nil {
		t.Error(err)
	}
	if got := c.texts("SELECT * FROM t"); got[0] != "[{ id: t:1, x: 5 }, { id: t:2 }]" {
		t.Errorf("%v", got)
	}
	if err := c.importText(t.Context(), ""); err != nil {
		t.Errorf("an empty text: %v", err)
	}
}

func TestGRPCDirectory(t *testing.T) {
	s := start(t)
	c := s.grpcRoot()
	c.texts("DEFINE TABLE a; CREATE a:1; DEFINE TABLE `B/..`; CREATE `B/..`:1; DEFINE PARAM $p VALUE 1; FOR $i IN 0..2000 { CREATE a SET x = string::repeat('x', 300) }")
	for _, compression := range []rpcpb.ExportCompression{1, 2} {
		files, order := c.directory(&rpcpb.ExportDirectoryRequest{Compression: compression})
		if compression == 1 && strings.Join(order, " ") != "schema.surql tables/%42%2F%2E%2E.surql tables/a.surql manifest.json" {
			t.Errorf("%v", order)
		}
		c.use(nil, "test", "copy"+compression.String())
		for _, name := range order[:len(order)-1] {
			if err := c.importText(t.Context(), files[name]); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		again, err := c.exported(nil)
		c.use(nil, "test", "test")
		if text, err2 := c.exported(nil); err != nil || err2 != nil || again != text {
			t.Errorf("%v, %v: %d bytes of %d came back", err, err2, len(again), len(text))
		}
	}
	for _, tc := range []struct {
		req  *rpcpb.ExportDirectoryRequest
		want codes.Code
	}{
		{&rpcpb.ExportDirectoryRequest{FormatVersion: "9"}, codes.InvalidArgument},
		{&rpcpb.ExportDirectoryRequest{Compression: 7}, codes.InvalidArgument},
		{&rpcpb.ExportDirectoryRequest{Destination: &rpcpb.ExportDestination{Destination: &rpcpb.ExportDestination_Bucket{
			Bucket: &rpcpb.BucketDestination{Url: "s3://x"}}}}, codes.Unimplemented},
	} {
		_, err := firstOf(c.ExportDirectory(t.Context(), tc.req))
		wantCode(t, tc.req.String(), err, tc.want, "")
	}
}

// directory gathers the files of an export, unpacked, and holds the stream to its rules.
func (c *rpcClient) directory(req *rpcpb.ExportDirectoryRequest) (files map[string]string, order []string) {
	t := c.s.t
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := c.ExportDirectory(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	var open *rpcpb.FileBegin
	var data []byte
	var total uint64
	sums := map[string]string{}
	for {
		resp, err := stream.Recv()
		if err != nil {
			t.Fatalf("the stream is not whole: %v", err)
		}
		switch f := resp.GetFrame().(type) {
		case *rpcpb.ExportDirectoryResponse_Begin:
			if f.Begin.GetFormatVersion() != "1" || f.Begin.GetDatabase() != "test" {
				t.Errorf("%v", f.Begin)
			}
		case *rpcpb.ExportDirectoryResponse_FileBegin:
			open, data = f.FileBegin, nil
			if _, twice := files[open.GetRelativePath()]; twice {
				t.Errorf("%s comes twice", open.GetRelativePath())
			}
		case *rpcpb.ExportDirectoryResponse_FileChunk:
			if f.FileChunk.GetFileId() != open.GetFileId() {
				t.Errorf("a chunk of file %d in file %d", f.FileChunk.GetFileId(), open.GetFileId())
			}
			data = append(data, f.FileChunk.GetData()...)
		case *rpcpb.ExportDirectoryResponse_FileEnd:
			sum := blake3.Sum256(data)
			if f.FileEnd.GetBytes() != uint64(len(data)) || f.FileEnd.GetBlake3() != hex.EncodeToString(sum[:]) {
				t.Errorf("%s: %v", open.GetRelativePath(), f.FileEnd)
			}
			total += uint64(len(data))
			name := open.GetRelativePath()
			order, sums[name] = append(order, name), f.FileEnd.GetBlake3()
			if open.GetCompression() == rpcpb.ExportCompression_EXPORT_COMPRESSION_ZSTD {
				data = unzstd(t, data)
			}
			files[name] = string(data)
		case *rpcpb.ExportDirectoryResponse_End:
			if f.End.GetFileCount() != uint64(len(order)) || f.End.GetTotalBytes() != total {
				t.Errorf("%v of %d files, %d bytes", f.End, len(order), total)
			}
			var m struct {
				Files []struct{ Path, Blake3 string }
			}
			if err := json.Unmarshal([]byte(files["manifest.json"]), &m); err != nil || len(m.Files) != len(order)-1 {
				t.Fatalf("%v: %s", err, files["manifest.json"])
			}
			for i, file := range m.Files {
				if file.Path != order[i] || file.Blake3 != sums[file.Path] {
					t.Errorf("the manifest has %v, the stream %s", file, order[i])
				}
			}
			return files, order
		default:
			t.Fatalf("%v", resp)
		}
	}
}

func unzstd(t testing.TB, packed []byte) []byte {
	t.Helper()
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	out, err := d.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A model is sent in chunks with a trailer, as the file that GET /ml/export answers.
func TestGRPCModel(t *testing.T) {
	s := start(t)
	file := modelFile(t, "units::celsius")
	if r := s.do("POST", "/ml/import", file, at()...); r.StatusCode != 200 {
		t.Fatalf("import: %d %s", r.StatusCode, r.body)
	}
	c := s.grpcRoot()
	stream, err := c.ExportMlModel(t.Context(), &rpcpb.ExportMlModelRequest{Name: "units::celsius", Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	var trailer *rpcpb.DataTrailer
	for {
		resp, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil || trailer != nil {
			t.Fatalf("%v, %v", resp, err)
		}
		got = append(got, resp.GetChunk().GetData()...)
		trailer = resp.GetTrailer()
	}
	sum := blake3.Sum256(got)
	if string(got) != file || trailer.GetBytes() != uint64(len(file)) || trailer.GetBlake3() != hex.EncodeToString(sum[:]) {
		t.Errorf("%d bytes, want %d; %v", len(got), len(file), trailer)
	}
	for _, tc := range []struct {
		name, version string
		code          codes.Code
		text          string
	}{
		{"units::celsius", "1.0.1", codes.NotFound, "The model 'ml::units::celsius<1.0.1>' does not exist"},
		{"../../etc", "1.0.0", codes.NotFound, "does not exist"},
		{"units::celsius", "x", codes.NotFound, "does not exist"},
		{"", "1.0.0", codes.InvalidArgument, "Expected the name and the version of a model"},
	} {
		_, err := firstOf(c.ExportMlModel(t.Context(), &rpcpb.ExportMlModelRequest{Name: tc.name, Version: tc.version}))
		wantCode(t, tc.name+tc.version, err, tc.code, tc.text)
	}
	_, err = firstOf(s.grpc().ExportMlModel(t.Context(), &rpcpb.ExportMlModelRequest{Name: "units::celsius", Version: "1.0.0"}))
	wantCode(t, "a guest", err, codes.PermissionDenied, "Not enough permissions")
}
