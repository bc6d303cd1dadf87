#include "grove/data/fetch.h"

#include <set>

#include <gtest/gtest.h>

#include "grove/base/file.h"
#include "grove/data/digest.h"
#include "grove/data/test_files.h"
#include "grove/data/test_server.h"

namespace grove {
namespace {

using testing_files::compressed;
using testing_files::public_file;
using testing_files::ServerBehaviour;
using testing_files::TestFolder;
using testing_files::TestServer;

const std::string content = [] {
  std::string text;
  for (int k = 0; k < 20000; ++k) text += std::to_string(k * k) + " 1:" + std::to_string(k) + "\n";
  return text;
}();

std::string sum_of(std::string_view text) {
  Sha256 digest;
  digest.update(text);
  return digest.finish();
}

/// A plain text set called `set.txt` with the content above; the sum is kept alive by the caller.
PublicSet plain_set(const std::string& sum) {
  return {.name = "set",
          .path = "folder/set.txt",
          .kind = TargetKind::number,
          .samples = 20000,
          .features = 1,
          .bytes = content.size(),
          .sha256 = sum,
          .text_bytes = content.size(),
          .text_sha256 = sum};
}

class FetchTest : public testing::Test {
 protected:
  Result<std::filesystem::path> fetch_from(const std::string& base_url) {
    return fetch(set, {.base_url = base_url, .folder = folder.path()});
  }
  std::string error_from(const std::string& base_url) {
    const auto fetched = fetch_from(base_url);
    return fetched ? "no error" : fetched.error().text();
  }
  bool has(const std::string& name) { return std::filesystem::exists(folder.path() / name); }

  TestFolder folder;
  std::string sum = sum_of(content);
  PublicSet set = plain_set(sum);
};

// From the Secure Hash Standard's examples.
TEST(Sha256, GivesThePublishedSums) {
  EXPECT_EQ(sum_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sum_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(FetchTest, DownloadsChecksAndNamesTheFile) {
  const TestServer server({.content = content});
  std::uint64_t last_received = 0;
  const auto fetched = fetch(set, {.base_url = server.url() + "/",
                                   .folder = folder.path() / "new",
                                   .progress = [&](const FetchProgress& progress) {
                                     EXPECT_GE(progress.received_bytes, last_received);
                                     EXPECT_EQ(progress.total_bytes, content.size());
                                     last_received = progress.received_bytes;
                                     return true;
                                   }});
  ASSERT_TRUE(fetched) << fetched.error().text();
  EXPECT_EQ(*fetched, folder.path() / "new" / "set.txt");
  EXPECT_EQ(*read_file(*fetched), content);
  EXPECT_FALSE(has("new/set.txt.part"));
  EXPECT_EQ(last_received, content.size());
  EXPECT_TRUE(server.requests()[0].starts_with("GET /folder/set.txt "));
}

TEST_F(FetchTest, DoesNotLoadAgainWhatIsThereAndRight) {
  const TestServer server({.content = content});
  ASSERT_TRUE(fetch_from(server.url()));
  ASSERT_TRUE(fetch_from(server.url()));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(FetchTest, LeavesAWrongFileOfThatNameAlone) {
  const std::string file = folder.write("set.txt", "mine");
  const TestServer server({.content = content});
  EXPECT_NE(error_from(server.url()).find("remove it to download anew"), std::string::npos);
  EXPECT_EQ(*read_file(file), "mine");
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(FetchTest, ResumesAfterADroppedConnection) {
  {
    const TestServer dropping({.content = content, .drop_after = 1000});
    EXPECT_NE(error_from(dropping.url()).find("download failed"), std::string::npos);
  }
  EXPECT_EQ(std::filesystem::file_size(folder.path() / "set.txt.part"), 1000u);
  EXPECT_FALSE(has("set.txt"));
  const TestServer server({.content = content});
  const auto fetched = fetch_from(server.url());
  ASSERT_TRUE(fetched) << fetched.error().text();
  EXPECT_EQ(*read_file(*fetched), content);
  EXPECT_NE(server.requests()[0].find("Range: bytes=1000-"), std::string::npos);
}

TEST_F(FetchTest, StartsAgainWhereTheServerIgnoresTheRange) {
  folder.write("set.txt.part", content.substr(0, 5000));
  const TestServer server({.content = content, .ignores_ranges = true});
  const auto fetched = fetch_from(server.url());
  ASSERT_TRUE(fetched) << fetched.error().text();
  EXPECT_EQ(*read_file(*fetched), content);
}

TEST_F(FetchTest, FinishesAPartThatIsAlreadyWholeWithoutTheServer) {
  folder.write("set.txt.part", content);
  EXPECT_TRUE(fetch_from("http://127.0.0.1:1"));
}

TEST_F(FetchTest, StartsAgainWhenThePartIsTooLong) {
  folder.write("set.txt.part", content + "more");
  const TestServer server({.content = content});
  EXPECT_TRUE(fetch_from(server.url()));
}

TEST_F(FetchTest, RefusesAWrongChecksumShowsBothAndDeletesThePart) {
  std::string other = content;
  other[100] = '?';
  const TestServer server({.content = other});
  EXPECT_EQ(error_from(server.url()), (folder.path() / "set.txt.part").string() +
                                          ": wrong checksum: expected sha256 " + sum + ", found " +
                                          sum_of(other));
  EXPECT_FALSE(has("set.txt.part"));
  EXPECT_FALSE(has("set.txt"));
}

TEST_F(FetchTest, RefusesAWrongSize) {
  const TestServer shorter({.content = content.substr(1)});
  EXPECT_NE(error_from(shorter.url())
                .find("wrong size: expected " + std::to_string(content.size()) + " bytes, found " +
                      std::to_string(content.size() - 1)),
            std::string::npos);
  const TestServer longer({.content = content + content});
  EXPECT_NE(error_from(longer.url()).find("wrong size"), std::string::npos);
  EXPECT_FALSE(has("set.txt.part"));
  EXPECT_FALSE(has("set.txt"));
}

TEST_F(FetchTest, SaysWhatTheServerAnswered) {
  const TestServer server({.status = "404 Not Found"});
  EXPECT_EQ(error_from(server.url()),
            server.url() + "/folder/set.txt: expected the file, the server answered HTTP 404");
  EXPECT_FALSE(has("set.txt.part"));
}

TEST_F(FetchTest, FollowsRedirectsToHttpButNotToFiles) {
  const std::string secret = folder.write("secret", content);
  const TestServer server({.content = content});
  const TestServer honest({.redirect_to = server.url() + "/elsewhere"});
  const TestServer sly({.redirect_to = "file://" + secret});
  EXPECT_EQ(error_from(sly.url()),
            sly.url() + "/folder/set.txt: expected an https, http or file address");
  EXPECT_TRUE(fetch_from(honest.url()));
}

TEST_F(FetchTest, RefusesOtherProtocols) {
  EXPECT_EQ(error_from("ftp://127.0.0.1"),
            "ftp://127.0.0.1/folder/set.txt: expected an https, http or file address");
}

TEST_F(FetchTest, GivesUpOnAServerThatIsNotThere) {
  EXPECT_NE(error_from("http://127.0.0.1:1").find("download failed: "), std::string::npos);
}

TEST_F(FetchTest, CopiesAndResumesFromAFileAddress) {
  const TestFolder mirror;
  std::filesystem::create_directory(mirror.path() / "folder");
  mirror.write("folder/set.txt", content);
  folder.write("set.txt.part", content.substr(0, 777));
  const auto fetched = fetch_from("file://" + mirror.path().string());
  ASSERT_TRUE(fetched) << fetched.error().text();
  EXPECT_EQ(*read_file(*fetched), content);
}

TEST_F(FetchTest, KeepsThePartWhereAnAddressHasNoFile) {
  folder.write("set.txt.part", content.substr(0, 777));
  EXPECT_TRUE(
      error_from("file:///nowhere").starts_with("file:///nowhere/folder/set.txt: download"));
  EXPECT_TRUE(has("set.txt.part"));
}

TEST_F(FetchTest, TakesTheWholeAddressWhereOneIsGiven) {
  const TestServer server({.content = content});
  ASSERT_TRUE(fetch(set, {.url = server.url() + "/other/name?x=1", .folder = folder.path()}));
  EXPECT_TRUE(server.requests()[0].starts_with("GET /other/name?x=1 "));
  EXPECT_TRUE(has("set.txt"));
}

TEST_F(FetchTest, KeepsThePartWhenTheUserStops) {
  folder.write("set.txt.part", content.substr(0, 100));
  const TestServer server({.content = content});
  const auto stopped = fetch(set, {.base_url = server.url(),
                                   .folder = folder.path(),
                                   .progress = [](const FetchProgress&) { return false; }});
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().what.find("interrupted"), std::string::npos);
  EXPECT_GE(std::filesystem::file_size(folder.path() / "set.txt.part"), 100u);
}

// Two compressions of one text: a mirror may hold the other one.
TEST_F(FetchTest, AcceptsACompressedFileWhoseTextIsRight) {
  const std::string ours = compressed(content, ARCHIVE_FILTER_BZIP2);
  const std::string ours_sum = sum_of(ours);
  const std::string theirs =
      compressed(content.substr(0, content.size() / 2), ARCHIVE_FILTER_BZIP2) +
      compressed(content.substr(content.size() / 2), ARCHIVE_FILTER_BZIP2);
  set.path = "set.bz2";
  set.bytes = ours.size();
  set.sha256 = ours_sum;
  {
    const TestServer wrong({.content = compressed(content + "1 1:1\n", ARCHIVE_FILTER_BZIP2)});
    EXPECT_NE(error_from(wrong.url()).find("wrong"), std::string::npos);
    EXPECT_FALSE(has("set.bz2.part"));
  }
  const TestServer mirror({.content = theirs});
  const auto fetched = fetch_from(mirror.url());
  ASSERT_TRUE(fetched) << fetched.error().text();
  EXPECT_EQ(*read_file(*fetched), theirs);
}

TEST(Registry, NamesAreUniqueAndSumsAreSums) {
  std::set<std::string_view> names;
  for (const PublicSet& entry : public_sets()) {
    EXPECT_TRUE(names.insert(entry.name).second);
    EXPECT_EQ(find_public_set(entry.name)->path, entry.path);
    for (const std::string_view digits : {entry.sha256, entry.text_sha256}) {
      EXPECT_EQ(digits.size(), 64u);
      EXPECT_EQ(digits.find_first_not_of("0123456789abcdef"), std::string_view::npos);
    }
  }
  EXPECT_EQ(find_public_set("ijcn1").error().text(),
            "data set: unknown name `ijcn1`, did you mean `ijcnn1`?");
}

TEST(Registry, AgreesWithTheFilesWhereTheyAreHere) {
  bool found_any = false;
  for (const PublicSet& entry : public_sets()) {
    const std::string file = public_file(std::string(entry.name) + ".bz2");
    if (file.empty()) continue;
    found_any = true;
    EXPECT_EQ(*sha256_of_text(file, file, entry.text_bytes), entry.text_sha256);
    EXPECT_FALSE(sha256_of_text(file, file, entry.text_bytes - 1));
    if (entry.compressed()) {
      EXPECT_EQ(*sha256_of_file(file), entry.sha256);
      EXPECT_EQ(std::filesystem::file_size(file), entry.bytes);
    }
    const auto dataset = load_dataset(file, entry.kind, 1);
    ASSERT_TRUE(dataset) << dataset.error().text();
    EXPECT_EQ(dataset->samples.count(), entry.samples);
    EXPECT_EQ(dataset->samples.dimension(), entry.features);
  }
  if (!found_any) GTEST_SKIP() << "no public data here: set GROVE_DATA_DIR";
}

}  // namespace
}  // namespace grove
