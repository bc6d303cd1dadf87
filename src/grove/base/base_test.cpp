#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "grove/base/bytes.h"
#include "grove/base/file.h"
#include "grove/base/random.h"
#include "grove/base/text.h"

namespace grove {
namespace {

TEST(KeyedRandom, SameKeyGivesSameNumbersAndEveryFieldOfTheKeyMatters) {
  const RandomKey key{.seed = 7, .purpose = Purpose::graph, .agent = 1, .round = 2, .step = 3};
  std::set<std::uint64_t> first_draws{KeyedRandom(key)()};
  EXPECT_EQ(KeyedRandom(key)(), *first_draws.begin());
  for (RandomKey other :
       {RandomKey{8, key.purpose, 1, 2, 3}, RandomKey{7, Purpose::partition, 1, 2, 3},
        RandomKey{7, key.purpose, 2, 2, 3}, RandomKey{7, key.purpose, 1, 3, 3},
        RandomKey{7, key.purpose, 1, 2, 4}})
    first_draws.insert(KeyedRandom(other)());
  EXPECT_EQ(first_draws.size(), 6u);
}

// Mean 1/2 and variance 1/12 of the uniform law, 0 and 1 of the normal one, to five standard
// errors.
TEST(KeyedRandom, HasTheMomentsOfItsLaws) {
  KeyedRandom random(RandomKey{.seed = 3});
  constexpr int draws = 200000;
  double uniform_sum = 0, uniform_squares = 0, normal_sum = 0, normal_squares = 0;
  for (int k = 0; k < draws; ++k) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    const double z = random.normal();
    uniform_sum += u;
    uniform_squares += (u - 0.5) * (u - 0.5);
    normal_sum += z;
    normal_squares += z * z;
  }
  EXPECT_NEAR(uniform_sum / draws, 0.5, 5 * std::sqrt(1.0 / 12 / draws));
  EXPECT_NEAR(uniform_squares / draws, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / draws));
  EXPECT_NEAR(normal_sum / draws, 0.0, 5 * std::sqrt(1.0 / draws));
  EXPECT_NEAR(normal_squares / draws, 1.0, 5 * std::sqrt(2.0 / draws));
}

TEST(KeyedRandom, BelowCoversItsRangeEvenly) {
  KeyedRandom random(RandomKey{.seed = 5});
  std::array<int, 7> counts{};
  for (int k = 0; k < 70000; ++k) ++counts[random.below(7)];
  for (int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(Text, NumbersAreReadWholeOrNotAtAll) {
  EXPECT_EQ(parse_double("1e-3"), 1e-3);
  EXPECT_EQ(parse_double("+2.5"), 2.5);
  EXPECT_FALSE(parse_double("1.5x"));
  EXPECT_FALSE(parse_double("+-1"));
  EXPECT_FALSE(parse_double(""));
  EXPECT_FALSE(parse_integer("1.5"));
  EXPECT_EQ(parse_integer("-12"), -12);
}

TEST(Text, ClosestFindsTyposAndLeavesStrangersAlone) {
  const std::vector<std::string> names{"penalty", "prox", "participation"};
  EXPECT_EQ(closest("penalti", names), "penalty");
  EXPECT_EQ(closest("participaton", names), "participation");
  EXPECT_FALSE(closest("zebra-crossing", names));
}

TEST(Text, ExactNumbersReadBack) {
  for (double value : {0.1, 1.0 / 3, 1e-300, 5e-324, 12345678.9}) {
    EXPECT_EQ(parse_double(exact(value)), value);
  }
}

TEST(File, WritingReplacesTheWholeFileAndLeavesNoTemporary) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "grove-file-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_file_atomically(folder / "a.json", "first"));
  ASSERT_TRUE(write_file_atomically(folder / "a.json", "second"));
  EXPECT_EQ(*read_file(folder / "a.json"), "second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  const Status refused = write_file_atomically(folder / "no" / "a.json", "x");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("no/a.json"), std::string::npos);
}

// The child dies in the middle of writing, by the signal for files that grow too large.
TEST(File, AProcessThatDiesWhileWritingLeavesNothingBehind) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "grove-file-death";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const int probe = ::open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (probe < 0) GTEST_SKIP() << "the file system of " << folder << " has no nameless files";
  ::close(probe);
  ASSERT_TRUE(write_file_atomically(folder / "old.json", "old"));
  for (const char* name : {"old.json", "new.json"}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const rlimit small{1000, 1000}, no_core{0, 0};
      ::setrlimit(RLIMIT_FSIZE, &small);
      ::setrlimit(RLIMIT_CORE, &no_core);
      const Status written = write_file_atomically(folder / name, std::string(100'000, 'x'));
      ::_exit(written ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) << status;
  }
  EXPECT_EQ(*read_file(folder / "old.json"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

class FileKinds : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  static mode_t mode_of(const std::filesystem::path& path) {
    struct stat status {};
    ::stat(path.c_str(), &status);
    return status.st_mode & 07777;
  }
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "grove-file-kinds";
};

TEST_F(FileKinds, LinksStayAndWhatTheyPointToIsWritten) {
  std::filesystem::create_symlink("end.json", folder / "middle.json");
  std::filesystem::create_symlink(folder / "middle.json", folder / "link.json");
  for (const char* content : {"first", "second"}) {
    ASSERT_TRUE(write_file_atomically(folder / "link.json", content));
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.json"));
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "middle.json"));
    EXPECT_EQ(*read_file(folder / "end.json"), content);
  }
}

TEST_F(FileKinds, DevicesAndPipesAreWrittenTo) {
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::string received;
  std::jthread reader([&] { received = *read_file(folder / "pipe"); });
  ASSERT_TRUE(write_file_atomically(folder / "pipe", "through"));
  reader.join();
  EXPECT_EQ(received, "through");
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
  EXPECT_FALSE(write_file_atomically("/dev/full", "x"));
  EXPECT_TRUE(check_writable("/dev/null"));
}

TEST_F(FileKinds, PermissionsAreThoseOfTheUmaskOrOfTheFileReplaced) {
  const mode_t before = ::umask(027);
  ASSERT_TRUE(write_file_atomically(folder / "new", "x"));
  ::umask(before);
  EXPECT_EQ(mode_of(folder / "new"), 0640u);
  ::chmod((folder / "new").c_str(), 0604);
  ASSERT_TRUE(write_file_atomically(folder / "new", "y"));
  EXPECT_EQ(mode_of(folder / "new"), 0604u);
}

TEST_F(FileKinds, WhereNothingCanBeWrittenIsKnownBeforehand) {
  EXPECT_TRUE(check_writable(folder / "new"));
  EXPECT_FALSE(check_writable(folder));
  EXPECT_FALSE(check_writable(folder / "no" / "new"));
  std::filesystem::create_symlink(folder / "no" / "end", folder / "link");
  EXPECT_FALSE(check_writable(folder / "link"));
}

TEST(Bytes, ReadBackWhatWasWrittenAndNoticeTruncation) {
  ByteWriter writer;
  const Vector written = Vector::LinSpaced(5, -1, 1);
  writer.put(std::uint32_t{7});
  writer.put(written);
  std::uint32_t number = 0;
  Vector read = Vector::Zero(5);
  ByteReader reader(writer.bytes());
  reader.get(number);
  reader.get(read);
  EXPECT_TRUE(reader.finished());
  EXPECT_EQ(number, 7u);
  EXPECT_EQ(read, written);

  ByteReader truncated(std::string_view(writer.bytes()).substr(0, writer.bytes().size() - 1));
  truncated.get(number);
  truncated.get(read);
  EXPECT_FALSE(truncated.ok());

  Vector wrong_dimension = Vector::Zero(4);
  ByteReader mismatched(writer.bytes());
  mismatched.get(number);
  mismatched.get(wrong_dimension);
  EXPECT_FALSE(mismatched.ok());
}

}  // namespace
}  // namespace grove
