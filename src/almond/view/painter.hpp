#pragma once
// A picture of a world without a browser: triangles under one light, with a depth buffer. Plainer than the page,
// without shadows, and there in milliseconds on any machine.

#include <cstdint>
#include <optional>
#include <vector>

#include "almond/model/look.hpp"
#include "almond/model/shape.hpp"
#include "almond/view/camera.hpp"

namespace almond {

/// Triangles of a shape's surface, counterclockwise seen from outside; none for a plane. Of curved shapes 2048.
[[nodiscard]] TriangleSoup make_surface(const Shape& shape);

class Painter {
 public:
  explicit Painter(const std::vector<Look>& looks);

  /// Red, green, blue of each pixel, row by row from the top: 3 * width * height. `X_WB` has the poses of the bodies.
  /// Without a camera, one that sees all of the first picture, and goes along with the bodies from then on.
  [[nodiscard]] std::vector<std::uint8_t> draw(const std::vector<Pose>& X_WB, int width, int height,
                                               const std::optional<Camera>& camera = std::nullopt);

 private:
  struct Part {
    int body;
    Pose X_BG;
    TriangleSoup surface;
    bool plane;
    Color color;
  };
  [[nodiscard]] Camera find_camera(const std::vector<Pose>& X_WB);

  std::vector<Part> parts_;
  std::optional<double> distance_;  // of the camera from what it looks at [m], since the first picture
};

}  // namespace almond
