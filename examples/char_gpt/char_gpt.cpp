// Learns to write like a text file, character by character: a small causal transformer, sampled with a KV cache.
#include <tutti/tutti.h>

#include <fmt/format.h>
#include <fstream>
#include <set>

#include "common/program.h"
using namespace tutti;

constexpr int64_t context = 64;  // characters of a piece of the text, and as many the model sees

struct GPT : nn::Callable<GPT> {
  explicit GPT(int64_t characters) : embed({.count = characters, .width = 128}), head({.in = 128, .out = characters}) {}
  nn::Embedding embed;
  nn::TransformerEncoder blocks{
      {.block = {.embed_dim = 128, .attention = nn::standard({.num_heads = 4, .rotary = {{}}})}, .layers = 2}};
  nn::Linear head;
  void children(nn::Visitor& visit) override { visit("embed", embed), visit("blocks", blocks), visit("head", head); }
  Tensor forward(const Tensor& ids) { return head(blocks(embed(ids), {.causal = true})); }  // [B, T] to [B, T, V]
  Tensor forward(const Tensor& ids, auto& caches) { return head(blocks(embed(ids), caches, {.window = context})); }
};

int main(int argc, char** argv) {
  CLI::App app("Learns to write like a text file, character by character", "char_gpt");
  examples::ProgramOptions program;
  nn::SampleOptions sampling{.temperature = 0.8, .top_k = 0, .top_p = 0.95};
  std::string file, prompt;
  int64_t steps = 1000, length = 200;
  app.option_defaults()->always_capture_default();
  app.add_option("text", file, "The text file to learn")->required()->check(CLI::ExistingFile);
  app.add_option("--prompt", prompt, "What samples go on from; if empty, the text's first character");
  app.add_option("--steps", steps, "Training steps, of 16 pieces of the text each")->check(examples::positive);
  app.add_option("--length", length, "Characters that a sample adds to the prompt")->check(examples::positive);
  app.add_option("--temperature", sampling.temperature, "0: always the likeliest")->check(CLI::NonNegativeNumber);
  app.add_option("--top-k", sampling.top_k, "Draw from the k likeliest; 0: from all")->check(examples::whole);
  app.add_option("--top-p", sampling.top_p, "Draw from the likeliest of this share")->check(CLI::Range(0.0, 1.0));
  examples::add_options(app, program);
  return examples::run(app, argc, argv, [&] {
    examples::apply(program);
    std::ifstream stream(file, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    const std::set<char> used(text.begin(), text.end());
    const std::string characters(used.begin(), used.end());  // a character's number is its place here
    const int64_t size = static_cast<int64_t>(text.size());
    if (size <= context) throw ValueError(message(file, ": only ", size, " characters; over ", context, " are needed"));
    if (prompt.empty()) prompt = text.substr(0, 1);
    const auto encode = [&](const std::string& s) {
      std::vector<int64_t> ids;
      for (const char c : s) ids.push_back(static_cast<int64_t>(characters.find(c)));
      return Tensor::from(ids, {static_cast<int64_t>(ids.size())});
    };
    if (prompt.find_first_not_of(characters) != prompt.npos) throw ValueError("--prompt: not all of it is in the text");
    const Tensor ids = encode(text), begin = unsqueeze(encode(prompt), 0);  // [N], [1, P]
    GPT model(static_cast<int64_t>(characters.size()));
    fmt::print("{}, seed {}, {} parameters\n", examples::environment(), program.seed, model.parameter_count());
    const auto write = [&] {
      const no_grad off;
      std::vector<nn::KVCache> caches(model.blocks.blocks.size(), nn::KVCache(begin.numel() + length));
      std::string written = prompt;
      for (Tensor next = begin; caches[0].tokens() < begin.numel() + length - 1;) {
        const Tensor token = nn::sample(select(model(next, caches), 1, -1), sampling);  // after the last one
        written += characters[static_cast<size_t>(token.item())];
        next = unsqueeze(token, 1);
      }
      return written;
    };
    optim::AdamW optimizer(model.parameters(), {.lr = 2e-3});
    for (int64_t step = 0; step <= steps; ++step) {
      if (step % std::max<int64_t>(steps / 4, 1) == 0 || step == steps)
        fmt::print("--- after {} steps\n{}\n", step, write()), std::fflush(stdout);
      const Tensor places = unsqueeze(randint(0, size - context, {16}), 1) + arange(context + 1);  // [16, context + 1]
      const Tensor pieces = reshape(index_select(ids, 0, flatten(places)), places.shape());
      const Tensor logits = model(slice(pieces, 1, 0, context));
      const Tensor loss = cross_entropy(flatten(logits, 0, 1), flatten(slice(pieces, 1, 1, context + 1)));
      optimizer.zero_grad(), loss.backward(), optimizer.step();
    }
    return 0;
  });
}
