import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "./failure.ts";
import { root } from "./paths.ts";

type Value = string | number | boolean | string[];
type Table = Record<string, Value>;

/** A bucket as supabase/config.toml declares it. */
export interface BucketConfig {
  name: string;
  public: boolean;
  fileSizeLimit: number;
  allowedMimeTypes: string[] | null;
}

/** The settings of supabase/config.toml that the stand-ins follow. */
export interface Config {
  jwtExpiry: number;
  signupEnabled: boolean;
  /** A new address is confirmed by its mailbox before it signs in. */
  confirmEmail: boolean;
  /** Seconds in which a refresh token may be used again, for clients that lost the answer. */
  refreshReuseInterval: number;
  buckets: BucketConfig[];
}

/** Reads supabase/config.toml. */
export function readConfig(file = join(root, "supabase", "config.toml")): Config {
  const tables = parseToml(readFileSync(file, "utf8"), file);
  const auth = tables.get("auth") ?? {};
  const sizeLimit = bytes(tables.get("storage")?.file_size_limit ?? "50MiB");
  const prefix = "storage.buckets.";
  return {
    jwtExpiry: Number(auth.jwt_expiry ?? 3600),
    signupEnabled: auth.enable_signup !== false,
    confirmEmail: tables.get("auth.email")?.enable_confirmations === true,
    refreshReuseInterval: Number(auth.refresh_token_reuse_interval ?? 10),
    buckets: [...tables].filter(([name]) => name.startsWith(prefix)).map(([name, bucket]) => ({
      name: name.slice(prefix.length),
      public: bucket.public === true,
      fileSizeLimit: bucket.file_size_limit ? bytes(bucket.file_size_limit) : sizeLimit,
      allowedMimeTypes: Array.isArray(bucket.allowed_mime_types) ? bucket.allowed_mime_types : null,
    })),
  };
}

/** The part of TOML that config.toml uses: tables, and keys with a string, number, boolean or array of strings. */
function parseToml(text: string, file: string): Map<string, Table> {
  const tables = new Map<string, Table>();
  let table: Table = {};
  tables.set("", table);
  for (const [index, raw] of joinArrays(text).entries()) {
    const line = raw.replace(/^((?:[^"#]|"(?:[^"\\]|\\.)*")*)#.*$/, "$1").trim();
    const header = /^\[([^\]]+)\]$/.exec(line);
    const pair = /^([\w-]+)\s*=\s*(.+)$/.exec(line);
    if (header) tables.set(header[1]!, table = tables.get(header[1]!) ?? {});
    else if (pair) table[pair[1]!] = JSON.parse(pair[2]!.replace(/,\s*\]$/, "]")) as Value;
    else if (line) throw new Failure(`${file}: cannot read "${line}" (entry ${index + 1}).`);
  }
  return tables;
}

function joinArrays(text: string): string[] {
  return text.replace(/=\s*\[[^\]]*\]/g, (array) => array.replaceAll("\n", " ")).split("\n");
}

function bytes(size: Value): number {
  const [, amount, unit = "B"] = /^([\d.]+)\s*([KMG]?i?B)?$/i.exec(String(size)) ?? [];
  const exponent = "BKMG".indexOf(unit[0]!.toUpperCase());
  const base = unit.toLowerCase().includes("i") ? 1024 : 1000;
  if (!amount) throw new Failure(`supabase/config.toml: "${size}" is not a size such as 20MiB.`);
  return Math.round(Number(amount) * base ** exponent);
}
