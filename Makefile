# make lists what there is. Everything works with Go alone; tools come by their go.mod.
GO      ?= go
CHAOS   ?= 2m
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
LINT    := bin/golangci-lint

# The packages whose goroutines share memory; -race slows SQLite tenfold, so
# they run -short.
RACE    := ./flow/... ./queue/... ./ledger/... ./bulk/... ./server/... ./internal/...

.DEFAULT_GOAL := help
.PHONY: help build test race lint fmt archtest check bench chaos scale fuzz-short dist examples deadcode clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the binary, as ./bin/spillway
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/spillway ./cmd/spillway

test: ## every test
	$(GO) test ./...

race: ## the tests of what runs concurrently, under the race detector (needs a C compiler)
	@if [ "$$($(GO) env CGO_ENABLED)" = 1 ]; then \
		echo "$(GO) test -race -short $$($(GO) list $(RACE) 2>/dev/null | wc -l) packages"; \
		$(GO) test -race -short -timeout 20m $$($(GO) list $(RACE) 2>/dev/null); \
	else echo "race: left out, the race detector needs cgo and there is no C compiler"; fi

lint: $(LINT) ## golangci-lint, as .golangci.yml says
	$(LINT) run

fmt: $(LINT) ## format
	$(LINT) fmt

$(LINT): tools/golangci-lint/go.mod
	$(GO) build -modfile=tools/golangci-lint/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

archtest: ## the rules of the layers
	$(GO) test -count=1 ./internal/archtest

check: test lint race archtest ## what must pass before a change goes in

bench: ## the figures of docs/benchmarks.md
	$(GO) test -run '^$$' -bench . -benchmem ./...

chaos: ## kill -9, full disks and lost stores, many times over (CHAOS=2m: how long the kills go on)
	SPILLWAY_CHAOS=$(CHAOS) $(GO) test -count=1 -timeout 60m -run 'Chaos' ./bulk/
	$(GO) test -count=10 -timeout 30m -run 'Kill|Crash|Fail|Lost' ./...

scale: ## ten million rows: through run, with its memory; and with 1 % failing, in virtual time
	SPILLWAY_ROWS=10000000 $(GO) test -count=1 -timeout 30m -v -run 'MemoryDoesNotGrow' ./cmd/spillway/
	SPILLWAY_ROWS=10000000 $(GO) test -count=1 -timeout 30m -v -run 'FewFailures' ./bulk/

fuzz-short: ## every fuzz target for ten seconds
	@$(GO) test -list '^Fuzz' ./... | awk '/^Fuzz/ {t[n++]=$$1} /^ok/ {for (i=0;i<n;i++) print $$2, t[i]; n=0}' | \
	while read -r pkg target; do echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime 10s "$$pkg" || exit 1; done

examples: ## build and run the examples
	$(GO) test -count=1 ./examples/...

deadcode: ## functions that nothing calls
	$(GO) run -modfile=tools/go.mod golang.org/x/tools/cmd/deadcode -test ./...

dist: ## archives for every platform, with checksums, in dist/
	@mkdir -p dist
	@for p in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do \
		os=$${p%/*}; arch=$${p#*/}; dir=dist/spillway-$(VERSION)-$$os-$$arch; mkdir -p $$dir; echo $$dir; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $$dir/spillway ./cmd/spillway || exit 1; \
		cp LICENSE README.md CHANGELOG.md $$dir/; tar -C dist -czf $$dir.tar.gz $${dir#dist/}; rm -r $$dir; \
	done
	@cd dist && sha256sum *.tar.gz > SHA256SUMS

clean: ## remove what make built
	rm -rf bin dist
