/** Accounts of Auth and files of Storage through Supabase's own client: what is sent, and what each answer means. */
import { randomUUID } from "node:crypto";
import { http, HttpResponse } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  authRefusal,
  type SupabaseServices,
  supabaseServices,
} from "../support/outside/supabase.ts";

const server = setupServer();
let services: SupabaseServices;
beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
beforeEach(() => {
  services = supabaseServices();
  server.use(...services.handlers);
});
afterEach(() => {
  server.resetHandlers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});
afterAll(() => {
  vi.resetModules();
  server.close();
});

/** The modules as a function with this key loads them. */
async function load(key: string) {
  // The client asks for one when it is made; Deno has it, Node 20 does not.
  vi.stubGlobal("WebSocket", class {});
  vi.stubEnv("SUPABASE_URL", "https://project.example");
  vi.stubEnv("SUPABASE_SECRET_KEYS", JSON.stringify({ default: key }));
  vi.resetModules();
  const auth = await import("../../functions/tenants/users/auth-users.ts");
  const storage = await import("../../shared/outbound/storage.ts");
  return { ...auth, ...storage };
}
const person = () => ({
  id: randomUUID(),
  email: `${randomUUID()}@example.test`,
  fullName: "Sara",
});

describe("the key", () => {
  test("of the new kind stands in apikey alone", async () => {
    await (await load("sb_secret_1")).makeAuthUser(person());
    const [{ headers }] = services.asked;
    expect(headers.get("apikey")).toBe("sb_secret_1");
    expect(headers.get("authorization")).toBeNull();
  });

  test("of the old kind is a token as well", async () => {
    await (await load("eyOld")).makeAuthUser(person());
    const [{ headers }] = services.asked;
    expect(headers.get("apikey")).toBe("eyOld");
    expect(headers.get("authorization")).toBe("Bearer eyOld");
  });
});

describe("an account", () => {
  test("is made under the id chosen for it, once", async () => {
    const { makeAuthUser } = await load("sb_secret_1");
    const one = person();
    expect(await makeAuthUser({ ...one, password: "secret-1" })).toBe("made");
    expect(services.asked[0]).toMatchObject({
      line: "POST /auth/v1/admin/users",
      body: {
        id: one.id,
        email: one.email,
        password: "secret-1",
        email_confirm: true,
        user_metadata: { full_name: "Sara" },
      },
    });
    expect(await makeAuthUser({ ...one, id: randomUUID() })).toBe("taken");
  });

  test("made under another id is removed again", async () => {
    const { makeAuthUser } = await load("sb_secret_1");
    const other = randomUUID();
    server.use(http.post("*/auth/v1/admin/users", () => HttpResponse.json({ id: other })));
    services.users.set(other, "other@example.test");
    await expect(makeAuthUser(person())).rejects.toThrow("Auth answered 200");
    expect(services.users.has(other)).toBe(false);
  });

  test.each([
    ["weak_password", { code: "weak_password", params: { field: "password" } }],
    ["validation_failed", { code: "validation_failed", params: { field: "email" } }],
    ["email_address_invalid", { code: "validation_failed", params: { field: "email" } }],
  ])("refused with %s names the field", async (code, expected) => {
    const { makeAuthUser } = await load("sb_secret_1");
    server.use(http.post("*/auth/v1/admin/users", () => authRefusal(422, code)));
    await expect(makeAuthUser(person())).rejects.toMatchObject(expected);
  });

  test("is requested once when Auth fails, because it may have been created", async () => {
    const { makeAuthUser } = await load("sb_secret_1");
    let calls = 0;
    server.use(http.post("*/auth/v1/admin/users", () => {
      calls++;
      return new HttpResponse(null, { status: 503 });
    }));
    await expect(makeAuthUser(person())).rejects.toThrow("Auth answered 503");
    expect(calls).toBe(1);
  });

  test("gets a password or is removed by a call that is repeated when Auth fails", async () => {
    const { setAuthPassword, deleteAuthUser } = await load("sb_secret_1");
    const one = person();
    services.users.set(one.id, one.email);
    let calls = 0;
    server.use(http.all("*/auth/v1/admin/users/*", () => {
      return calls++ % 2 ? undefined : new HttpResponse(null, { status: 503 });
    }));
    await setAuthPassword(one.id, "secret-2");
    await deleteAuthUser(one.id);
    expect(calls).toBe(4);
    expect(services.users.size).toBe(0);
    // One that is gone already stays so.
    await deleteAuthUser(one.id);
  });

  test("cannot get a weak password", async () => {
    const { setAuthPassword } = await load("sb_secret_1");
    server.use(http.put("*/auth/v1/admin/users/*", () => authRefusal(422, "weak_password")));
    await expect(setAuthPassword(randomUUID(), "x")).rejects.toMatchObject({
      code: "weak_password",
    });
    server.resetHandlers(...services.handlers);
    await expect(setAuthPassword(randomUUID(), "secret-3")).rejects.toThrow("Auth answered 404");
  });

  test("is invited; one that is confirmed gets no mail, and that is no failure", async () => {
    const { sendInvitationMail } = await load("sb_secret_1");
    await sendInvitationMail("new@example.test");
    services.users.set(randomUUID(), "old@example.test");
    await sendInvitationMail("old@example.test");
    expect(services.asked.map(({ line, body }) => [line, body.email])).toEqual([
      ["POST /auth/v1/invite", "new@example.test"],
      ["POST /auth/v1/invite", "old@example.test"],
    ]);
    server.use(http.post("*/auth/v1/invite", () => authRefusal(429, "over_email_send_rate_limit")));
    await expect(sendInvitationMail("new@example.test")).rejects.toThrow(
      "Auth answered 429 over_email_send_rate_limit",
    );
  });
});

describe("a file", () => {
  test("is written over, uploaded by a signed address and read by another", async () => {
    const { putFile, signUpload, signReads } = await load("sb_secret_1");
    const bytes = new TextEncoder().encode("%PDF");
    await putFile("receipts", "t1/1.pdf", bytes, "application/pdf");
    const [{ line, headers }] = services.asked;
    expect(line).toBe("POST /storage/v1/object/receipts/t1/1.pdf");
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "application/pdf",
      "x-upsert": "true",
      "cache-control": "no-cache",
    });
    expect(await signUpload("receipts", "t1/2.pdf")).toEqual({
      upload_url:
        "https://project.example/storage/v1/object/upload/sign/receipts/t1/2.pdf?token=upload-token",
      token: "upload-token",
    });
    expect(await signReads("receipts", ["t1/1.pdf", "t1/none.pdf"], 60)).toEqual(
      new Map([
        [
          "t1/1.pdf",
          "https://project.example/storage/v1/object/sign/receipts/t1/1.pdf?token=read-token",
        ],
        ["t1/none.pdf", null],
      ]),
    );
    expect(services.asked.at(-1)!.body).toEqual({
      expiresIn: 60,
      paths: ["t1/1.pdf", "t1/none.pdf"],
    });
    const asked = services.asked.length;
    expect(await signReads("receipts", [])).toEqual(new Map());
    expect(services.asked).toHaveLength(asked);
  });

  test("cannot be reached while Storage fails, after three tries", async () => {
    const { putFile, signUpload, signReads } = await load("sb_secret_1");
    let calls = 0;
    server.use(http.all("*/storage/v1/*", () => {
      calls++;
      return new HttpResponse(null, { status: 503 });
    }));
    await expect(signUpload("proofs", "a")).rejects.toMatchObject({ code: "service_unavailable" });
    expect(calls).toBe(3);
    await expect(signReads("proofs", ["a"])).rejects.toMatchObject({ code: "service_unavailable" });
    await expect(putFile("proofs", "a", new Uint8Array(1), "image/png")).rejects.toThrow("storage");
    expect(calls).toBe(9);
  });
});
