package profiles

import (
	"encoding/binary"
	"math/bits"

	"gputax/device"
)

// content is a hash of what a copy is about to move, or of all that a kernel is
// given; 0 where that is not wanted or cannot be seen.
func (l *logbook) content(n *node) uint64 {
	if !l.contents {
		return 0
	}
	if n.kernel != nil {
		return kernelContent(n.kernel, n.args)
	}
	if n.copy.Direction == device.HostToDevice {
		return known(hashBytes(0, n.copy.Host))
	}
	if from := n.copy.Device.Host(); from != nil {
		return known(hashBytes(0, from[:len(n.copy.Host)]))
	}
	return 0
}

// downloaded is a hash of what a copy has brought from a device whose memory
// the host cannot see; 0 where it may still be on its way.
func (l *logbook) downloaded(n *node) uint64 {
	if !l.contents || n.kernel != nil || n.copy.Direction != device.DeviceToHost || n.copy.Mode == device.Async {
		return 0
	}
	return known(hashBytes(0, n.copy.Host))
}

// kernelContent is a hash of a launch: the kernel, its scalars and the contents
// of its buffers, also of those that it is about to overwrite. 0 where the host
// cannot see a buffer.
func kernelContent(k *device.Kernel, args device.Args) uint64 {
	h := hashBytes(0, []byte(k.Symbol))
	for i := range args {
		if args.Kind(i) != device.KindBuffer {
			h = mix(h ^ uint64(args.Bits(i)))
			continue
		}
		b := args.Buffer(i)
		if b.Size() > 0 && b.Host() == nil {
			return 0
		}
		h = hashBytes(h, b.Host())
	}
	return known(h)
}

// known is h, and never 0, which stands for unknown.
func known(h uint64) uint64 { return max(h, 1) }

// Odd numbers without pattern, to multiply by.
const (
	odd1 = 0x9e3779b97f4a7c15
	odd2 = 0xd1b54a32d192ed03
)

// hashBytes adds b to the hash h. It is the same on every machine and in every
// run, and fast, for a step's activations are tens of megabytes: four lanes of
// a word each, two multiplications a word. It is no defence against anyone.
func hashBytes(h uint64, b []byte) uint64 {
	size := uint64(len(b))
	lanes := [4]uint64{h ^ odd1, h ^ odd2, h + odd1, h + odd2}
	for ; len(b) >= 32; b = b[32:] {
		lanes[0] = step(lanes[0], binary.LittleEndian.Uint64(b))
		lanes[1] = step(lanes[1], binary.LittleEndian.Uint64(b[8:]))
		lanes[2] = step(lanes[2], binary.LittleEndian.Uint64(b[16:]))
		lanes[3] = step(lanes[3], binary.LittleEndian.Uint64(b[24:]))
	}
	var rest [32]byte
	copy(rest[:], b)
	for i := range lanes {
		lanes[i] = step(lanes[i], binary.LittleEndian.Uint64(rest[8*i:]))
	}
	h = size
	for _, lane := range lanes {
		h = mix(h ^ lane)
	}
	return h
}

// step adds a word to a lane. The word is spread before the lane is, so that a
// bit of one word never does what a bit of the next does.
func step(lane, word uint64) uint64 { return (bits.RotateLeft64(lane, 29) ^ word*odd1) * odd2 }

// mix spreads every bit of h over all of it.
func mix(h uint64) uint64 {
	h = (h ^ h>>32) * odd2
	h = (h ^ h>>29) * odd1
	return h ^ h>>32
}
