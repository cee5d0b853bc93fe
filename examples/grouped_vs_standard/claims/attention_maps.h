// What both layers look at in one image.
#pragma once
#include "grouped_vs_standard/claims/claim.h"

namespace comparison {

/// Attention weights (rows: queries, columns: keys, in raster order of the patches) of the first test image, for every
/// head of the standard and every group of the grouped model of base::sweep(), trained from seed 1, both blocks.
/// Empty while the lab has not trained them.
Heatmaps attention_maps(Lab& lab);

}  // namespace comparison
