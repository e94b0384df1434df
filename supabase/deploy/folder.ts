/** The folder that is deployed: bundles, migrations and a config.toml that names the bundles. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defaultDataDir, root } from "../local/paths.ts";
import { type Bundle, writeBundles } from "./bundle/index.ts";

/** Where it lies unless said otherwise: it stays, so that the trace of an error can be read. */
export const deployFolder = join(defaultDataDir, "deploy");

/** Writes it anew. */
export function writeFolder(folder: string, bundles: Bundle[]): void {
  rmSync(folder, { recursive: true, force: true });
  writeBundles(folder, bundles);
  mkdirSync(join(folder, "supabase"), { recursive: true });
  cpSync(join(root, "supabase", "migrations"), join(folder, "supabase", "migrations"), {
    recursive: true,
  });
  const config = readFileSync(join(root, "supabase", "config.toml"), "utf8");
  writeFileSync(join(folder, "supabase", "config.toml"), withBundles(config, bundles));
}

/** The configuration with the entry of each bundle in place of its source; a bundle needs no import map. */
function withBundles(config: string, bundles: Bundle[]): string {
  const entries = new Map(bundles.map(({ slug, entry }) => [slug, entry]));
  return config.replace(/^import_map = .*\n/gm, "").replace(
    /^entrypoint = "\.\.\/functions\/([\w-]+)\/index\.ts"$/gm,
    (line, slug) => entries.has(slug) ? `entrypoint = "../${entries.get(slug)}"` : line,
  );
}
