package sqlledger

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func someChunk() *chunk {
	const start = 5000
	return &chunk{
		pos:    position(3, start),
		intent: spillway.Of(start + 1), ok: spillway.One(start+10, start+500), failed: spillway.Of(start+500, start+999),
		skipped: spillway.Of(start + 7), doubt: spillway.Of(start), bad: spillway.Of(start + 999),
		plans: []plan{
			{spillway.Of(start+1, start+3), deliveries{attempt: 3, delivery: 9, lost: 2, due: 1 << 50, retrying: true}},
			{spillway.Of(start + 500), deliveries{attempt: 5, delivery: 5}},
		},
	}
}

func TestChunkCodec(t *testing.T) {
	for _, c := range []*chunk{someChunk(), {pos: position(1, 0)}} {
		got := &chunk{pos: c.pos}
		if err := got.decode(c.encode()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c, got, cmp.AllowUnexported(chunk{}, plan{}, deliveries{}), cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
	}
	whole := &chunk{pos: position(1, 9_999_000), ok: spillway.One(9_999_000, 10_000_000)}
	if n := len(whole.encode()); n > 20 {
		t.Errorf("a chunk of successes takes %d bytes, want 20 at most", n)
	}
}

// A changed byte is noticed, whichever it is.
func TestChunkChecksum(t *testing.T) {
	b := someChunk().encode()
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 0x10
		if err := (&chunk{pos: position(3, 5000)}).decode(bad); err == nil {
			t.Errorf("byte %d changed, and nothing noticed", i)
		}
	}
}

// sealed puts a right checksum on what a fuzzer made, so that it gets further.
func sealed(b []byte) []byte {
	return binary.BigEndian.AppendUint32(bytes.Clone(b), crc32.Checksum(b, castagnoli))
}

func FuzzChunk(f *testing.F) {
	b := someChunk().encode()
	f.Add(b[:len(b)-4])
	f.Add([]byte{chunkFormat})
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = (&chunk{pos: position(3, 5000)}).decode(b)
		c := &chunk{pos: position(3, 5000)}
		if c.decode(sealed(b)) != nil {
			return
		}
		for _, s := range c.sets() {
			for _, x := range *s {
				if x.From < 5000 || x.To > 6000 || x.From >= x.To {
					t.Fatalf("decoded a set %v of chunk 5", *s)
				}
			}
		}
		c.tally()
		c.touched()
		if err := (&chunk{pos: c.pos}).decode(c.encode()); err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
	})
}

func FuzzNotes(f *testing.F) {
	notes := []note{
		{jobs: spillway.Of(5001), status: spillway.OK, value: []byte(`{"a":1}`)},
		{jobs: spillway.One(5002, 5100), status: spillway.Failed, reason: "no"},
	}
	b := encodeNotes(notes, 5000)
	f.Add(b[:len(b)-4])
	f.Add(encodeNotes([]note{{jobs: spillway.Of(5000), reason: string(bytes.Repeat([]byte("x"), 500))}}, 5000))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, x := range [][]byte{b, sealed(b)} {
			got, err := decodeNotes(x, 5000)
			if err != nil {
				continue
			}
			for _, n := range got {
				for i := range n.jobs.All {
					if i < 5000 || i >= 6000 {
						t.Fatalf("decoded a note on job %d of chunk 5", i)
					}
				}
			}
		}
	})
}

func FuzzSegment(f *testing.F) {
	var r ledger.Rows
	for i := range 20 {
		r.Add(bytes.Repeat([]byte("ab"), i), int64(i))
	}
	f.Add(packRows(nil, &r))
	f.Add(packRows(nil, &ledger.Rows{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = decodeRows(b) // not a frame, most likely
		got, err := decodeRows(compress(nil, b))
		if err != nil {
			return
		}
		for i := range got.Len() {
			_ = got.At(i)
			if got.Cost(i) < 1 {
				t.Fatalf("row %d costs %d", i, got.Cost(i))
			}
		}
	})
}

func TestNotesCodec(t *testing.T) {
	long := string(bytes.Repeat([]byte("why "), 200))
	for _, notes := range [][]note{
		{{jobs: spillway.Of(5001), status: spillway.OK, value: []byte(`{"a":1}`)}},
		{{jobs: spillway.One(5000, 6000), status: spillway.Failed, reason: long}, {jobs: spillway.Of(5005), status: erased}},
		{{jobs: spillway.Of(5999), status: spillway.Failed, reason: "é", value: []byte{}}},
	} {
		got, err := decodeNotes(encodeNotes(notes, 5000), 5000)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(notes, got, cmp.AllowUnexported(note{})); d != "" {
			t.Error(d)
		}
	}
	if encodeNotes(nil, 0) != nil {
		t.Error("no notes are something")
	}
}

// A frame that unpacks to more than we allow is refused, not unpacked.
func TestSegmentBomb(t *testing.T) {
	bomb := compress(nil, make([]byte, maxUnpacked+1))
	if _, err := decodeRows(bomb); err == nil {
		t.Error("unpacked a bomb")
	}
}
