// Sort-of-CLEVR (Santoro et al. 2017, arXiv 1706.01427): questions about six coloured objects in an image.
#pragma once
#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

/// An image has 75x75 pixels on white and one object of each of six colours: a square of 11x11 pixels or a disc of that
/// diameter, centres at least 10 pixels apart. It comes with 10 questions of each sort, of a random colour and kind:
/// not relational: what shape is it (0)? is it on the left (1), at the top (2)? relational: what shape has the object
/// closest to it (3), furthest from it (4)? how many others have its shape (5)? Answers (classes 10): yes, no, square,
/// disc, 0 to 5.
///
/// Token 0 is the question, the others the image's patches of patch x patch pixels, row by row (the last ones padded
/// with white): T = 1 + ceil(75 / patch)^2. inputs = 3 patch^2 + 12: a patch's pixels as 1 - colour, which is 0 in the
/// question; then the colour and the kind asked for as two one-hot codes, which are 0 in a patch. patch is 13 by
/// default (T 37), from 3 to 75.
///
/// A sample is an image and a question; 40000 training samples by default (2000 images; the authors have 9800), other
/// ones for every seed, 10000 test samples (500 images). train must be a multiple of the questions of an image: 20.
/// x is uint8 [N, 20]: column, row and shape of each object, colour and kind; tokens_of draws the image. Published
/// (relational questions): CNN with MLP 63 %, relation network 94.
///
/// Variants: "relational" and "non_relational" keep the questions of one sort (10 of an image). "relational_beside":
/// with the question's codes in every token, beside the patch's pixels. "relational_objects" and
/// "non_relational_objects": tokens 1 to 6 are the objects instead of patches, in the order of colours, each described
/// by colour (6 one-hot numbers), shape (2), column and row ((c - 37) / 20): T 7, inputs 10 + 12.
/// "relational_objects_beside": with the question's codes in every token, beside the object's description.
Task sort_of_clevr(const TaskSpec& spec);

}  // namespace comparison
