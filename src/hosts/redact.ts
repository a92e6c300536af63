/**
 * awk programs that run on a host and let through only what is known to be public. They name what may pass, not what may
 * not: a file that nobody thought of gives lines without anything in them.
 */

/**
 * A PEM file without its secrets, line for line, so that blocks and line numbers stay what they are to its reader: blocks
 * of public kinds pass, every other block has `AAAA` for its lines, and text between blocks is `#`. What
 * stands beside a marker on its line is `x`, but for blanks and a byte order mark, which decide what Go makes of it. A block of
 * a public kind that begins as a private key does (SEQUENCE, then INTEGER 0 or 1) is one under a wrong name: its lines wait until so much
 * of it has come as tells. In such a block only base64 passes; headers and everything else are `!`, which Go reads no better.
 */
export const REDACT = String.raw`
function beside(text) { return text ~ /^[ \t]*$/ || text == "\357\273\277" ? text : "x" }
function marked(line,   out, marker, dashes) {
  out = ""
  while (match(line, /-----(BEGIN|END) [A-Z0-9 ]*/)) {
    marker = substr(line, RSTART, RLENGTH)
    out = out beside(substr(line, 1, RSTART - 1))
    line = substr(line, RSTART + RLENGTH)
    for (dashes = 0; dashes < 5 && substr(line, 1, 1) == "-"; dashes++) {
      marker = marker "-"
      line = substr(line, 2)
    }
    out = out substr(marker, 1, 60)
    state = marker ~ /^-----END / ? "between" : marker ~ /^-----BEGIN (TRUSTED |X509 )?(CERTIFICATE|CRL|CERTIFICATE REQUEST|(RSA )?PUBLIC KEY|EC PARAMETERS)-----$/ ? "first" : "secret"
  }
  return out beside(line)
}
function pass(line, end) { print (line ~ /^[A-Za-z0-9+\/= \t]+$/ ? line : "!") end }
function judge(   at) {
  state = dense ~ /^(MII..[AQgw]IB|MI[GH].AgE|M..CAQ)/ ? "secret" : "public"
  for (at = 1; at <= waiting; at++)
    if (state == "public") pass(held[at], ends[at])
    else print "AAAA" ends[at]
  dense = ""
  waiting = 0
}
BEGIN { state = "between"; dense = ""; waiting = 0 }
END { if (waiting) judge() }
{
  line = $0
  end = sub(/\r$/, "", line) ? "\r" : ""
  if (line ~ /-----(BEGIN|END) /) { if (waiting) judge(); print marked(line) end; next }
  if (line ~ /^[ \t]*$/) { print line end; next }
  if (state == "first") {
    held[++waiting] = line
    ends[waiting] = end
    if (line ~ /^[A-Za-z0-9+\/= \t]+$/) {
      dense = dense line
      gsub(/[ \t]/, "", dense)
    }
    if (length(dense) >= 16) judge()
    next
  }
  if (state == "public") pass(line, end)
  else if (state == "between") print "#" end
  else if (line ~ /^(Proc-Type|DEK-Info): [A-Za-z0-9, -]*$/) print line end
  else print "AAAA" end
}`;

/** Keys of YAML documents whose values may be read: names, paths, addresses, switches. */
const DOCUMENT_KEYS = [
  // kubeconfig
  ...['apiVersion', 'kind', 'name', 'cluster', 'user', 'context', 'current-context', 'server'],
  ...['certificate-authority', 'tls-server-name', 'client-certificate', 'client-key'],
  // KubeletConfiguration
  ...['tlsCertFile', 'tlsPrivateKeyFile', 'clientCAFile', 'rotateCertificates', 'serverTLSBootstrap'],
  ...['staticPodPath', 'port', 'address'],
  // KubeProxyConfiguration, KubeSchedulerConfiguration
  'kubeconfig',
  // etcd
  ...['cert-file', 'key-file', 'trusted-ca-file', 'client-cert-auth', 'auto-tls', 'listen-client-urls'],
  ...['listen-peer-urls', 'advertise-client-urls', 'initial-advertise-peer-urls'],
];

/** What the public half of `client-key-data` is called in the redacted document. */
export const PUBLIC_HALF = 'client-key-public';

/** How many lines were not understood, in a comment at the end of a redacted document. */
export const NOT_READ = /^# not read: (\d+)$/m;

/**
 * A YAML document in block style as its skeleton: every key, the values only of those listed, where they are plain. The
 * data of certificates passes through `REDACT` (in the environment as REDACT); of `client-key-data` the public half is
 * computed here and given instead. Of flow style only a map on one line is understood that has nothing but listed keys with
 * plain values (`context: { cluster: prod, user: admin }`); a document in JSON gives nothing.
 */
export const SKELETON = String.raw`
function piped(head, value, command) {
  printf "%s: \"", head
  fflush()
  print value | command
  close(command)
  print "\""
}
function isPublicMap(value,   pairs, count, at, key) {
  if (value !~ /^\{.*\}$/) return 0
  count = split(substr(value, 2, length(value) - 2), pairs, ",")
  for (at = 1; at <= count; at++) {
    if (pairs[at] !~ /^ *[A-Za-z-]+: +[A-Za-z0-9_.\/:@%~+-]+ *$/) return 0
    key = pairs[at]
    gsub(/^ +|:.*$/, "", key)
    if (!index(keys, " " key " ")) return 0
  }
  return count > 0
}
BEGIN { keys = " ${DOCUMENT_KEYS.join(' ')} "; lost = 0 }
{
  line = $0
  sub(/\r$/, "", line)
  if (line ~ /^[ \t]*(#.*)?$/ || line ~ /^(---|\.\.\.)[ \t]*$/) next
  if (!match(line, /^ *(- +)*[A-Za-z0-9_-]+:/) || substr(line, RLENGTH + 1) !~ /^([ \t]|$)/) {
    if (line !~ /^ *- /) lost++
    next
  }
  head = substr(line, 1, RLENGTH - 1)
  key = head
  sub(/^ *(- +)*/, "", key)
  value = substr(line, RLENGTH + 1)
  gsub(/^[ \t]+|[ \t]+$/, "", value)
  if (value ~ /^".*"$/ || value ~ /^\047.*\047$/) value = substr(value, 2, length(value) - 2)
  else sub(/[ \t]+#.*$/, "", value)
  if (value == "" || value == "{}" || value == "[]") { print head ":" (value == "" ? "" : " " value); next }
  if (key ~ /^(certificate-authority|client-certificate)-data$/ && value ~ /^[A-Za-z0-9+\/=]+$/)
    piped(head, value, "base64 -d 2>/dev/null | awk \"$REDACT\" | base64 -w 0")
  else if (key == "client-key-data" && value ~ /^[A-Za-z0-9+\/=]+$/) {
    sub(/client-key-data$/, "${PUBLIC_HALF}", head)
    piped(head, value, "base64 -d 2>/dev/null | openssl pkey -passin pass: -pubout 2>/dev/null | base64 -w 0")
  } else if (index(keys, " " key " ") && isPublicMap(value)) print head ": " value
  else if (index(keys, " " key " ") && value ~ /^[][A-Za-z0-9_.\/:@, %~+-]*$/)
    print head ": \"" value "\""
  else {
    if (key ~ /-data$/ || value ~ /^[[{&*|>]/) lost++
    print head ": \"\""
  }
}
END { print "# not read: " lost }`;
