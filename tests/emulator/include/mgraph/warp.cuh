#pragma once

namespace mgraph {

inline unsigned lanes_below() { return (1u << threadIdx.x % 32) - 1; }

}  // namespace mgraph
