// A transform that turns, stretches, slants and moves images, as handwriting and cameras do.
#pragma once
#include "tutti/nn/data/transforms.h"

#pragma GCC visibility push(default)
namespace tutti::data {

/// How far at most; each is drawn uniformly on both sides of nothing, for every image anew.
struct AffineOptions {
  double degrees = 0;    ///< turned by up to so many
  double scale = 0;      ///< height and width, each by a factor of its own in [1 - scale, 1 + scale]; below 1
  double shear = 0;      ///< slanted by up to so many degrees; below 90
  double translate = 0;  ///< moved by up to so many pixels, down and across
  double fill = 0;       ///< what lies outside the image
};

/// Each image (all of its channels alike) read along a random affine map about its centre, between pixels bilinearly.
/// Any floating dtype, which is kept. ValueError naming an option out of its range, ShapeError
/// unless there are 3 or 4 axes, DTypeError for integers.
Transform random_affine(AffineOptions options);

}  // namespace tutti::data
#pragma GCC visibility pop
