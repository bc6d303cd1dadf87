// The readers on random and on mutated text: either an error that says where, or a valid data set.
// The libFuzzer targets in fuzz/ drive the same functions for longer.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "grove/data/dataset_flaw.h"
#include "grove/data/readers.h"

namespace grove {
namespace {

/// Text of the format with a few bytes replaced, removed, doubled or inserted.
rc::Gen<std::string> mutated(const std::string& start, const std::string& alphabet) {
  return rc::gen::exec([=] {
    std::string text = start;
    const int changes = *rc::gen::inRange(0, 8);
    for (int k = 0; k < changes && !text.empty(); ++k) {
      const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
      const char byte = *rc::gen::oneOf(rc::gen::elementOf(alphabet), rc::gen::arbitrary<char>());
      switch (*rc::gen::inRange(0, 4)) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.erase(at, *rc::gen::inRange<std::size_t>(1, 6));
          break;
        case 2:
          text.insert(at, text.substr(at, *rc::gen::inRange<std::size_t>(1, 12)));
          break;
        default:
          text.insert(at, 1, byte);
      }
    }
    return text;
  });
}

void check(const Result<Dataset>& dataset) {
  if (dataset) {
    RC_ASSERT(dataset_flaw(*dataset) == "");
    return;
  }
  RC_ASSERT(dataset.error().where.starts_with("text"));
  RC_ASSERT(!dataset.error().what.empty());
  RC_ASSERT(dataset.error().text().find('\n') == std::string::npos);
}

const std::string libsvm_alphabet = "0123456789.:+-e# \t\r\nqidnaf";
const std::string libsvm_start = "1 1:0.5 3:-2e1 # note\n-1 2:.25 4:1\r\n\n1 4:7\n-1 1:0\n";
const std::string csv_alphabet = "0123456789.,\"+-e \t\r\nylabn";
const std::string csv_start = "a,\"b \"\"c\"\"\",label\n1,2,0\r\n\"3\",0.5,1\n\n-1e3,0,1\n";

TargetKind arbitrary_kind() {
  return *rc::gen::element(TargetKind::two_classes, TargetKind::number);
}

RC_GTEST_PROP(LibsvmReader, SurvivesMutatedText, ()) {
  check(read_libsvm_text(*mutated(libsvm_start, libsvm_alphabet), "text", arbitrary_kind()));
}

RC_GTEST_PROP(LibsvmReader, SurvivesRandomText, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(libsvm_alphabet));
  check(read_libsvm_text(text, "text", arbitrary_kind()));
}

RC_GTEST_PROP(CsvReader, SurvivesMutatedText, ()) {
  check(read_csv_text(*mutated(csv_start, csv_alphabet), "text", arbitrary_kind()));
}

RC_GTEST_PROP(CsvReader, SurvivesRandomText, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(csv_alphabet));
  check(read_csv_text(text, "text", arbitrary_kind()));
}

struct Row {
  double label = 0;
  std::vector<std::pair<Index, double>> entries;
  bool operator==(const Row&) const = default;
};

std::vector<Row> rows_of(const Dataset& dataset) {
  std::vector<Row> rows;
  for (Index k = 0; k < dataset.samples.count(); ++k) {
    rows.push_back({.label = dataset.samples.targets[k]});
    for_each_nonzero(dataset.samples, k, [&](Index column, double value) {
      rows.back().entries.emplace_back(column, value);
    });
  }
  return rows;
}

// Cutting a text into blocks at any size must not change what is read from it.
RC_GTEST_PROP(LibsvmReader, ReadsTheSameInBlocksOfAnySize, ()) {
  const std::string text = *mutated(libsvm_start, libsvm_alphabet);
  const auto whole = read_libsvm_text(text, "text", TargetKind::number);
  const auto parts = read_libsvm_text(text, "text", TargetKind::number, {},
                                      {.block_bytes = *rc::gen::inRange<std::size_t>(0, 40)});
  RC_ASSERT(static_cast<bool>(whole) == static_cast<bool>(parts));
  if (!whole) {
    RC_ASSERT(whole.error().text() == parts.error().text());
    return;
  }
  RC_ASSERT(rows_of(*whole) == rows_of(*parts));
  RC_ASSERT(whole->samples.features.index() == parts->samples.features.index());
}

/// A text and what is to be read from it.
struct KnownText {
  std::string text;
  std::vector<Row> rows;
  std::string error;  ///< empty: none
};

rc::Gen<std::string> blanks(int least) {
  return rc::gen::apply([](std::size_t count, char blank) { return std::string(count, blank); },
                        rc::gen::inRange<std::size_t>(static_cast<std::size_t>(least), 3),
                        rc::gen::element(' ', '\t'));
}

/// A line of data as text; the numbers are thousandths, so that any reader gets them exactly.
std::string data_line(Row& row) {
  row.label = *rc::gen::inRange(-3, 4);
  std::string line = *blanks(0) + fmt::format("{}", row.label);
  Index column = 0;
  for (int k = *rc::gen::inRange(0, 4); k > 0; --k) {
    column += *rc::gen::inRange(1, 5);
    const double value = *rc::gen::inRange(-2000, 2000) / 1000.0;
    line += *blanks(1) + fmt::format("{}:{:.3f}", column, value);
    if (value != 0) row.entries.emplace_back(column - 1, value);
  }
  return line + *blanks(0);
}

KnownText arbitrary_text() {
  KnownText known;
  const int lines = *rc::gen::inRange(1, 12);
  const int bad_line = *rc::gen::inRange(1, 24);  // often past the end: then all is right
  for (int line = 1; line <= lines; ++line) {
    if (line > 1) known.text += *rc::gen::element<std::string>("\n", "\r\n");
    if (line == bad_line) {
      known.error = fmt::format("text:{}: expected index:value, found `wrong`", line);
      known.text += "1 wrong";
    } else if (*rc::gen::inRange(0, 3) > 0) {
      known.text += data_line(known.rows.emplace_back());
    }
    known.text += *rc::gen::element<std::string>("", "", "# wrong:wrong");
  }
  known.text += *rc::gen::element<std::string>("", "\n", "\r\n", "\n\n");
  // Text without any feature is refused, which another test looks at.
  RC_PRE(!known.error.empty() || known.text.find(':') < known.text.find('#'));
  return known;
}

// Every block size cuts the text at every line end in turn; several threads parse the blocks.
RC_GTEST_PROP(LibsvmReader, ReadsKnownTextWithAnyCutAndAnyNumberOfThreads, ()) {
  const KnownText known = arbitrary_text();
  for (std::size_t size = 0; size <= known.text.size(); ++size) {
    const int threads = *rc::gen::inRange(1, 5);
    const auto read = read_libsvm_text(known.text, "text", TargetKind::number, {.threads = threads},
                                       {.block_bytes = size});
    if (known.error.empty()) {
      RC_ASSERT(static_cast<bool>(read));
      RC_ASSERT(rows_of(*read) == known.rows);
    } else {
      RC_ASSERT(!read);
      RC_ASSERT(read.error().text() == known.error);
    }
  }
}

}  // namespace
}  // namespace grove
