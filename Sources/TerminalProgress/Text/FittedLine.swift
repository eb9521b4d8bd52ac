/// The least-squares line through points.
struct FittedLine {
  private(set) var count = 0.0
  private var x = 0.0
  private(set) var y = 0.0
  private var xx = 0.0
  private var xy = 0.0
  private var yy = 0.0

  mutating func add(_ x: Double, _ y: Double) {
    count += 1
    self.x += x
    self.y += y
    xx += x * x
    xy += x * y
    yy += y * y
  }

  var spread: Double { xx - x * x / count }
  var common: Double { xy - x * y / count }
  var rest: Double { max(0, yy - y * y / count - (spread > 1e-9 ? common * common / spread : 0)) }
}
