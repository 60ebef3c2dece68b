package model

import (
	"math"

	"gputax/device"
	"gputax/device/host/f32"
)

// Parameters of the attention kernels after the buffers, from offset on.
const (
	atBatch = iota
	atHeads
	atQueries
	atKeys
	atDim
	atLDQ
	atLDKV
	atLDO
	atScale
	atInts = "batch heads queries keys dim ldq ldkv ldo"
)

// shape reads the parameters from argument first on.
func shape(a device.Args, first int) f32.AttentionShape {
	return f32.AttentionShape{
		Batch: a.Int(first + atBatch), Heads: a.Int(first + atHeads), Queries: a.Int(first + atQueries),
		Keys: a.Int(first + atKeys), HeadDim: a.Int(first + atDim),
		LDQ: a.Int(first + atLDQ), LDK: a.Int(first + atLDKV), LDV: a.Int(first + atLDKV), LDO: a.Int(first + atLDO),
		Scale: a.Float(first + atScale),
	}
}

// sizes are the lengths of q, of k and v, of out and of the probabilities.
func sizes(s *f32.AttentionShape) (q, kv, out, probs int) {
	width := s.Heads * s.HeadDim
	return span(s.Batch*s.Queries, width, s.LDQ), span(s.Batch*s.Keys, width, s.LDK),
		span(s.Batch*s.Queries, width, s.LDO), s.Batch * s.Heads * s.Queries * s.Keys
}

// attention is, for every instance b, head h and query i, over keys j that the
// mask, if there is one, leaves visible:
//
//	probs[b,h,i,j] = softmax over j of scale * q[b,i,h]·k[b,j,h]
//	out[b,i,h]     = the sum over j of probs[b,h,i,j] * v[b,j,h]
var attention = &device.Kernel{
	Symbol: "model_attention",
	Params: signature("out probs q k v mask", atInts, "scale"),
	Check: func(a device.Args) error {
		s := shape(a, 6)
		q, kv, out, probs := sizes(&s)
		mask := 0
		if a.Words(5) > 0 {
			mask = words(s.Batch * s.Queries * s.Keys)
		}
		return needs(a, out, probs, q, kv, kv, mask)
	},
	Work: func(a device.Args) device.Work {
		s := shape(a, 6)
		width, pairs := s.Heads*s.HeadDim, s.Batch*s.Queries*s.Keys
		rows, keys := s.Batch*s.Queries*width, s.Batch*s.Keys*width
		return traffic(pairs*(4*width+5*s.Heads), rows+2*keys+a.Words(5), rows+pairs*s.Heads)
	},
	Body: func(a device.Args) {
		s := shape(a, 6)
		if s.Queries == 1 {
			parallel(s.Batch, 16, a, attendOnce)
			return
		}
		s.Mask = a.U8(5)
		f32.Attention(a.F32(0), a.F32(1), a.F32(2), a.F32(3), a.F32(4), &s)
	},
	Module: encoderModule,
	Dims: func(a device.Args) device.Dims {
		s := shape(a, 6)
		warps := max(min(s.Queries, attentionWarps), 1)
		return device.Dims{X: s.Batch * s.Heads, Threads: 32 * warps, Shared: 4 * warps * s.Keys}
	},
}

// attendOnce is attention with one query an instance, as in a rollout. Most keys
// are hidden by then, and a product of one row does not pay for its packing.
func attendOnce(a device.Args, lo, hi int) {
	s := shape(a, 6)
	out, probs, q, k, v, mask := a.F32(0), a.F32(1), a.F32(2), a.F32(3), a.F32(4), a.U8(5)
	for b := lo; b < hi; b++ {
		hidden, row := mask, b*s.Keys
		if len(mask) > 0 {
			hidden = mask[row:][:s.Keys]
		}
		attendQuery(&s, out[b*s.LDO:][:s.Heads*s.HeadDim], probs[row*s.Heads:][:s.Heads*s.Keys], q[b*s.LDQ:],
			k[row*s.LDK:], v[row*s.LDV:], hidden)
	}
}

// attendQuery is attention of one query over the keys of one instance: it sets
// to and the probabilities p.
func attendQuery(s *f32.AttentionShape, to, p, query, k, v []float32, mask []uint8) {
	hidden := float32(math.Inf(-1))
	for j := range s.Keys {
		if len(mask) > 0 && mask[j] != 0 {
			for h := range s.Heads {
				p[h*s.Keys+j] = hidden
			}
			continue
		}
		key := k[j*s.LDK:]
		for h := range s.Heads {
			p[h*s.Keys+j] = s.Scale * dot(query[h*s.HeadDim:][:s.HeadDim], key[h*s.HeadDim:])
		}
	}
	f32.Softmax(p, p, s.Heads, s.Keys, s.Keys)
	clear(to)
	for j := range s.Keys {
		if len(mask) > 0 && mask[j] != 0 {
			continue
		}
		value := v[j*s.LDV:]
		for h := range s.Heads {
			addScaled(to[h*s.HeadDim:][:s.HeadDim], value[h*s.HeadDim:], p[h*s.Keys+j])
		}
	}
}

// attentionBackward is attention's gradient: dq, dk and dv from dout and the
// probabilities. dq, dk and dv lie like q, k and v, dout like out.
var attentionBackward = &device.Kernel{
	Symbol: "model_attention_backward",
	Params: signature("dq dk dv dout probs q k v", atInts, "scale"),
	Check: func(a device.Args) error {
		s := shape(a, 8)
		q, kv, out, probs := sizes(&s)
		return needs(a, q, kv, kv, out, probs, q, kv, kv)
	},
	Work: func(a device.Args) device.Work {
		s := shape(a, 8)
		width, pairs := s.Heads*s.HeadDim, s.Batch*s.Queries*s.Keys
		rows, keys := s.Batch*s.Queries*width, s.Batch*s.Keys*width
		return traffic(pairs*(8*width+5*s.Heads), 2*rows+2*keys+pairs*s.Heads, rows+2*keys)
	},
	Body: func(a device.Args) {
		s := shape(a, 8)
		f32.AttentionBackward(a.F32(0), a.F32(1), a.F32(2), a.F32(3), a.F32(4), a.F32(5), a.F32(6), a.F32(7), &s)
	},
	Module: encoderModule,
	Dims: func(a device.Args) device.Dims {
		s := shape(a, 8)
		return device.Dims{X: s.Batch * s.Heads, Threads: 32 * attentionWarps, Shared: 4 * s.Keys * attentionChunk(s.Queries, s.Keys)}
	},
}
