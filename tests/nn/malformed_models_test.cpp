// Malformed calls, each with the exact type and text of its error: modules, optimizers, metrics and files.
#include <cmath>

#include "support/malformed.h"

using namespace tutti;
using namespace tutti_test;

TEST_CASE("malformed: modules") {
  check_malformed({
      {[](const Given&) { nn::Linear({.in = -1, .out = 2}); }, "ValueError", "Linear: in is -1; it must be at least 1"},
      {[](const Given& g) { nn::Linear({.in = 4, .out = 2})(g.x); }, "ShapeError",
       "linear: input width 3 does not match weight [2, 4] (in = 4)"},
      {[](const Given& g) { nn::Linear({.in = 3, .out = 2})(g.none); }, "ValueError", "linear: x is undefined"},
      {[](const Given&) { nn::LayerNorm({.width = -1}); }, "ValueError",
       "LayerNorm: width is -1; it must be at least 1"},
      {[](const Given& g) { nn::LayerNorm({.width = 4})(g.x); }, "ShapeError",
       "LayerNorm: input [2, 3] does not end in width 4"},
      {[](const Given&) { nn::LayerNorm({.width = 4, .eps = -1}); }, "ValueError",
       "LayerNorm: eps is -1; it must be finite and not negative"},
      {[](const Given& g) { nn::RMSNorm({.width = 4})(g.x); }, "ShapeError",
       "RMSNorm: input [2, 3] does not end in width 4"},
      {[](const Given&) { nn::MultiHeadAttention({.embed_dim = 8, .num_heads = 3}); }, "ValueError",
       "MultiHeadAttention: num_heads = 3 does not divide embed_dim = 8; of the numbers nearby, 2 and 4 do"},
      {[](const Given&) { nn::MultiHeadAttention({.embed_dim = 8, .num_heads = 0}); }, "ValueError",
       "MultiHeadAttention: num_heads is 0; it must be at least 1"},
      {[](const Given&) { nn::MultiHeadAttention({.embed_dim = 8, .num_heads = 2, .dropout = 2}); }, "ValueError",
       "MultiHeadAttention: dropout is 2; it must be between 0 and 1"},
      {[](const Given& g) { nn::MultiHeadAttention({.embed_dim = 8, .num_heads = 2})(g.x); }, "ShapeError",
       "MultiHeadAttention: input [2, 3] is neither [batch, tokens, 8] nor [tokens, 8]"},
      {[](const Given&) { nn::GroupedMultiHeadAttention({.embed_dim = 8, .groups = 3}); }, "ValueError",
       "GroupedMultiHeadAttention: groups = 3 does not divide embed_dim = 8; of the numbers nearby, 2 and 4 do"},
      {[](const Given&) { nn::GroupedMultiHeadAttention({.embed_dim = 24, .num_heads = 3, .groups = 4}); },
       "ValueError",
       "GroupedMultiHeadAttention: num_heads = 3 is neither a multiple nor a divisor of groups = 4; num_heads = 4 (or "
       "0) gives each group one head"},
      {[](const Given&) { nn::GroupedMultiHeadAttention({.embed_dim = 8, .groups = 0}); }, "ValueError",
       "GroupedMultiHeadAttention: groups is 0; it must be at least 1"},
      {[](const Given& g) { nn::GroupedMultiHeadAttention({.embed_dim = 8, .groups = 2})(g.x); }, "ShapeError",
       "GroupedMultiHeadAttention: input [2, 3] is neither [batch, tokens, 8] nor [tokens, 8]"},
      {[](const Given&) { nn::TransformerBlock({.embed_dim = 0}); }, "ValueError",
       "TransformerBlock: embed_dim is 0; it must be at least 1"},
      {[](const Given&) { nn::TransformerBlock({.embed_dim = 8, .attention = nn::grouped({.groups = 3})}); },
       "ValueError",
       "GroupedMultiHeadAttention: groups = 3 does not divide embed_dim = 8; of the numbers nearby, 2 and 4 do"},
      {[](const Given&) { nn::TransformerEncoder({.block = {.embed_dim = 8}, .layers = -1}); }, "ValueError",
       "TransformerEncoder: layers is -1; it must not be negative"},
      {[](const Given&) { nn::FeedForward({.embed_dim = 8, .hidden = -1}); }, "ValueError",
       "Linear: out is -1; it must be at least 1"},
      {[](const Given&) { nn::init::xavier_uniform_(zeros({3})); }, "ShapeError",
       "xavier_uniform_: shape [3] has no [out, in] axes (at least 2 axes are needed)"},
      {[](const Given&) { nn::init::uniform_(zeros({3}), 1, 0); }, "ValueError",
       "uniform_: low 1 and high 0 are no range"},
  });
}

TEST_CASE("malformed: training") {
  check_malformed({
      {[](const Given&) { optim::SGD(std::vector<Tensor>{}); }, "ValueError", "SGD: there are no parameters to train"},
      {[](const Given& g) { optim::SGD({g.leaf}, {.lr = -1}); }, "ValueError", "SGD: lr is -1; it must be in [0, inf)"},
      {[](const Given& g) { optim::SGD({g.leaf}, {.nesterov = true}); }, "ValueError",
       "SGD: nesterov needs momentum > 0 and dampening 0, but momentum = 0 and dampening = 0"},
      {[](const Given& g) { optim::SGD({g.none}); }, "ValueError", "SGD: parameter 0 is undefined"},
      {[](const Given& g) { optim::SGD({g.indices}); }, "ValueError",
       "SGD: parameter 0 is int64; only floating tensors can be trained"},
      {[](const Given& g) {
         optim::Adam({g.leaf, g.leaf});
       },
       "ValueError", "Adam: parameter 1 of shape [2, 3] was listed before"},
      {[](const Given& g) { optim::Adam({g.leaf}, {.beta1 = 1}); }, "ValueError",
       "Adam: beta1 is 1; it must be in [0, 1)"},
      {[](const Given& g) { optim::AdamW({relu(g.leaf)}); }, "ValueError",
       "AdamW: parameter 0 is the result of an operation, not a leaf"},
      {[](const Given& g) { optim::clip_grad_norm({g.leaf}, -1); }, "ValueError",
       "clip_grad_norm: max_norm is -1; it must be at least 0"},
      {[](const Given& g) { optim::clip_grad_value({g.leaf}, NAN); }, "ValueError",
       "clip_grad_value: limit is nan; it must be at least 0"},
      {[](const Given&) { optim::step_decay(0); }, "ValueError", "step_decay: every is 0; it must be at least 1"},
      {[](const Given&) { optim::cosine(0); }, "ValueError", "cosine: steps is 0; it must be at least 1"},
      {[](const Given&) { optim::linear_warmup(-1); }, "ValueError",
       "linear_warmup: steps is -1; it must be at least 1"},
      {[](const Given&) { optim::cosine_restarts(0); }, "ValueError",
       "cosine_restarts: period is 0; it must be at least 1"},
      {[](const Given& g) { metrics::accuracy(g.x, g.indices); }, "ShapeError",
       "accuracy: logits [2, 3] and target [3] are not [N, classes] and [N]"},
      {[](const Given& g) { metrics::accuracy(g.x, g.x); }, "ShapeError",
       "accuracy: logits [2, 3] and target [2, 3] are not [N, classes] and [N]"},
      {[](const Given& g) { metrics::top_k_accuracy(g.x, g.two, 4); }, "IndexError",
       "top_k_accuracy: k = 4 is out of range for 3 classes"},
      {[](const Given& g) {
         metrics::confusion_matrix(g.x, Tensor::from({0, 3}, {2}, DType::int64));
       },
       "IndexError", "confusion_matrix: target 3 at position 1 is out of range [0, 3)"},
      {[](const Given&) { set_num_threads(-1); }, "ValueError", "set_num_threads: -1 is negative"},
  });
}

TEST_CASE("malformed: files") {
  check_malformed({
      {[](const Given&) { data::read_csv("no/such.csv"); }, "IoError",
       "read_csv: no/such.csv: cannot open: No such file or directory"},
      {[](const Given&) { data::read_idx("no/such.idx"); }, "IoError",
       "read_idx: no/such.idx: cannot open: No such file or directory"},
      {[](const Given&) { data::read_idx(file("short.idx", "abc")); }, "IoError",
       "read_idx: malformed_short.idx: is not an IDX file (it does not begin with two zero bytes)"},
      {[](const Given&) { data::read_idx(file("magic.idx", std::string("\1\0\x08\1\0\0\0\1a", 9))); }, "IoError",
       "read_idx: malformed_magic.idx: is not an IDX file (it does not begin with two zero bytes)"},
      {[](const Given&) { data::read_idx(file("cut.idx", std::string("\0\0\x08\1\0\0\0\5a", 9))); }, "IoError",
       "read_idx: malformed_cut.idx: shape [5] of uint8 needs 5 bytes of data, but there are 1"},
      {[](const Given&) { data::read_csv(file("word.csv", "1,2\n3,four\n")); }, "IoError",
       "read_csv: malformed_word.csv: line 2, column 2: \"four\" is not a number; .categories = {{1, {}}} numbers the "
       "words of this column (counted from 0)"},
      {[](const Given&) { data::read_csv(file("ragged.csv", "1,2\n3\n")); }, "IoError",
       "read_csv: malformed_ragged.csv: line 2 has 1 columns, the rows before it 2"},
      {[](const Given&) { data::read_csv(file("none.csv", "")); }, "IoError",
       "read_csv: malformed_none.csv: there are no rows"},
  });
}
