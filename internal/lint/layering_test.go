// Package lint holds the tests over the source tree itself: the import arrows, formatting, vet and
// staticcheck.
package lint

import (
	"bufio"
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/nacredb/nacre/"

// layers are the packages from the ground up. A package may import those of lower layers only,
// and, where its own line says so, named ones of the same layer.
var layers = [][]string{
	{"engine/collate", "engine/errs", "engine/kv/bloom", "engine/real", "engine/textpatch",
		"internal/begin", "internal/blake3",
		"internal/footprint", "internal/heap", "internal/life", "internal/loopback", "internal/otlp",
		"internal/processors",
		"internal/residence", "internal/socket",
		"internal/textcache", "internal/vectors", "internal/wide"},
	{"engine/decimal", "internal/span"},
	{"internal/budget", "engine/value", "engine/kv", "engine/kv/failpoint", "engine/bucket", "engine/ml/onnx"},
	{"internal/onnxtest", "internal/pgserver", "internal/roundrobin", "internal/keywordgen", "internal/span/spantest",
		"engine/kv/tikv/stub"},
	{"engine/value/valuetest", "engine/kv/kvtest", "engine/kv/overlay", "engine/kv/wal", "engine/ml"},
	{"engine/kv/mem", "engine/kv/bolt", "engine/kv/fault", "engine/kv/tikv"},
	{"engine/ast", "engine/key"},
	{"engine/parse", "engine/txn", "engine/aggregate", "engine/inside", "engine/column", "engine/operate"},
	{"engine/gql", "engine/history", "engine/nodes", "engine/script"},
	{"engine/fn", "engine/catalog"},
	{"engine/index/numbers", "engine/auth", "engine/model"},
	{"engine/index", "engine/index/fulltext", "engine/index/vector", "engine/live"},
	{"engine/record", "engine/relay"},
	{"engine/assign", "engine/plan", "engine/sequence"},
	{"engine/prepare"},
	{"engine/compile"},
	{"engine/flat", "engine/sift"},
	{"engine/exec"},
	{"engine/build"},
	{"engine/define", "engine/access", "engine/endpoint", "engine/graph", "engine/graphql"},
	{"engine/query", "engine/dump", "engine/dump/physical"},
	{"engine"},
	{"internal/wire"},
	{"internal/pb/valuepb"},
	{"internal/pb/rpcpb", "internal/protobuf"},
	{"client", "client/memory", "daemon/config", "daemon/telemetry", "daemon/unpack"},
	{"daemon/rpc"},
	{"daemon/grpc", "daemon/h2", "daemon/ws", "daemon/pgwire/sqlstate"},
	{"daemon/graphql", "daemon/mcp"},
	{"daemon/pgwire/pgtype"},
	{"daemon/pgwire/sql"},
	{"daemon/pgwire/catalog"},
	{"daemon/pgwire"},
	{"daemon/http"},
	{"daemon"},
	{"internal/inprocess"},
	{"memsvc/problem", "memsvc/config", "memsvc/grant", "memsvc/place", "memsvc/text", "memsvc/document", "memsvc/blob",
		"memsvc/model"},
	{"memsvc/store", "memsvc/fake"},
	{"memsvc/settings"},
	{"memsvc/gateway"},
	{"memsvc/ingest", "memsvc/retrieve"},
	{"memsvc/api"},
	{"memsvc"},
	{"cli/advice", "cli/complete", "cli/render", "cli/exports", "cli/process", "cli/top/quiet"},
	{"cli/script"},
	{"cli/load"},
	{"cli/profile", "cli/top", "cli/doctor"},
	{"cli/repl"},
	{"cli"},
	{"cmd/nacretest/anomaly", "cmd/nacretest/harness"},
	{"cmd/nacretest/beside", "cmd/nacretest/bulk", "cmd/nacretest/cluster",
		"cmd/nacretest/corrupt", "cmd/nacretest/crash", "cmd/nacretest/diff",
		"cmd/nacretest/doors", "cmd/nacretest/index",
		"cmd/nacretest/isolation", "cmd/nacretest/pgspeed", "cmd/nacretest/sockets", "cmd/nacretest/torn"},
	{"cmd/nacre", "cmd/nacretest"},
}

// sameLayer are the arrows allowed inside a layer.
var sameLayer = map[string][]string{}

// never are arrows that the layers alone would allow.
var never = map[string][]string{
	"engine/value":   {"engine/kv"},
	"engine/ast":     {"engine/kv"},
	"engine/parse":   {"engine/kv", "engine/key"},
	"engine/fn":      {"engine/kv", "engine/key", "engine/ast"},
	"client":         {"engine", "engine/exec", "engine/kv", "engine/record", "engine/catalog"},
	"memsvc/store":   {"engine", "daemon/rpc", "internal/wire"},
	"memsvc/api":     {"engine", "daemon/rpc", "internal/wire"},
	"memsvc":         {"engine", "daemon/rpc", "internal/wire", "internal/inprocess"},
	"engine/catalog": {"engine/fn"},
}

// keyBuilders are the only packages that may build the keys of records and indexes.
var keyBuilders = []string{"engine/key", "engine/catalog", "engine/record", "engine/index", "engine/index/fulltext",
	"engine/index/vector", "engine/history", "engine/nodes", "engine/dump", "engine/dump/physical",
	"cmd/nacretest/corrupt"}

// The engine has one door for programs: package engine. Beside it they may use the packages of texts and values,
// which reach no store. doorless are the packages of programs; beside says what else some of them may use, and why.
var (
	doorless = []string{"daemon", "cli", "client", "memsvc", "internal/inprocess", "internal/wire"}
	speech   = []string{"engine", "engine/errs", "engine/decimal", "engine/value", "engine/ast", "engine/parse",
		"engine/gql", "engine/fn", "engine/ml"}
	beside = map[string][]string{
		"cli": {"engine/dump/physical"}, // works on files of stores that are closed
	}
)

// byTheDoor reports whether a package may import a package of the engine.
func byTheDoor(name, imp string) bool {
	for _, p := range doorless {
		if (name == p || strings.HasPrefix(name, p+"/")) && strings.HasPrefix(imp, "engine/") {
			return contains(speech, imp) || contains(beside[name], imp)
		}
	}
	return true
}

func packages(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	pkgs := map[string][]string{}
	sc := bufio.NewScanner(bytes.NewReader(out))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		words := strings.Fields(sc.Text())
		name := strings.TrimPrefix(words[0], module)
		pkgs[name] = nil
		for _, w := range words[1:] {
			if rest, ours := strings.CutPrefix(w, module); ours {
				pkgs[name] = append(pkgs[name], rest)
			}
		}
	}
	if len(pkgs) == 0 {
		t.Fatal("go list found no package")
	}
	return pkgs
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// TestImportArrows holds the package map: imports go down, never up or sideways.
func TestImportArrows(t *testing.T) {
	rank := map[string]int{}
	for i, layer := range layers {
		for _, p := range layer {
			rank[p] = i
		}
	}
	for name, imports := range packages(t) {
		if strings.HasPrefix(name, "examples/") || name == "internal/lint" || strings.HasPrefix(name, "testdata/") {
			continue
		}
		r, known := rank[name]
		if !known {
			t.Errorf("%s is not in the package map: give it a layer", name)
			continue
		}
		for _, imp := range imports {
			switch ri, ok := rank[imp]; {
			case !ok:
				t.Errorf("%s imports %s, which has no layer", name, imp)
			case !byTheDoor(name, imp):
				t.Errorf("%s imports %s: programs use package engine (see engine/door.go)", name, imp)
			case contains(never[name], imp):
				t.Errorf("%s may not import %s", name, imp)
			case ri > r, ri == r && !contains(sameLayer[name], imp):
				t.Errorf("%s imports %s: arrows go down only", name, imp)
			}
			if imp == "engine/key" && !contains(keyBuilders, name) {
				t.Errorf("%s builds keys; only %s may", name, strings.Join(keyBuilders, ", "))
			}
		}
	}
}
