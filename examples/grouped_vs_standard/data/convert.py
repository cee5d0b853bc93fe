#!/usr/bin/env python3
"""Makes splice.csv.gz, cells.csv.gz and arrhythmia.csv.gz from three Debian packages (README.md says what they hold):

    apt-get download r-cran-mlbench r-cran-modeldata octave-statistics
    for package in *.deb; do dpkg-deb -x "$package" unpacked; done
    python3 convert.py unpacked

Writes into the current folder. Needs Python's standard library only.
"""
import glob
import gzip
import lzma
import math
import struct
import sys

import octave_file
import r_file

# The 56 measurements of a cell in families, which become tokens. The names end in the channel (_ch_1 .. _ch_4).
CELL_FAMILIES = [
    ["area_ch_1", "perim_ch_1", "length_ch_1", "width_ch_1", "eq_circ_diam_ch_1", "eq_sphere_area_ch_1",
     "eq_sphere_vol_ch_1", "eq_ellipse_oblate_vol_ch_1", "eq_ellipse_prolate_vol_ch_1"],  # size
    ["angle_ch_1", "convex_hull_area_ratio_ch_1", "convex_hull_perim_ratio_ch_1", "eq_ellipse_lwr_ch_1",
     "shape_bfr_ch_1", "shape_lwr_ch_1", "shape_p_2_a_ch_1", "fiber_length_ch_1", "fiber_width_ch_1"],  # shape
    ["neighbor_avg_dist_ch_1", "neighbor_min_dist_ch_1", "neighbor_var_dist_ch_1"],
    *[[name + channel for name in ("avg_inten", "total_inten", "var_inten", "skew_inten", "kurt_inten",
                                   "entropy_inten", "diff_inten_density") if channel != "_ch_2" or name[0] in "at"]
      for channel in ("_ch_1", "_ch_2", "_ch_3", "_ch_4")],  # brightness; channel 2 has avg_inten and total_inten alone
    *[[name + channel for name in ("inten_cooc_asm", "inten_cooc_contrast", "inten_cooc_entropy", "inten_cooc_max",
                                   "fiber_align_2", "spot_fiber_count")] for channel in ("_ch_3", "_ch_4")],  # texture
]


def only(folder, pattern):
    found = glob.glob(f"{folder}/**/{pattern}", recursive=True)
    if len(found) != 1:
        sys.exit(f"{folder}: {len(found)} files {pattern}, one expected")
    with open(found[0], "rb") as file:
        return file.read()


def number(value):
    return "?" if math.isnan(value) else f"{value:.6g}"


def write(name, header, rows):
    text = "\n".join([",".join(header)] + [",".join(row) for row in rows]) + "\n"
    with gzip.GzipFile(name, "wb", compresslevel=9, mtime=0) as file:
        file.write(text.encode())


def splice(folder):
    """A, C, G, T as 0 .. 3: the source has three indicators for each of 60 positions, 100, 010, 001 and 000."""
    saved = lzma.decompress(only(folder, "mlbench/data/DNA.rda"))
    columns = r_file.Reader(saved.removeprefix(b"RDX2\n")).object()["DNA"]
    bits = [[code - 1 for code in column] for column in columns[:180]]  # factors with the levels "0" and "1"
    letters = [["3" if a + c + g == 0 else str((a, c, g).index(1)) for a, c, g in zip(*bits[3 * t : 3 * t + 3])]
               for t in range(60)]
    classes = [str(code - 1) for code in columns[180]]  # levels ei, ie, n
    write("splice.csv.gz", [f"p{t - 30 if t < 30 else t - 29}" for t in range(60)] + ["class"], zip(*letters, classes))


def cells(folder):
    index = r_file.Reader(gzip.decompress(only(folder, "modeldata/data/Rdata.rdx"))).object()[0]
    begin, size = dict(zip(index.attributes["names"], index))["cells"]
    packed = only(folder, "modeldata/data/Rdata.rdb")[begin : begin + size]
    if packed[4:5] != b"Z":
        sys.exit("cells: not compressed with xz")
    saved = lzma.decompress(packed[5:], lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 6}])
    table = r_file.Reader(saved).object()
    table = dict(zip(table.attributes["names"], table))
    names = sum(CELL_FAMILIES, [])
    if struct.unpack(">i", packed[:4])[0] != len(saved) or sorted(names + ["case", "class"]) != sorted(table):
        sys.exit("cells: damaged, or other columns than expected")
    features = [[number(value) for value in table[name]] for name in names]
    case = [str(code - 1) for code in table["case"]]  # levels Test, Train
    label = [str(code - 1) for code in table["class"]]  # levels PS, WS: poorly and well segmented
    write("cells.csv.gz", names + ["case", "class"], zip(*features, case, label))


def arrhythmia(folder):
    """15 general columns, then 22 for each of the 12 leads (in the source: 12 of each lead, then 10 of each)."""
    table = octave_file.Reader(only(folder, "arrhythmia.mat")).variables()
    order = list(range(15))
    for lead in range(12):
        order += [15 + 12 * lead + i for i in range(12)] + [15 + 12 * 12 + 10 * lead + i for i in range(10)]
    names = ['"' + table["VarNames"][i].replace(",", "") + '"' for i in order]
    present = sorted(set(table["Y"][0]))  # 13 of the 16 classes occur
    classes = [str(present.index(value)) for value in table["Y"][0]]
    rows = zip(*[[number(value) for value in table["X"][i]] for i in order], classes)
    write("arrhythmia.csv.gz", names + ["class"], rows)


if len(sys.argv) != 2:
    sys.exit(__doc__)
for convert in (splice, cells, arrhythmia):
    convert(sys.argv[1])
