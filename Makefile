.PHONY: run test bench lint race generate fuzz ci

run:            # the benchmark matrix, a table, gputax-out/bench.txt
	go run ./cmd/gputax run

test:
	go test ./...

bench:          # every benchmark, ready for benchstat
	go test -run '^$$' -bench . ./bench

lint:
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go vet ./...
	go tool staticcheck ./...

race:           # the race detector on the seam and on what runs on it
	go test -race ./device/... ./vrp ./cost ./transfer
	go test -race -run 'Loader|Deterministic' ./trainer

generate:       # generated code, checked for drift by the tests
	go generate ./...

fuzz:           # a minute on each fuzz target
	go test -fuzz FuzzVariantsAgree -fuzztime 1m ./cost
	go test -fuzz FuzzReadProfile -fuzztime 1m ./device/sim
	go test -fuzz FuzzMatMul -fuzztime 1m ./device/host/f32
	go test -fuzz FuzzOperations -fuzztime 1m ./device/host/f32
	go test -fuzz FuzzRead -fuzztime 1m -fuzzminimizetime 1x ./profiles/kineto
	go test -fuzz FuzzRead -fuzztime 1m -fuzzminimizetime 1x ./profiles/nsys

ci:
	bash .ci/run
