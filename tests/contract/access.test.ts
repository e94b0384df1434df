/** The access rights of every endpoint: listed in access.txt for people, and tried on each. */
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { nobody, type Person, withKey } from "../support/api.ts";
import { type MessageKey, translate } from "../../shared/i18n/index.ts";
import { sql } from "../support/db.ts";
import { newTenant, type Part, type Tenant } from "../support/people.ts";
import { type Operation, operations } from "./functions.ts";

const file = fileURLToPath(new URL("access.txt", import.meta.url));
const guarded = operations.filter(({ endpoint }) => !endpoint.access.publicAccess);

/** The columns of the table: who somebody is, and how the rules see them. */
const people: Record<Exclude<Part, "driver2" | "institution2">, [type: string, role: string]> = {
  customer: ["customer", "customer"],
  institution: ["institution", "institution"],
  driver: ["driver", "driver"],
  staff: ["staff", "warehouse_staff"],
  warehouse: ["staff", "warehouse_manager"],
  dispatcher: ["staff", "dispatcher"],
  ops: ["staff", "operations_manager"],
  admin: ["staff", "tenant_admin"],
};
type Column = keyof typeof people;
const columns = Object.keys(people) as Column[];

let tenant: Tenant;
/** A program of the company, one of a merchant, and one of a merchant that only reads. */
const keys = ["key", "own key", "view key"] as const;
type Key = typeof keys[number];
let programs: Record<Key, Person>;
let grants: Record<Column | Key | "system" | "service" | "mailbox", string[]>;

/** All that a key of a tenant may carry. */
const scopes = [
  "view:tenant",
  "manage:tenant",
  "manage:operations:tenant",
  "manage:module:warehouse",
];

beforeAll(async () => {
  tenant = await newTenant();
  const keyOf = async (maker: Person, scopes: string[]) => {
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const made = await maker.post("/tenants/me/api-keys", { name: "All", scopes, expires_at });
    return withKey(made.body.key);
  };
  programs = {
    key: await keyOf(tenant.admin, scopes),
    "own key": await keyOf(tenant.institution, ["own:institution"]),
    "view key": await keyOf(tenant.institution, ["own:institution:view"]),
  };
  const permissions = await sql<{ role_key: string; permission_key: string }[]>`
    select role_key, permission_key from tenancy.role_permissions`;
  const everything = await sql<{ key: string }[]>`select key from tenancy.permissions`;
  grants = {
    ...Object.fromEntries(columns.map((column) => {
      const [type, role] = people[column];
      const own = permissions.filter((row) => row.role_key === role);
      return [column, [
        "anyone",
        `type:${type}`,
        `role:${role}`,
        ...own.map((row) => `permission:${row.permission_key}`),
      ]];
    })) as Record<Column, string[]>,
    key: ["anyone", "api_key", ...scopes.map((scope) => `permission:${scope}`)],
    "own key": ["anyone", "api_key", "type:institution", "role:institution"],
    "view key": ["anyone", "api_key", "type:institution", "role:institution"],
    system: ["anyone", "role:system_admin", ...everything.map(({ key }) => `permission:${key}`)],
    service: ["anyone", "service"],
    // Every caller who signed in by a mail to their address, in addition to their own kind.
    mailbox: ["anyone", "mailbox"],
  };
});

test("access.txt says who may call what (UPDATE=1 writes it anew)", () => {
  const table = describeAccess();
  if (process.env.UPDATE) writeFileSync(file, table);
  expect(readFileSync(file, "utf8")).toBe(table);
});

test("nobody is locked out of everything: each endpoint has somebody who may call it", () => {
  const closed = operations.filter(({ endpoint }) =>
    !(Object.keys(grants) as (keyof typeof grants)[]).some((who) => isAdmitted(who, endpoint))
  );
  expect(closed.map(({ name }) => name)).toEqual([]);
});

test("without a token every endpoint that is not public answers 401", async () => {
  const wrong = await tried(
    guarded,
    (operation) => call(operation, nobody),
    (operation, answer) =>
      answer.status === 401 && answer.body.code === told(operation, "unauthorized")
        ? []
        : [operation.name],
  );
  expect(wrong).toEqual([]);
});

test.each([...columns, ...keys])(
  "%s gets 403 wherever the table says so",
  async (column) => {
    const refused = guarded.filter(({ endpoint }) => !isAdmitted(column, endpoint));
    const wrong = await tried(
      refused,
      (operation) => call(operation, callerOf(column)),
      (operation, { status, body }) => {
        const { name, endpoint } = operation;
        const code = told(
          operation,
          isKey(column) && endpoint.person
            ? "api_key_not_a_person"
            : endpoint.access.errorCode ?? "forbidden",
        );
        return status === 403 && body.code === code ? [] : [`${name}: ${status} ${body.code}`];
      },
    );
    expect(wrong).toEqual([]);
  },
);

test("a merchant's key that only reads gets what the other gets, wherever it may", async () => {
  const reads = guarded.filter(({ endpoint }) => isAdmitted("view key", endpoint));
  expect(reads.length).toBeGreaterThan(40);
  const wrong = await tried(
    reads,
    (operation) =>
      Promise.all([call(operation, programs["view key"]), call(operation, programs["own key"])]),
    ({ name }, [view, own]) =>
      view.status === own.status && view.body?.code === own.body?.code
        ? []
        : [`${name}: ${view.status} ${view.body?.code}, ${own.status} ${own.body?.code}`],
  );
  expect(wrong).toEqual([]);
});

test("a merchant's key that only reads is refused every change, in each language", async () => {
  // Open calls look at no token: a report is proven by its bytes, and a recipient by the link.
  const changes = operations.filter(({ endpoint }) =>
    isAdmitted("own key", endpoint) && endpoint.method !== "get" && !endpoint.access.publicAccess
  );
  expect(changes.length).toBeGreaterThan(20);
  for (const language of ["en", "ar", "ku"] as const) {
    const wrong = await tried(
      changes,
      (operation) => call(operation, programs["view key"].in(language)),
      (operation, { status, body }) => {
        const code = operation.endpoint.access.errorCode ?? "forbidden";
        const message = translate(language, code as MessageKey);
        return status === 403 && body.code === told(operation, code) && body.message === message
          ? []
          : [`${operation.name}: ${status} ${body.code} ${body.message}`];
      },
    );
    expect(wrong, language).toEqual([]);
  }
});

const isKey = (column: string): column is Key => (keys as readonly string[]).includes(column);

const callerOf = (column: Column | Key): Person =>
  isKey(column) ? programs[column] : tenant[column];

/** The code an answer comes with; two endpoints keep theirs to themselves. */
function told({ endpoint }: Operation, code: string): string | undefined {
  return endpoint.omitErrorCode ? undefined : code;
}

/** An empty body and ids of nothing: whoever is refused must be refused before anything is looked at. */
function call({ endpoint, path }: Operation, person: typeof nobody) {
  const url = path.replace(":tenantId", tenant.id).replace(/:\w+/g, () => randomUUID());
  const method = endpoint.method.toUpperCase();
  return person.send(method, url, method === "GET" ? undefined : {});
}

function isAdmitted(
  column: keyof typeof grants,
  { access, person, method, tenant: mode }: Operation["endpoint"],
): boolean {
  if (person && isKey(column)) return false;
  if (column === "view key" && method !== "get" && !access.publicAccess) return false;
  // A merchant's key is the merchant in its company, and nobody elsewhere.
  const isOwn = column === "own key" || column === "view key";
  const held = isOwn && mode === "none" ? ["anyone", "api_key"] : grants[column];
  return access.publicAccess === true || access.any.some((grant) => held.includes(grant));
}

/** Calls in small groups, so that the pool of the functions is never the thing that answers. */
async function tried<A>(
  list: Operation[],
  ask: (operation: Operation) => Promise<A>,
  faults: (operation: Operation, answer: A) => string[],
): Promise<string[]> {
  const wrong: string[] = [];
  for (let at = 0; at < list.length; at += 4) {
    const group = list.slice(at, at + 4);
    const answers = await Promise.all(group.map(ask));
    wrong.push(...group.flatMap((operation, index) => faults(operation, answers[index])));
  }
  return wrong;
}

function describeAccess(): string {
  const who = [...columns, ...keys, "system", "service"] as const;
  const wide = Math.max(...operations.map(({ name }) => name.length)) + 2;
  const head = "endpoint".padEnd(wide) + who.map((name) => name.padEnd(13)).join("") + "also";
  const rows = operations.map(({ name, endpoint }) => {
    const cells = who.map((column) => (isAdmitted(column, endpoint) ? "yes" : "-").padEnd(13));
    return name.padEnd(wide) + cells.join("") + also(endpoint);
  });
  return `${
    [
      "Who may call which endpoint. Written by UPDATE=1 npx vitest run tests/contract/access.test.ts;",
      "a change here is a change of rights and is reviewed as one. Own rows only: see the policies.sql of its feature.",
      "",
      head,
      ...rows,
    ].map((line) => line.trimEnd()).join("\n")
  }\n`;
}

function also({ access, feature, tenant: mode, internal }: Operation["endpoint"]): string {
  return [
    access.publicAccess && "public",
    access.any.includes("mailbox") && "signed in by mail",
    access.errorCode && `denied: ${access.errorCode}`,
    feature && `gate: ${feature}`,
    mode && mode !== "required" && `tenant: ${mode}`,
    internal && "internal",
  ].filter(Boolean).join(", ");
}
