#include "tutti/backends/cuda/cublaslt.h"

#include <cublasLt.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>

#include "tutti/backends/cuda/runtime.h"
#include "tutti/core/detail/environment.h"
#include "tutti/core/error.h"
#include "tutti/core/precision.h"
#include "tutti/core/scratch.h"

namespace tutti::cuda {
namespace {

constexpr size_t most_workspace = size_t{32} << 20;  // what NVIDIA advises from sm_90 on
constexpr size_t most_plans = 4096;

struct Library {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtMatmulDescCreate) desc_create;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&cublasLtMatrixLayoutCreate) layout_create;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmul) matmul;
};

#ifdef TUTTI_CUDA_EMULATED
bool find(Library& l) {
  l = {cublasLtCreate,
       cublasLtMatmulDescCreate,
       cublasLtMatmulDescDestroy,
       cublasLtMatmulDescSetAttribute,
       cublasLtMatrixLayoutCreate,
       cublasLtMatrixLayoutDestroy,
       cublasLtMatrixLayoutSetAttribute,
       cublasLtMatmulPreferenceCreate,
       cublasLtMatmulPreferenceDestroy,
       cublasLtMatmulPreferenceSetAttribute,
       cublasLtMatmulAlgoGetHeuristic,
       cublasLtMatmul};
  return true;
}
#else
bool find(Library& l) {
  void* handle = nullptr;
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so.13",
                           "/usr/local/cuda/lib64/libcublasLt.so.12"})
    if ((handle = dlopen(name, RTLD_NOW | RTLD_LOCAL))) break;
  if (!handle) return false;
  const auto get = [&]<class F>(F*& function, const char* name) {
    function = reinterpret_cast<F*>(dlsym(handle, name));
    return function != nullptr;
  };
  return get(l.create, "cublasLtCreate") && get(l.desc_create, "cublasLtMatmulDescCreate") &&
         get(l.desc_destroy, "cublasLtMatmulDescDestroy") && get(l.desc_set, "cublasLtMatmulDescSetAttribute") &&
         get(l.layout_create, "cublasLtMatrixLayoutCreate") && get(l.layout_destroy, "cublasLtMatrixLayoutDestroy") &&
         get(l.layout_set, "cublasLtMatrixLayoutSetAttribute") &&
         get(l.preference_create, "cublasLtMatmulPreferenceCreate") &&
         get(l.preference_destroy, "cublasLtMatmulPreferenceDestroy") &&
         get(l.preference_set, "cublasLtMatmulPreferenceSetAttribute") &&
         get(l.heuristic, "cublasLtMatmulAlgoGetHeuristic") && get(l.matmul, "cublasLtMatmul");
}
#endif

/// Null if there is none.
const Library* library() {
  static const Library* const found = []() -> const Library* {
    static Library l{};
    return detail::environment_word("TUTTI_CUBLASLT", {"off"}) < 0 && find(l) ? &l : nullptr;
  }();
  return found;
}

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(message("cuda: ", what, ": cuBLASLt's status ", static_cast<int>(status)));
}

/// All that the choice of an algorithm may depend on.
using Key = std::array<int64_t, 14>;
struct HashOfKey {
  size_t operator()(const Key& key) const {
    uint64_t h = 0;
    for (const int64_t v : key) h = (h ^ static_cast<uint64_t>(v)) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
    return static_cast<size_t>(h);
  }
};

uint32_t alignment(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  return static_cast<uint32_t>(std::min<uintptr_t>(address & (~address + 1), 256));
}

/// A kind of product that has been met: cuBLASLt's descriptions, and how it is done.
class Plan {
 public:
  /// Row-major c = a b is column-major c' = b' a': what the library calls A is our b.
  Plan(const Library& l, cublasLtHandle_t handle, const LibraryProduct& p) : l_(l) {
    const bool wide = p.dtype == DType::float64;
    const cudaDataType_t type = wide ? CUDA_R_64F : CUDA_R_32F;
    const cublasComputeType_t compute = wide           ? CUBLAS_COMPUTE_64F
                                        : allow_tf32() ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                       : CUBLAS_COMPUTE_32F;
    check(l.desc_create(&desc_, compute, type), "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (p.bias) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
      if (p.bias_batch_stride) set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, p.bias_batch_stride);
    }
    a_ = layout(type, p.b.transposed, p.inner, p.cols, p.b.line, p.batch, p.b.batch_stride);
    b_ = layout(type, p.a.transposed, p.rows, p.inner, p.a.line, p.batch, p.a.batch_stride);
    c_ = layout(type, false, p.rows, p.cols, p.c_line, p.batch, p.c_batch_stride);
    choose(handle, p);
  }
  ~Plan() {
    for (cublasLtMatrixLayout_t m : {a_, b_, c_})
      if (m) l_.layout_destroy(m);
    if (desc_) l_.desc_destroy(desc_);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  bool possible() const { return possible_; }

  void run(cublasLtHandle_t handle, const LibraryProduct& p) {
    if (p.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    const Scratch workspace(workspace_, {DeviceType::cuda, static_cast<int8_t>(device())});
    const double one = 1, zero = 0;
    const float one_f = 1, zero_f = 0;
    const bool wide = p.dtype == DType::float64;
    const void* alpha = wide ? static_cast<const void*>(&one) : &one_f;
    const void* beta = p.accumulate ? alpha : wide ? static_cast<const void*>(&zero) : &zero_f;
    check(l_.matmul(handle, desc_, alpha, p.b.data, a_, p.a.data, b_, beta, p.c, c_, p.c, c_, &algorithm_,
                    workspace_ ? workspace.data() : nullptr, workspace_, stream()),
          "cublasLtMatmul");
  }

 private:
  template <class V>
  void set(cublasLtMatmulDescAttributes_t attribute, V value) {
    check(l_.desc_set(desc_, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }

  /// Of a row-major matrix [rows, cols], which is a column-major one [cols, rows].
  cublasLtMatrixLayout_t layout(cudaDataType_t type, bool transposed, int64_t rows, int64_t cols, int64_t line,
                                int64_t batch, int64_t batch_stride) {
    if (transposed) std::swap(rows, cols);
    cublasLtMatrixLayout_t m = nullptr;
    check(l_.layout_create(&m, type, static_cast<uint64_t>(cols), static_cast<uint64_t>(rows), line),
          "cublasLtMatrixLayoutCreate");
    const auto count = static_cast<int32_t>(batch);
    check(l_.layout_set(m, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
          "cublasLtMatrixLayoutSetAttribute");
    check(l_.layout_set(m, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride, sizeof batch_stride),
          "cublasLtMatrixLayoutSetAttribute");
    return m;
  }

  /// The heuristic's first answer. It is told how the operands are aligned: unasked it supposes 256 bytes.
  void choose(cublasLtHandle_t handle, const LibraryProduct& p) {
    cublasLtMatmulPreference_t preference = nullptr;
    check(l_.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      (void)l_.preference_set(preference, attribute, &value, sizeof value);
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(p.b.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(p.a.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(p.c));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
           p.bias ? std::min(alignment(p.c), alignment(p.bias)) : alignment(p.c));
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    possible_ = l_.heuristic(handle, desc_, a_, b_, c_, c_, preference, 1, &result, &found) == CUBLAS_STATUS_SUCCESS &&
                found > 0 && result.state == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= most_workspace;
    (void)l_.preference_destroy(preference);
    algorithm_ = result.algo;
    workspace_ = result.workspaceSize;
  }

  const Library& l_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  size_t workspace_ = 0;
  bool possible_ = false;
};

/// What a device has of the library.
struct Context {
  std::mutex mutex;  // a plan's bias is set before each use
  cublasLtHandle_t handle = nullptr;
  std::unordered_map<Key, Plan, HashOfKey> plans;
};
/// Never destroyed: the library may be gone first.
Context& context() {
  static auto& contexts = *new std::array<Context, 128>;
  return contexts[static_cast<size_t>(device())];
}

Key key_of(const LibraryProduct& p) {
  const int64_t kind = (p.dtype == DType::float64) | p.a.transposed << 1 | p.b.transposed << 2 |
                       (p.bias != nullptr) << 3 | p.accumulate << 4 | allow_tf32() << 5;
  const auto pair = [](uint32_t a, uint32_t b) { return int64_t{a} << 32 | b; };
  return {kind,
          p.rows,
          p.cols,
          p.inner,
          p.batch,
          p.a.line,
          p.a.batch_stride,
          p.b.line,
          p.b.batch_stride,
          p.c_line,
          p.c_batch_stride,
          p.bias_batch_stride,
          pair(alignment(p.a.data), alignment(p.b.data)),
          pair(alignment(p.c), alignment(p.bias))};
}

}  // namespace

bool multiply(const LibraryProduct& p) {
  const Library* const l = library();
  if (!l) return false;
  Context& c = context();
  const std::scoped_lock lock(c.mutex);
  if (!c.handle) check(l->create(&c.handle), "cublasLtCreate");
  if (c.plans.size() >= most_plans) c.plans.clear();
  Plan& plan = c.plans.try_emplace(key_of(p), *l, c.handle, p).first->second;
  if (plan.possible()) plan.run(c.handle, p);
  return plan.possible();
}

}  // namespace tutti::cuda
