// The description of a row that is sorted by weight.
#pragma once

#include <mgraph/path_length.cuh>

namespace mgraph {

using u32 = unsigned;

// A row of arcs in ascending order of weight, in a memory sector. Marks are some weights in
// ascending order, the last of which is the maximum; counts[i] is the number of the row's arcs that
// weigh no more than mark i, so that arcs too heavy to matter need not be read.
constexpr int marks_per_row = MGRAPH_ROW_MARKS;
struct sorted_row {
  long long begin;
  u32 counts[marks_per_row];
};

}  // namespace mgraph
