// The readers on random and on mutated text: either an error that says where, or a valid data set.
// The libFuzzer targets in fuzz/ drive the same functions for longer.

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

// Cutting a text into blocks at any size must not change what is read from it.
RC_GTEST_PROP(LibsvmReader, ReadsTheSameInBlocksOfAnySize, ()) {
  const std::string text = *mutated(libsvm_start, libsvm_alphabet);
  const auto whole = read_libsvm_text(text, "text", TargetKind::number);
  const auto parts = read_libsvm_text(text, "text", TargetKind::number,
                                      {.block_bytes = *rc::gen::inRange<std::size_t>(0, 40)});
  RC_ASSERT(static_cast<bool>(whole) == static_cast<bool>(parts));
  if (!whole) {
    RC_ASSERT(whole.error().text() == parts.error().text());
    return;
  }
  RC_ASSERT(whole->samples.targets == parts->samples.targets);
  RC_ASSERT(whole->samples.features.index() == parts->samples.features.index());
  for (Index row = 0; row < whole->samples.count(); ++row) {
    std::vector<std::pair<Index, double>> first, second;
    for_each_nonzero(whole->samples, row, [&](Index c, double v) { first.emplace_back(c, v); });
    for_each_nonzero(parts->samples, row, [&](Index c, double v) { second.emplace_back(c, v); });
    RC_ASSERT(first == second);
  }
}

}  // namespace
}  // namespace grove
