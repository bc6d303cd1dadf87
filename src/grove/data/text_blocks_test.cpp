#include "grove/data/text_blocks.h"

#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

#include "grove/data/dataset.h"
#include "grove/data/test_files.h"

namespace grove {
namespace {

using testing_files::compressed;
using testing_files::TestFolder;

struct Filter {
  std::string ending;
  std::string name;
  int code;
};
const std::vector<Filter> filters{{".bz2", "bzip2", ARCHIVE_FILTER_BZIP2},
                                  {".gz", "gzip", ARCHIVE_FILTER_GZIP},
                                  {".xz", "xz", ARCHIVE_FILTER_XZ}};

/// Lines that do not compress to almost nothing.
std::string some_lines(int count) {
  std::string text;
  unsigned state = 1;
  for (int k = 0; k < count; ++k) {
    state = state * 1664525u + 1013904223u;
    text +=
        std::to_string(k % 2) + " 1:" + std::to_string(state) + " 7:" + std::to_string(k) + "\n";
  }
  return text;
}

struct Gathered {
  std::string text;
  std::size_t blocks = 0;
  std::string error;
};

Gathered gather(const std::string& path, const TextOptions& options = {}) {
  Gathered gathered;
  const auto source = open_blocks(path, options);
  if (!source) return {.error = source.error().text()};
  for (;; ++gathered.blocks) {
    const Result<TextBlock> block = (*source)->next();
    if (!block) gathered.error = block.error().text();
    if (!block || block->text.empty()) return gathered;
    EXPECT_TRUE(gathered.text.empty() || gathered.text.ends_with('\n'));
    gathered.text += block->text;
  }
}

TEST(Blocks, GivesTheSameTextMappedCompressedAndThroughAPipe) {
  const TestFolder folder;
  const std::string text = some_lines(3000) + "last line without an end";
  const TextOptions options{.block_bytes = 1000};
  const Gathered mapped = gather(folder.write("plain", text), options);
  EXPECT_EQ(mapped.text, text);
  EXPECT_GT(mapped.blocks, 50u);
  for (const Filter& filter : filters) {
    const Gathered streamed =
        gather(folder.write("text" + filter.ending, compressed(text, filter.code)), options);
    EXPECT_EQ(streamed.error, "");
    EXPECT_EQ(streamed.text, text) << filter.ending;
    EXPECT_GT(streamed.blocks, 50u);
  }
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << text; });
  EXPECT_EQ(gather(pipe, options).text, text);
  writer.join();
}

TEST(Blocks, JoinsConcatenatedCompressedFilesAsTheirToolsDo) {
  const TestFolder folder;
  const std::string text = some_lines(50);
  for (const Filter& filter : filters) {
    const std::string once = compressed(text, filter.code);
    EXPECT_EQ(gather(folder.write("twice" + filter.ending, once + once)).text, text + text);
  }
}

// A shorter data set must never come out of a damaged file.
TEST(Blocks, RefusesACompressedFileTruncatedAnywhere) {
  const TestFolder folder;
  for (const Filter& filter : filters) {
    const std::string whole = compressed(some_lines(200), filter.code);
    for (std::size_t size = 1; size < whole.size(); size += size < whole.size() - 20 ? 37 : 1) {
      const std::string file = folder.write("cut" + filter.ending, whole.substr(0, size));
      const Gathered cut = gather(file);
      EXPECT_NE(cut.error, "") << filter.name << " cut to " << size << " of " << whole.size();
      EXPECT_TRUE(cut.error.starts_with(file + ": expected ")) << cut.error;
      EXPECT_NE(cut.error.find(filter.name), std::string::npos) << cut.error;
    }
  }
}

TEST(Blocks, RefusesACompressedFileWithAnyOneBitWrong) {
  const TestFolder folder;
  for (const Filter& filter : filters) {
    const std::string text = some_lines(100);
    const std::string whole = compressed(text, filter.code);
    for (std::size_t k = 10; k < whole.size(); k += 7) {  // the header has bytes that do not matter
      std::string damaged = whole;
      damaged[k] = static_cast<char>(damaged[k] ^ (1 << k % 8));
      const Gathered read = gather(folder.write("bad" + filter.ending, damaged));
      EXPECT_TRUE(read.error != "" || read.text == text) << filter.name << " byte " << k;
    }
  }
}

TEST(Blocks, RefusesBytesAfterTheCompressedData) {
  const TestFolder folder;
  for (const Filter& filter : filters) {
    const std::string whole = compressed(some_lines(20), filter.code);
    for (const std::string& rest :
         {whole.substr(0, 5), std::string("x"), std::string("garbage....")})
      EXPECT_NE(gather(folder.write("rest" + filter.ending, whole + rest)).error, "")
          << filter.name;
  }
}

TEST(Blocks, RefusesPlainTextUnderACompressedName) {
  const TestFolder folder;
  for (const Filter& filter : filters) {
    const std::string file = folder.write("plain" + filter.ending, "1 1:1\n");
    EXPECT_EQ(gather(file).error,
              file + ": expected " + filter.name + " data, as the name ends in " + filter.ending);
  }
}

TEST(Blocks, StopsAtItsLimitsInsteadOfFillingMemory) {
  const TestFolder folder;
  const std::string bomb = compressed(std::string(1 << 20, '\n'), ARCHIVE_FILTER_BZIP2);
  EXPECT_LT(bomb.size(), 200u);
  const std::string file = folder.write("bomb.bz2", bomb);
  EXPECT_EQ(gather(file, {.decompressed_bytes = 100000}).error,
            file + ": expands to more than 100000 bytes, expected less");
  const std::string line =
      folder.write("line.bz2", compressed(std::string(1 << 20, '1'), ARCHIVE_FILTER_BZIP2));
  EXPECT_EQ(gather(line, {.block_bytes = 1000, .line_bytes = 50000}).error,
            line + ": a line is longer than 50000 bytes, expected shorter ones");
}

TEST(Blocks, SaysWhyAFileCannotBeRead) {
  const TestFolder folder;
  const std::string missing = (folder.path() / "missing").string();
  EXPECT_EQ(gather(missing).error, missing + ": cannot open: No such file or directory");
  EXPECT_EQ(gather(folder.path().string()).error,
            folder.path().string() + ": is a folder, expected a file");
  const std::string empty = folder.write("empty", "");
  EXPECT_EQ(gather(empty).error, empty + ": is empty, expected samples");
  const std::string nothing = folder.write("nothing.bz2", compressed("", ARCHIVE_FILTER_BZIP2));
  EXPECT_EQ(load_dataset(nothing, TargetKind::number, 1).error().text(),
            nothing + ": has no samples, expected at least one line of data");
}

TEST(Blocks, NoticesThatAMappedFileWasCutWhileItWasRead) {
  const TestFolder folder;
  const std::string file = folder.write("shrinking", some_lines(3000));
  const auto source = open_blocks(file, {.block_bytes = 1000});
  ASSERT_TRUE(source);
  ASSERT_TRUE((*source)->next());
  std::filesystem::resize_file(file, 10);
  const Result<TextBlock> next = (*source)->next();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().text(),
            file + ": became shorter while it was read, expected a file that stays as it is");
}

TEST(Blocks, SkipsAByteOrderMark) {
  const TestFolder folder;
  EXPECT_EQ(gather(folder.write("marked",
                                "\xEF\xBB\xBF"
                                "1 1:1\n"))
                .text,
            "1 1:1\n");
}

TEST(Blocks, ReportsTheLineOfAnErrorInAnyBlock) {
  const TestFolder folder;
  const std::string text = some_lines(400000);  // several blocks
  ASSERT_GT(text.size(), 2 * TextOptions{}.block_bytes);
  const std::string file = folder.write("long", text + "1 0:1\n");
  EXPECT_EQ(load_dataset(file, TargetKind::number, 1).error().where, file + ":400001");
  const std::string packed =
      folder.write("long.gz", compressed(text + "1 0:1\n", ARCHIVE_FILTER_GZIP));
  EXPECT_EQ(load_dataset(packed, TargetKind::number, 1).error().where, packed + ":400001");
}

}  // namespace
}  // namespace grove
