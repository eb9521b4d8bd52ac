// usage: LibraryUser list|one|items|pause|compare FOLDER URL…
let words = CommandLine.arguments.dropFirst()
switch (words.first, words.dropFirst().first, Array(words.dropFirst(2))) {
case ("list", let folder?, let addresses): try await downloadList(addresses, into: folder)
case ("one", let folder?, let addresses):
  for address in addresses { try await downloadOne(address, into: folder) }
case ("items", let folder?, let addresses) where !addresses.isEmpty:
  try await downloadItems(Array(addresses.dropFirst()), mirror: addresses[0], into: folder)
case ("pause", let folder?, let addresses):
  for address in addresses { try await downloadWithPause(address, into: folder) }
case ("compare", let folder?, let addresses): try await compare(addresses, into: folder)
default: print("usage: LibraryUser list|one|items|pause|compare FOLDER URL…")
}
