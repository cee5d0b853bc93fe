// Sort-of-CLEVR: answers found again from the drawn image alone, and the score of answering by the question alone.
#if __has_include("grouped_vs_standard/tasks/sort_of_clevr.h")
#include "grouped_vs_standard/tasks/sort_of_clevr.h"

#include <algorithm>
#include <array>
#include <map>

#include "grouped_vs_standard/tasks/fingerprint.h"
#include "support/catch.h"
#include "tutti/tutti.h"

using namespace comparison;
using namespace tutti;

namespace {

/// An object as it is found in the image: by its colour, from its bounding box; a square covers its corners.
struct Found {
  int64_t left = 99, right = -1, top = 99, bottom = -1, pixels = 0;
  double column() const { return static_cast<double>(left + right) / 2; }
  double row() const { return static_cast<double>(top + bottom) / 2; }
};

/// A sample's tokens [T, inputs] read back: pixel (r, c), and the question.
struct Drawing {
  const float* x;
  int64_t p, n, inputs;
  std::array<int, 3> colour(int64_t r, int64_t c) const {
    const float* pixel = x + (1 + r / p * n + c / p) * inputs + 3 * (r % p * p + c % p);
    std::array<int, 3> rgb{};
    for (size_t k = 0; k < 3; ++k) rgb[k] = static_cast<int>(std::lround(255 * (1 - pixel[k])));
    return rgb;
  }
  int64_t code(int64_t first) const {  // of six one-hot numbers
    const float* from = x + 3 * p * p + first;
    REQUIRE(std::count(from, from + 6, 1.0f) == 1);
    REQUIRE(std::count(from, from + 6, 0.0f) == 5);
    return std::find(from, from + 6, 1.0f) - from;
  }
};

const std::array<std::array<int, 3>, 6> colours = {
    {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {255, 156, 0}, {128, 128, 128}, {255, 255, 0}}};

}  // namespace

TEST_CASE("sort_of_clevr: the answers follow from the drawn image", "[sort_of_clevr]") {
  for (int64_t p : {13, 15}) {
    const Task& task = *make_task({.name = "sort_of_clevr", .train = 1200, .patch = p});
    const int64_t n = p == 13 ? 6 : 5;
    REQUIRE(task.tokens == 1 + n * n);
    REQUIRE(task.inputs == 3 * p * p + 12);
    const Split s = task.sample(1).train;
    const Tensor tokens = to(task.tokens_of(s.x, true), cpu);
    REQUIRE(tokens.shape() == Dims{1200, task.tokens, task.inputs});
    const auto labels = s.y.to_vector<int64_t>();
    int read = 0;
    for (int64_t i = 0; i < 1200; ++i) {
      const Drawing image{tokens.data<float>() + i * task.tokens * task.inputs, p, n, task.inputs};
      const auto asked = static_cast<size_t>(image.code(0));
      const int64_t kind = image.code(6);
      std::array<Found, 6> found{};
      int ground = 0, strangers = 0;
      for (int64_t r = 0; r < 75; ++r)
        for (int64_t c = 0; c < 75; ++c) {
          const auto rgb = image.colour(r, c);
          const auto object = std::find(colours.begin(), colours.end(), rgb);
          if (object == colours.end()) {
            ++(rgb == std::array<int, 3>{255, 255, 255} ? ground : strangers);
            continue;
          }
          Found& f = found[static_cast<size_t>(object - colours.begin())];
          f = {std::min(f.left, c), std::max(f.right, c), std::min(f.top, r), std::max(f.bottom, r), f.pixels + 1};
        }
      REQUIRE(strangers == 0);
      REQUIRE(ground > 75 * 75 - 6 * 121 - 1);
      // Objects that touch cover one another: read the images in which none does.
      const auto whole = [](const Found& f) { return f.pixels == 121 || f.pixels == 81; };
      if (!std::all_of(found.begin(), found.end(), whole)) continue;
      ++read;
      const auto disc = [](const Found& f) { return f.pixels == 81; };
      const Found& o = found[asked];
      const auto far = [&](const Found& f) { return std::hypot(f.column() - o.column(), f.row() - o.row()); };
      std::vector<double> distances;
      for (const Found& f : found)
        if (&f != &o) distances.push_back(far(f));
      const double wanted = kind == 3 ? *std::min_element(distances.begin(), distances.end())
                                      : *std::max_element(distances.begin(), distances.end());
      int64_t expected = -1;
      if (kind == 0) expected = disc(o) ? 3 : 2;
      if (kind == 1) expected = o.column() < 37.5 ? 0 : 1;
      if (kind == 2) expected = o.row() < 37.5 ? 0 : 1;
      if (kind == 5)
        expected = 3 + std::count_if(found.begin(), found.end(), [&](const Found& f) { return disc(f) == disc(o); });
      if (kind == 3 || kind == 4)
        expected = disc(*std::find_if(found.begin(), found.end(),
                                      [&](const Found& f) { return &f != &o && far(f) == wanted; }))
                       ? 3
                       : 2;
      REQUIRE(labels[static_cast<size_t>(i)] == expected);
    }
    REQUIRE(read > 600);
  }
}

TEST_CASE("sort_of_clevr: ten questions of each sort an image, and what answering blindly scores", "[sort_of_clevr]") {
  const Task& task = *make_task({.name = "sort_of_clevr"});
  const Split test = task.sample(1).test;
  const auto y = test.y.to_vector<int64_t>();
  const auto x = test.x.to_vector<uint8_t>();
  REQUIRE(y.size() == 10000);
  REQUIRE(task.relational.size() == 10000);
  REQUIRE(std::count(task.relational.begin(), task.relational.end(), 1) == 5000);
  std::map<int, std::map<int64_t, int>> answers;  // by kind
  int wrong = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    wrong += task.relational[i] != (x[20 * i + 19] >= 3);
    ++answers[x[20 * i + 19]][y[i]];
  }
  REQUIRE(wrong == 0);
  REQUIRE(answers.size() == 6);
  REQUIRE(make_task({.name = "sort_of_clevr", .test = 40})->relational.size() == 40);
  double blind[2] = {0, 0};
  for (const auto& [kind, counts] : answers) {
    int most = 0;
    for (const auto& [answer, n] : counts) most = std::max(most, n);
    blind[kind >= 3] += most / 5000.0;
  }
  REQUIRE(blind[0] == Approx(0.5).margin(0.03));  // three fair coins
  // Two fair coins and the mode of Binomial(5, 1/2), 10 in 32: (1 + .3125) / 3 = .4375.
  REQUIRE(blind[1] == Approx(0.4375).margin(0.03));
}

TEST_CASE("sort_of_clevr: one sort of questions", "[sort_of_clevr]") {
  const Split both = make_task({.name = "sort_of_clevr", .train = 40})->sample(1).train;
  for (bool relational : {false, true}) {
    const Task& task =
        *make_task({.name = "sort_of_clevr", .variant = relational ? "relational" : "non_relational", .train = 20});
    REQUIRE(std::count(task.relational.begin(), task.relational.end(), uint8_t{relational}) == 5000);
    const Split one = task.sample(1).train;
    for (int64_t image : {0, 1}) {  // the same images and questions as with both
      const int64_t first = 20 * image + (relational ? 10 : 0);
      REQUIRE(fingerprint(slice(one.x, 0, 10 * image, 10 * image + 10)) ==
              fingerprint(slice(both.x, 0, first, first + 10)));
      REQUIRE(fingerprint(slice(one.y, 0, 10 * image, 10 * image + 10)) ==
              fingerprint(slice(both.y, 0, first, first + 10)));
    }
  }
}

TEST_CASE("sort_of_clevr: the question beside every patch, or every object", "[sort_of_clevr]") {
  for (const std::string form : {"", "_objects"}) {
    const auto of = [](const std::string& variant) {
      return make_task({.name = "sort_of_clevr", .variant = variant, .train = 20});
    };
    const auto plain = of("relational" + form), beside = of("relational" + form + "_beside");
    const Split split = plain->sample(1).train;
    REQUIRE(fingerprint(split.x) == fingerprint(beside->sample(1).train.x));
    const Tensor a = plain->tokens_of(split.x, true), b = beside->tokens_of(split.x, true);
    const int64_t vision = plain->first_part, inputs = plain->inputs;
    REQUIRE(vision == (form.empty() ? 3 * 13 * 13 : 10));
    REQUIRE(fingerprint(contiguous(slice(a, 2, 0, vision))) == fingerprint(contiguous(slice(b, 2, 0, vision))));
    const Tensor question = slice(slice(a, 2, vision, inputs), 1, 0, 1);
    for (int64_t t = 0; t < plain->tokens; ++t)
      REQUIRE(fingerprint(contiguous(slice(slice(b, 2, vision, inputs), 1, t, t + 1))) ==
              fingerprint(contiguous(question)));
  }
}

TEST_CASE("sort_of_clevr: objects described instead of drawn", "[sort_of_clevr]") {
  for (const std::string sort : {"relational", "non_relational"}) {
    const Task& task = *make_task({.name = "sort_of_clevr", .variant = sort + "_objects", .train = 500});
    const Split split = task.sample(1).train;
    const Split drawn = make_task({.name = "sort_of_clevr", .variant = sort, .train = 500})->sample(1).train;
    REQUIRE(fingerprint(split.x) == fingerprint(drawn.x));
    REQUIRE(fingerprint(split.y) == fingerprint(drawn.y));
    const Tensor tokens = to(task.tokens_of(split.x, true), cpu);
    REQUIRE(tokens.shape() == Dims{500, 7, 22});
    REQUIRE(task.inputs == 22);
    REQUIRE(task.first_part == 10);
    const auto x = split.x.to_vector<uint8_t>();
    const auto* token = tokens.data<float>();
    int wrong = 0;
    for (size_t i = 0; i < 500; ++i) {
      std::array<float, 22> question{};
      question[10 + x[20 * i + 18]] = question[16 + x[20 * i + 19]] = 1;
      wrong += !std::equal(question.begin(), question.end(), token);
      token += 22;
      for (size_t o = 0; o < 6; ++o, token += 22) {
        std::array<float, 22> object{};
        object[o] = object[6 + x[20 * i + 3 * o + 2]] = 1;
        wrong += !std::equal(object.begin(), object.begin() + 8, token) ||
                 !std::equal(object.begin() + 10, object.end(), token + 10);
        for (size_t k : {0u, 1u}) wrong += std::lround(20 * token[8 + k] + 37) != x[20 * i + 3 * o + k];
      }
    }
    REQUIRE(wrong == 0);
  }
  REQUIRE_THROWS_WITH(make_task({.name = "sort_of_clevr", .variant = "relational_objects", .patch = 13}),
                      "task sort_of_clevr: patch is 13, but this task has none; leave it at 0");
  REQUIRE_THROWS_WITH(
      make_task({.name = "sort_of_clevr", .variant = "objects"}),
      Contains("task sort_of_clevr: variant 'objects' is none of ''") && Contains("relational_objects"));
}

TEST_CASE("sort_of_clevr: the same bits everywhere, other ones for other seeds", "[sort_of_clevr]") {
  const Task& task = *make_task({.name = "sort_of_clevr", .train = 2000});
  const Sample first = task.sample(1);
  REQUIRE(fingerprint(first.train.x) == 0x51bc2a55f108508a);
  REQUIRE(fingerprint(first.train.y) == 0x5e2159e9e24371e2);
  REQUIRE(fingerprint(first.test.x) == 0x2d89ae5f3ee0864b);
  REQUIRE(fingerprint(task.tokens_of(slice(first.test.x, 0, 0, 100), false)) == 0x4fb107413b3a0465);
  REQUIRE(fingerprint(task.sample(2).train.x) != fingerprint(first.train.x));
  REQUIRE_THROWS_WITH(make_task({.name = "sort_of_clevr", .train = 30}),
                      "task sort_of_clevr: train is 30; it must be a multiple of 20, the questions of an image");
  REQUIRE_THROWS_WITH(make_task({.name = "sort_of_clevr", .patch = 2}),
                      "task sort_of_clevr: patch is 2; expected 3 to 75");
}
#endif
