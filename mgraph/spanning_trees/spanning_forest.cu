// The ends and weights of a forest's edges; spanning_forest_gpu.py has the plan.
//   MGRAPH_EDGE_T    unsigned or long long, the type of an edge's id
//   MGRAPH_VERTEX_T  int or long long
//   MGRAPH_WEIGHT_T  int or long long: 32 or 64 bits of weight, whatever they mean

using edge_t = MGRAPH_EDGE_T;
using vertex_t = MGRAPH_VERTEX_T;
using weight_t = MGRAPH_WEIGHT_T;

// ids: of `count` edges, ascending, so that neighbouring threads look for neighbouring rows. weights may be
// null, then each is 1.
extern "C" __global__ void spanning_forest_ends(const long long* indptr, const vertex_t* indices,
                                                const weight_t* weights, long long n, const edge_t* ids,
                                                long long count, vertex_t* src, vertex_t* dst,
                                                weight_t* weight, long long* edge_id) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const long long id = (long long)ids[i];
    long long begin = 0, end = n;  // the row is the last that does not begin behind the edge
    while (end - begin > 1) {
      const long long middle = (begin + end) / 2;
      if (indptr[middle] <= id) {
        begin = middle;
      } else {
        end = middle;
      }
    }
    src[i] = vertex_t(begin);
    dst[i] = indices[id];
    weight[i] = weights ? weights[id] : 1;
    edge_id[i] = id;
  }
}
