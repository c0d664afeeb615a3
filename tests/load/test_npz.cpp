// Arrays come back bit for bit, what NumPy writes is understood, and damaged archives are refused with one line. The
// NumPy members are put together here by hand from the format's definition.

#include <gtest/gtest.h>

#include <cmath>

#include "almond/load/npz.hpp"
#include "almond/load/zip.hpp"
#include "load/load_fixture.hpp"

namespace almond::testing {
namespace {

template <typename Value>
std::string bytes_of(const std::vector<Value>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
}

/// A member as numpy.save writes it.
std::string npy(const std::string& descr, const std::string& shape, const std::string& data, bool fortran = false,
                char major = 1) {
  const std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n";
  std::string out = "\x93NUMPY";
  out += major;
  out += '\0';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  if (major > 1) out += std::string(2, '\0');
  return out + header + data;
}

NpzArchive archive_of(const std::string& member) {
  return NpzArchive::from_bytes(make_zip({{"x.npy", member}}, "t"), "t.npz");
}

TEST(Npz, ReadsTheTypesThatNumpyWrites) {
  const auto doubles = [](const NpzArchive& archive) { return std::get<std::vector<double>>(archive.at("x").data); };
  const auto longs = [](const NpzArchive& archive) {
    return std::get<std::vector<std::int64_t>>(archive.at("x").data);
  };
  EXPECT_EQ(doubles(archive_of(npy("<f8", "(3,)", bytes_of<double>({1, -2, 0.5})))), (std::vector<double>{1, -2, 0.5}));
  EXPECT_EQ(doubles(archive_of(npy("<f4", "(2,)", bytes_of<float>({0.5F, 3})))), (std::vector<double>{0.5, 3}));
  EXPECT_EQ(longs(archive_of(npy("<i8", "(2,)", bytes_of<std::int64_t>({-5, 7})))), (std::vector<std::int64_t>{-5, 7}));
  EXPECT_EQ(longs(archive_of(npy("<i2", "(2,)", bytes_of<std::int16_t>({-5, 7})))), (std::vector<std::int64_t>{-5, 7}));
  EXPECT_EQ(longs(archive_of(npy("<u4", "(1,)", bytes_of<std::uint32_t>({4000000000U})))),
            (std::vector<std::int64_t>{4000000000}));
  EXPECT_EQ(longs(archive_of(npy("|b1", "(2,)", std::string("\x01\x00", 2)))), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(std::get<std::vector<std::int32_t>>(archive_of(npy("<i4", "()", bytes_of<std::int32_t>({9}))).at("x").data),
            std::vector<std::int32_t>{9});
  EXPECT_EQ(std::get<std::string>(archive_of(npy("|S4", "()", std::string("ab\0\0", 4))).at("x").data), "ab");
  EXPECT_EQ(std::get<std::string>(archive_of(npy("<U3", "()", bytes_of<std::uint32_t>({0xe9, 'z', 0}))).at("x").data),
            "\xc3\xa9z");
  EXPECT_EQ(doubles(archive_of(npy("<f8", "(1,)", bytes_of<double>({4}), false, 2))), std::vector<double>{4});
}

TEST(Npz, TurnsFortranOrderIntoCOrder) {
  // [[1 2 3], [4 5 6]] by columns.
  const NpzArchive archive = archive_of(npy("<f8", "(2, 3)", bytes_of<double>({1, 4, 2, 5, 3, 6}), true));
  EXPECT_EQ(archive.at("x").shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(std::get<std::vector<double>>(archive.at("x").data), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  // x[i][j][k] = 100 i + 10 j + k, the first index fastest.
  std::vector<double> fortran, c;
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 4; ++i) fortran.push_back(100 * i + 10 * j + k);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 2; ++k) c.push_back(100 * i + 10 * j + k);
  EXPECT_EQ(std::get<std::vector<double>>(archive_of(npy("<f8", "(4, 3, 2)", bytes_of(fortran), true)).at("x").data),
            c);
}

TEST(Npz, ReadsStoredMembersWithNumpysZip64Headers) {
  // numpy.savez writes sizes of 0xffffffff and an extra field of 20 bytes into the local header.
  const std::string member = npy("<f8", "(1,)", bytes_of<double>({1.25}));
  std::string zip = make_zip({{"x.npy", member}}, "t");
  const std::size_t data = 30 + 5;
  const bool stored = zip.compare(data, 6, "\x93NUMPY") == 0;
  ASSERT_TRUE(stored || zip[8] == 8);
  const std::string extra(20, '\x01');
  zip.insert(data, extra);
  zip[28] = 20;
  for (int i = 18; i < 26; ++i) zip[i] = '\xff';
  const std::size_t end = zip.size() - 22;
  zip[end + 16] = static_cast<char>(static_cast<unsigned char>(zip[end + 16]) + 20);  // the directory moved
  EXPECT_EQ(std::get<std::vector<double>>(NpzArchive::from_bytes(zip, "t").at("x").data), std::vector<double>{1.25});
}

NpzArchive make_mixed_archive() {
  std::mt19937_64 random(3);
  std::vector<double> values = {0.0, -0.0, 5e-324, 1.7976931348623157e308, 0.1, 1.0 / 3.0};
  while (values.size() < 2000) {
    const double value = std::bit_cast<double>(random());
    if (std::isfinite(value)) values.push_back(value);
  }
  NpzArchive archive;
  archive.set("doubles", NpzArray({50, 40}, values));
  archive.set("repeated", NpzArray({3000}, std::vector<double>(3000, 0.25)));  // deflates
  archive.set("longs", NpzArray({3}, std::vector<std::int64_t>{INT64_MIN, 0, INT64_MAX}));
  archive.set("ints", NpzArray({1, 2}, std::vector<std::int32_t>{INT32_MIN, INT32_MAX}));
  archive.set("none", NpzArray({0, 6}, std::vector<double>{}));
  archive.set("text", NpzArray(std::string("a name")));
  return archive;
}

TEST(Npz, ArchiveRoundTripsBitForBit) {
  const NpzArchive archive = make_mixed_archive();
  const std::string bytes = archive.to_bytes("t");
  const NpzArchive back = NpzArchive::from_bytes(bytes, "t");
  EXPECT_EQ(back.names(), archive.names());
  EXPECT_EQ(back.to_bytes("t"), bytes);
  EXPECT_LT(bytes.size(), 2000 * 8 + 3000 * 8);
  EXPECT_TRUE(same_values(std::get<std::vector<double>>(back.at("doubles").data),
                          std::get<std::vector<double>>(archive.at("doubles").data)));
  EXPECT_EQ(back.at("none").shape, (std::vector<std::int64_t>{0, 6}));
  EXPECT_EQ(std::get<std::string>(back.at("text").data), "a name");
}

TEST(Npz, JsonRoundTripsBitForBit) {
  const NpzArchive archive = make_mixed_archive();
  const NpzArchive back = NpzArchive::from_json(archive.to_json("t"), "t");
  EXPECT_EQ(back.to_json("t"), archive.to_json("t"));
  EXPECT_TRUE(same_values(std::get<std::vector<double>>(back.at("doubles").data),
                          std::get<std::vector<double>>(archive.at("doubles").data)));
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(back.at("longs").data),
            std::get<std::vector<std::int64_t>>(archive.at("longs").data));
  NpzArchive infinite;
  infinite.set("x", NpzArray({1}, std::vector<double>{kInfinity}));
  EXPECT_EQ(error_of([&] { (void)infinite.to_json("t.json"); }),
            "t.json: field \"x\": inf cannot be written as JSON, expected finite numbers");
}

TEST(Npz, ListsOfTextsRoundTrip) {
  const std::vector<std::string> names = {"ball", "", "Würfel", "\xe2\x96\xa1 \xf0\x9f\x8e\xb2"};
  NpzArchive archive;
  archive.set("names", NpzArray(names));
  archive.set("none", NpzArray(std::vector<std::string>{}));
  archive.set("broken", NpzArray(std::vector<std::string>{"a\xff", "\xc3", "\xed\xa0\x80"}));
  const NpzArchive back = NpzArchive::from_bytes(archive.to_bytes("t"), "t");
  EXPECT_EQ(std::get<std::vector<std::string>>(back.at("names").data), names);
  EXPECT_EQ(back.at("names").shape, std::vector<std::int64_t>{4});
  EXPECT_EQ(back.at("none").size(), 0);
  EXPECT_EQ(std::get<std::vector<std::string>>(back.at("broken").data),
            (std::vector<std::string>{"a\xef\xbf\xbd", "\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}));
  EXPECT_TRUE(back.at("names").is_text() && !back.at("names").is_one_text());
}

TEST(Npz, RefusesDamagedMembers) {
  const auto error = [](const std::string& member) { return error_of([&] { (void)archive_of(member); }); };
  const std::string one = bytes_of<double>({1});
  EXPECT_TRUE(contains(error("not numpy"), "is not a NumPy array"));
  EXPECT_TRUE(contains(error(npy("<f8", "(2,)", one)), "shape (2) of \"<f8\" needs more than the 8 bytes"));
  EXPECT_TRUE(contains(error(npy("<f8", "(99999999999999999999,)", one)), "shape is too large"));
  EXPECT_TRUE(contains(error(npy("<f8", "(4294967296, 4294967296, 4294967296)", one)), "needs more than"));
  EXPECT_TRUE(contains(error(npy("<f8", "(-1,)", one)), "expected a tuple of integers"));
  EXPECT_TRUE(contains(error(npy("<f8", "[1]", one)), "expected a tuple of integers"));
  EXPECT_TRUE(contains(error(npy(">f8", "(1,)", one)), "dtype \">f8\", expected little-endian"));
  EXPECT_TRUE(contains(error(npy("|O", "(1,)", one)), "dtype \"|O\""));
  EXPECT_TRUE(contains(error(npy("<c16", "(1,)", one + one)), "dtype \"<c16\""));
  EXPECT_TRUE(contains(error(npy("<f8", "(1,)", one).substr(0, 9)), "is not a NumPy array"));
  EXPECT_TRUE(contains(error(npy("<f8", "(1,)", one).substr(0, 30)), "is truncated"));
  EXPECT_TRUE(contains(error(npy("<f8", "(1,)", one, false, 9)), "NumPy format 9"));
}

TEST(Npz, RefusesDamagedArchives) {
  const std::string good = make_mixed_archive().to_bytes("t");
  const auto error = [](const std::string& bytes) {
    return error_of([&] { (void)NpzArchive::from_bytes(bytes, "t"); });
  };
  EXPECT_TRUE(contains(error(""), "too short"));
  EXPECT_TRUE(contains(error(good.substr(0, good.size() - 1)), "truncated"));
  EXPECT_TRUE(contains(error(good.substr(0, good.size() / 2)), "truncated"));
  std::string flipped = good;
  flipped[200] = static_cast<char>(flipped[200] ^ 0x10);
  EXPECT_TRUE(contains(error(flipped), "damaged"));
  std::string method = good;
  const std::size_t central = good.find("PK\x01\x02");
  method[central + 10] = 14;
  EXPECT_TRUE(contains(error(method), "compression method 14"));
  std::string locked = good;
  locked[central + 8] = 1;
  EXPECT_TRUE(contains(error(locked), "encrypted"));
  std::string huge = good;
  for (std::size_t i = 24; i < 28; ++i) huge[central + i] = '\xff';
  EXPECT_TRUE(contains(error(huge), "bytes when unpacked, from a file of"));
  const std::string twice = make_zip({{"x.npy", npy("<f8", "(0,)", "")}, {"x", npy("<f8", "(0,)", "")}}, "t");
  EXPECT_TRUE(contains(error(twice), "field \"x\" occurs twice"));
}

TEST(Npz, NamesTheNearestField) {
  const std::string message = error_of([] { (void)make_mixed_archive().at("double"); });
  EXPECT_TRUE(contains(message, "field \"double\" is missing (the nearest there is \"doubles\")")) << message;
  EXPECT_FALSE(contains(error_of([] { (void)make_mixed_archive().at("zzzzzzzz"); }), "nearest"));
}

TEST(Npz, JsonMustBeAnObjectOfRectangularLists) {
  const auto error = [](const std::string& text) {
    return error_of([&] { (void)NpzArchive::from_json(text, "t.json"); });
  };
  EXPECT_TRUE(contains(error("{\"x\": [1, 2"), "t.json: is not valid JSON: parse error at line 1, column"));
  EXPECT_TRUE(contains(error("[1]"), "JSON array at the top, expected an object"));
  EXPECT_TRUE(contains(error("{\"x\": [[1, 2], [3]]}"), "lists differ in length"));
  EXPECT_TRUE(contains(error("{\"x\": [1, null]}"), "null at value 1, expected a number"));
  EXPECT_TRUE(contains(error("{\"x\": [\"a\"]}"), "string at value 0"));
  EXPECT_TRUE(contains(error("{\"x\": {}}"), "object at value 0"));
  EXPECT_TRUE(contains(error("{\"x\": 1e999}"), "not valid JSON"));
  EXPECT_TRUE(contains(error("{\"x\": [[[[[[[[[1]]]]]]]]]}"), "nested deeper"));
  EXPECT_EQ(error("{\"x\": [\"\n\"]}").find('\n'), std::string::npos);
}

}  // namespace
}  // namespace almond::testing
