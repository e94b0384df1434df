/**
 * The functions as they are deployed: each with all it needs from npm in files of its own, made from the packages that
 * package-lock.json holds to the byte. What is uploaded is then all there is: the platform embeds no package, resolves no
 * version, and counts nothing else. Features stay files of their own, loaded when they are first asked for.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { type CodeSplittingGroup, type OutputChunk, rolldown } from "rolldown";
import { Failure } from "../../local/failure.ts";
import { root, slugs } from "../../local/paths.ts";
import { licencesOf } from "./licences.ts";
import { plugins } from "./plugins.ts";

/** One function's files. */
export interface Bundle {
  slug: string;
  /** The file that exports the handler, by its path from the folder; its name changes with what it says. */
  entry: string;
  /** Text by path from the folder, sorted. */
  files: Map<string, string>;
  /** Bytes of all files. */
  size: number;
  /** Bytes once they are compressed as the platform keeps them (brotli). */
  compressed: number;
}

/** Names that npm packages find without importing them: the runtime gives them to packages that it loaded itself. */
const globals = {
  Buffer: ["node:buffer", "Buffer"],
  process: ["node:process", "default"],
  // Not setImmediate: shared/db/immediates.ts puts one that works in its place.
  ...Object.fromEntries(
    ["setTimeout", "clearTimeout", "setInterval", "clearInterval"].map((name) => [
      name,
      ["node:timers", name],
    ]),
  ),
} as Record<string, [string, string]>;

/** Files that are loaded together are one file: each costs half a millisecond when a process starts. */
const groups: CodeSplittingGroup[] = [
  // Letters of Arabic double the memory of the file that they stand in.
  { name: "texts", test: /[\\/]i18n[\\/]catalogues\.ts$/, priority: 4 },
  { name: "engine", tags: ["$initial"], priority: 3 },
  {
    name: "schemas",
    test: /[\\/]node_modules[\\/]zod[\\/]|[\\/]shared[\\/](schemas|api)[\\/](?!csv)/,
    minShareCount: 3,
    priority: 2,
  },
];

/** Bundles one function from its entry, a path from the repository's root. */
export async function bundle(slug: string, entry = `functions/${slug}/index.ts`): Promise<Bundle> {
  const build = await rolldown({
    cwd: root,
    input: { index: entry },
    platform: "node",
    external: [/^node:/],
    resolve: { conditionNames: ["deno", "node", "import", "default"] },
    transform: { target: "es2022", define: { global: "globalThis" }, inject: globals },
    plugins,
    onLog: () => {},
  });
  const { output } = await build.generate({
    format: "esm",
    entryFileNames: `functions/${slug}/[name]-[hash].js`,
    chunkFileNames: `functions/${slug}/[name]-[hash].js`,
    // Names and lines stay, so that the trace of an error can be read.
    minify: false,
    // The CLI takes an `import("…")` in a comment for one of the code. Licences stand at the end.
    comments: false,
    codeSplitting: { groups },
  });
  await build.close();
  const chunks = output.filter((file): file is OutputChunk => file.type === "chunk");
  requireWhole(slug, chunks);
  const licences = licencesOf(chunks.flatMap(({ moduleIds }) => moduleIds));
  const files = new Map(
    chunks.map(({ fileName, code, isEntry }): [string, string] => [
      fileName,
      isEntry ? code + licences : code,
    ]).sort(([one], [other]) => one < other ? -1 : 1),
  );
  const all = Buffer.from([...files.values()].join(""));
  return {
    slug,
    entry: chunks.find(({ isEntry }) => isEntry)!.fileName,
    files,
    size: all.length,
    compressed: compressedSize(all),
  };
}

/** The platform would look in vain for an import that is neither a file of the bundle nor a module of Node. */
function requireWhole(slug: string, chunks: OutputChunk[]): void {
  const own = new Set(chunks.map(({ fileName }) => fileName));
  const named = chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]);
  const missing = named.filter((name) => !own.has(name) && !name.startsWith("node:"));
  if (missing.length > 0) {
    throw new Failure(`${slug} cannot be bundled: ${missing.join(", ")} was not found.`);
  }
}

/** Bundles every function that is deployed. */
export function bundleAll(): Promise<Bundle[]> {
  return Promise.all(slugs.map((slug) => bundle(slug)));
}

/** Writes bundles into a folder, in place of what was there. */
export function writeBundles(folder: string, bundles: Bundle[]): void {
  rmSync(join(folder, "functions"), { recursive: true, force: true });
  for (const [file, text] of bundles.flatMap(({ files }) => [...files])) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
}

/** As the CLI compresses a bundle. */
function compressedSize(bytes: Buffer): number {
  return brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }).length;
}
