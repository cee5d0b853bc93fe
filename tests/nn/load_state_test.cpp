// Loading states of elsewhere: names that differ, what may be missing or left over, tied weights, and what is said.
#include "tutti/nn/load_state.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "support/files.h"
#include "support/op_test.h"
#include "tutti/core/detail/near_name.h"
#include "tutti/core/safetensors.h"
#include "tutti/core/safetensors_file.h"
#include "tutti/nn/embedding.h"
#include "tutti/nn/sequential.h"
#include "tutti/nn/transformer.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/random.h"

using namespace tutti;
using namespace tutti_test;

namespace {

using Names = std::vector<std::string>;

/// The same values under other names.
template <class F>
nn::StateDict with_names(const nn::StateDict& state, F&& name) {
  nn::StateDict other;
  for (const auto& [key, t] : state) other[name(key)] = clone(t);
  return other;
}

struct TiedModel : nn::Callable<TiedModel> {
  nn::Embedding embed{{.count = 5, .width = 3}};
  nn::Linear head{{.in = 3, .out = 5}};
  TiedModel() { head.weight.tie(embed.weight); }
  void children(nn::Visitor& visit) override {
    visit("embed", embed);
    visit("head", head);
  }
  Tensor forward(const Tensor& x) { return head(embed(x)); }
};

}  // namespace

TEST_CASE("load_state: a * stands for any characters, as few as fit") {
  CHECK(nn::name_matches("a.*.b", "a.1.b"));
  CHECK(nn::name_matches("*", ""));
  CHECK(nn::name_matches("*.bias", "x.y.bias"));
  CHECK(nn::name_matches("a*a", "aa"));
  CHECK_FALSE(nn::name_matches("a*a", "a"));
  CHECK_FALSE(nn::name_matches("a.b", "a.b.c"));
  CHECK_FALSE(nn::name_matches("*.b", "a.c"));
  CHECK_FALSE(nn::name_matches("", "a"));
  CHECK(nn::renamed({{"model.*", "*"}}, "model.model.w") == "model.w");
  CHECK(nn::renamed({{"*.layer.*.out.*", "*.blocks.*.down.*"}}, "bert.layer.11.out.weight") ==
        "bert.blocks.11.down.weight");
  CHECK(nn::renamed({{"*x*y", "*-*"}}, "1x2x3y") == "1-2x3");  // the first * ends at the first x
  CHECK(nn::renamed({{"*.gamma", "*.weight"}, {"ln.*", "norm.*"}}, "ln.gamma") == "norm.weight");
  CHECK(nn::renamed({{"a*", "b"}}, "abc") == "b");
  CHECK(nn::renamed({{"a", "b"}}, "c") == "c");
  REQUIRE_THROWS_WITH(nn::renamed({{"a.*", "*.*"}}, "c"),
                      "rename: \"*.*\" has more * than \"a.*\", which says what they stand for");
  const std::string long_name(100'000, 'a');  // no pattern takes more than one walk
  std::string stars;
  for (int i = 0; i < 1000; ++i) stars += "*a";
  CHECK_FALSE(nn::name_matches(stars + "*b", long_name));
}

TEST_CASE("load_state: near names") {
  using tutti::detail::near_name;
  CHECK(near_name("norm.weight", {"bias", "norm.weigth", "norm"}) == "norm.weigth");
  CHECK(near_name("abc", {"xyz", ""}).empty());
  CHECK(near_name("ab", {"cd"}) == "cd");  // two characters are always near
  CHECK(near_name("abcdef", {"ab", "abcd", "abcde"}) == "abcde");
  CHECK(near_name(std::string(201, 'a'), {std::string(201, 'a')}).empty());
}

TEST_CASE("load_state: renaming by rules, and what was not loaded") {
  const nn::TransformerEncoderOptions options{.block = {.embed_dim = 4}, .layers = 2};
  nn::TransformerEncoder from(options), to(options);
  nn::StateDict state = with_names(from.state_dict(), [](const std::string& name) {
    return nn::renamed({{"blocks.*.ffn.*", "layer.*.mlp.*"}, {"blocks.*", "layer.*"}, {"*", "model.*"}}, name);
  });
  const nn::LoadOptions back{
      .rename = {{"model.*", "*"}, {"layer.*.mlp.*", "blocks.*.ffn.*"}, {"layer.*", "blocks.*"}}};
  const nn::LoadReport report = to.load_state_dict(state, back);
  CHECK(report.missing.empty());
  CHECK(report.unexpected.empty());
  const auto expected = from.state_dict(), loaded = to.state_dict();
  for (const auto& [name, t] : expected) check_identical(loaded.at(name), t);

  state.erase("model.norm.bias");
  state["model.pooler.weight"] = ones({1});
  nn::LoadOptions some = back;
  some.allow_missing = {"*.bias"};
  REQUIRE_THROWS_WITH(to.load_state_dict(state, some),
                      "load_state_dict: the state does not fit the module\n  unexpected: pooler.weight");
  some.allow_unexpected = {"pooler.*"};
  const nn::LoadReport allowed = to.load_state_dict(state, some);
  CHECK(allowed.missing == Names{"norm.bias"});
  CHECK(allowed.unexpected == Names{"model.pooler.weight"});

  nn::LoadOptions any = back;
  any.strict = false;
  CHECK(to.load_state_dict(state, any).missing == Names{"norm.bias"});
  CHECK(to.load_state_dict({}, {.strict = false}).missing.size() == expected.size());
  state["model.norm.weight"] = ones({5});  // a shape is never let pass
  REQUIRE_THROWS_WITH(
      to.load_state_dict(state, any),
      "load_state_dict: the state does not fit the module\n  shape: norm.weight is [4], the state has [5]");
  REQUIRE_THROWS_WITH(to.load_state_dict({{"a", ones({1})}, {"b", ones({1})}}, {.rename = {{"*", "c"}}}),
                      "load_state_dict: rename makes both a and b into c");
}

TEST_CASE("load_state: an error is a few lines that say what was meant") {
  const nn::TransformerEncoderOptions options{.block = {.embed_dim = 4}, .layers = 8};
  nn::TransformerEncoder model(options);
  const auto complaint = [&](const nn::StateDict& state) {
    try {
      model.load_state_dict(state);
    } catch (const ValueError& e) {
      return std::string(e.what()).substr(std::string("load_state_dict: the state does not fit the module").size());
    }
    return std::string("loaded");
  };
  const auto state = model.state_dict();
  const std::string front = complaint(with_names(state, [](const std::string& name) { return "bert." + name; }));
  CHECK(
      front.starts_with("\n  the state's names begin with \"bert.\": .rename = {{\"bert.*\", \"*\"}} takes that off"));
  CHECK(front.find("\n  missing: 94 more\n") != front.npos);
  CHECK(std::count(front.begin(), front.end(), '\n') == 11);
  nn::Sequential row(nn::Linear({.in = 2, .out = 3}), nn::Linear({.in = 3, .out = 1}));
  REQUIRE_THROWS_WITH(
      row.load_state_dict({{"weight", ones({3, 2})}, {"bias", ones({3})}}),
      Contains("the module's names begin with \"0.\": .rename = {{\"*\", \"0.*\"}} puts that in front of the state's"));

  nn::Linear layer({.in = 2, .out = 3});
  REQUIRE_THROWS_WITH(layer.load_state_dict({{"weight", ones({2, 3})}, {"bais", ones({3})}}),
                      "load_state_dict: the state does not fit the module\n  missing: bias (the state has bais)\n"
                      "  unexpected: bais\n  shape: weight is [3, 2], the state has [2, 3], its transpose");
}

TEST_CASE("load_state: of tied weights one name is enough, and two must agree") {
  TiedModel model;
  const Tensor table = randn({5, 3}), bias = zeros({5});
  for (const char* name : {"embed.weight", "head.weight"}) {
    TiedModel fresh;
    const nn::LoadReport report = fresh.load_state_dict({{name, table}, {"head.bias", bias}});
    CHECK(report.missing.empty());
    check_identical(fresh.embed.weight.tensor().detach(), table);
    CHECK(fresh.embed.weight.tensor().impl() == fresh.head.weight.tensor().impl());
  }
  model.load_state_dict({{"embed.weight", table}, {"head.weight", clone(table)}, {"head.bias", bias}});
  const nn::StateDict apart{{"embed.weight", ones({5, 3})}, {"head.weight", table}, {"head.bias", bias}};
  REQUIRE_THROWS_WITH(model.load_state_dict(apart),
                      "load_state_dict: embed.weight and head.weight are one tensor in the module (tied), but differ "
                      "in the state");
  check_identical(model.embed.weight.tensor().detach(), table);
  REQUIRE_THROWS_WITH(
      model.load_state_dict({{"head.bias", bias}}),
      "load_state_dict: the state does not fit the module\n  missing: embed.weight\n  missing: head.weight");
}

TEST_CASE("load_state: from a file one tensor at a time") {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  nn::TransformerEncoder from({.block = {.embed_dim = 64}, .layers = 4}), to({.block = {.embed_dim = 64}, .layers = 4});
  nn::StateDict halves;
  for (const auto& [name, t] : from.state_dict()) halves["model." + name] = tutti::to(t, DType::bfloat16);
  save_safetensors(path, halves);
  memory::reset_peak(cpu);
  const size_t before = memory::stats(cpu).current;
  to.load_state_dict(SafetensorsFile(path), {.rename = {{"model.*", "*"}}});
  CHECK(memory::stats(cpu).peak - before <= 3 * 256 * 64 * 4);  // the largest one, as read and converted
  for (const auto& [name, t] : to.state_dict())
    check_identical(t, tutti::to(halves.at("model." + name), t.device() == cpu ? DType::float32 : t.dtype()));

  // Nothing is written if anything does not fit.
  TiedModel tied;
  const Tensor value = clone(tied.embed.weight.tensor().detach());
  save_safetensors(path, {{"embed.weight", ones({5, 3})}, {"head.weight", zeros({5, 3})}, {"head.bias", ones({5})}});
  REQUIRE_THROWS_WITH(tied.load_state_dict(SafetensorsFile(path)), Contains("but differ in the state"));
  check_identical(tied.embed.weight.tensor().detach(), value);
  save_safetensors(path, {{"embed.weight", ones({5, 3})}});
  REQUIRE_THROWS_WITH(tied.load_state_dict(SafetensorsFile(path)), Contains("missing: head.bias"));
  check_identical(tied.embed.weight.tensor().detach(), value);

  std::string bytes = tutti_test::read_file(path);
  bytes.replace(bytes.find("\"F32\""), 5, "\"Q4\" ");
  tutti_test::write_file(path, bytes);
  REQUIRE_THROWS_WITH(tied.load_state_dict(SafetensorsFile(path), {.allow_missing = {"head.bias"}}),
                      Contains("\n  unreadable: embed.weight: its dtype is Q4, which Tutti lacks"));
}

TEST_CASE("ties: a copy of a module keeps its own") {
  TiedModel model;
  const auto tied = [](TiedModel& m) { return m.embed.weight.tensor().impl() == m.head.weight.tensor().impl(); };
  TiedModel copy = model;
  CHECK(tied(copy));
  CHECK(copy.parameter_count() == 15 + 5);
  CHECK(copy.embed.weight.tensor().impl() != model.embed.weight.tensor().impl());
  check_identical(copy.embed.weight, model.embed.weight);
  CHECK(copy.head.weight.tensor().requires_grad());

  std::vector<TiedModel> several(3, model);  // each with itself
  std::set<const TensorImpl*> tensors;
  for (TiedModel& m : several) {
    CHECK(tied(m));
    tensors.insert(m.embed.weight.tensor().impl());
  }
  CHECK(tensors.size() == 3);
  several = std::vector<TiedModel>(5, copy);  // grows: made anew
  for (TiedModel& m : several) CHECK(tied(m));

  const TensorImpl* held = copy.embed.weight.tensor().impl();
  copy = model;  // in place
  CHECK(copy.embed.weight.tensor().impl() == held);
  CHECK(tied(copy));

  // Parts alone are of nobody's copy.
  const nn::Embedding embed = model.embed;
  const nn::Linear head = model.head;
  CHECK(embed.weight.tensor().impl() != head.weight.tensor().impl());
  const nn::Parameter one = model.embed.weight, two = model.head.weight;
  CHECK(one.tensor().impl() != two.tensor().impl());
}

TEST_CASE("ties: across blocks on the heap, and where assignment makes tensors anew") {
  nn::TransformerEncoder model({.block = {.embed_dim = 4}, .layers = 3});
  for (size_t i : {1u, 2u}) model.blocks[i].ffn.up.weight.tie(model.blocks[0].ffn.up.weight);
  const int64_t count = model.parameter_count();
  const nn::TransformerEncoder copy = model;
  CHECK(copy.parameter_count() == count);
  nn::TransformerEncoder small({.block = {.embed_dim = 2}, .layers = 1});
  small = model;
  CHECK(small.parameter_count() == count);
  nn::Sequential row(nn::Linear({.in = 2, .out = 2}), model);
  CHECK(row.parameter_count() == count + 6);
  const nn::Sequential other = row;
  CHECK(other.parameter_count() == count + 6);

  std::vector<std::thread> threads;  // a model that several threads copy at once
  std::atomic<int> kept = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 10; ++k) kept += nn::TransformerEncoder(model).parameter_count() == count;
    });
  for (std::thread& t : threads) t.join();
  CHECK(kept == 40);
}
