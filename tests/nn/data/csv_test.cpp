// CSV files: numbers, missing values, columns of text, and errors that say how to read the file.
#include "tutti/nn/data/csv.h"

#include <algorithm>
#include <cmath>

#include "support/files.h"
#include "support/gzip.h"

using namespace tutti;
using namespace tutti_test;
using namespace std::string_literals;

namespace {

using Values = std::vector<double>;

Tensor read(const std::string& bytes, const data::CsvOptions& options = {}) {
  return data::read_csv(File("t.csv", bytes).path, options);
}
Values values(const std::string& bytes, const data::CsvOptions& options = {}) {
  return read(bytes, options).to_vector<double>();
}

/// The error, without "read_csv: <path>: ".
std::string complaint(const std::string& bytes, const data::CsvOptions& options = {}) {
  const File f("bad.csv", bytes);
  try {
    data::read_csv(f.path, options);
  } catch (const IoError& e) {
    const std::string text = e.what(), front = "read_csv: " + f.path + ": ";
    return text.starts_with(front) ? text.substr(front.size()) : text;
  }
  return "read";
}

}  // namespace

TEST_CASE("read_csv: numbers, gzipped or not") {
  const std::string text = "a,b\n1, 2.5\r\n-3e2,+4\n\n\"5\",.5";
  for (const std::string& content : {text, gzipped(text)}) {
    const Tensor t = read(content, {.header = true});
    CHECK(t.dtype() == DType::float64);
    CHECK(t.shape() == Dims{3, 2});
    CHECK(t.to_vector<double>() == Values{1, 2.5, -300, 4, 5, 0.5});
  }
  CHECK(values("1;;3\n?;5;\n", {.separator = ';', .missing = -1, .allow_missing = true}) ==
        Values{1, -1, 3, -1, 5, -1});
  CHECK(read("1\t2\n3\t4\n", {.separator = '\t'}).shape() == Dims{2, 2});
  CHECK(values("1,2\r3,4\r") == Values{1, 2, 3, 4});
  CHECK(values("\"1\",\" 2 \"\n 3 , \"4\" \n") == Values{1, 2, 3, 4});
}

TEST_CASE("read_csv: values missing at the ends of a row, with every separator") {
  for (const char c : {',', ';', '\t', ' ', '|'}) {
    const auto row = [&](std::string s) {
      std::replace(s.begin(), s.end(), ',', c);
      return s;
    };
    INFO("separator " << int{c});
    const data::CsvOptions options{.separator = c, .missing = -1, .allow_missing = true};
    const Tensor t = read(row("1,2,3\n,5,6\n7,8,\n,,\n\n,11,\r\n"), options);
    CHECK(t.shape() == Dims{5, 3});
    CHECK(t.to_vector<double>() == Values{1, 2, 3, -1, 5, 6, 7, 8, -1, -1, -1, -1, -1, 11, -1});
    CHECK(read(row("1,2,\n3,4,\n"), options).shape() == Dims{2, 3});  // in every row: the column is not lost
    CHECK(Contains("line 2, column 3: a value is missing").match(complaint(row("1,2,3\n4,5,\n"), {.separator = c})));
    CHECK(Contains("line 2, column 1: a value is missing").match(complaint(row("1,2,3\n,5,6\n"), {.separator = c})));
  }
  CHECK(values("  1   2\t3  \n\n \t \n4 5 6\n", {.separator = data::whitespace}) == Values{1, 2, 3, 4, 5, 6});
  CHECK(values("\"1\" 2\n3 \"4\"\n", {.separator = data::whitespace}) == Values{1, 2, 3, 4});
}

TEST_CASE("read_csv: a byte order mark, and a header after empty lines") {
  CHECK(values("\xef\xbb\xbf"
               "1,2\n") == Values{1, 2});
  CHECK(values("\xef\xbb\xbf\"1\",2\n") == Values{1, 2});
  CHECK(values("\n\n  \na,b\n\n1,2\n", {.header = true}) == Values{1, 2});
  CHECK(values("\xef\xbb\xbf\r\na,b\r\n1,2\r\n", {.header = true}) == Values{1, 2});
  const File f("t.csv", "\xef\xbb\xbf\nheight, \"a, b\"\n1,2\n");
  CHECK(data::read_csv_table(f.path, {.header = true}).header == std::vector<std::string>{"height", "a, b"});
}

TEST_CASE("read_csv: numbers too near to 0 are 0, too large ones and two signs are errors") {
  const std::string zeros(400, '0');
  for (const std::string& tiny : {"1e-400"s, "+1e-400"s, "4.9e-99999999999999999999999"s, "0.1e-9223372036854775808"s,
                                  "0." + zeros + "1"s, "1" + zeros + "e-800", "0." + zeros + "1e50", "2e-324"s})
    CHECK(values(tiny) == Values{0});
  CHECK(std::signbit(read("-1e-400").item()));
  CHECK(values("4.9e-324,1e-310,1.7976931348623157e308") == Values{4.9e-324, 1e-310, 1.7976931348623157e308});
  CHECK(values("0." + zeros + "1e402,1" + zeros + "e-401") == Values{10, 0.1});
  CHECK(values("0e999,0e-999,+0,-0") == Values{0, 0, 0, 0});
  for (const std::string& bad :
       {"1e999"s, "1e400"s, "-1e400"s, "1e99999999999999999999"s, "1e9223372036854775807"s, "1" + zeros,
        "1" + zeros + "e-50", "+-5"s, "-+5"s, "++5"s, "--5"s, "+"s, "-"s, "1e"s, "1.2.3"s, "0x10"s, "1_000"s, "5 5"s})
    CHECK(Contains("line 2, column 1: \"" + bad.substr(0, 40)).match(complaint("1\n" + bad + "\n")));
}

TEST_CASE("read_csv: quotes hold separators, line ends and quotes") {
  const File f("t.csv", "\"a,b\",1\n\"two\r\nlines\", 2\n\"say \"\"hi\"\"\",3\n");
  const data::CsvTable t = data::read_csv_table(f.path, {.categories = {{0, {}}}});
  CHECK(t.categories.at(0) == std::vector<std::string>{"a,b", "say \"hi\"", "two\r\nlines"});
  CHECK(t.values.to_vector<double>() == Values{0, 1, 2, 2, 1, 3});
  CHECK(complaint("1,2\n3,\"4\n5,6\n") == "line 2, column 2: a quote that nothing closes");
  CHECK(complaint("\"1\"x,2\n") == "line 1, column 1: text after the closing quote: x,2\\x0a");
  CHECK(complaint("a \"2\n3,4\n").starts_with("line 1, column 1: \"a \"2\" is not a number; "));
  CHECK(complaint("\"1\n\",2\n3,\"x\n4\"\n", {.categories = {{0, {}}}}) ==
        "line 3, column 2: \"x\\x0a4\" is not a number");
  CHECK(complaint("\"1\n\",2\n3,x4\n", {.categories = {{0, {}}}}) == "line 3, column 2: \"x4\" is not a number");
}

TEST_CASE("read_csv: columns of text are numbered by name") {
  const std::string train = "5.1,setosa,yes\n7,versicolor,no\n6.3,virginica,no\n4.9,setosa,?\n";
  const File f("train.csv", train), test("test.csv", "6,virginica,no\n5,setosa,yes\n"), other("o.csv", "6,rose,no\n");
  const data::CsvOptions options{.missing = -1, .allow_missing = true, .categories = {{1, {}}, {-1, {"yes", "no"}}}};
  const data::CsvTable t = data::read_csv_table(f.path, options);
  CHECK(t.values.to_vector<double>() == Values{5.1, 0, 0, 7, 1, 1, 6.3, 2, 1, 4.9, 0, -1});
  CHECK(t.categories == data::Categories{{1, {"setosa", "versicolor", "virginica"}}, {2, {"yes", "no"}}});
  CHECK(t.header.empty());
  CHECK(values(train, options) == t.values.to_vector<double>());
  // The order of the rows does not matter, and a further file gets the same numbers.
  CHECK(data::read_csv_table(test.path, {.categories = t.categories}).values.to_vector<double>() ==
        Values{6, 2, 1, 5, 0, 0});
  REQUIRE_THROWS_WITH(data::read_csv(other.path, {.categories = t.categories}),
                      "read_csv: " + other.path + ": line 1, column 2: \"rose\" is none of the 3 names in .categories");
  CHECK(values("b\na\n?\n?\nB\n", {.missing = 9, .allow_missing = true, .categories = {{0, {}}}}) ==
        Values{2, 1, 9, 9, 0});
  CHECK(values("?\na\n", {.categories = {{0, {"a", "?"}}}}) == Values{1, 0});  // a name is a name
  CHECK(values("10\n9\n10\n", {.categories = {{0, {}}}}) == Values{0, 1, 0});  // in the order of the bytes
  CHECK(complaint("a\n?\n", {.categories = {{0, {}}}}) ==
        "line 2, column 1: a value is missing; .allow_missing = true reads it as .missing (0)");
  REQUIRE_THROWS_AS(read("1,2\n", {.categories = {{2, {}}}}), IndexError);
  REQUIRE_THROWS_WITH(read("1,2\n", {.categories = {{-3, {}}}}),
                      Contains("categories of column -3, but there are 2 columns"));
  REQUIRE_THROWS_AS(read("1,2\n", {.categories = {{1, {}}, {-1, {}}}}), ValueError);
  REQUIRE_THROWS_WITH(read("1,a\n", {.categories = {{1, {"a", "b", "a"}}}}),
                      "read_csv: categories of column 1 have the name \"a\" twice");
}

TEST_CASE("read_csv: errors name line, column and the option that would read the file") {
  CHECK(complaint("") == "there are no rows");
  CHECK(complaint("a,b\n", {.header = true}) == "there are no rows after the header");
  CHECK(complaint("\na,b\n1,2,3\n", {.header = true}) == "line 2 names 2 columns, the rows after it have 3");
  CHECK(complaint("a,b,c\n1,2\n", {.header = true}) == "line 1 names 3 columns, the rows after it have 2");
  CHECK(complaint("1,2\n3,x4\n") == "line 2, column 2: \"x4\" is not a number");
  CHECK(complaint("1,2\n3,4 5\n") == "line 2, column 2: \"4 5\" is not a number");
  CHECK(complaint("1,1e999\n") == "line 1, column 2: \"1e999\" is not a number");
  CHECK(complaint("1,2\n\n3\n") == "line 3 has 1 columns, the rows before it 2");
  CHECK(complaint("1,2\n3,4,5\n") == "line 2 has 3 columns, the rows before it 2");
  CHECK(complaint("1,\xff\x01\n") ==
        "line 1, column 2: \"\\xff\\x01\" is not a number; .categories = {{1, {}}} numbers the words of this column "
        "(counted from 0)");
  // Each hint is followed: what it names reads the file.
  const std::string missing = "a value is missing; .allow_missing = true reads it as .missing (0)";
  CHECK(complaint("1,\n") == "line 1, column 2: " + missing);
  CHECK(complaint("1,?\n") == "line 1, column 2: " + missing);
  CHECK(values("1,?\n", {.allow_missing = true}) == Values{1, 0});
  CHECK(complaint("1,2\n3,NaN\n") ==
        "line 2, column 2: \"NaN\" is not a number; .allow_missing = true with .na_values = "
        "{\"NaN\"} reads it as .missing (0)");
  CHECK(values("1,2\n3,NaN\n", {.allow_missing = true, .na_values = {"NaN"}}) == Values{1, 2, 3, 0});
  CHECK(complaint("1,2\n3,red\n") ==
        "line 2, column 2: \"red\" is not a number; .categories = {{1, {}}} numbers the words "
        "of this column (counted from 0)");
  CHECK(complaint("a,b\n1,2\n") ==
        "line 1, column 1: \"a\" is not a number; .header = true takes this line for the columns' names");
  for (const auto& [c, name] : {std::pair{';', "';'"}, {'\t', "'\\t'"}, {'|', "'|'"}})
    CHECK(complaint("1"s + c + "2\n") == "line 1, column 1: \"1"s + (c == '\t' ? "\\x09"s : std::string(1, c)) +
                                             "2\" is not a number; .separator = " + name + " would cut it into fields");
  CHECK(complaint("1 2\n") ==
        "line 1, column 1: \"1 2\" is not a number; .separator = data::whitespace would cut it into fields");
  CHECK(complaint("1,2\n", {.separator = ';'}) ==
        "line 1, column 1: \"1,2\" is not a number; .separator = ',' would cut it into fields");
  CHECK(complaint("1  2\n", {.separator = ' '}) ==
        "line 1, column 2: " + missing + "; .separator = data::whitespace takes any run of spaces as one");
  for (const char bad : {'"', '\n', '\r', '0', 'e', '-', '+', '.'})
    REQUIRE_THROWS_AS(read("1\n", {.separator = bad}), ValueError);
  REQUIRE_THROWS_WITH(read("1\n", {.separator = '\n'}), "read_csv: the separator '\\x0a' is part of fields or lines");
}

TEST_CASE("read_csv: files of other formats are called by their name") {
  CHECK(complaint("PK\3\4 ...") == "is no CSV file but a zip archive: unpack it with unzip");
  CHECK(complaint(gzipped("\x93NUMPY\1\0v"s)) == "is no CSV file but a NumPy array (.npy): load_npy reads it");
  CHECK(complaint("\xff\xfe"
                  "1\0,\0002\0"s) == "is no CSV file but text in UTF-16: convert it with iconv -f UTF-16 -t UTF-8");
  CHECK(complaint("<html><body>404</body></html>") ==
        "is no CSV file but a web page: what should have been downloaded is not in it");
}
