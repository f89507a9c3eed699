package sqlledger

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// maxUnpacked bounds what a damaged or hostile frame can make us allocate.
const maxUnpacked = 256 << 20

// One encoder and one decoder serve all callers; EncodeAll and DecodeAll may be
// called concurrently.
var (
	encoder = newEncoder()
	decoder = must(zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(8), zstd.WithDecoderMaxMemory(maxUnpacked)))
)

// newEncoder makes an encoder whose states exist already: made at the first
// use, they would belong to the synctest bubble that happens to come first.
func newEncoder() *zstd.Encoder {
	e := must(zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(8), zstd.WithWindowSize(512<<10)))
	e.EncodeAll([]byte("x"), nil)
	return e
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("sqlledger: zstd refuses its own options: %v", err))
	}
	return v
}

// compress appends data to dst as a zstd frame with a checksum.
func compress(dst, data []byte) []byte { return encoder.EncodeAll(data, dst) }

func decompress(frame []byte) ([]byte, error) { return decoder.DecodeAll(frame, nil) }
