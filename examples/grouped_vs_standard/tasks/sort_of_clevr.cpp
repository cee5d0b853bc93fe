#include "grouped_vs_standard/tasks/sort_of_clevr.h"

#include <algorithm>
#include <array>
#include <map>

#include "grouped_vs_standard/tasks/draws.h"
#include "grouped_vs_standard/tasks/options.h"
#include "tutti/core/error.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/shape.h"

namespace comparison {

using namespace tutti;

namespace {

constexpr uint32_t task_number = 5;
constexpr int side = 75, radius = 5, objects = 6, kinds = 6, questions_of_a_sort = 10;
constexpr int64_t columns = 3 * objects + 2, codes = objects + kinds, description = objects + 4;
constexpr float middle = 37, spread = 20;  // of a coordinate
constexpr int64_t yes = 0, no = 1, square = 2, count_of_none = 4;

// Red, green, blue, orange, grey, yellow; white is the ground.
constexpr std::array<std::array<uint8_t, 3>, objects> colours = {
    {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {255, 156, 0}, {128, 128, 128}, {255, 255, 0}}};

struct Object {
  int column, row;
  bool disc;
};
using Scene = std::array<Object, objects>;

int squared_distance(const Object& a, const Object& b) {
  return (a.column - b.column) * (a.column - b.column) + (a.row - b.row) * (a.row - b.row);
}

Scene generate_scene(Draws& draw) {
  Scene scene{};
  for (size_t i = 0; i < objects; ++i) {
    Object& o = scene[i];
    const auto free = [&](const Object& other) { return squared_distance(o, other) >= 4 * radius * radius; };
    do {
      o.column = static_cast<int>(radius + draw.below(side - 2 * radius));
      o.row = static_cast<int>(radius + draw.below(side - 2 * radius));
    } while (!std::all_of(scene.begin(), scene.begin() + static_cast<int64_t>(i), free));
    o.disc = draw.bit();
  }
  return scene;
}

int64_t answer(const Scene& scene, size_t asked, int64_t kind) {
  const Object& o = scene[asked];
  if (kind == 0) return square + o.disc;
  if (kind == 1) return 2 * o.column < side ? yes : no;
  if (kind == 2) return 2 * o.row < side ? yes : no;
  if (kind == 5)
    return count_of_none - 1 +
           std::count_if(scene.begin(), scene.end(), [&](const Object& x) { return x.disc == o.disc; });
  const Object* best = nullptr;  // of equals the first
  for (const Object& x : scene)
    if (&x != &o && (!best || (kind == 3 ? squared_distance(x, o) < squared_distance(*best, o)
                                         : squared_distance(x, o) > squared_distance(*best, o))))
      best = &x;
  return square + best->disc;
}

struct Sorts {
  bool relational, other;
  int64_t questions() const { return questions_of_a_sort * (relational + other); }
};

Split generate(RandomKey key, Sorts sorts, int64_t images) {
  Draws draw(key);
  std::vector<uint8_t> x;
  std::vector<int64_t> y;
  for (int64_t i = 0; i < images; ++i) {
    const Scene scene = generate_scene(draw);
    for (int64_t q = 0; q < 2 * questions_of_a_sort; ++q) {
      const bool relational = q >= questions_of_a_sort;
      const int64_t colour = draw.below(objects), kind = draw.below(3) + (relational ? 3 : 0);
      if (!(relational ? sorts.relational : sorts.other)) continue;
      for (const Object& o : scene)
        for (int v : {o.column, o.row, int{o.disc}}) x.push_back(static_cast<uint8_t>(v));
      x.push_back(static_cast<uint8_t>(colour));
      x.push_back(static_cast<uint8_t>(kind));
      y.push_back(answer(scene, static_cast<size_t>(colour), kind));
    }
  }
  const auto n = static_cast<int64_t>(y.size());
  return {Tensor::from(x, {n, columns}), Tensor::from(y, {n})};
}

/// Question and drawn image [B, 1 + n^2, 3 p^2 + 12]. beside: the question in every token.
Tensor drawn(const Tensor& compact, int64_t p, bool beside) {
  const Tensor dense = to(contiguous(compact), cpu);
  const auto* x = dense.data<uint8_t>();
  const int64_t batch = dense.size(0), n = (side + p - 1) / p, inputs = 3 * p * p + codes, tokens = 1 + n * n;
  std::vector<float> y(static_cast<size_t>(batch * tokens * inputs));
  for (int64_t i = 0; i < batch; ++i, x += columns) {
    float* image = y.data() + i * tokens * inputs;
    for (int64_t t = 0; t < (beside ? tokens : 1); ++t) {
      float* question = image + t * inputs + 3 * p * p;
      question[x[columns - 2]] = 1;
      question[objects + x[columns - 1]] = 1;
    }
    for (size_t o = 0; o < objects; ++o)
      for (int dr = -radius; dr <= radius; ++dr)
        for (int dc = -radius; dc <= radius; ++dc) {
          if (x[3 * o + 2] && dr * dr + dc * dc > radius * radius) continue;
          const int64_t r = x[3 * o + 1] + dr, c = x[3 * o] + dc;
          float* pixel = image + (1 + r / p * n + c / p) * inputs + 3 * (r % p * p + c % p);
          for (size_t k = 0; k < 3; ++k) pixel[k] = 1 - static_cast<float>(colours[o][k]) / 255;
        }
  }
  return Tensor::from(y, {batch, tokens, inputs}, compact.device());
}

/// Question and described objects [B, 1 + 6, 10 + 12]. beside: the question in every token.
Tensor described(const Tensor& compact, bool beside) {
  const Tensor dense = to(contiguous(compact), cpu);
  const auto* x = dense.data<uint8_t>();
  const int64_t batch = dense.size(0), tokens = 1 + objects, inputs = description + codes;
  std::vector<float> y(static_cast<size_t>(batch * tokens * inputs));
  for (int64_t i = 0; i < batch; ++i, x += columns) {
    float* token = y.data() + i * tokens * inputs;
    for (int64_t t = 0; t < (beside ? tokens : 1); ++t) {
      float* question = token + t * inputs + description;
      question[x[columns - 2]] = 1;
      question[objects + x[columns - 1]] = 1;
    }
    for (int64_t o = 0; o < objects; ++o) {
      token += inputs;
      token[o] = 1;
      token[objects + x[3 * o + 2]] = 1;
      for (int64_t k = 0; k < 2; ++k) token[objects + 2 + k] = (static_cast<float>(x[3 * o + k]) - middle) / spread;
    }
  }
  return Tensor::from(y, {batch, tokens, inputs}, compact.device());
}

/// The questions that a variant keeps, and in which form its tokens are.
struct Form {
  Sorts sorts{true, true};
  bool beside = false, objects = false;
};

Form form_of(const TaskSpec& spec) {
  const std::map<std::string, Form> forms = {
      {"", {}},
      {"relational", {{true, false}}},
      {"non_relational", {{false, true}}},
      {"relational_beside", {{true, false}, true}},
      {"relational_objects", {{true, false}, false, true}},
      {"relational_objects_beside", {{true, false}, true, true}},
      {"non_relational_objects", {{false, true}, false, true}},
  };
  std::vector<std::string> names;
  for (const auto& [name, form] : forms) names.push_back(name);
  const auto form = forms.find(spec.variant);
  check(spec, {.variants = names, .patch = form == forms.end() || !form->second.objects});
  return form->second;
}

}  // namespace

Task sort_of_clevr(const TaskSpec& spec) {
  const Form form = form_of(spec);
  const Sorts sorts = form.sorts;
  Task task{.spec = spec, .classes = 10};
  if (spec.train == 0) task.spec.train = 2000 * sorts.questions();
  if (task.spec.train % sorts.questions() != 0)
    throw ValueError(message("task sort_of_clevr: train is ", task.spec.train, "; it must be a multiple of ",
                             sorts.questions(), ", the questions of an image"));
  if (form.objects) {
    task.tokens = 1 + objects;
    task.first_part = description;
    task.tokens_of = [beside = form.beside](const Tensor& x, bool) { return described(x, beside); };
  } else {
    if (spec.patch == 0) task.spec.patch = 13;
    const int64_t p = task.spec.patch, n = (side + p - 1) / p;
    if (p < 3 || p > side) throw ValueError(message("task sort_of_clevr: patch is ", p, "; expected 3 to 75"));
    task.tokens = 1 + n * n;
    task.first_part = 3 * p * p;
    task.tokens_of = [p, beside = form.beside](const Tensor& x, bool) { return drawn(x, p, beside); };
  }
  task.inputs = task.first_part + codes;
  const Split test = generate(part_key(task_number, spec.validation ? Part::validation : Part::test), sorts, 500);
  for (uint8_t kind : reshape(slice(test.x, 1, columns - 1, columns), {-1}).to_vector<uint8_t>())
    task.relational.push_back(kind >= 3);
  task.sample = [images = task.spec.train / sorts.questions(), sorts, test](uint64_t seed) {
    return Sample{generate(part_key(task_number, Part::train, seed), sorts, images), test};
  };
  task.source = message("Sort-of-CLEVR (Santoro et al. 2017), generated: ", task.spec.train / sorts.questions(),
                        " training images a seed, 500 test images, ", sorts.questions(), " questions each",
                        spec.variant.empty() ? "" : " (" + spec.variant + ")");
  return task;
}

}  // namespace comparison
