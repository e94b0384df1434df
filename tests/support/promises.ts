/** Promises that every endpoint and every list makes, checked the same way everywhere. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { type CallOptions, nobody, type Person } from "./api.ts";
import { newTenant } from "./people.ts";

export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  body?: unknown;
  options?: CallOptions;
}

/**
 * Without a token 401; these people 403; and where the endpoint is behind a switch, a tenant that has
 * it off is told so before anything is said about the input.
 */
export async function expectGuarded(
  call: Call,
  { denied, feature, code = "forbidden" }: {
    denied: Person[];
    feature?: "transfer_manifest";
    code?: string;
  },
): Promise<void> {
  const body = call.method === "GET" ? undefined : call.body ?? {};
  expect(await nobody.send(call.method, call.path, body)).toFailWith(401, "unauthorized");
  for (const person of denied) {
    expect(await person.send(call.method, call.path, body)).toFailWith(403, code);
  }
  if (!feature) return;
  const off = await newTenant({ settings: { [`delivery.${feature}`]: { enabled: false } } });
  const wrong = call.path.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "no-id");
  for (const [path, input] of [[call.path, body], [wrong, body && { name: 7 }]] as const) {
    expect(await off.admin.send(call.method, path, input)).toFailWith(403, `${feature}_disabled`);
  }
}

/** Each wrong body is refused with the code, naming the field. */
export async function expectRefused(
  person: Person,
  call: Call,
  wrong: readonly (readonly [body: unknown, field: string, code?: string])[],
): Promise<void> {
  for (const [body, field, code = "validation_failed"] of wrong) {
    const answer = await person.send(call.method, call.path, body, call.options);
    expect(answer, JSON.stringify(body).slice(0, 200)).toFailWith(400, code);
    expect(answer.body.field, JSON.stringify(body).slice(0, 200)).toBe(field);
  }
}

/** Ids that are none, are nobody's, or hold what PostgreSQL cannot store, in every place of a path. */
export async function expectNoSuch(
  person: Person,
  call: Call,
  field: string,
  code: string,
  ofAnotherTenant: string,
): Promise<void> {
  const at = (id: string) => call.path.replace("{id}", encodeURIComponent(id));
  const body = call.method === "GET" ? undefined : call.body ?? {};
  for (const id of ["no-id", "\u0000"]) {
    const answer = await person.send(call.method, at(id), body);
    expect(answer).toFailWith(400, "invalid_uuid");
    expect(answer.body.field).toBe(field);
  }
  for (const id of [randomUUID(), ofAnotherTenant]) {
    expect(await person.send(call.method, at(id), body)).toFailWith(404, code);
  }
}

/** Twice the same request with one key is one write, and the second answer says so; one that is `changed` is refused under it. */
export async function expectReplayed(
  person: Person,
  path: string,
  body: object,
  changed?: object,
): Promise<void> {
  const options = { headers: { "idempotency-key": randomUUID() } };
  const first = await person.post(path, body, options);
  expect(first).toSucceed();
  expect(first.headers.get("idempotency-replayed")).toBeNull();
  const again = await person.post(path, body, options);
  expect(again.status).toBe(first.status);
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  if (!changed) return;
  expect(await person.post(path, changed, options)).toFailWith(409, "idempotency_conflict");
}

/**
 * A list of 3 to 20 rows: 20 a page unless asked, at most 100, every row on exactly one page, exact
 * totals, sortable both ways, and `%` in a search is a character.
 */
export async function expectPaged(
  person: Person,
  path: string,
  sortBy: string,
  named = "id",
): Promise<void> {
  const ask = async (query: Record<string, string | number>) => {
    const answer = await person.get(path, { query });
    expect(answer).toSucceed(200);
    return answer.body;
  };
  const ids = (body: { data: Record<string, string>[] }) => body.data.map((row) => row[named]);
  const whole = await ask({});
  const total = whole.data.length;
  expect(total).toBeGreaterThanOrEqual(3);
  expect(total).toBeLessThanOrEqual(20);
  expect(whole.pagination).toEqual({ page: 1, limit: 20, total, total_pages: 1 });
  expect((await ask({ limit: 500 })).pagination.limit).toBe(100);
  for (const limit of ["0", "-1", "many"]) {
    expect((await ask({ limit, page: limit })).pagination).toEqual(whole.pagination);
  }
  const pages = Math.ceil(total / 2);
  const seen: string[] = [];
  for (let page = 1; page <= pages; page++) {
    const part = await ask({ page, limit: 2 });
    expect(part.pagination).toEqual({ page, limit: 2, total, total_pages: pages });
    seen.push(...ids(part));
  }
  expect(seen).toEqual(ids(whole));
  expect(new Set(seen).size).toBe(total);
  expect((await ask({ page: pages + 1, limit: 2 })).data).toEqual([]);
  const upwards = ids(await ask({ sort_by: sortBy, sort_order: "asc" }));
  const downwards = ids(await ask({ sort_by: sortBy, sort_order: "desc" }));
  expect(downwards).toEqual([...upwards].reverse());
  expect((await ask({ search: "%" })).data).toEqual([]);
  const unsortable = await person.get(path, { query: { sort_by: "tenant_id" } });
  expect(unsortable).toFailWith(400, "validation_failed");
  expect(unsortable.body.field).toBe("sort_by");
}
