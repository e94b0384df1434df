/** Keys of tokens: those that a process was given, and those that Auth signs with since. */
import * as jose from "jose";
import { http, HttpResponse } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { AppError } from "../../shared/errors/errors.ts";
import { signingKeys } from "../../shared/http/signing-keys.ts";

const url = new URL("https://project.example/auth/v1/.well-known/jwks.json");
const server = setupServer();
beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
afterEach(() => server.resetHandlers());
afterAll(() => server.close());

async function newKey(kid: string) {
  const { publicKey, privateKey } = await jose.generateKeyPair("ES256");
  return { kid, privateKey, jwk: { ...await jose.exportJWK(publicKey), kid, alg: "ES256" } };
}
type Key = Awaited<ReturnType<typeof newKey>>;
const signed = ({ kid, privateKey }: Key) =>
  new jose.SignJWT({}).setProtectedHeader({ alg: "ES256", kid }).sign(privateKey);

/** Auth with these keys; how often it was asked. */
function auth(answer: () => Response) {
  const asked = { times: 0 };
  server.use(http.get(url.href, () => {
    asked.times++;
    return answer();
  }));
  return asked;
}
const having = (...keys: Key[]) => () => HttpResponse.json({ keys: keys.map(({ jwk }) => jwk) });
const accepted = async (token: string, keys: jose.JWTVerifyGetKey) =>
  (await jose.jwtVerify(token, keys)).protectedHeader.kid;

test("a key that the process was given needs no call", async () => {
  const asked = auth(having());
  const old = await newKey("old");
  const keys = signingKeys(jose, { keys: [old.jwk] }, url);
  expect(await accepted(await signed(old), keys)).toBe("old");
  expect(asked.times).toBe(0);
});

test("a key that Auth signs with since is asked for once, beside the one before", async () => {
  const [old, since] = await Promise.all([newKey("old"), newKey("since")]);
  const asked = auth(having(since, old));
  const keys = signingKeys(jose, { keys: [old.jwk] }, url);
  const tokens = await Promise.all([signed(since), signed(since), signed(old)]);
  expect(await Promise.all(tokens.map((token) => accepted(token, keys))))
    .toEqual(["since", "since", "old"]);
  expect(asked.times).toBe(1);
});

test("a process that was given no key asks for all", async () => {
  const key = await newKey("one");
  auth(having(key));
  expect(await accepted(await signed(key), signingKeys(jose, undefined, url))).toBe("one");
});

test("a key that nobody has is no key, and Auth is not asked for each", async () => {
  const [key, forged] = await Promise.all([newKey("one"), newKey("forged")]);
  const asked = auth(having(key));
  const keys = signingKeys(jose, { keys: [key.jwk] }, url);
  for (let i = 0; i < 3; i++) {
    await expect(accepted(await signed(forged), keys))
      .rejects.toBeInstanceOf(jose.errors.JWKSNoMatchingKey);
  }
  expect(asked.times).toBe(1);
});

const broken: [string, () => Response][] = [
  ["does not answer", () => HttpResponse.error()],
  ["answers 500", () => new HttpResponse(null, { status: 500 })],
  ["answers no JSON", () => new HttpResponse("<html>")],
  ["answers no keys", () => HttpResponse.json({ message: "no" })],
];
test.each(broken)("a token is neither good nor bad while Auth %s", async (_, answer) => {
  const key = await newKey("one");
  auth(answer);
  const keys = signingKeys(jose, undefined, url);
  await expect(accepted(await signed(key), keys))
    .rejects.toEqual(new AppError("service_unavailable"));
  server.resetHandlers();
  auth(having(key));
  expect(await accepted(await signed(key), keys)).toBe("one");
});
