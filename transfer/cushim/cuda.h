/*
 * gorgonia.org/cu v0.9.6 calls driver functions as CUDA 11 declares them. CUDA
 * 13 gives eight of the names to newer forms with other parameters. The driver
 * still has the older forms: this header, found before the real one, takes the
 * real one and hands the names back to them. Before CUDA 13 it changes nothing.
 */
#ifndef GPUTAX_CUSHIM_CUDA_H
#define GPUTAX_CUSHIM_CUDA_H

#include_next <cuda.h>

#if CUDA_VERSION >= 13000

#undef cuCtxCreate
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuGraphAddDependencies
#undef cuGraphRemoveDependencies
#undef cuGraphGetEdges
#undef cuGraphNodeGetDependencies
#undef cuGraphNodeGetDependentNodes

/* The driver's unversioned cuCtxCreate is older still, and not this one. */
#define cuCtxCreate cuCtxCreate_v2

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev);
CUresult CUDAAPI cuMemAdvise(CUdeviceptr mem, size_t count, CUmem_advise advice, CUdevice dev);
CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr mem, size_t count, CUdevice dst, CUstream stream);
CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count);
CUresult CUDAAPI cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count);
CUresult CUDAAPI cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count);
CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *from, size_t *count);
CUresult CUDAAPI cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *to, size_t *count);

#endif
#endif
