import ArgumentParser
import CurlTransport

/// Which proxy holds: `--proxy`, else `DLM_PROXY`, else the settings file, else the variables that curl knows. What is none
/// is refused before anything is asked of anybody; an empty one is no proxy.
enum ProxySetting {
  /// - Throws: `ValidationError` that names the place, never the login.
  static func routes(option: String?, _ sources: SettingsSources) throws -> ProxyRoutes {
    if let option { return try one(option, from: "--proxy") }
    if let text = sources.text("proxy") {
      let variable = SettingsSources.variable("proxy")
      return try one(
        text, from: sources.environment[variable] == nil ? "proxy in a settings file" : variable)
    }
    return ProxyRoutes(
      http: try first(of: httpVariables, in: sources.environment),
      https: try first(of: httpsVariables, in: sources.environment))
  }

  /// libcurl's own lists, in its order. HTTP_PROXY counts in lower case only, since a CGI server sets it from a header.
  static let httpVariables = ["http_proxy", "all_proxy", "ALL_PROXY"]
  static let httpsVariables = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]

  private static func one(_ text: String, from place: String) throws -> ProxyRoutes {
    ProxyRoutes(text.isEmpty ? nil : Proxy(try address(text, from: place)))
  }

  private static func first(
    of names: [String], in environment: [String: String]
  ) throws -> ProxyAddress? {
    for name in names {
      if let text = environment[name], !text.isEmpty { return try address(text, from: name) }
    }
    return nil
  }

  private static func address(_ text: String, from place: String) throws -> ProxyAddress {
    do {
      return try ProxyAddress(text)
    } catch {
      throw ValidationError("\(place) \"\(ProxyAddress.redacted(text))\": \(words(error)).")
    }
  }

  private static func words(_ why: ProxyAddress.Malformed) -> String {
    switch why {
    case .scheme(let scheme):
      "\(scheme) is no kind of proxy; give one of \(ProxyAddress.Scheme.allCases.map(\.rawValue).joined(separator: ", "))"
    case .noTLS: "this libcurl speaks no TLS with a proxy; give an http or a SOCKS proxy"
    case .noHost: "it names no host; a proxy looks like http://host:3128"
    case .badHost: "its host is none; a proxy looks like http://host:3128"
    case .badPort: "its port is no number from 1 to 65535; a proxy looks like http://host:3128"
    case .path:
      "a proxy has no path; if a / ? or # is part of its password, write %2F %3F or %23"
    case .controlCharacter: "a blank or a control character stands in it; in a password write %20"
    }
  }
}
