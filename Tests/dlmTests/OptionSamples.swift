/// A valid value for each option that does not take any text.
enum OptionSamples {
  static let values = [
    "mode": "sequential", "on-conflict": "skip", "checksum": "sha256:" + String(repeating: "0", count: 64),
    "require-proof": "length", "jobs": "3", "per-host": "auto", "segments": "2", "limit-rate": "5M",
    "limit-rate-file": "5M", "rate": "2/s",
    "retries": "1", "depth": "2", "min-rate": "5M", "max-time": "60", "retry-max-time": "2.5", "connect-timeout": "3",
    "stall-timeout": "4",
    "header": "Accept: x", "progress": "plain", "max-filesize": "5M",
    "cert-type": "P12", "tls-max": "1.2", "max-age": "60", "max-stale": "60", "store": "copy",
    "cache-max-size": "5M", "refresh-every": "10m", "order": "small", "first": "*.pdf", "list-format": "lines",
    "url-template": "http://h/{}",
    "preset": "zenodo", "split": ";", "expect": "image/*", "shard": "3/20", "shard-by": "host",
    "retry-on": "403,5xx", "grace": "30", "resolve": "data.example:443:192.0.2.1", "max-redirs": "3",
    "aws-command": "true",
  ]
}
