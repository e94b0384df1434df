/** The package `barid`, as a program uses it. */
import { describe, expect, test } from "vitest";
import { signedHeaders } from "../../functions/webhooks/sender/send.ts";
import { createBarid, isRefusal, retryingFetch, unwrap } from "../../shared/client/index.ts";
import { isEvent, verifyWebhook, WebhookVerificationError } from "../../shared/client/webhooks.ts";
import { tokenOf } from "../support/channels.ts";
import { sql, stack } from "../support/db.ts";
import { newDelivery, newGround } from "../support/deliveries.ts";
import { newTenant } from "../support/people.ts";

/** A worker serves the functions without the platform's prefix. */
const toWorker: typeof fetch = (input) => {
  const request = new Request(input);
  return fetch(new Request(request.url.replace("/functions/v1", ""), request));
};

const address = {
  title: { en: "Depot" },
  full_address: "Street 1",
  city: "Baghdad",
  country: "IQ",
};
const fast = { baseDelayMs: 1 };

/** Answers these one after the other, and keeps what was sent. */
function answering(...answers: (Response | Error)[]) {
  const sent: Request[] = [];
  const send: typeof fetch = (input) => {
    sent.push(new Request(input));
    const answer = answers[Math.min(sent.length, answers.length) - 1]!;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer.clone());
  };
  return { sent, send };
}

describe("a call", () => {
  test("is refused by code, in the language asked for, with the request's id", async () => {
    const tenant = await newTenant();
    const barid = createBarid({
      url: stack.functionsUrl,
      token: () => tokenOf(tenant.driver, tenant),
      language: "ar",
      fetch: toWorker,
    });
    const refused = await unwrap(barid.POST("/delivery/cod-collections/remit", {
      body: { scope: "all" },
    })).catch((error: unknown) => error);
    expect(isRefusal(refused, "no_pending_collections")).toBe(true);
    expect(isRefusal(refused, "forbidden")).toBe(false);
    expect(refused).toMatchObject({
      status: 400,
      message: expect.stringMatching(/[\u0600-\u06ff]/),
      requestId: expect.any(String),
    });
  });

  test("asks for several words of a filter with commas between", async () => {
    const { sent, send } = answering(Response.json({ success: true, data: [] }));
    const barid = createBarid({ url: "https://x.supabase.co", apiKey: "key", fetch: send });
    await barid.GET("/delivery/deliveries", {
      params: { query: { status: ["pending", "assigned"], limit: 5 } },
    });
    expect(new URL(sent[0]!.url).searchParams.get("status")).toBe("pending,assigned");
    // @ts-expect-error -- there is no such status
    await barid.GET("/delivery/deliveries", { params: { query: { status: ["lost"] } } });
  });

  test("whose answer is lost is done once", async () => {
    const tenant = await newTenant();
    let sends = 0;
    const barid = createBarid({
      url: stack.functionsUrl,
      token: await tokenOf(tenant.admin, tenant),
      retries: fast,
      fetch: async (input) => {
        const response = await toWorker(input);
        if (++sends > 1) return response;
        await response.body?.cancel();
        throw new TypeError("connection lost");
      },
    });
    const { data } = await unwrap(barid.POST("/delivery/addresses", { body: address }));
    const kept = await sql`select id from delivery.addresses where tenant_id = ${tenant.id}`;
    expect([sends, kept.map(({ id }) => id)]).toEqual([2, [data.id]]);
  });
});

describe("a file", () => {
  test("goes in and comes out as the README says", async () => {
    const tenant = await newTenant();
    const barid = createBarid({
      url: stack.functionsUrl,
      token: await tokenOf(tenant.admin, tenant),
      fetch: toWorker,
    });
    const csv = "full_address,city\nStreet 1,Baghdad\n";
    const dry = await barid.POST("/delivery/addresses/import", {
      params: { query: { dry_run: true } },
      body: csv,
      bodySerializer: (file) => file,
      headers: { "content-type": "text/csv" },
    });
    expect(dry.data).toMatchObject({ dry_run: true, valid: 1 });
    for (const body of [csv, new File([csv], "addresses.csv")]) {
      const made = await barid.POST("/delivery/addresses/import", {
        body: body as string,
        bodySerializer: (file) => file,
        headers: { "content-type": "text/csv" },
      });
      expect(made.data).toMatchObject({ imported: 1 });
    }
    const list = await barid.GET("/delivery/addresses", {
      params: { query: { format: "csv" } },
      parseAs: "text",
    });
    expect(list.data).toContain("Street 1");
    const ground = await newGround(tenant);
    const { delivery_code } = await newDelivery(ground);
    const print = (delivery_codes: number[]) =>
      barid.POST("/delivery/shipment-labels", { body: { delivery_codes }, parseAs: "blob" });
    const labels = await print([delivery_code]);
    expect(await (labels.data as Blob).slice(0, 5).text()).toBe("%PDF-");
    expect((await print([999_999])).error).toMatchObject({ code: "delivery_not_found" });
  });
});

describe("what fails on the way", () => {
  test("is sent again with the same key, after the wait that was asked for", async () => {
    const busy = new Response(null, { status: 503, headers: { "retry-after": "0" } });
    const { sent, send } = answering(new TypeError("no network"), busy, Response.json({ ok: 1 }));
    const response = await retryingFetch(send, fast)("http://barid.test/a", {
      method: "POST",
      body: "{}",
    });
    expect(response.status).toBe(200);
    const keys = sent.map(({ headers }) => headers.get("idempotency-key"));
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), keys[0], keys[0]]);
    expect(await sent[2]!.text()).toBe("{}");
  });

  test("keeps a key that was given, and reads carry none", async () => {
    const { sent, send } = answering(Response.json({}));
    const retrying = retryingFetch(send, fast);
    await retrying("http://barid.test/a", {
      method: "PUT",
      headers: { "idempotency-key": "mine" },
    });
    await retrying("http://barid.test/a");
    expect(sent.map(({ headers }) => headers.get("idempotency-key"))).toEqual(["mine", null]);
  });

  test.each([
    ["a refusal", Response.json({}, { status: 409 }), 1],
    ["a fault of the server's", Response.json({}, { status: 500 }), 1],
    [
      "a longer wait than anybody has",
      new Response(null, { status: 429, headers: { "retry-after": "900" } }),
      1,
    ],
    ["a server that is not there", new Response(null, { status: 502 }), 4],
  ])("%s ends it in time", async (_, answer, attempts) => {
    const { sent, send } = answering(answer);
    const response = await retryingFetch(send, fast)("http://barid.test/a");
    expect([response.status, sent.length]).toEqual([answer.status, attempts]);
  });

  test("fails with the last error, and at once when it is aborted", async () => {
    const { sent, send } = answering(new TypeError("no network"));
    await expect(retryingFetch(send, fast)("http://barid.test/a")).rejects.toThrow("no network");
    expect(sent).toHaveLength(4);
    const abort = new AbortController();
    const waiting = retryingFetch(send, { baseDelayMs: 1e6, maxDelayMs: 1e9 })(
      "http://barid.test/a",
      {
        signal: abort.signal,
      },
    );
    abort.abort(new Error("closed"));
    await expect(waiting).rejects.toThrow("closed");
  });
});

describe("a webhook", () => {
  const secret = "whsec_" + Buffer.from("0123456789abcdef0123456789abcdef").toString("base64");
  const body = JSON.stringify({
    id: "1",
    type: "webhook.test",
    timestamp: "2026-01-01T00:00:00Z",
    tenant_id: "2",
    data: {},
  });
  const headers = (at = Date.now()) =>
    signedHeaders({ id: "1", body }, [secret], Math.floor(at / 1000));

  test("is the event that Barid signed, whatever holds its headers", () => {
    expect(verifyWebhook(body, headers(), secret).type).toBe("webhook.test");
    const names = Object.entries(headers()).map(([name, value]) => [name.toUpperCase(), value]);
    expect(verifyWebhook(body, Object.fromEntries(names), secret).type).toBe("webhook.test");
    expect(verifyWebhook(body, new Headers(headers()), secret).type).toBe("webhook.test");
  });

  test("is of one of the types that are asked for, or of none of them", () => {
    const event = verifyWebhook(body, headers(), secret);
    expect(isEvent(event, "delivery.created", "webhook.test")).toBe(true);
    expect(isEvent(event, "delivery.created")).toBe(false);
  });

  test("is refused with another body, another secret, or of yesterday", () => {
    const refused = (text: string, sent: Record<string, string>, key: string) =>
      expect(() => verifyWebhook(text, sent, key)).toThrow(WebhookVerificationError);
    refused(body.replace("test", "tset"), headers(), secret);
    refused(body, headers(), "whsec_" + Buffer.alloc(32).toString("base64"));
    refused(body, headers(Date.now() - 86_400_000), secret);
    refused(body, {}, secret);
  });
});
