package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/nacredb/nacre/internal/pb/rpcpb"
	"github.com/nacredb/nacre/internal/pb/valuepb"
)

var (
	lowerSnake = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	camel      = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	wordEnd    = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	// protoBlock begins a message, an enum, a service or a method.
	protoBlock = regexp.MustCompile(`^\s*(message|enum|service|rpc) (\w+)`)
)

// TestProto holds the definition of the gRPC interface to the usual style: names, the zero of enums, requests and
// responses of their own for each method, and a comment at each message, enum, service and method.
func TestProto(t *testing.T) {
	for _, f := range []protoreflect.FileDescriptor{rpcpb.File_protocol_rpc_v1_rpc_proto,
		valuepb.File_protocol_v1_value_proto, valuepb.File_protocol_v1_error_proto} {
		path := filepath.Join("..", "..", "proto", f.Path())
		if want := strings.ReplaceAll(filepath.Dir(f.Path()), "/", "."); string(f.Package()) != want {
			t.Errorf("%s: package %s, want %s", path, f.Package(), want)
		}
		protoMessages(t, path, f.Messages())
		protoEnums(t, path, f.Enums())
		for i := range f.Services().Len() {
			protoMethods(t, path, f.Services().Get(i).Methods())
		}
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		protoComments(t, path, strings.Split(string(src), "\n"))
	}
}

func protoMessages(t *testing.T, path string, all protoreflect.MessageDescriptors) {
	for i := range all.Len() {
		m := all.Get(i)
		if !camel.MatchString(string(m.Name())) {
			t.Errorf("%s: message %s", path, m.Name())
		}
		for j := range m.Fields().Len() {
			if f := m.Fields().Get(j); !lowerSnake.MatchString(string(f.Name())) {
				t.Errorf("%s: field %s.%s", path, m.Name(), f.Name())
			}
		}
		protoMessages(t, path, m.Messages())
		protoEnums(t, path, m.Enums())
	}
}

func protoEnums(t *testing.T, path string, all protoreflect.EnumDescriptors) {
	for i := range all.Len() {
		e := all.Get(i)
		prefix := strings.ToUpper(wordEnd.ReplaceAllString(string(e.Name()), "${1}_$2")) + "_"
		for j := range e.Values().Len() {
			v := e.Values().Get(j)
			if !strings.HasPrefix(string(v.Name()), prefix) ||
				(v.Number() == 0) != (string(v.Name()) == prefix+"UNSPECIFIED") {
				t.Errorf("%s: %s of enum %s", path, v.Name(), e.Name())
			}
		}
	}
}

func protoMethods(t *testing.T, path string, all protoreflect.MethodDescriptors) {
	for i := range all.Len() {
		m := all.Get(i)
		in, out := m.Input(), m.Output()
		if in.Name() != m.Name()+"Request" || out.Name() != m.Name()+"Response" {
			t.Errorf("%s: %s takes %s and answers %s", path, m.Name(), in.Name(), out.Name())
		}
		first := in.Fields().ByNumber(1)
		if first.Message() == nil || first.Message().Name() != "RequestContext" && m.Name() != "ImportSql" {
			t.Errorf("%s: field 1 of %s is not its context", path, in.Name())
		}
	}
}

// undocumented are names that say all: empty messages and those of a method, whose comment is there.
var undocumented = regexp.MustCompile(`(Request|Response)$`)

func protoComments(t *testing.T, path string, lines []string) {
	for i, line := range lines {
		m := protoBlock.FindStringSubmatch(line)
		if m == nil || undocumented.MatchString(m[2]) {
			continue
		}
		if i == 0 || !strings.HasPrefix(strings.TrimSpace(lines[i-1]), "//") {
			t.Errorf("%s:%d: %s %s has no comment", path, i+1, m[1], m[2])
		}
	}
}
