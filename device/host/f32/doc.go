// Package f32 has the single-precision kernels of a small transformer for the host: matrix products, softmax, layer
// norm, attention, Adam, and the loops between them.
//
// # Paths
//
// Every kernel exists on three paths: avx512, avx2 (with FMA) and portable. The best one that the CPU has is chosen
// when the program starts; the environment variable GPUTAX_HOST forces one. A value that is unknown, or that the CPU
// lacks, leaves the choice as it was and is reported by PathError.
//
// # Bits
//
// Results are the same to the bit on avx512 and avx2 and with any number of threads:
//
//  1. An element of a matrix product is one chain of fused multiply-adds in the order of K, from zero or from C's old
//     value; then the bias is added; then ReLU. Blocking never splits the chain: partial sums wait in C.
//  2. A reduction along a row uses 16 lanes (element i goes to lane i%16) and one tree to join them.
//  3. A sum over rows is taken in chunks of 64 rows, which are added in order.
//  4. Everything else is element by element, with products and sums rounded one by one.
//
// The portable path gives the same bits in all but matrix products and attention, where it rounds each product before
// adding it. There it is the same on every architecture, and differs from the vector paths by at most
// 2*(K+1)*2^-24 times the sum of the |A(i,p)*B(p,j)|. NaNs are in the same places on all paths; their payload is not
// specified.
//
// # Threads
//
// Operations split their rows over up to GOMAXPROCS goroutines, the caller's own included, and do not allocate once
// their buffers have grown to the sizes in use. They may be called from several goroutines at once. Slices that are
// too short panic.
//
// The assembly is written by the generator in gen; go generate runs it, and a test compares.
package f32
