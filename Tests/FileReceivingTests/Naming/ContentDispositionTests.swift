import Testing

@testable import FileReceiving

@Suite("Names from Content-Disposition (RFC 6266, RFC 8187; HTTP rule 21)")
struct ContentDispositionTests {
  @Test(arguments: [
    ("attachment; filename=a.txt", "a.txt"),
    ("attachment; filename=\"a b.txt\"", "a b.txt"),
    ("inline; filename=\"a.txt\"", "a.txt"),
    ("ATTACHMENT; FILENAME=\"a.txt\"", "a.txt"),
    ("attachment ; filename = \"a.txt\"", "a.txt"),
    ("attachment;filename=a.txt;", "a.txt"),
    ("attachment; foo=bar; filename=a.txt; size=3", "a.txt"),
    ("attachment; filename=\"a\\\"b.txt\"", "a\"b.txt"),
    ("attachment; filename=\"a;b.txt\"", "a;b.txt"),
    ("attachment; filename=\"日本.txt\"", "日本.txt"),
    ("attachment; filename*=UTF-8''%e2%82%ac%20rates.txt", "€ rates.txt"),
    ("attachment; filename*=utf-8'en'a.txt", "a.txt"),
    ("attachment; filename*=ISO-8859-1''%A3.txt", "£.txt"),
    ("attachment; filename=fallback.txt; filename*=UTF-8''real.txt", "real.txt"),
    ("attachment; filename*=UTF-8''real.txt; filename=fallback.txt", "real.txt"),
    // As frameworks send them (HTTP rule 36).
    ("attachment; filename=my report.pdf", "my report.pdf"),
    ("attachment; filename= a b.txt ; size=3", "a b.txt"),
    ("attachment; filename=日本.txt", "日本.txt"),
    ("attachment; filename=Résumé (1).pdf; foo=b c", "Résumé (1).pdf"),
    ("attachment; filename=a, b.txt", "a, b.txt"),
    ("attachment; foo=b c; filename*=UTF-8''a b.txt", "a b.txt"),
    ("attachment; filename=../../a b", "a b"),
    ("attachment; filename=.. ; filename*=UTF-8''x", "x"),
    ("attachment; filename=.bash rc", "_bash rc"),
    // An encoded form that cannot be read leaves the plain one.
    ("attachment; filename=plain.txt; filename*=UTF-8''%FF%FE.txt", "plain.txt"),
    ("attachment; filename=plain.txt; filename*=UTF-8''%4.txt", "plain.txt"),
    ("attachment; filename=plain.txt; filename*=KOI8-R''a.txt", "plain.txt"),
    ("attachment; filename=plain.txt; filename*=\"UTF-8''quoted.txt\"", "plain.txt"),
    ("attachment; filename=plain.txt; filename*=UTF-8'a.txt", "plain.txt"),
    // As other frameworks send them, and browsers or wget read them.
    ("attachment; filename*=\"utf-8' 'x.zip\"", "x.zip"), ("attachment; filename*=UTF8''%C3%A9.txt", "é.txt"),
    ("attachment; filename=\"=?UTF-8?B?w6kueGxzeA==?=\"", "é.xlsx"),
    ("attachment; filename=\"=?utf-8?q?a_=C3=A9%41.txt?=\"", "a é%41.txt"),
    ("attachment; filename==?ISO-8859-1?Q?=E9.txt?=", "é.txt"),
    ("attachment; filename=\"=?UTF-8?B?w6k=?= =?UTF-8?Q?b.txt?=\"", "éb.txt"),
    ("attachment; filename=\"=?UTF-8?B?Li4vLi4vZXRjL3Bhc3N3ZA==?=\"", "passwd"),
    ("attachment; filename=\"=?UTF-8?B?!!!!?=\"", "=?UTF-8?B?!!!!?="),
    ("attachment; filename=\"=?KOI8-R?B?AAAA?=\"", "=?KOI8-R?B?AAAA?="),
    ("attachment; filename=\"what?.txt\"", "what?.txt"), ("attachment; filename=\"a?b?c?d?e\"", "a?b?c?d?e"),
    // Not decoded: percent signs in the plain form are percent signs.
    ("attachment; filename=\"a%20b.txt\"", "a%20b.txt"),
    // Paths, hidden files, dlm's own names.
    ("attachment; filename=\"../../etc/passwd\"", "passwd"),
    ("attachment; filename=\"..\\\\..\\\\boot.ini\"", "boot.ini"),
    ("attachment; filename*=UTF-8''..%2f..%2fx", "x"),
    ("attachment; filename=\"/abs/name.txt\"", "name.txt"),
    ("attachment; filename=\".bashrc\"", "_bashrc"),
    ("attachment; filename=\"--version\"", "_-version"),
    ("attachment; filename=\"x.part.json\"", "x.part.json_"),
    ("attachment; filename=\"a\tb\u{202E}c.txt\"", "abc.txt"),
  ])
  func readable(field: String, expected: String) {
    #expect(FileNaming.name(contentDisposition: field) == expected)
  }

  @Test(arguments: [
    "", ";", "attachment", "inline", "filename=a.txt", "attachment; filename", "attachment; filename=",
    "attachment; filename= ; size=1", "attachment; filename=\"a.txt", "attachment; filename=\"a\\",
    "attachment; filename=a.txt; filename=b.txt", "attachment; filename=a, attachment; filename=b",
    "attachment filename=a.txt", "attachment; =a.txt", "attachment; filename=..", "attachment; filename=a/",
    "attachment; filename=\"\"", "attachment; filename=\"..\"", "attachment; filename=\"a/\"",
    "attachment; filename=\"   \"", "attachment; filename=\"\u{202E}\"",
  ])
  func ignored(field: String) { #expect(FileNaming.name(contentDisposition: field) == nil) }
}
