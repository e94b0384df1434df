/** Bodies that are no CSV file of the import's form, and people who may not import. */
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../support/api.ts";
import { fingerprintOf } from "../support/everything.ts";
import { faultsOf, sendFile } from "../support/files.ts";
import { newTenant, type Tenant } from "../support/people.ts";

const list = "/delivery/addresses";
const path = `${list}/import`;

let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

describe("what is no such file", () => {
  test.each([
    ["nothing", "", "csv_empty", {}],
    ["a heading alone", "full_address,city\n", "csv_empty", {}],
    ["an unclosed quote", 'full_address\nx\n"y\nz\n', "invalid_csv", { line: 4 }],
    ["a quote inside a cell", 'full_address\nx\n"y"z\n', "invalid_csv", { line: 3 }],
    ["a NUL", "full_address\nx\ny\0\n", "invalid_csv", { line: 3 }],
    ["an unknown column", "full_address,owner_user_id\nx,y", "unknown_column", {
      field: "owner_user_id",
    }],
    ["an unknown part", "full_address,title.fr\nx,y", "unknown_column", { field: "title.fr" }],
    ["a prototype", "full_address,contact_info.__proto__\nx,y", "unknown_column", {
      field: "contact_info.__proto__",
    }],
    ["a column twice", "full_address,full_address\nx,y", "duplicate_column", {
      field: "full_address",
    }],
    ["a whole and its part", "full_address,title.en,title\nx,y,", "duplicate_column", {
      field: "title.en",
    }],
    ["no full_address", "city\nErbil", "missing_column", { field: "full_address" }],
    ["too many lines", `full_address\n${"x\n".repeat(5_001)}`, "csv_too_long", { lines_max: 5000 }],
  ])("%s is refused", async (_, text, code, more) => {
    const answer = await sendFile(tenant.ops, path, text);
    expect(answer).toFailWith(400, code);
    expect(answer.body).toMatchObject(more);
  });

  test("what is not UTF-8 or not text/csv is refused", async () => {
    const latin = await fetchBytes(Buffer.from("full_address\ncaf\xe9", "latin1"));
    expect(latin).toMatchObject({ status: 400, code: "invalid_csv" });
    expect(await tenant.ops.post(path, { full_address: "x" })).toFailWith(
      415,
      "unsupported_media_type",
    );
  });

  test("JSON in a cell that is too deep or cannot be stored is a fault of its line", async () => {
    const deep = "[".repeat(5_000) + "]".repeat(5_000);
    const cells = [
      `{"a":${deep}}`,
      '{"a":"\\u0000"}',
      '{"a":"\\ud800"}',
      "{",
      '{"a":"\\ud83d\\ude00"}',
    ];
    const rows = cells.map((contact_info) => ({ full_address: "x", contact_info }));
    const answer = await sendFile(tenant.ops, path, rows, { query: { dry_run: true } });
    expect(faultsOf(answer)).toEqual(
      [2, 3, 4, 5].map((line) => [line, "contact_info", "validation_failed"]),
    );
  });
});

async function fetchBytes(bytes: Buffer) {
  const answer = await tenant.ops.send("POST", path, bytes, {
    headers: { "content-type": "text/csv" },
  });
  return { status: answer.status, code: answer.body.code };
}

test("nobody without a token, and nobody who may not add one", async () => {
  expect(await sendFile(nobody, path, [{ full_address: "Karrada" }])).toFailWith(
    401,
    "unauthorized",
  );
  for (const file of [[{ full_address: "Karrada" }], "", '"broken']) {
    expect(await sendFile(tenant.staff, path, file)).toFailWith(403, "forbidden");
  }
  const before = await fingerprintOf(other.id);
  expect(
    await sendFile(tenant.ops, path, [{ full_address: "Karrada" }], {
      query: { tenant_id: other.id },
    }),
  )
    .toFailWith(403, "forbidden");
  expect(await fingerprintOf(other.id)).toEqual(before);
});

// The last of all: the server closes a connection whose body it did not read to its end.
test("a file of more than a mebibyte is refused", async () => {
  const large = `full_address\n${"x".repeat(1_048_576)}`;
  expect(await sendFile(tenant.ops, path, large)).toFailWith(413, "payload_too_large");
});
