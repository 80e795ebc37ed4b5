// The controller of the self-tuning search: self_tuning_cpu.py explains it.
//
// One warp of each block runs it, on the same sums, so that all come to the same threshold without
// asking each other. Lane i sees to the far queue's i-th partition. Only `decide` is waited for, so
// its divisions are fast ones; `learn` runs while the other warps relax arcs. What differs:
//   hops         where blocks follow what they find for several hops in an iteration, a vertex that
//                waits near is taken for `hops` to expand (and pieces for piece_arcs / d), a width
//                or a fall of the threshold is divided by that, and the threshold may pass the
//                farthest vertex seen, by what so many hops will find
//   fresh_share  a block's far queue keeps entries that were replaced since; sizes are scaled by
//                the share that was not, as it was seen last
//   unit         lengths are measured in a power of two near the mean weight, if they are floats
#pragma once

namespace mgraph {

using u32 = unsigned int;

constexpr int partitions = 16;
constexpr int bootstrap_iterations = 5;
constexpr float guard = 2;
constexpr double longest_memory = 16;
constexpr double endless = 1e300;

// A linear model's slope, learned by stochastic gradient descent (the paper's algorithm 1).
struct slope_model {
  double slope, gradient, curvature, variance, memory;

  __device__ void begin(double value) {
    slope = value;
    gradient = 0;
    curvature = 1;
    variance = 1e-6;
    memory = 2 * (1 + 1e-6);
  }

  // Equation 2 or 5: the model said slope * input, and output came.
  __device__ void observe(double input, double output) {
    const double g = -2 * (output - slope * input) * input;
    const double h = 2 * input * input;
    const double take = 1 / memory, keep = 1 - take;
    gradient = keep * gradient + take * g;
    variance = keep * variance + take * g * g;
    curvature = keep * curvature + take * h;
    if (variance <= 0 || curvature <= 0) return;
    const double share = gradient * gradient / variance;
    memory = fmin((1 - share) * memory + 1, longest_memory);
    slope -= share / curvature * g;
  }
};

// What all blocks together saw in one iteration; the same in every lane but for `far_here`.
struct observation {
  float expanded;  // X1
  float near;      // X4: vertices up to the threshold, waiting
  float piece_arcs;  // arcs of the vertices that were cut up, which wait as well
  float met, drawn;  // far entries within the threshold, and those of them that still counted
  float far_here;    // entries in the partition of this lane
  double least;    // the nearest vertex that waits near, or far where none is near
  double largest;  // the farthest vertex that was updated
};

struct controller {
  double threshold, set_point, quantum, mean_weight, farthest;
  slope_model advance, bisect;  // d and alpha
  float target;                 // equation 3: vertices to expand, P / d
  float alpha;
  float hops;                   // how often an iteration's frontier moves on before it ends
  float fresh_share;            // of far entries: the others were replaced by nearer ones
  float bias;                   // integral action: what the models get wrong in the long run
  float step, near_before;      // of the threshold's last change
  float step_seen, near_seen;   // of the one before, which `learn` learns from
  int iteration;
  // The far queue's partitions in ascending order: upper bounds, and the slots where they are
  // kept; slots beyond the live partitions are free.
  double bounds[partitions];
  int slots[partitions];
  int live;

  // By one lane.
  __device__ void begin(double p, double mean_degree, double weight, double smallest_step,
                        float hops_an_iteration) {
    set_point = p;
    quantum = smallest_step;
    mean_weight = step = weight;
    threshold = 0;
    hops = hops_an_iteration;
    farthest = 0;
    bias = fresh_share = 1;
    near_before = step_seen = near_seen = 0;
    advance.begin(fmax(mean_degree, 1.0));
    bisect.begin(1);
    alpha = float(1 / weight);
    target = float(p / advance.slope);
    iteration = 0;
    for (int i = 0; i < partitions; ++i) {
      bounds[i] = endless;
      slots[i] = i;
    }
    bounds[0] = weight;
    live = 2;
  }

  // How far beyond the threshold the far queue holds `need` vertices, by its partitions' sizes;
  // beyond the last boundary the model must do.
  __device__ float reach(float need, float here, float slope, double end, int lane) const {
    const int bounded = live - 1;  // partitions but for the last
    const float upper =
        lane < bounded ? float(fmax(fmin(bounds[lane], end) - threshold, 0.0)) : 0;
    float held = lane < bounded ? here : 0;  // in the partitions up to this one
    for (int step = 1; step < partitions; step *= 2) {
      const float other = __shfl_up_sync(0xFFFFFFFF, held, step);
      if (lane >= step) held += other;
    }
    const float below = __shfl_up_sync(0xFFFFFFFF, upper, 1);
    const float lower = lane ? below : 0;
    const float share = __saturatef(__fdividef(need - (held - here), fmaxf(here, 1)));
    const float within = lower + (upper - lower) * share;
    const float beyond = upper + __fdividef(need - held, slope);
    const unsigned enough = __ballot_sync(0xFFFFFFFF, lane < bounded && held >= need);
    const float found = __shfl_sync(0xFFFFFFFF, within, enough ? __ffs(enough) - 1 : 0);
    const float guess = __shfl_sync(0xFFFFFFFF, beyond, max(bounded - 1, 0));
    return enough ? found : bounded ? guess : __fdividef(need, slope);
  }

  // Equations 6 and 8: the threshold of the next iteration, by the whole warp.
  __device__ void decide(const observation& seen, int lane) {
    const float waiting =
        hops * seen.near + __fdividef(seen.piece_arcs, float(advance.slope));
    const float need = target - waiting;
    const float fresh =
        seen.met > 0 ? fmaxf(0.5f * (fresh_share + __fdividef(seen.drawn, seen.met)), 1e-3f)
                     : fresh_share;
    const double end = fmax(seen.largest, seen.least);
    const double all_end = fmax(farthest, end);
    const double held_to = hops > 1 ? endless : all_end;  // where the last of the far ones may be
    float slope = alpha;
    double next;
    if (need > 0) {
      // What the last step brought keeps the model within bounds; at first, what is known of the
      // far queue does.
      const float brought = seen.expanded - near_before;
      const float here = __shfl_sync(0xFFFFFFFF, seen.far_here, 0);
      const float stretch = float(fmax(fmin(bounds[0], held_to) - threshold, quantum));
      if (step > 0 && brought > 0) {
        const float density = __fdividef(brought, step);
        slope = fminf(fmaxf(slope, density / guard), density * guard);
      } else if (iteration < bootstrap_iterations && here > 0) {
        slope = __fdividef(here, stretch);
      }
      const float ahead = fminf(__fdividef(need, slope), reach(need, fresh * seen.far_here, slope, held_to, lane));
      // There is nothing beyond the farthest vertex but what the hops will find.
      next = fmin(threshold + ahead, hops > 1 ? end + 2 * hops * mean_weight : all_end);
    } else {
      const double from = fmin(threshold, end);
      slope = __fdividef(seen.near, float(fmax(from - seen.least, quantum)));
      next = from + __fdividef(need, slope * hops);
    }
    // Between two whole lengths there is nothing to be had.
    if (quantum >= 1) next = 2 * waiting < target ? ceil(next) : rint(next);
    next = fmax(next, seen.least);
    __syncwarp();
    if (lane == 0) {
      step_seen = step;
      near_seen = near_before;
      step = float(next - threshold);
      near_before = waiting;
      alpha = slope;
      fresh_share = fresh;
      farthest = all_end;
      threshold = next;
      ++iteration;
    }
    __syncwarp();
  }

  // The partitions that hold something within the threshold are read, and what is left of them is
  // put back: which is when their stretch can be divided anew, the first part as wide as the next
  // iteration will want (equation 7), each further one twice as wide. So boundaries only ever
  // fall, and sizes stay true to them. Returns how many partitions are read; by the whole warp.
  __device__ int divide(bool anything, int lane) {
    const double bound = lane < live ? bounds[lane] : endless;
    const double below = __shfl_up_sync(0xFFFFFFFF, bound, 1);
    const int reads = !anything ? 0
        : __popc(__ballot_sync(0xFFFFFFFF, lane < live && (lane == 0 || below < threshold)));
    if (!reads) return 0;
    const int slot = lane < partitions ? slots[lane] : 0;
    const double end = __shfl_sync(0xFFFFFFFF, bound, reads - 1);
    const double width =
        fmax(double(__fdividef(target, hops * fmaxf(alpha, 1e-30f))), quantum);
    // Half of the free slots: the threshold may fall back and want to divide again.
    const int room = (partitions - (live - reads) + 1) / 2;
    const double mark = threshold + width * ((2u << lane) - 1.0);
    const int made =
        1 + __popc(__ballot_sync(0xFFFFFFFF, lane < room - 1 && mark < end - width / 2));
    // Where this lane's old partition goes: the kept ones behind the new, freed slots to the new.
    const int kept = live - reads;
    int place;
    if (lane < reads) {
      place = lane < made ? lane : kept + lane;  // freed: new, or free behind the kept
    } else if (lane < live) {
      place = made + lane - reads;
    } else {
      const int spare = lane - live + reads;  // was free
      place = spare < made ? spare : kept + spare;
    }
    __syncwarp();
    if (lane < partitions) {
      slots[place] = slot;
      if (lane >= reads && lane < live) bounds[place] = bound;
    }
    __syncwarp();
    if (lane < made) bounds[lane] = lane == made - 1 ? end : mark;
    if (lane == 0) live = made + kept;
    __syncwarp();
    return reads;
  }

  // Equations 1, 2, 4 and 5, of the iteration that `decide` was told of; its result serves the
  // next decision, so that it is computed while the others work. By the whole warp.
  __device__ void learn(double expanded, double arcs, int lane) {
    if (lane == 0 && expanded > 0) {
      advance.observe(expanded, arcs);
      const double seen = fmax(arcs / expanded, 1.0);
      advance.slope = fmax(fmin(fmax(advance.slope, seen / guard), seen * guard), 1.0);
      const double off = set_point / fmax(arcs, 1.0);
      if (off > 0.25 && off < 4) {
        bias = fminf(fmaxf(bias * float(1 + 0.05 * (off - 1)), 0.5f), 3.0f);
      }
      target = float(bias * set_point / advance.slope);
    }
    if (lane == 1 && expanded > 0 && step_seen > 0) {
      bisect.slope = alpha;
      bisect.observe(step_seen, expanded - near_seen);
      if (bisect.slope > 0) alpha = float(bisect.slope);
    }
    __syncwarp();
  }
};

}  // namespace mgraph
