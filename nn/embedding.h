// A table of vectors by index.
#pragma once
#include "tutti/nn/module.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

struct EmbeddingOptions {
  int64_t count = 0, width = 0;  ///< the table is [count, width], standard normal at the start
};
/// The rows of a table that an index names. ValueError unless count and width are positive.
class Embedding : public Callable<Embedding> {
 public:
  explicit Embedding(EmbeddingOptions options);
  void children(Visitor& visit) override;
  /// index [...] (int64 or int32) to [..., width].
  Tensor forward(const Tensor& index) const;
  Parameter weight;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
