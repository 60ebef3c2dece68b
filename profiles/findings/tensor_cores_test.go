package findings

import (
	"testing"

	"gputax/device/sim"
	"gputax/profiles"
)

func TestTensorCores(t *testing.T) {
	products := func(flops, tensor, bytes int64, after func(*builder)) func(*builder) {
		return func(b *builder) {
			b.steps(2, func(int) {
				for range 10 {
					d := b.detail(b.launch("matmul", 100_000))
					d.Flops, d.TensorFlops, d.MemBytes = flops, tensor, bytes
					after(b)
				}
			})
		}
	}
	queue := func(*builder) {}
	// Tensor cores are four times as fast: each saves 75 us.
	testRule(t, tensorCores, []ruleCase{
		{"products one after the other", products(1<<30, 0, 1<<20, queue), 20, 20 * 75_000},
		{"the host waits for each", products(1<<30, 0, 1<<20, (*builder).sync), 20, 20 * 75_000},
		{"nothing waits for them", products(1<<30, 0, 1<<20, func(b *builder) {
			b.wait(200_000)
			b.work(1_000, hostWork)
		}), 0, 0},
		// The device would wait for the host, which launches every 54 us: the
		// last would end at 1,057 us instead of 2,025.
		{"the next comes a little later", products(1<<30, 0, 1<<20, func(b *builder) { b.wait(50_000) }), 20, 968_000},
		{"on tensor cores", products(0, 1<<30, 1<<20, queue), 0, 0},
		{"little arithmetic a byte", products(1<<30, 0, 1<<28, queue), 0, 0},
		{"little arithmetic", products(1<<10, 0, 1, queue), 0, 0},
	})
	b := newBuilder()
	b.p.Kernels = []sim.KernelTime{{Symbol: "other", TensorFlops: 1 << 30, Bytes: 1 << 20, NS: 90_000},
		{Symbol: "smaller", TensorFlops: 1 << 28, Bytes: 1 << 20, NS: 99_000}}
	products(1<<30, 0, 1<<20, queue)(b)
	if f := b.find(t, tensorCores); f == nil || f.Price != 20*10_000 {
		t.Errorf("with a known kernel: %+v", f)
	}
	b.p.Kernels = append(b.p.Kernels, sim.KernelTime{Symbol: "matmul_tf32", TensorFlops: 1 << 30, Bytes: 1 << 20, NS: 80_000})
	if f := b.find(t, tensorCores); f == nil || f.Price != 20*20_000 {
		t.Errorf("with a known kernel of its name: %+v", f)
	}
	b.p.Kernels[2].NS = 110_000
	if f := b.find(t, tensorCores); f != nil {
		t.Errorf("with one that is slower: %+v", f)
	}
}

// Where work is not declared, names tell.
func TestTensorCoresByName(t *testing.T) {
	for name, plain := range map[string]bool{
		"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas": true,
		"ampere_sgemm_128x64_nn": true,
		"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x128_8x4_nn_align1>(Params)":                                             true,
		"sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x32_stage4":                                                         false,
		"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>(Params)":                                    false,
		"ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn":                                                             false,
		"nvjet_tst_192x192_64x4_1x2_h_bz_coopB_TNT":                                                                              false,
		"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas": false,
		"void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>(int)":                                         false,
	} {
		b := newBuilder()
		b.rec.Source.Unseen[profiles.DeclaredWork] = "not declared"
		b.steps(2, func(int) { b.launch(name, 100_000) })
		f := b.find(t, tensorCores)
		if (f != nil) != plain || f != nil && (!f.Likely || f.Unpriced == "") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
