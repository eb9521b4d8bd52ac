import DownloadModel
import Glibc

/// Words for a line that is no request: `urls.txt:7: "htp:/x" is no address: …`.
struct RejectionWords {
  let line: String

  init(_ rejection: Rejection) {
    let place = rejection.line.map { "\(rejection.list):\($0)" } ?? rejection.list
    switch rejection.reason {
    case .unreadable(let number):
      let isMaybeAddress = number == ENOENT && rejection.list.contains(".") && !rejection.list.hasPrefix(".")
      line =
        "\(place.isEmpty ? "\"\"" : place): the list cannot be read: \(String(cString: strerror(number))); "
        + (isMaybeAddress
          ? "if it is an address, write https://\(rejection.list)" : "check its name and rights")
    case .unfetched(let error): line = "\(place): the list cannot be read: \(FailureWords(error).line)"
    case .damaged(let why):
      line =
        "\(place): the list cannot be read from here on: \(why); what stands before is read. Get it again"
    case .notUTF8: line = "\(place): \"\(rejection.text)\" is not UTF-8; save the list as UTF-8"
    case .tooLong: line = "\(place): \"\(rejection.text)\" is longer than any address; is this a list?"
    case .malformed(let why): line = "\(place): \"\(rejection.text)\" is no address: \(Self.words(why))"
    }
  }

  private static func words(_ why: Address.Malformed) -> String {
    switch why {
    case .empty: "nothing stands there"
    case .controlCharacter: "it holds a control character"
    case .noScheme: "it does not begin with http:// or https://"
    case .unsupportedScheme(let scheme): "dlm speaks http and https, not \(scheme)"
    case .noHost: "the host is missing"
    case .badHost: "the host holds characters that none may have"
    case .badInternationalHost: "the host's name cannot be written in ASCII (IDNA), as networks need it"
    case .badPort: "the port is not a number from 1 to 65535"
    }
  }
}
