// Friction that Gazebo's extension of URDF gives to links: <gazebo reference="LINK"><mu1>0.9</mu1><mu2>0.9</mu2>.

#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/mesh_words.hpp"
#include "almond/load/urdf_parse.hpp"
#include "almond/load/xml_scan.hpp"

namespace almond {
namespace {

// Files say 1e14 where they mean "does not slip"; at 10 a foot stays on a slope of 84 degrees.
constexpr double kMostFriction = 10.0;

/// <mu1>0.9</mu1>, or <mu1 value="0.9"/> as older files have it.
double read_friction(const XmlElement& e, const std::string& text, const std::string& place) {
  const std::string* value = e.attribute("value");
  const std::string written = value != nullptr ? *value : text.substr(e.text_begin, e.text_end - e.text_begin);
  std::string_view words = written;
  const std::string_view word = next_word(words);
  const std::optional<double> mu = to_number<double>(word);
  require(mu.has_value() && next_word(words).empty() && std::isfinite(*mu) && *mu >= 0.0,
          place + ":" + std::to_string(e.line) + ": gazebo: " + e.name + " is " + quote(std::string(word)) +
              ", expected a number >= 0");
  return *mu;
}

}  // namespace

void read_gazebo(const std::vector<XmlElement>& elements, const std::string& text, const std::string& place,
                 UrdfDocument& document) {
  for (int block = 1; block < static_cast<int>(elements.size()); ++block) {
    if (elements[block].name != "gazebo" || elements[block].parent != 0) continue;
    const std::string* reference = elements[block].attribute("reference");
    const auto link = std::find_if(document.links.begin(), document.links.end(), [&](const UrdfLink& known) {
      return reference != nullptr && known.name == *reference;
    });
    std::optional<double> mu[2];
    int others = 0;
    for (int i = block + 1; link != document.links.end() && i < static_cast<int>(elements.size()); ++i) {
      const XmlElement& e = elements[i];
      if (e.parent < block) break;
      if (e.parent != block) continue;
      const bool first = e.name == "mu1", second = e.name == "mu2";
      if (first || second) mu[second ? 1 : 0] = read_friction(e, text, place);
      others += !first && !second;
    }
    if (!mu[0] && !mu[1]) {
      ++document.ignored["gazebo"];
      continue;
    }
    if (others > 0) ++document.ignored["gazebo (other than mu1, mu2)"];
    const double least = std::min(mu[0].value_or(kInfinity), mu[1].value_or(kInfinity));
    link->friction = std::min(least, kMostFriction);
    if (mu[0] && mu[1] && *mu[0] != *mu[1])
      document.said.push_back("link " + quote(link->name) + ": friction " + to_text(*mu[0]) + " and " +
                              to_text(*mu[1]) + " along two directions in <gazebo>; the smaller one holds for all");
    if (least > kMostFriction)
      document.said.push_back("link " + quote(link->name) + ": friction " + to_text(least) +
                              " in <gazebo> is taken as " + to_text(kMostFriction));
  }
}

}  // namespace almond
