#include "grouped_vs_standard/tasks/task.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "grouped_vs_standard/tasks/arrhythmia.h"
#include "grouped_vs_standard/tasks/cells.h"
#include "grouped_vs_standard/tasks/digits.h"
#include "grouped_vs_standard/tasks/fashion.h"
#include "grouped_vs_standard/tasks/listops.h"
#include "grouped_vs_standard/tasks/mnist1d.h"
#include "grouped_vs_standard/tasks/options.h"
#include "grouped_vs_standard/tasks/planted.h"
#include "grouped_vs_standard/tasks/recall.h"
#include "grouped_vs_standard/tasks/sort_of_clevr.h"
#include "grouped_vs_standard/tasks/splice.h"
#include "tutti/core/error.h"
#include "tutti/ops/shape.h"

namespace comparison {

namespace {

const std::map<std::string, Task (*)(const TaskSpec&)> makers = {
    {"arrhythmia", arrhythmia},        // electrocardiograms, a lead is a token
    {"cells", cells},                  // cells under the microscope
    {"digits", digits},                // 8x8 images
    {"fashion", fashion},              // 28x28 images of clothes
    {"listops", listops},              // generated expressions
    {"mnist1d", mnist1d},              // generated sequences of 40
    {"planted", planted},              // generated, in groups or across them
    {"recall", recall},                // generated pairs among filler
    {"sort_of_clevr", sort_of_clevr},  // generated images and questions
    {"splice", splice},                // DNA, 60 letters
};

/// The task with the first `count` of its test samples, or all of them (0).
Task first_tests(Task task, int64_t count) {
  if (count == 0) return task;
  task.spec.test = count;
  if (!task.relational.empty()) task.relational.resize(std::min(task.relational.size(), static_cast<size_t>(count)));
  task.sample = [all = task.sample, count](uint64_t seed) {
    Sample sample = all(seed);
    sample.test = {slice(sample.test.x, 0, 0, count), slice(sample.test.y, 0, 0, count)};
    return sample;
  };
  return task;
}

}  // namespace

std::string key(const TaskSpec& s) {
  std::string text = s.name;
  if (!s.variant.empty()) text += "/" + s.variant;
  const auto number = [&](const char* option, int64_t value) {
    if (value != 0) text += tutti::message(" ", option, " ", value);
  };
  number("train", s.train);
  number("test", s.test);
  number("patch", s.patch);
  number("length", s.length);
  if (s.shuffled) text += " shuffled";
  if (s.validation) text += " validation";
  return text;
}

std::shared_ptr<const Task> make_task(const TaskSpec& spec) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Task>> made;
  const std::lock_guard lock(mutex);
  auto& task = made[key(spec)];
  if (task) return task;
  const auto maker = makers.find(spec.name);
  if (maker == makers.end()) {
    std::vector<std::string> names;
    for (const auto& [name, make] : makers) names.push_back(name);
    throw tutti::ValueError(
        tutti::message("task '", spec.name, "': there is none of this name; expected ", listed(names)));
  }
  return task = std::make_shared<const Task>(first_tests(maker->second(spec), spec.test));
}

}  // namespace comparison
