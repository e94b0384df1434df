/** The rows of a table, as an export writes them, whatever their size. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { copyRows } from "../../supabase/tenant/export.ts";
import { newFolder } from "../../supabase/tenant/folder.ts";
import { sql } from "../support/db.ts";

const folder = mkdtempSync(join(tmpdir(), "barid-copy-"));
newFolder(folder);
afterAll(() => rmSync(folder, { recursive: true }));

test("tables around the size of what the driver holds are written whole, one after the other", async () => {
  const line = "x".repeat(499);
  await sql.begin(async (tx) => {
    for (let lines = 20; lines <= 400; lines += 4) {
      const rows = `select repeat('x', 499) from generate_series(1, ${lines})`;
      await copyRows(tx, rows, folder, "test.rows");
      expect(readFileSync(join(folder, "tables", "test.rows.copy"), "utf8"))
        .toBe(`${line}\n`.repeat(lines));
    }
  });
});
