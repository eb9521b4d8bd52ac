import DownloadModel

extension DownloadError {
  init(_ verdict: ProxyVerdict, of proxy: ProxyAddress, address: Address) {
    var code = verdict.isTransient ? Code.connect : .proxy
    if case .insecure = verdict.answer { code = .certificate }
    self.init(
      code, cause: .proxy(ProxyRefusal(proxy: proxy.name, hadLogin: proxy.hasLogin, answer: verdict.answer)),
      address: address.key, activity: "connecting", isTransient: verdict.isTransient)
  }

  var isProxyLogin: Bool {
    if case .proxy(let refusal)? = self.cause { refusal.answer == .login } else { false }
  }
}
