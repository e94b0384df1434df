/**
 * `npm run client`: the package `barid` for programs that call Barid, as .barid/barid-<version>.tgz: shared/client compiled, with the
 * parts of shared/ that it takes. `npm install <file>` installs it; `npm publish <file>` publishes it.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultDataDir, root } from "../../supabase/local/paths.ts";
import { runProgram } from "./checks/programs.ts";

/** The entries of the package, by the name that an import has. */
const entries = { ".": "index", "./webhooks": "webhooks", "./barcode": "barcode" };

const [target = defaultDataDir, more] = process.argv.slice(2);
if (target.startsWith("-") || more !== undefined) {
  console.error("npm run client -- [folder]: where the package is written (.barid).");
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "barid-client-"));
try {
  console.log(await pack(folder, target));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function pack(folder: string, target: string): Promise<string> {
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(compilation(folder)));
  await run(join(root, "node_modules/.bin/tsc"), ["-p", folder], root);
  rmSync(join(folder, "tsconfig.json"));
  for (const types of ["client/paths.d.ts", "client/events.d.ts"]) {
    copyFileSync(join(root, "shared", types), join(folder, types));
  }
  copyFileSync(join(root, "shared/client/README.md"), join(folder, "README.md"));
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest(), null, 2));
  mkdirSync(target, { recursive: true });
  const [packed] = JSON.parse(
    (await run("npm", ["pack", "--json", "--silent", "--pack-destination", target], folder)).join(
      "",
    ),
  );
  return join(target, packed.filename);
}

function compilation(folder: string) {
  return {
    compilerOptions: {
      rootDir: join(root, "shared"),
      outDir: folder,
      declaration: true,
      target: "ES2022",
      module: "NodeNext",
      moduleResolution: "NodeNext",
      lib: ["ES2023", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
      // Nothing of Node or Deno: the package runs in browsers, too.
      types: [],
      rewriteRelativeImportExtensions: true,
      strict: true,
      skipLibCheck: true,
    },
    files: Object.values(entries).map((name) => join(root, `shared/client/${name}.ts`)),
  };
}

function manifest() {
  const { version, license, devDependencies } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  const take = (name: string) => [name, devDependencies[name]];
  return {
    name: "barid",
    version,
    description: "Typed client of Barid, a delivery-operations backend on Supabase",
    license,
    type: "module",
    sideEffects: false,
    engines: { node: ">=20" },
    exports: Object.fromEntries(
      Object.entries(entries).map(([path, name]) => [path, {
        types: `./client/${name}.d.ts`,
        default: `./client/${name}.js`,
      }]),
    ),
    dependencies: Object.fromEntries(["openapi-fetch", "standardwebhooks"].map(take)),
  };
}

async function run(program: string, args: string[], cwd: string): Promise<string[]> {
  const { code, lines } = await runProgram(program, args, { cwd });
  if (code !== 0) throw new Error(`${program} failed:\n${lines.join("\n")}`);
  return lines;
}
