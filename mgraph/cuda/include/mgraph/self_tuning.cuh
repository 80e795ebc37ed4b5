// The controller of the self-tuning search: self_tuning_cpu.py explains it and does the same.
#pragma once

namespace mgraph {

constexpr int partitions = 8;
constexpr int bootstrap_iterations = 5;
constexpr double guard = 2;
constexpr double longest_memory = 16;

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

  __device__ void stay_near(double value) {
    slope = fmin(fmax(slope, value / guard), value * guard);
  }
};

// What all blocks together saw in one iteration.
struct observation {
  double near;       // X4: vertices up to the threshold, waiting
  double far;        // vertices beyond it
  double expanded;   // X1
  double arcs;       // X2
  double least;      // the nearest vertex that waits near, or beyond the threshold where none does
  double largest;    // the farthest vertex updated
};

struct controller {
  double set_point, quantum, threshold, largest, mean_weight;
  double step, near_before;         // of the last change of the threshold, and of the one before
  double step_seen, near_seen;
  slope_model advance, bisect;  // d and alpha
  double bounds[partitions];    // upper bounds of the far queue's partitions, in a ring
  int current, last;            // the live ones: current to last, modulo the ring
  int iteration;
  bool saturated, saturated_seen;  // the whole far queue was asked for, so that nothing is learned

  __device__ void begin(double p, double mean_degree, double weight, double smallest_step) {
    set_point = p;
    quantum = smallest_step;
    mean_weight = weight;
    threshold = weight;
    step = near_before = step_seen = near_seen = largest = 0;
    advance.begin(fmax(mean_degree, 1.0));
    bisect.begin(1);
    for (int i = 0; i < partitions; ++i) bounds[i] = 1e300;
    bounds[0] = weight;
    current = 0;
    last = 1;
    iteration = 0;
    saturated = saturated_seen = false;
  }

  __device__ int slot(int p) const { return p % partitions; }

  // Vertices a unit of distance, over the stretch beyond the threshold that holds `need` of them.
  __device__ double density_ahead(double need, const double* size) const {
    double lower = threshold, taken = 0;
    for (int p = current; p <= last; ++p) {
      const double here = size[slot(p)];
      const double upper = fmax(lower, fmin(bounds[slot(p)], largest));
      if (taken + here >= need) {
        const double reach = lower + (upper - lower) * (need - taken) / fmax(here, 1.0);
        return need / fmax(reach - threshold, quantum);
      }
      taken += here;
      lower = upper;
    }
    return need / fmax(lower - threshold, quantum);
  }

  // Equations 3, 6 and 8: the threshold of the next iteration.
  __device__ double next_threshold(const observation& seen, const double* size) {
    const double target = set_point / advance.slope;
    double next;
    step_seen = step;
    near_seen = near_before;
    saturated_seen = saturated;
    largest = fmax(fmax(largest, threshold), seen.largest);
    saturated = seen.near + seen.far <= target;
    if (saturated) {
      next = largest + mean_weight;
    } else {
      const double density = seen.near >= target
                                 ? seen.near / fmax(threshold - seen.least, quantum)
                                 : density_ahead(target - seen.near, size);
      if (iteration < bootstrap_iterations) bisect.slope = density;
      bisect.stay_near(density);
      next = threshold + (target - seen.near) / bisect.slope;
    }
    next = fmax(next, seen.least);
    step = next - threshold;
    near_before = seen.near;
    threshold = next;
    ++iteration;
    return next;
  }

  // Equations 1, 2, 4 and 5, of the iteration that `seen` tells of, after `next_threshold`: its
  // result serves one iteration later, so that it is computed while the others work.
  __device__ void learn(const observation& seen) {
    if (seen.expanded > 0) {
      advance.observe(seen.expanded, seen.arcs);
      advance.stay_near(fmax(seen.arcs / seen.expanded, 1.0));
      advance.slope = fmax(advance.slope, 1.0);
    }
    if (iteration > bootstrap_iterations && step_seen != 0 && !saturated_seen) {
      bisect.observe(step_seen, seen.expanded - near_seen);
    }
  }

  // Equation 7: the boundaries for the vertices to come; they only ever fall.
  __device__ void move_bounds(const double* size) {
    while (current < last && size[slot(current)] == 0 && bounds[slot(current)] <= threshold) {
      ++current;
    }
    const double width = fmax(set_point / advance.slope / fmax(bisect.slope, 1e-12), quantum);
    double bound = threshold;
    const int end = last;
    for (int p = current; p <= end; ++p) {
      bound += width;
      if (p == last) {
        if (last - current + 1 < partitions) {
          bounds[slot(p)] = bound;
          bounds[slot(p + 1)] = 1e300;
          last = p + 1;
        }
      } else if (bound < bounds[slot(p)]) {
        bounds[slot(p)] = bound;
      } else {
        bound = bounds[slot(p)];
      }
    }
  }
};

}  // namespace mgraph
