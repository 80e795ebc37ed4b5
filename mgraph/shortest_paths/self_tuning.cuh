// The controller of the self-tuning search: self_tuning_cpu.py explains the paper's laws, which hold
// here for iterations of one hop (`follow_frontier`).
//
// Where few arcs are under way (near_far_rounds.cuh: no more than the search has threads), an
// iteration is a wave: each block follows what it finds near for 16 to 128 hops before the next
// barrier. Such an iteration has a law of its own, which the paper does not have (`follow_wave`):
// the threshold lies above the nearest waiting vertex by the stretch that the last wave passed,
// times (wanted / expanded)^(1/e), with the exponent e learned from waves by algorithm 1, on
// logarithms, within 1 and 8, and that factor within 1/4 and 4. wanted is P/d (equation 3), or less
// where more wait than fit into a hop. X1 and X2, and so P, count all hops of a wave together.
//
// One warp of each block runs it, on the same sums, so that all come to the same threshold without
// asking each other. Lane i sees to the far queue's i-th partition. `decide` is waited for, and
// `learn` now and then, so divisions are fast ones. What differs:
//   fresh_share  a block's far queue keeps entries that were replaced since; sizes are scaled by
//                the share that was not, as it was seen last
//   unit         lengths are measured in a power of two near the mean weight, if they are floats
#pragma once

namespace mgraph {

using u32 = unsigned int;

constexpr int partitions = 16;
constexpr int bootstrap_iterations = 5;
constexpr float guard = 2;     // how far slopes may be from the last observation, a factor
constexpr float steepest = 8;  // exponent of waves
constexpr float longest_memory = 16;
constexpr double endless = 1e300;

// A linear model's slope, learned by stochastic gradient descent (the paper's algorithm 1).
struct slope_model {
  float slope, gradient, curvature, variance, memory;

  __device__ void begin(float value) {
    slope = value;
    gradient = 0;
    curvature = 1;
    variance = 1e-6f;
    memory = 2 * (1 + 1e-6f);
  }

  // Equation 2 or 5: the model said slope * input, and output came.
  __device__ void observe(float input, float output) {
    const float g = -2 * (output - slope * input) * input;
    const float take = __fdividef(1, memory), keep = 1 - take;
    const float seen_variance = keep * variance + take * g * g;
    if (!(seen_variance < 1e38f)) return;  // beyond a float
    gradient = keep * gradient + take * g;
    variance = seen_variance;
    curvature = keep * curvature + take * 2 * input * input;
    if (variance <= 0 || curvature <= 0) return;
    const float share = __saturatef(gradient * __fdividef(gradient, variance));
    memory = fminf((1 - share) * memory + 1, longest_memory);
    slope -= share * __fdividef(g, curvature);
  }
};

// What all blocks together saw in one iteration; the same in every lane but for `far_here`.
struct observation {
  float expanded;    // X1
  float arcs;        // X2
  float near;        // X4: vertices up to the threshold, waiting
  float piece_arcs;  // arcs of the vertices that were cut up, which wait as well
  float far_here;    // entries in the partition of this lane
  double least;      // the nearest vertex that waits near, or far where none is near
  double largest;    // the farthest vertex that was updated
};

struct controller {
  double threshold, farthest;
  double least;                 // the nearest vertex that waited at the last decision
  float stretch;                // from there to the threshold
  float quantum;                // the least step that makes a difference
  float set_point;              // P
  slope_model models[3];        // d, alpha (a mean weight's), and the exponent of waves
  float target;                 // equation 3: vertices to expand, P / d
  float alpha;
  float most;                   // vertices that keep the device busy
  float per_arc, per_vertex;    // 1 / d, 1 / alpha
  float flatness;               // 1 / the exponent
  float weight;                 // the mean
  float fresh_share;            // of far entries: the others were replaced by nearer ones
  bool waved;                   // the last decision was by `follow_wave`
  float bias;                   // integral action: what the models get wrong in the long run
  float step, compared;         // the last change, of the threshold (in a wave, log2 of the
                                // stretch), and the vertices that there were before it
  int iteration;
  // The far queue's partitions in ascending order: upper bounds, and the slots where they are
  // kept; slots beyond the live partitions are free.
  double bounds[partitions];
  int slots[partitions];
  int live;
  struct {
    double next, least, end;
    float passed, slope, compared;
    bool wave;
  } last;                       // decision, to be written down

  __device__ float d() const { return models[0].slope; }

  // By one lane.
  __device__ void begin(double p, double mean_degree, double mean_weight, double smallest_step,
                        double threads) {
    set_point = float(p);
    quantum = float(smallest_step);
    weight = step = float(mean_weight);
    threshold = 0;
    farthest = 0;
    least = -8 * mean_weight;  // so the first wave may reach further than that
    most = float(2 * threads / fmax(mean_degree, 1.0));
    bias = fresh_share = 1;
    waved = false;
    compared = 0;
    stretch = float(threshold - least);
    models[0].begin(fmaxf(float(mean_degree), 1));
    models[1].begin(1);
    models[2].begin(steepest / 2);
    flatness = 2 / steepest;
    per_arc = 1 / d();
    alpha = 1 / weight;
    per_vertex = weight;
    target = set_point * per_arc;
    iteration = 0;
    for (int i = 0; i < partitions; ++i) {
      bounds[i] = endless;
      slots[i] = i;
    }
    bounds[0] = mean_weight;
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
    const float found =
        __shfl_sync(0xFFFFFFFF, enough ? within : beyond, enough ? __ffs(enough) - 1 : bounded - 1);
    return bounded ? found : __fdividef(need, slope);
  }

  // Equations 6 and 8: the change of the threshold that gets P / d vertices together.
  __device__ double follow_frontier(const observation& seen, float waiting, double end,
                                    float& slope, int lane) const {
    const float need = target - waiting;
    if (need <= 0) {
      const double from = fmin(threshold, end);
      slope = __fdividef(waiting, fmaxf(float(from - seen.least), quantum));
      return from + __fdividef(need, slope);
    }
    // What the last step brought keeps the model within bounds; at first, what is known of the far
    // queue does. There is nothing beyond the farthest vertex.
    const double all_end = fmax(farthest, end);
    const float brought = seen.expanded - compared;
    if (!waved && step > 0 && brought > 0) {
      const float density = __fdividef(brought, step);
      slope = fminf(fmaxf(slope, density / guard), density * guard);
    } else if (iteration < bootstrap_iterations) {
      const float here = __shfl_sync(0xFFFFFFFF, seen.far_here, 0);
      const float width = fmaxf(float(fmin(bounds[0], all_end) - threshold), quantum);
      if (here > 0) slope = __fdividef(here, width);
    }
    const float held = reach(need, fresh_share * seen.far_here, slope, all_end, lane);
    return fmin(threshold + fminf(__fdividef(need, slope), held), all_end);
  }

  // The same where an iteration goes on for many hops. Its vertices are those that a wave passes,
  // from the nearest one on: as many as last time if the threshold moves on as the nearest vertex
  // does, and others as the stretch between the two grows or shrinks, by a power of it.
  __device__ double follow_wave(const observation& seen, float passed) const {
    const float expanded = fmaxf(seen.expanded, 1);
    // No more than are busy in one hop; else they wait in vain.
    float wanted = target;
    if (seen.near > most) wanted = fminf(wanted, expanded * __fdividef(most, seen.near));
    const float wider = exp2f(flatness * __log2f(__fdividef(wanted, expanded)));
    return seen.least + passed * fminf(fmaxf(wider, 0.25f), 4);
  }

  // Equations 1 to 3, with integral action. By one lane.
  __device__ void learn_degree(float expanded, float arcs) {
    if (expanded <= 0) return;
    slope_model& model = models[0];
    model.observe(expanded, arcs);
    const float fact = fmaxf(__fdividef(arcs, expanded), 1);
    model.slope = fmaxf(fminf(fmaxf(model.slope, fact / guard), fact * guard), 1);
    const float off = __fdividef(set_point, fmaxf(arcs, 1));
    if (off > 0.25f && off < 4) bias = fminf(fmaxf(bias * (1 + 0.05f * (off - 1)), 0.5f), 3);
    per_arc = __fdividef(1, model.slope);
    target = bias * set_point * per_arc;
  }

  // The threshold of the next iteration, by the whole warp. wave: it will go on for many hops.
  __device__ double decide(const observation& seen, bool wave, int lane) {
    if (lane == 0) learn_degree(seen.expanded, seen.arcs);
    __syncwarp();
    const float waiting = seen.near + seen.piece_arcs * per_arc;
    const double end = fmax(seen.largest, seen.least);
    const float passed = fmaxf(fminf(stretch, float(end - least)), quantum);
    float slope = alpha;
    double next = wave ? follow_wave(seen, passed)
                       : follow_frontier(seen, waiting, end, slope, lane);
    // Between two whole lengths there is nothing to be had.
    if (quantum >= 1) next = 2 * waiting < target ? ceil(next) : rint(next);
    next = fmax(next, seen.least);
    if (lane == 0) {
      last = {next, seen.least, end, passed, slope, wave ? seen.expanded : waiting, wave};
    }
    return next;
  }

  // The partitions that hold something within the threshold are read, and what is left of them is
  // put back: which is when their stretch can be divided anew, the first part as wide as the next
  // iteration will want (equation 7), each further one twice as wide. So boundaries only ever
  // fall, and sizes stay true to them. Returns how many partitions are read; by the whole warp.
  __device__ int divide(double next, bool wave, int lane) {
    const double bound = lane < live ? bounds[lane] : endless;
    const int slot = lane < partitions ? slots[lane] : 0;
    const float ahead = float(bound - next);
    const int reads = 1 + __popc(__ballot_sync(0xFFFFFFFF, ahead < 0));
    const double end = bounds[reads - 1];
    const float width = fmaxf(wave ? stretch / 4 : target * per_vertex, quantum);
    const float all = __shfl_sync(0xFFFFFFFF, ahead, reads - 1);
    // Half of the free slots: the threshold may fall back and want to divide again.
    const int room = (partitions - (live - reads) + 1) / 2;
    const float mark = width * float((2u << lane) - 1);
    const int made =
        1 + __popc(__ballot_sync(0xFFFFFFFF, lane < room - 1 && mark < all - width / 2));
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
    if (lane < made) bounds[lane] = lane == made - 1 ? end : next + mark;
    if (lane == 0) live = made + kept;
    __syncwarp();
    return reads;
  }

  // Write the last decision down, and learn the rest from the iteration before it, whose result the
  // decision was told of (equations 4 and 5). By the whole warp, which others wait for now and then.
  // met, drawn: far entries within the threshold, and those that still counted.
  __device__ void learn(float expanded, float met, float drawn, int lane) {
    const float moved = last.wave == waved ? step : 0, before = compared;
    __syncwarp();
    if (lane == 0) {
      const float longer = __fdividef(float(last.next - last.least), last.passed);
      step = last.wave ? __log2f(fmaxf(longer, 0.125f)) : float(last.next - threshold);
      if (!last.wave) alpha = last.slope;
      compared = last.compared;
      waved = last.wave;
      farthest = fmax(farthest, last.end);
      threshold = last.next;
      least = last.least;
      stretch = float(threshold - least);
      ++iteration;
    }
    __syncwarp();
    if (lane > 2 || expanded <= 0) return;
    if (lane == 0) {
      if (met > 0) fresh_share = fmaxf(0.5f * (fresh_share + __fdividef(drawn, met)), 1e-3f);
      return;
    }
    const float per_weight = __fdividef(1, weight);
    slope_model& model = models[lane];
    float input, output;
    if (lane == 1) {
      model.slope = last.slope * weight;
      input = waved ? 0 : fmaxf(moved, 0) * per_weight;
      output = expanded - before;
    } else {
      input = waved ? moved : 0;
      output = __log2f(__fdividef(expanded, fmaxf(before, 1)));
    }
    if (input != 0) model.observe(input, output);
    if (lane == 1 && !waved) {
      if (model.slope > 0) alpha = model.slope * per_weight;
      per_vertex = __fdividef(1, fmaxf(alpha, 1e-30f));
    } else if (lane == 2) {
      model.slope = fminf(fmaxf(model.slope, 1), steepest);
      flatness = __fdividef(1, model.slope);
      if (waved) {
        alpha = model.slope * __fdividef(expanded, last.passed);
        per_vertex = __fdividef(1, fmaxf(alpha, 1e-30f));
      }
    }
  }
};

}  // namespace mgraph
