# A thin list of names for the commands; nothing here that the commands do not say themselves.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

.PHONY: build test bench generate clean

build: ## one static binary, ./nacre
	CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -gcflags 'github.com/pingcap/...=-l' -gcflags 'github.com/vektah/...=-l' -gcflags 'github.com/modelcontextprotocol/...=-l' -gcflags 'go.etcd.io/etcd/...=-l' -gcflags 'github.com/nacredb/nacre/cli/...=-l' -ldflags '-s -w -X main.version=$(VERSION)' -o nacre ./cmd/nacre

test: ## everything that CI runs
	./scripts/test

bench: ## the Go benchmarks with allocations
	go test -run '^$$' -bench . -benchmem ./...

generate: ## docs, man pages and completions that are made from the code
	go generate ./...

clean:
	rm -rf nacre dist
