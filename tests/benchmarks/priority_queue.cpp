// std::priority_queue on one core: N int32 keys in, then out. g++ -O3 -o pq FILE; ./pq N ORDER
// ORDER: random, ascending or descending. Prints a line each minute, since it takes long.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <random>
#include <string>
#include <vector>

int main(int, char** arguments) {
  const long long count = std::atoll(arguments[1]);
  const std::string order = arguments[2];
  std::mt19937 random(1);
  std::vector<int> room;
  room.reserve(count);
  std::priority_queue<int, std::vector<int>, std::greater<int>> queue({}, std::move(room));
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const double step = 2147483646.0 / count;
  for (long long i = 0; i < count; ++i) {
    const long long rank = order == "ascending" ? i : count - 1 - i;
    queue.push(order == "random" ? int(random() >> 1) : int(step * rank));
  }
  const double pushed = seconds();
  std::printf("%s: %lld keys in: %.2f s\n", order.c_str(), count, pushed);
  std::fflush(stdout);
  int last = 0;
  double reported = pushed;
  for (long long i = 0; i < count; ++i) {
    if (queue.top() < last) return 1;
    last = queue.top();
    queue.pop();
    if (i % (1 << 20) == 0 && seconds() > reported + 60) {
      reported = seconds();
      std::printf("%lld keys out: %.2f s\n", i, reported - pushed);
      std::fflush(stdout);
    }
  }
  std::printf("%lld keys out: %.2f s, a sum of %.2f s\n", count, seconds() - pushed, seconds());
}
