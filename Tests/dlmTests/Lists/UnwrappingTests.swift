import DownloadModel
import TestSupport
import Testing

@testable import dlm

@Suite("A redirector's page stands for the address that it leads to")
struct UnwrappingTests {
  @Test(
    arguments: [
      ("https://www.google.com/imgres?q=cat&imgurl=https%3A%2F%2Fh%2Fa%2520b.jpg&tbnid=x", "https://h/a%20b.jpg"),
      ("https://images.google.co.uk/imgres?imgurl=http://h/a.jpg&h=1", "http://h/a.jpg"),
      ("https://www.google.de/url?sa=t&q=&url=https%3A%2F%2Fh%2Fx%3Fa%3D1%26b%3D2%23part", "https://h/x?a=1&b=2"),
      ("http://google.com.br/url?q=https://h/x&sa=U", "https://h/x"),
      ("https://duckduckgo.com/l/?uddg=https%3A%2F%2Fh%2Fx&rut=1", "https://h/x"),
      ("https://l.facebook.com/l.php?u=https%3A%2F%2Fh%2Fx&h=AT0", "https://h/x"),
      ("https://l.instagram.com/?u=https%3A%2F%2Fh%2Fx&e=AT0", "https://h/x"),
      ("https://steamcommunity.com/linkfilter/?u=https%3A%2F%2Fh%2Fx", "https://h/x"),
      ("https://steamcommunity.com/linkfilter/?url=http://h/x", "http://h/x"),
      ("https://vk.com/away.php?to=http%3A%2F%2Fh%2F%D0%BA&cc_key=", "http://h/%D0%BA"),
      ("https://m.vk.com/away.php?to=http%3A%2F%2Fh%2Fx", "http://h/x"),
      ("https://www.youtube.com/redirect?event=video_description&q=https%3A%2F%2Fh%2Fx", "https://h/x"),
      ("https://www.bing.com/images/search?view=detailV2&mediaurl=https%3a%2f%2fh%2fx.jpg", "https://h/x.jpg"),
      ("https://yandex.com/images/search?pos=1&img_url=https%3A%2F%2Fh%2Fx.jpg&rpt=simage", "https://h/x.jpg"),
      // No wrapper, or nothing in it that can be fetched.
      ("https://www.google.com/search?q=https://h/x", nil), ("https://www.google.com/url?q=/search%3Fq%3Dx", nil),
      ("https://www.google.com/url?q=ftp%3A%2F%2Fh%2Fx", nil), ("https://www.google.com/url?q=h/x", nil),
      ("https://www.google.com/url?q=%FF", nil), ("https://www.google.com/url?q", nil),
      ("https://www.google.com/url", nil), ("https://www.google.com/url/more?q=https://h/x", nil),
      ("https://google.evil.example/url?q=https://h/x", nil),
      ("https://google.com.evil.example/url?q=https://h/x", nil),
      ("https://google.shop/url?q=https://h/x", nil), ("https://notgoogle.com/url?q=https://h/x", nil),
      ("https://instagram.com/?u=https://h/x", nil), ("https://h/l.php?u=https://h/x", nil),
      ("https://duckduckgo.com/l/?UDDG=https://h/x", nil), ("https://duckduckgo.com/l/?x=uddg=https://h/x", nil),
    ] as [(String, String?)])
  func whereItLeads(page: String, address: String?) throws {
    #expect(try Address(page).unwrapped?.wireText == address)
  }

  @Test func isSaidAndCanBeTurnedOff() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["a.jpg", "b.jpg"] { origin.route("/\(name)", .file(Array(name.utf8))) }
    let place = try Workplace()
    func page(_ name: String) -> String {
      "https://www.google.com/imgres?imgurl=\(PercentEncoding.encode(origin.url(name)))&h=1"
    }
    let secret = ["-H", "X-Own: 1", "--retries", "0"]
    let one = try await place.start(["get", page("/a.jpg")] + secret).waitForExit()
    #expect(one.status == 0 && origin.log.first?.headers["x-own"] == nil, "\(one.errorText)")
    #expect(
      one.errorText.contains(
        "dlm: \(origin.url("/a.jpg")) unwrapped from www.google.com; --no-unwrap downloads those pages"))
    _ = try place.list([page("/a.jpg"), page("/b.jpg") + "\tout=c.jpg", origin.url("/b.jpg")])
    let list = try await place.dlm("get", "urls.txt")
    #expect(list.status == 0, "\(list.errorText)")
    #expect(list.errorText.contains("dlm: urls.txt: 2 URLs unwrapped from www.google.com; --no-unwrap"))
    #expect(try place.names() == ["a.jpg", "b.jpg", "c.jpg", "urls.txt"])
    let plain = try await place.dlm("get", "urls.txt", "--no-unwrap", "--dry-run", "--offline")
    #expect(plain.outputText.hasPrefix("https://www.google.com/imgres?") && !plain.errorText.contains("unwrapped"))
    // A line's own header lines are for the page's server.
    _ = try place.list([page("/a.jpg") + "\theader=X: 1"])
    #expect(
      try await place.dlm("get", "urls.txt", "--dry-run", "--offline").outputText.hasPrefix("https://www.google.com/"))
  }
}
