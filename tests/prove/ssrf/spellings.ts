/** The ways to write an address so that a careless eye takes it for something else. */

/** Inside: this machine, private networks, metadata services, and what stands for one of them. */
const inside = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "172.16.0.1", "192.168.1.1", "0.0.0.0"];
const schemes = [
  "http://127.0.0.1/",
  "ftp://127.0.0.1/",
  "file:///etc/passwd",
  "gopher://127.0.0.1:6379/_INFO",
  "data:text/plain,x",
  "javascript:alert(1)",
  "//127.0.0.1/",
  "https:127.0.0.1",
  "https:///127.0.0.1/",
  "https:\\\\127.0.0.1\\",
  " https://127.0.0.1/",
  "https://\t127.0.0.1/",
  "https://127.0.\n0.1/",
  "unix:/var/run/docker.sock",
];
const names = [
  "localhost",
  "LOCALHOST",
  "localhost.",
  "a.localhost",
  "localhost.localdomain",
  "ｌｏｃａｌｈｏｓｔ",
  "metadata.google.internal",
  "nobody.invalid",
  "ip6-localhost",
  "127.0.0.1.",
  "[::]",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::1%25lo]",
  "[fe80::1]",
  "[fc00::1]",
  "[fd00:ec2::254]",
  "[fec0::1]",
  "[ff02::1]",
  "[2001:db8::1]",
  "[100::1]",
  "[5f00::1]",
  "100.64.0.1",
  "192.0.2.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "255.255.255.255",
  "127.255.255.254",
];

/** Every spelling, some with a port of this machine that answers. */
export function spellings(port: number): string[] {
  const hosts = inside.flatMap(spelled);
  return [
    ...schemes,
    ...[...hosts, ...names].map((host) => `https://${host}/`),
    ...["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "127.1"].flatMap((
      host,
    ) => [
      `https://${host}:${port}/`,
      `http://${host}:${port}/`,
      `https://${host}:8443/`,
      `https://user:password@${host}/`,
      `https://example.com@${host}/`,
      `https://example.com%2f@${host}:8443/`,
      `https://${host}#@example.com/`,
      `https://${host}\\@example.com/`,
      `https://${host}?@example.com/`,
    ]),
  ];
}

function spelled(address: string): string[] {
  const bytes = address.split(".").map(Number);
  const [a, b, c, d] = bytes;
  const whole = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, "0"));
  const words = `${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`;
  const wide = (text: string) =>
    text.replace(/[0-9]/g, (digit) => String.fromCharCode(0xff10 + Number(digit)));
  return [
    address,
    `${address}.`,
    String(whole),
    `0x${whole.toString(16)}`,
    `0${whole.toString(8)}`,
    bytes.map((byte) => `0x${byte.toString(16)}`).join("."),
    bytes.map((byte) => `0${byte.toString(8)}`).join("."),
    bytes.map((byte) => `000${byte.toString(8)}`).join("."),
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${b * 65_536 + c * 256 + d}`,
    `0x${a.toString(16)}.${b}.0${c.toString(8)}.${d}`,
    address.replaceAll(".", "。"),
    address.replaceAll(".", "．"),
    address.replaceAll(".", "｡"),
    wide(address),
    address.replaceAll(".", "%2e"),
    `%${a.toString().charCodeAt(0).toString(16)}${address.slice(1)}`,
    `[::ffff:${address}]`,
    `[::ffff:${words}]`,
    `[0:0:0:0:0:ffff:${words}]`,
    `[::${address}]`,
    `[::ffff:0:${address}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b::${words}]`,
    `[64:ff9b:1::${address}]`,
    `[2002:${words}::1]`,
    `[2001:0:${words}::]`,
  ];
}
