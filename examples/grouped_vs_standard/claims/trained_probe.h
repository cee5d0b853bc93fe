// The probe of trained models that several claims share: one training run per setting and seed, everything measured on
// it at once.
#pragma once
#include <functional>
#include <vector>

#include "grouped_vs_standard/claims/base.h"

namespace comparison {

/// What one run's probe holds (all numbers are of the trained model unless said otherwise):
///   accuracy          percent of the test set
///   distance          [layer] attention_distance on the image's grid
///   cka               mean linear CKA between every two parts' contexts, over the blocks
///   damage            points of accuracy lost without one part, the mean over parts and blocks
///   class_spread      deviation over the classes of that loss, the mean over parts and blocks
///   rank, probe       [layer] effective rank of the block's output over all tokens; linear probe of its mean token
///   cosine_start, cosine_early, cosine_end   half_class_cosine untrained, after a quarter of the steps, trained
///   maps              [layer][part] T x T attention weights of the first test image; of seed 1 alone
/// On 1000 test samples (2000 for the linear probe).
nlohmann::json probe_of(const Setting& setting, uint64_t seed);

/// The probes of seeds 1 ... lab.seeds(k), through the lab.
std::vector<nlohmann::json> probes(Lab& lab, const Setting& setting, int64_t k);

/// A number of every probe; `of` gets one probe.
std::vector<double> values(const std::vector<nlohmann::json>& probes,
                           const std::function<double(const nlohmann::json&)>& of);
/// The same by name: a number, or the mean of a list.
std::vector<double> values(const std::vector<nlohmann::json>& probes, const std::string& name);

/// A table row: what, mean of a, mean of b, their difference with its interval.
std::vector<std::string> probe_row(const std::string& what, const std::vector<double>& a, const std::vector<double>& b,
                                   int digits = 2);
std::vector<std::string> probe_header(const std::string& first = "");

}  // namespace comparison
