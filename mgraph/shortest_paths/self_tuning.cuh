// The controller of the self-tuning search, which moves the threshold δ so that iterations relax
// about P arcs, the set-point. self_tuning_cpu.py explains the paper's laws (Karamati, Young, Vuduc
// 2018, section 4) and the departures from them; equation numbers here are the paper's. Those laws
// hold for iterations of one hop: `follow_frontier`.
//
// Where few arcs are under way (block_rounds::decide: about max_wave_arcs per thread, over all
// queued vertices), an iteration is a wave: each block follows what it finds near for 16 to 128
// hops before the next barrier. Waves have a law of their own, which is not the paper's:
// `follow_wave`. The threshold lies above the nearest queued vertex by the width that the last wave
// passed, times the factor (aim / X1)^(1/e), kept within 1/4 and 4. The aim is P/d (equation 3), or
// less where more vertices are queued than fit into a hop. The exponent e is learned from waves by
// algorithm 1, on logarithms, and kept within 1 and 8. X1 and X2, and so P, count all hops of a
// wave.
//
// One warp of each block runs the controller, on the same sums, so that all blocks come to the same
// threshold without exchanging it. Lane i handles the far queue's i-th partition. All blocks wait
// for `decide`, and now and then for `learn`, so divisions are approximate ones. What differs from
// the CPU's controller:
//   current_share  far queues keep stale entries, so their sizes are scaled by the share of entries
//                  that were current when entries were last looked up
//   units          float lengths are measured in a power of two near the mean weight
#pragma once

namespace mgraph {

using u32 = unsigned int;

// self_tuning.py has the values.
constexpr int partitions = MGRAPH_PARTITIONS;
constexpr int bootstrap_iterations = MGRAPH_BOOTSTRAP_ITERATIONS;
constexpr float guard = MGRAPH_GUARD;
constexpr float epsilon = MGRAPH_EPSILON;
constexpr float max_memory = MGRAPH_MAX_MEMORY;
constexpr float bias_gain = MGRAPH_BIAS_GAIN;
constexpr float min_bias = MGRAPH_MIN_BIAS, max_bias = MGRAPH_MAX_BIAS;
constexpr float max_exceeding = MGRAPH_MAX_EXCEEDING, bound_gain = MGRAPH_BOUND_GAIN;
constexpr float min_bound_bias = MGRAPH_MIN_BOUND_BIAS;
constexpr float max_miss = MGRAPH_MAX_MISS;
constexpr double unbounded = MGRAPH_UNBOUNDED;
constexpr float max_exponent = 8;     // of waves
constexpr float max_wave_factor = 4;  // by which a wave's width changes at a time

// A linear model's slope, learned by stochastic gradient descent (the paper's algorithm 1).
struct slope_model {
  float slope;
  float gradient, curvature, square;  // moving averages: of the gradient's square, too
  float memory;                       // τ, the averages' time constant in iterations

  __device__ void begin(float value) {
    slope = value;
    gradient = 0;
    curvature = 1;
    square = epsilon;
    memory = 2 * (1 + epsilon);
  }

  // Equation 2 or 5: the model predicted slope * input, and `output` was observed.
  __device__ void observe(float input, float output) {
    const float new_gradient = -2 * (output - slope * input) * input;
    const float rate = __fdividef(1, memory), decay = 1 - rate;
    const float new_square = decay * square + rate * new_gradient * new_gradient;
    if (!(new_square < 1e38f)) return;  // it would overflow
    gradient = decay * gradient + rate * new_gradient;
    square = new_square;
    curvature = decay * curvature + rate * 2 * input * input;
    if (square <= 0 || curvature <= 0) return;
    const float ratio = __saturatef(gradient * __fdividef(gradient, square));
    memory = fminf((1 - ratio) * memory + 1, max_memory);
    slope -= ratio * __fdividef(new_gradient, curvature);
  }
};

// The models of a controller.
enum model_index {
  degree_model,   // d: arcs per vertex expanded
  density_model,  // α, for a step of a mean weight: vertices that a higher threshold brings
  wave_model,     // e: the exponent of waves
  model_count
};

// One iteration's sums over all blocks; the same in every lane but for `partition_size`.
struct observation {
  float expanded;        // X1
  float arcs;            // X2
  float near;            // X4: vertices queued within the threshold
  float piece_arcs;      // arcs of the vertices cut into pieces, which are queued as well
  float partition_size;  // entries in this lane's partition
  double min_queued;     // distance of the nearest vertex in the near queue, else in the far one
  double max_updated;    // the distance of the farthest vertex that was improved
};

struct controller {
  double threshold;     // δ
  double max_distance;  // the largest distance seen
  double min_queued;    // the nearest queued vertex at the last decision
  float width;          // from there to the threshold
  float min_step;       // the smallest step of the threshold that has an effect
  float set_point;      // P
  bool is_bound;        // P is an upper bound of X2, else its mean
  slope_model models[model_count];
  float target;       // the X1 to aim at: P / d (equation 3), corrected by the bias
  float alpha;        // α: vertices per unit of distance
  float max_per_hop;  // vertices that keep the device busy
  float inverse_degree, inverse_alpha, inverse_exponent;
  float mean_weight;
  float current_share;  // of the far entries
  bool was_wave;        // the last decision was for a wave
  float bias;           // integral action: corrects the models' lasting error
  float step;           // the last change of the threshold; for a wave, log2 of its width's
  float expected;       // vertices that were expected without that change
  int iteration;
  // The far queue's partitions in ascending order: upper bounds, and the slots where their lists
  // are. Slots from `live` on are free.
  double bounds[partitions];
  int slots[partitions];
  int live;
  struct {
    double threshold, min_queued, max_distance;
    float passed, alpha, expected;
    bool is_wave;
  } last;  // the decision that `learn` will record

  __device__ float d() const { return models[degree_model].slope; }

  // Forget everything. By one lane.
  __device__ void begin(double p, double mean_degree, double weight, double smallest_step,
                        double threads, bool is_upper_bound) {
    set_point = float(p);
    is_bound = is_upper_bound;
    min_step = float(smallest_step);
    mean_weight = step = float(weight);
    threshold = 0;
    max_distance = 0;
    min_queued = -8 * weight;  // so that the first wave may reach further than a mean weight
    max_per_hop = float(2 * threads / fmax(mean_degree, 1.0));
    bias = current_share = 1;
    was_wave = false;
    expected = 0;
    width = float(threshold - min_queued);
    models[degree_model].begin(fmaxf(float(mean_degree), 1));
    models[density_model].begin(1);
    models[wave_model].begin(max_exponent / 2);
    inverse_exponent = 2 / max_exponent;
    inverse_degree = 1 / d();
    alpha = 1 / mean_weight;
    inverse_alpha = mean_weight;
    target = set_point * inverse_degree;
    iteration = 0;
    for (int i = 0; i < partitions; ++i) {
      bounds[i] = unbounded;
      slots[i] = i;
    }
    bounds[0] = weight;
    live = 2;
  }

  // How far above the threshold the far queue holds `need` vertices, by its partitions' sizes, and
  // by the model beyond the last bound. size: current entries in this lane's partition.
  __device__ float find_reach(float need, float size, float density, double end, int lane) const {
    const int bounded = live - 1;  // all partitions but the last
    const float upper = lane < bounded ? float(fmax(fmin(bounds[lane], end) - threshold, 0.0)) : 0;
    float held = lane < bounded ? size : 0;  // in the partitions up to this one
    for (int step = 1; step < partitions; step *= 2) {
      const float other = __shfl_up_sync(0xFFFFFFFF, held, step);
      if (lane >= step) held += other;
    }
    const float below = __shfl_up_sync(0xFFFFFFFF, upper, 1);
    const float lower = lane ? below : 0;
    const float share = __saturatef(__fdividef(need - (held - size), fmaxf(size, 1)));
    const float within = lower + (upper - lower) * share;
    const float beyond = upper + __fdividef(need - held, density);
    const unsigned enough = __ballot_sync(0xFFFFFFFF, lane < bounded && held >= need);
    const float reach =
        __shfl_sync(0xFFFFFFFF, enough ? within : beyond, enough ? __ffs(enough) - 1 : bounded - 1);
    return bounded ? reach : __fdividef(need, density);
  }

  // Equations 6 and 8: the threshold that brings the frontier to `target` vertices. queued: X4,
  // with the pieces as vertices. density: α, corrected here.
  __device__ double follow_frontier(const observation& seen, float queued, double end,
                                    float& density, int lane) const {
    const float need = target - queued;
    if (need <= 0) {
      const double from = fmin(threshold, end);
      density = __fdividef(queued, fmaxf(float(from - seen.min_queued), min_step));
      return from + __fdividef(need, density);
    }
    // The last step's result keeps the model within bounds, or at first the first partition's size.
    // Beyond the farthest vertex there is nothing.
    const double last_distance = fmax(max_distance, end);
    const float brought = seen.expanded - expected;
    if (!was_wave && step > 0 && brought > 0) {
      const float observed = __fdividef(brought, step);
      density = fminf(fmaxf(density, observed / guard), observed * guard);
    } else if (iteration < bootstrap_iterations) {
      const float size = __shfl_sync(0xFFFFFFFF, seen.partition_size, 0);
      const float stretch = fmaxf(float(fmin(bounds[0], last_distance) - threshold), min_step);
      if (size > 0) density = __fdividef(size, stretch);
    }
    const float reach =
        find_reach(need, current_share * seen.partition_size, density, last_distance, lane);
    return fmin(threshold + fminf(__fdividef(need, density), reach), last_distance);
  }

  // The same for a wave. It expands the vertices that it passes, from the nearest one on: as many
  // as the last wave if the threshold advances as the nearest vertex does, and more or fewer as the
  // width between the two grows or shrinks, by a power of it.
  __device__ double follow_wave(const observation& seen, float passed) const {
    const float expanded = fmaxf(seen.expanded, 1);
    // No more than one hop keeps busy; the others would be queued in vain.
    float aim = target;
    if (seen.near > max_per_hop) {
      aim = fminf(aim, expanded * __fdividef(max_per_hop, seen.near));
    }
    const float factor = exp2f(inverse_exponent * __log2f(__fdividef(aim, expanded)));
    return seen.min_queued + passed * fminf(fmaxf(factor, 1 / max_wave_factor), max_wave_factor);
  }

  // Equations 1 to 3, with integral action. By one lane.
  __device__ void learn_degree(float expanded, float arcs) {
    if (expanded <= 0) return;
    slope_model& model = models[degree_model];
    model.observe(expanded, arcs);
    const float observed = fmaxf(__fdividef(arcs, expanded), 1);
    model.slope = fmaxf(fminf(fmaxf(model.slope, observed / guard), observed * guard), 1);
    const float missed = __fdividef(set_point, fmaxf(arcs, 1));
    if (is_bound) {
      const float correction = bound_gain * (max_exceeding - (missed < 1));
      bias = fminf(fmaxf(bias * (1 + correction), min_bound_bias), 1);
    } else if (missed > 1 / max_miss && missed < max_miss) {
      bias = fminf(fmaxf(bias * (1 + bias_gain * (missed - 1)), min_bias), max_bias);
    }
    inverse_degree = __fdividef(1, model.slope);
    target = bias * set_point * inverse_degree;
  }

  // Decide on the threshold of the next iteration. By the whole warp.
  __device__ double decide(const observation& seen, bool is_wave, int lane) {
    if (lane == 0) learn_degree(seen.expanded, seen.arcs);
    __syncwarp();
    const float queued = seen.near + seen.piece_arcs * inverse_degree;
    const double end = fmax(seen.max_updated, seen.min_queued);
    const float passed = fmaxf(fminf(width, float(end - min_queued)), min_step);
    float density = alpha;
    double next =
        is_wave ? follow_wave(seen, passed) : follow_frontier(seen, queued, end, density, lane);
    // Integer lengths have nothing between two integers.
    if (min_step >= 1) next = 2 * queued < target ? ceil(next) : rint(next);
    next = fmax(next, seen.min_queued);
    if (lane == 0) {
      last = {next,   seen.min_queued, end, passed, density, is_wave ? seen.expanded : queued,
              is_wave};
    }
    return next;
  }

  // Divide the far queue again. The partitions that begin below the threshold are read in the next
  // iteration, and what remains above it is appended again. That is when the interval that they
  // cover can be divided: the first part is as wide as an iteration wants (equation 7), each
  // further one twice as wide. So bounds only ever fall, as the paper demands, and sizes stay true
  // to them. Returns how many partitions are read. By the whole warp.
  __device__ int divide(double next_threshold, bool is_wave, int lane) {
    const double bound = lane < live ? bounds[lane] : unbounded;
    const int slot = lane < partitions ? slots[lane] : 0;
    const float ahead = float(bound - next_threshold);
    const int reads = 1 + __popc(__ballot_sync(0xFFFFFFFF, ahead < 0));
    const double end = bounds[reads - 1];
    const float first_width = fmaxf(is_wave ? width / 4 : target * inverse_alpha, min_step);
    const float total_width = __shfl_sync(0xFFFFFFFF, ahead, reads - 1);
    // Half of the free slots: the threshold may fall back, and the interval be divided again.
    const int max_made = (partitions - (live - reads) + 1) / 2;
    const float mark = first_width * float((2u << lane) - 1);
    const bool is_bound = lane < max_made - 1 && mark < total_width - first_width / 2;
    const int made = 1 + __popc(__ballot_sync(0xFFFFFFFF, is_bound));
    // Where this lane's partition goes: the kept ones follow the new ones, which take freed slots.
    const int kept = live - reads;
    int place;
    if (lane < reads) {
      place = lane < made ? lane : kept + lane;  // freed: new, or free behind the kept ones
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
    if (lane < made) bounds[lane] = lane == made - 1 ? end : next_threshold + mark;
    if (lane == 0) live = made + kept;
    __syncwarp();
    return reads;
  }

  // Record the last decision, and learn from the iteration before it, whose sums it was based on
  // (equations 4 and 5). By the whole warp, for which others wait now and then.
  // within, current: far entries within the threshold, and how many of them were current.
  __device__ void learn(float expanded, float within, float current, int lane) {
    const float step_before = last.is_wave == was_wave ? step : 0, expected_before = expected;
    __syncwarp();
    if (lane == 0) {
      const float wider = __fdividef(float(last.threshold - last.min_queued), last.passed);
      step = last.is_wave ? __log2f(fmaxf(wider, 0.125f)) : float(last.threshold - threshold);
      if (!last.is_wave) alpha = last.alpha;
      expected = last.expected;
      was_wave = last.is_wave;
      max_distance = fmax(max_distance, last.max_distance);
      threshold = last.threshold;
      min_queued = last.min_queued;
      width = float(threshold - min_queued);
      ++iteration;
    }
    __syncwarp();
    if (lane > 2 || expanded <= 0) return;
    if (lane == 0) {
      if (within > 0) {
        current_share = fmaxf(0.5f * (current_share + __fdividef(current, within)), 1e-3f);
      }
      return;
    }
    const float per_weight = __fdividef(1, mean_weight);
    slope_model& model = models[lane];
    float input, output;
    if (lane == density_model) {
      model.slope = last.alpha * mean_weight;
      input = was_wave ? 0 : fmaxf(step_before, 0) * per_weight;
      output = expanded - expected_before;
    } else {
      input = was_wave ? step_before : 0;
      output = __log2f(__fdividef(expanded, fmaxf(expected_before, 1)));
    }
    if (input != 0) model.observe(input, output);
    if (lane == density_model && !was_wave) {
      if (model.slope > 0) alpha = model.slope * per_weight;
      inverse_alpha = __fdividef(1, fmaxf(alpha, 1e-30f));
    } else if (lane == wave_model) {
      model.slope = fminf(fmaxf(model.slope, 1), max_exponent);
      inverse_exponent = __fdividef(1, model.slope);
      if (was_wave) {
        alpha = model.slope * __fdividef(expanded, last.passed);
        inverse_alpha = __fdividef(1, fmaxf(alpha, 1e-30f));
      }
    }
  }
};

}  // namespace mgraph
