// Studies: every change of a file is found, and every refusal says who or what is wrong.
#include "grove/peer/study/study.h"

#include <gtest/gtest.h>

#include <map>

#include "grove/base/file.h"
#include "grove/peer/certificates.h"
#include "grove/peer/study/acceptances.h"
#include "grove/peer/study/doctor.h"
#include "grove/peer/study/study_run.h"
#include "grove/peer/test_folder.h"

namespace grove::peer {
namespace {

struct Member {
  SiteCertificate certificate;
  std::string key;
};

Member make_member(const std::string& name, int port, bool inbound = true, long days = 10) {
  const auto made = make_site_certificate(name, "127.0.0.1:" + std::to_string(port), inbound, days);
  EXPECT_TRUE(made) << made.error().text();
  return {*read_site_certificate(made->certificate, name), made->key};
}

Study study_of(const std::vector<Member>& members, const std::string& graph = "ring") {
  Study study;
  study.name = "oak";
  study.graph = graph;
  study.terms.training.l2 = 0.1;
  for (const Member& one : members) study.members.push_back(one.certificate);
  const Status status = complete(study);
  EXPECT_TRUE(status) << status.error().text();
  return study;
}

Acceptance sign(const Study& study, const Member& member, const std::string& name,
                const std::string& data = "d") {
  return *sign_acceptance(study.digest(), {.member = name, .time = "2026-01-01", .data = data},
                          member.key);
}

std::string refusal(const std::string& text) {
  const auto study = parse_study(text, "f");
  return study ? "" : study.error().text();
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\ndoes not contain " << part;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

class Studies : public testing::Test {
 protected:
  Member a = make_member("a.example.org", 7001), b = make_member("b", 7002),
         c = make_member("c", 7003);
  Study study = study_of({a, b, c});
  Study accepted() const {
    Study result = study;
    result.acceptances = {sign(study, a, "a.example.org"), sign(study, b, "b"),
                          sign(study, c, "c")};
    return result;
  }
};

TEST_F(Studies, AreReadAsTheyWereWritten) {
  const std::string text = accepted().text();
  const auto read = parse_study(text, "f");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->text(), text);
  EXPECT_EQ(read->digest(), study.digest());
  EXPECT_TRUE(read->waiting().empty());
  EXPECT_EQ(read->terms.training.l2, 0.1);
  EXPECT_EQ(read->member_names(), (std::vector<std::string>{"a.example.org", "b", "c"}));
}

TEST_F(Studies, WithAnyByteChangedAreRefused) {
  const std::string text = accepted().text();
  for (std::size_t k = 0; k < text.size(); ++k) {
    std::string changed = text;
    changed[k] = static_cast<char>(changed[k] ^ (k % 4 == 0 ? 0x20 : 0x01));
    EXPECT_NE(refusal(changed), "") << "byte " << k << ": " << text.substr(k, 20);
  }
  EXPECT_NE(refusal(text + "\n"), "");
  EXPECT_NE(refusal(text.substr(0, text.size() - 1)), "");
}

TEST_F(Studies, ThatChangedAfterTheyWereAcceptedAreRefusedByTheNameOfTheMember) {
  expect_contains(refusal(replaced(accepted().text(), "l2 = 0.1", "l2 = 0.2")),
                  "acceptance of a.example.org: a.example.org did not sign this study");
  Study next = accepted();
  ++next.version;
  expect_contains(refusal(next.text()), "did not sign this study");
}

TEST_F(Studies, RefuseTheSignatureOfAnotherSite) {
  Study forged = study;
  forged.acceptances = {sign(study, b, "a.example.org")};
  expect_contains(refusal(forged.text()),
                  "acceptance of a.example.org: the signature is that of b; expected that of a");
  forged.acceptances = {sign(study, make_member("b", 7002), "b")};
  expect_contains(refusal(forged.text()), "acceptance of b: b did not sign this study");
  forged.acceptances = {sign(study, b, "d")};
  expect_contains(refusal(forged.text()), "'d' is not a member");
}

TEST_F(Studies, RefuseASwappedCertificate) {
  const Member other = make_member("b", 7002);
  expect_contains(
      refusal(replaced(accepted().text(), b.certificate.pem, other.certificate.pem)),
      "the certificate of b has another fingerprint than the study says: it was swapped");
  expect_contains(refusal(replaced(study.text(), b.certificate.pem, c.certificate.pem)),
                  "the certificate of b is that of c");
}

TEST_F(Studies, RefuseAMemberTwice) {
  const auto said = [](std::vector<Member> members) {
    Study wrong;
    wrong.name = "oak";
    for (const Member& one : members) wrong.members.push_back(one.certificate);
    const Status status = complete(wrong);
    return status ? std::string() : status.error().text();
  };
  expect_contains(said({a, b, a}), "--members: a.example.org is a member twice");
  expect_contains(said({a, b, make_member("b", 7009)}), "b is a member twice");
  expect_contains(said({a, b, make_member("d", 7002)}), "b and d have the same address");
  expect_contains(said({a}), "--members: 1 site");
  Member same = c;
  same.certificate.name = "d";
  same.certificate.address = "127.0.0.1:7010";
  expect_contains(said({a, c, same}), "c and d have the same key");
}

TEST_F(Studies, RefuseExpiredCertificates) {
  Study old;
  old.name = "oak";
  for (const Member& one : {a, make_member("b", 7002, true, -1)})
    old.members.push_back(one.certificate);
  const Status status = complete(old);
  ASSERT_FALSE(status);
  expect_contains(status.error().text(), "certificate of b: has expired 1.0 days ago");
}

TEST_F(Studies, RefuseCertificatesThatNoSiteMakes) {
  const auto authority = make_authority("oak");
  EXPECT_FALSE(read_site_certificate(authority->certificate, "f"));
  EXPECT_FALSE(read_site_certificate(certify(*authority, "d")->certificate, "f"));
  // A second name with which the site could stand for another.
  EXPECT_FALSE(read_site_certificate(
      certify_itself("d", "grove://127.0.0.1:1,DNS:a.example.org", 9)->certificate, "f"));
  EXPECT_FALSE(
      read_site_certificate(certify_itself("D", "grove://127.0.0.1:1", 9)->certificate, "f"));
  EXPECT_FALSE(read_site_certificate(
      certify_itself("operator", "grove://127.0.0.1:1", 9)->certificate, "f"));
  EXPECT_FALSE(
      read_site_certificate(certify_itself("d", "https://127.0.0.1:1", 9)->certificate, "f"));
  EXPECT_FALSE(read_site_certificate(a.certificate.pem + b.certificate.pem, "f"));
  EXPECT_TRUE(
      read_site_certificate(certify_itself("d", "grove://127.0.0.1:1", 9)->certificate, "f"));
}

// Whoever trusts the members' certificates trusts nothing that a member could sign with its key.
TEST_F(Studies, MembersCannotCertifyOthers) {
  const std::string trusted = a.certificate.pem + b.certificate.pem + c.certificate.pem;
  EXPECT_TRUE(check_certificate(b.certificate.pem, trusted, "b"));
  EXPECT_FALSE(check_certificate(b.certificate.pem, trusted, "c"));
  const auto forged = certify({b.certificate.pem, b.key}, "c");
  ASSERT_TRUE(forged);
  EXPECT_FALSE(check_certificate(forged->certificate, trusted, "c"));
  EXPECT_FALSE(check_certificate(forged->certificate + b.certificate.pem, trusted, "c"));
}

TEST_F(Studies, RefuseLinksThatNobodyCanOpen) {
  const Member d = make_member("d", 7004, false), e = make_member("e", 7005, false);
  const auto said = [](const std::vector<Member>& members, const std::string& graph) {
    Study wrong;
    wrong.name = "oak";
    wrong.graph = graph;
    for (const Member& one : members) wrong.members.push_back(one.certificate);
    const Status status = complete(wrong);
    return status ? std::string() : status.error().text();
  };
  expect_contains(said({a, b, d, e}, "ring"),
                  "links d and e, and neither can be connected to (inbound = false); expected, for "
                  "example, --graph ring --members a.example.org.crt,d.crt,b.crt,e.crt");
  EXPECT_EQ(said({a, d, b, e}, "ring"), "");
  expect_contains(said({a, d, e}, "ring"), "--graph star --members a.example.org.crt,d.crt,e.crt");
  EXPECT_EQ(said({a, d, e}, "star"), "");
  expect_contains(said({d, e}, "ring"), "no graph works");
}

TEST_F(Studies, KeepTheNewestAcceptanceOfEachMember) {
  Study mine = study, other = study;
  mine.acceptances = {sign(study, c, "c")};
  Acceptance again = sign(study, c, "c", "other data");
  again.time = "2026-01-02";
  again = *sign_acceptance(study.digest(), again, c.key);
  other.acceptances = {sign(study, a, "a.example.org"), again};
  ASSERT_TRUE(merge(mine, other));
  ASSERT_EQ(mine.acceptances.size(), 2U);
  EXPECT_EQ(mine.acceptances[0].member, "a.example.org");
  EXPECT_EQ(mine.acceptances[1], again);
  EXPECT_EQ(refusal(mine.text()), "");
  EXPECT_EQ(mine.waiting(), std::vector<std::string>{"b"});
  Study another = study;
  another.version = 2;
  expect_contains(merge(mine, another).error().text(), "another study");
}

TEST_F(Studies, LearnAcceptancesFromEntriesAndKeepThem) {
  const TestFolder folder;
  const std::string kept = (folder.path() / "oak.study").string();
  Study mine = study;
  mine.acceptances = {sign(study, a, "a.example.org")};
  Acceptances known(mine, "a.example.org", kept);
  const auto entry_of = [](const Acceptance& one) {
    v1::Member entry;
    entry.mutable_acceptance()->set_time(one.time);
    entry.mutable_acceptance()->set_data(one.data);
    entry.mutable_acceptance()->set_signature(one.signature);
    return entry;
  };
  known.add("b", entry_of(sign(study, c, "b")));             // of another site
  known.add("b", entry_of(sign(study_of({a, b}), b, "b")));  // of another study
  known.add("b", {});
  EXPECT_EQ(known.waiting(), (std::vector<std::string>{"b", "c"}));
  known.add("b", entry_of(sign(study, b, "b")));
  EXPECT_EQ(known.waiting(), std::vector<std::string>{"c"});
  EXPECT_EQ(Acceptances(mine, "a.example.org", kept).waiting(), std::vector<std::string>{"c"});
}

/// A site on disk, with data that suit the study.
class Sites : public Studies {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b", "c"}) {
      const auto site = make_site({.name = name,
                                   .listen = std::string("127.0.0.1:700") + name[0],
                                   .out = folder.path().string()});
      EXPECT_FALSE(site);  // not a port
    }
    std::string text = "x,y\n";
    for (int k = 0; k < 40; ++k)
      text += std::to_string(0.1 * ((7 * k) % 40) - 2) + "," + std::to_string(k % 2) + "\n";
    ASSERT_TRUE(write_file_atomically(data, text));
    for (int k = 0; k < 3; ++k) {
      auto site = make_site({.name = std::string(1, static_cast<char>('a' + k)),
                             .listen = "127.0.0.1:" + std::to_string(7001 + k),
                             .out = folder.path().string()});
      ASSERT_TRUE(site) << site.error().text();
      sites.push_back(std::move(*site));
    }
    ours.name = "oak";
    for (const Site& site : sites) ours.members.push_back(site.certificate);
    ASSERT_TRUE(complete(ours));
  }
  TestFolder folder;
  std::string data = (folder.path() / "data.csv").string();
  std::vector<Site> sites;
  Study ours;
};

TEST_F(Sites, AcceptOnceAndTrainWithTheseData) {
  const auto config = peer_config_of(ours, sites[0], data);
  ASSERT_TRUE(config) << config.error().text();
  const auto checked = check_data(ours, *config);
  ASSERT_TRUE(checked) << checked.error().text();
  EXPECT_EQ(checked->rows, 40U);
  EXPECT_FALSE(checked->forbidden);
  expect_contains(prepare_peer(ours, sites[0], data).error().text(), "a has not accepted it");
  ASSERT_TRUE(accept(ours, sites[0], data, 40));
  ASSERT_TRUE(check(ours));
  EXPECT_TRUE(prepare_peer(ours, sites[0], data));
  const std::string other = data + ".other";
  ASSERT_TRUE(write_file_atomically(other, *read_file(data) + "1,1\n"));
  expect_contains(prepare_peer(ours, sites[0], other).error().text(),
                  "--data: a accepted the study for other data");
  ASSERT_TRUE(accept(ours, sites[0], other, 41));  // in place of the first
  EXPECT_EQ(ours.acceptances.size(), 1U);
  EXPECT_TRUE(prepare_peer(ours, sites[0], other));
}

TEST_F(Sites, CheckColumnsAndRules) {
  ours.terms.fit.columns = {"x", "z"};
  const auto config = peer_config_of(ours, sites[0], data);
  expect_contains(check_data(ours, *config).error().text(), "lacks the columns z");
  ours.terms.fit.columns = {};
  PeerConfig strict = *config;
  strict.disclosure.min_rows = 41;
  EXPECT_EQ(check_data(ours, strict)->forbidden->rule, "disclosure.min-rows");
}

TEST_F(Sites, NeedTheCertificateThatTheStudyHas) {
  const auto renewed = renew_site(sites[0], {});
  ASSERT_TRUE(renewed) << renewed.error().text();
  expect_contains(peer_config_of(ours, *renewed, data).error().text(),
                  "is another certificate than the study has for a");
  ours.members[0] = renewed->certificate;
  EXPECT_TRUE(peer_config_of(ours, *renewed, data));
  ours.members.erase(ours.members.begin());
  expect_contains(peer_config_of(ours, *renewed, data).error().text(), "a is not a member of");
}

TEST_F(Sites, KeepTheirKeysToThemselves) {
  using std::filesystem::perms;
  const std::filesystem::path key = sites[0].file(".key");
  EXPECT_EQ(std::filesystem::status(key).permissions(), perms::owner_read | perms::owner_write);
  expect_contains(make_site({.name = "a", .listen = "127.0.0.1:1", .out = folder.path().string()})
                      .error()
                      .text(),
                  "expected a new file");
}

TEST_F(Sites, DialFromBehindAFirewall) {
  ours.members[0].inbound = false;
  sites[0].certificate.inbound = false;
  const auto own = peer_config_of(ours, sites[0], data),
             other = peer_config_of(ours, sites[1], data);
  EXPECT_TRUE(own->join);
  for (const auto& neighbour : own->neighbours) EXPECT_NE(neighbour.address, "");
  EXPECT_FALSE(other->join);
  ASSERT_EQ(other->neighbours.size(), 2U);
  EXPECT_EQ(other->neighbours[0].address, "");  // a, which dials
  EXPECT_EQ(other->neighbours[1].address, "127.0.0.1:7003");
}

TEST_F(Sites, AreToldWhatKeepsThemFromTakingPart) {
  const auto kind_of = [&](const std::string& subject) {
    for (const Finding& one : diagnose(ours, sites[0], data))
      if (one.subject == subject) return static_cast<int>(one.kind);
    return -1;
  };
  const int good = static_cast<int>(Finding::Kind::good),
            bad = static_cast<int>(Finding::Kind::bad),
            others = static_cast<int>(Finding::Kind::others);
  EXPECT_EQ(kind_of("study"), good);
  EXPECT_EQ(kind_of("data"), good);
  EXPECT_EQ(kind_of("acceptance"), bad);
  EXPECT_EQ(kind_of("b"), others);  // its peer does not run
  ASSERT_TRUE(accept(ours, sites[0], data, 40));
  EXPECT_EQ(kind_of("acceptance"), good);
  EXPECT_EQ(kind_of("acceptances"), others);
  ASSERT_TRUE(write_file_atomically(data, *read_file(data) + "1,1\n"));
  EXPECT_EQ(kind_of("data"), bad);
  std::filesystem::permissions(sites[0].file(".key"), std::filesystem::perms(0644));
  EXPECT_EQ(kind_of("key"), bad);
  sites[0].settings.listen = "203.0.113.1:7001";  // of no machine
  EXPECT_EQ(kind_of("port"), bad);
}

TEST_F(Sites, WeighByTheRowsThatTheMembersSigned) {
  ours.terms.training.weighting = Weighting::sample;
  for (std::size_t k = 0; k < 3; ++k) ASSERT_TRUE(accept(ours, sites[k], data, 10 * (k + 1)));
  const std::string kept = (folder.path() / "kept.study").string();
  EXPECT_DOUBLE_EQ(Acceptances(ours, "a", kept).scale(), 3 * 10 / 60.0);
  EXPECT_DOUBLE_EQ(Acceptances(ours, "c", kept).scale(), 3 * 30 / 60.0);
}

}  // namespace
}  // namespace grove::peer
