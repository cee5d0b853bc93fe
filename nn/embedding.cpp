#include "tutti/nn/embedding.h"

#include "tutti/nn/init.h"
#include "tutti/nn/option.h"
#include "tutti/ops/create.h"
#include "tutti/ops/index.h"

namespace tutti::nn {

Embedding::Embedding(EmbeddingOptions options) {
  check_positive("Embedding", "count", options.count);
  check_positive("Embedding", "width", options.width);
  weight = Parameter(empty({options.count, options.width}));
  init::normal_(weight);
}
void Embedding::children(Visitor& visit) { visit("weight", weight); }
Tensor Embedding::forward(const Tensor& index) const { return embedding(index, weight); }

}  // namespace tutti::nn
