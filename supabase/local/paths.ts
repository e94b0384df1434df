import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Failure } from "./failure.ts";

/** The repository's root folder. */
export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/** Where `npm start` keeps its data; ignored by git. */
export const defaultDataDir = join(root, ".barid");

/** The slugs that are deployed, in the order of supabase/config.toml. */
export const slugs = [
  "delivery",
  "warehousing",
  "storefront",
  "tenants",
  "system",
  "carriers",
  "webhooks",
  "payment",
] as const;

/**
 * The Deno binary npm installed. Its `bin.cjs` wrapper is passed over: it costs a process and, killed, would leave
 * Deno running.
 */
export function denoBinary(): string {
  const libc = process.platform === "linux" ? "-glibc" : "";
  const platform = `${process.platform}-${process.arch}${libc}`;
  const file = join(root, "node_modules", "@deno", platform, "deno");
  if (!existsSync(file)) {
    throw new Failure(`Deno for ${platform} is not installed: run npm install, then start again.`);
  }
  return file;
}
