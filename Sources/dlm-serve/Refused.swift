/// Why a request cannot be carried out.
struct Refused: Error, Equatable {
  let status: UInt
  let why: String

  init(_ why: String, status: UInt = 400) {
    self.why = why
    self.status = status
  }
}
