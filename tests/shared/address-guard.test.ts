/** Where calls to addresses that clients chose may go. */
import { describe, expect, test } from "vitest";
import {
  AddressRefused,
  AddressUnknown,
  isPublic,
  vet,
} from "../../shared/outbound/address-guard.ts";

const to = (...addresses: string[]) => ({
  allowLocal: false,
  resolve: () =>
    Promise.resolve(
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    ),
});

test.each([
  ...["0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.1", "100.127.255.255"],
  ...["127.0.0.1", "127.255.255.254", "169.254.0.1", "169.254.169.254", "172.16.0.1"],
  ...["172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1"],
  ...["198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255"],
  ...["240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8"],
  ...["::127.0.0.1", "::ffff:0:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1"],
  ...["2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1", "3fff::1"],
  ...["5f00::1", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1"],
  ...["4000::1", "", "localhost", "1.2.3", "0x7f.0.0.1"],
])("%s is not public", (address) => {
  expect(isPublic(address)).toBe(false);
});

test.each([
  ...["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"],
  ...["126.255.255.255", "128.0.0.1", "169.253.255.255", "169.255.0.0", "172.15.255.255"],
  ...["172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0"],
  ...["223.255.255.255", "2606:4700::1111", "2a00:1450:4001::200e", "2001:4860:4860::8888"],
])("%s is", (address) => {
  expect(isPublic(address)).toBe(true);
});

describe("a name", () => {
  test.each([
    ["private", ["10.0.0.1"]],
    ["loopback", ["127.0.0.1"]],
    ["loopback of IPv6", ["::1"]],
    ["metadata", ["169.254.169.254"]],
    ["public and private", ["8.8.8.8", "10.0.0.1"]],
    ["private and public", ["fd00::1", "8.8.8.8"]],
  ])("that resolves to %s is refused", async (_, addresses) => {
    await expect(vet("https://hook.example/", to(...addresses))).rejects.toThrow(AddressRefused);
  });

  test("that is public is called at the address that was checked, by its name", async () => {
    const vetted = await vet("https://hook.example:8443/a?b", to("8.8.4.4", "8.8.8.8"));
    expect(vetted).toMatchObject({ address: "8.8.4.4", family: 4 });
    expect(vetted.url.href).toBe("https://hook.example:8443/a?b");
  });

  test.each([
    ["2606:4700::1111", "8.8.8.8"],
    ["8.8.8.8", "2606:4700::1111"],
  ])("of both families is called by IPv4: %s, %s", async (...addresses) => {
    expect(await vet("https://hook.example/", to(...addresses)))
      .toMatchObject({ address: "8.8.8.8", family: 4 });
    expect(await vet("https://hook.example/", to("2606:4700::1111")))
      .toMatchObject({ address: "2606:4700::1111", family: 6 });
  });

  test("that changed its meaning is checked anew each time", async () => {
    const answers = ["8.8.8.8", "127.0.0.1"];
    const resolve = () => Promise.resolve([{ address: answers.shift()!, family: 4 }]);
    await vet("https://hook.example/", { allowLocal: false, resolve });
    await expect(vet("https://hook.example/", { allowLocal: false, resolve })).rejects.toThrow(
      AddressRefused,
    );
  });

  test("without an address is unknown", async () => {
    await expect(vet("https://hook.example/", to())).rejects.toThrow(AddressUnknown);
    await expect(vet("https://nobody.invalid/", { allowLocal: false })).rejects.toThrow(
      AddressUnknown,
    );
  });
});

test.each([
  ...["http://8.8.8.8/", "https://8.8.8.8:80/", "https://8.8.8.8:22/", "ftp://8.8.8.8/"],
  ...["https://a:b@8.8.8.8/", "https://a@8.8.8.8/", "file:///etc/passwd", "data:,x", "", "x"],
  ...["https://127.1/", "https://2130706433/", "https://0x7f000001/", "https://017700000001/"],
  ...["https://[::1]/", "https://[::ffff:7f00:1]/", "https://①②⑦.⓪.⓪.①/", "https://localhost/"],
  ...["http://127.0.0.1/", `https://8.8.8.8/${"x".repeat(2_000)}`],
])("%s is refused", async (url) => {
  await expect(vet(url, { allowLocal: false })).rejects.toThrow(AddressRefused);
});

test("this machine may be called where that is allowed, and no other private address", async () => {
  expect(await vet("http://127.0.0.1:9/", { allowLocal: true })).toMatchObject({
    address: "127.0.0.1",
  });
  await expect(vet("http://10.0.0.1/", { allowLocal: true })).rejects.toThrow(AddressRefused);
  await expect(vet("http://8.8.8.8/", { allowLocal: true })).rejects.toThrow(AddressRefused);
});
