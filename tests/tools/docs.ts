// npm run docs: writes what is read from the database: triggers, states and tables for docs/, events for the API document.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { root } from "../../supabase/local/paths.ts";
import { newFolderForPostgres } from "../../supabase/local/postgres-files.ts";
import { startPostgres } from "../../supabase/local/postgres.ts";
import { templateCluster } from "../support/template.ts";
import { pagesOf } from "./pages/index.ts";

const folder = newFolderForPostgres("barid-docs-");
const server = await startPostgres({
  dataDir: join(folder, "postgres"),
  port: 0,
  durable: false,
  template: await templateCluster(),
});
try {
  const sql = postgres(server.url, { max: 1, onnotice: () => {} });
  const pages = await pagesOf(sql).finally(() => sql.end());
  for (const [path, text] of Object.entries(pages)) writeFileSync(join(root, path), text);
  console.log(`${Object.keys(pages).length} files: ${Object.keys(pages).join(", ")}`);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
