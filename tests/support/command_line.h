#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "grove/base/file.h"

namespace grove {

namespace fs = std::filesystem;

struct Ended {
  int code = -1;
  std::string out, err;
};

/// Runs the built program in a folder of the test's own.
class CommandLine : public testing::Test {
 protected:
  void SetUp() override {
    // Two builds may be tested at once: a name alone would make them share the folder.
    std::string name = (fs::path(testing::TempDir()) / "grove-cli-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string file(const std::string& name, const std::string& content) {
    std::ofstream(folder / name, std::ios::binary) << content;
    return (folder / name).string();
  }

  /// Two hundred samples of two features that no line separates.
  std::string good_data() {
    std::string lines;
    for (int i = 0; i < 200; ++i)
      lines += (i * 7 % 3 ? "+1" : "-1") + std::string(" 1:") + std::to_string(i % 11 / 11.0) +
               " 2:" + std::to_string(i * 5 % 7 / 7.0) + "\n";
    return file("good.svm", lines);
  }

  Ended grove(const std::string& arguments) {
    const std::string command = "cd '" + folder.string() + "' && " GROVE_PROGRAM " " + arguments +
                                " >out.txt 2>err.txt </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, *read_file(folder / "out.txt"),
            *read_file(folder / "err.txt")};
  }

  /// Refused with exit code 2, one line that contains every given part, and no output file.
  void expect_refused(const std::string& arguments, const std::vector<std::string>& parts) {
    const Ended ended = grove(arguments + " --record never.json --model never-model.json");
    EXPECT_EQ(ended.code, 2) << arguments << "\n" << ended.err;
    const std::string first = ended.err.substr(0, ended.err.find('\n'));
    for (const std::string& part : parts)
      EXPECT_NE(first.find(part), std::string::npos)
          << arguments << "\nsaid: " << first << "\nwithout: " << part;
    EXPECT_FALSE(fs::exists(folder / "never.json")) << arguments;
    EXPECT_FALSE(fs::exists(folder / "never-model.json")) << arguments;
  }

  fs::path folder;
};

}  // namespace grove
