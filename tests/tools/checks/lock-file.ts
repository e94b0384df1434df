/** The requirements of `npm ci` for package-lock.json on every platform, and of deployed functions for deno.lock. */
import { filesIn, textOf } from "./files.ts";

interface LockedPackage {
  version?: string;
  resolved?: string;
  integrity?: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/**
 * Dependencies without an entry, and entries that name an address. A registry that lacks a package for another
 * platform makes `npm install` leave it out without a word; `npm ci` then refuses the file, there and everywhere.
 */
export function brokenLockFile(): string[] {
  const { packages } = JSON.parse(textOf("package-lock.json")) as {
    packages: Record<string, LockedPackage>;
  };
  return Object.entries(packages).flatMap(([path, locked]) => {
    const needed = Object.keys({ ...locked.dependencies, ...locked.optionalDependencies });
    return [
      ...needed.filter((name) => !placesOf(path, name).some((place) => packages[place]?.version))
        .map((name) =>
          `package-lock.json: ${path || "the project"} needs ${name}, which is missing`
        ),
      ...(locked.resolved ? [`package-lock.json: ${path} names an address`] : []),
      ...(path && !locked.integrity && !isForAnotherPlatform(path)
        ? [`package-lock.json: ${path} has no integrity`]
        : []),
    ];
  });
}

/** Binaries that a registry may not offer where the file was written; npm asks for them on their own platform alone. */
function isForAnotherPlatform(path: string): boolean {
  return /^node_modules\/(@deno\/(darwin|win32|linux-arm64)|@supabase\/cli-(darwin|windows|linux-arm64|linux-x64-musl))/
    .test(path);
}

interface DenoLock {
  specifiers: Record<string, string>;
  npm: Record<string, { integrity: string }>;
}

/** Packages that the functions are deployed with and that are not, to the byte, those which are tested here. */
export function differingDenoLock(): string[] {
  const { packages } = JSON.parse(textOf("package-lock.json")) as {
    packages: Record<string, LockedPackage>;
  };
  const { imports } = JSON.parse(textOf("deno.json")) as { imports: Record<string, string> };
  const lock = JSON.parse(textOf("deno.lock")) as DenoLock;
  const tested = new Map(
    Object.entries(packages).map(([path, { version, integrity }]) => [
      `${path.split("node_modules/").at(-1)}@${version}`,
      integrity,
    ]),
  );
  const deployed = [...filesIn("functions"), ...filesIn("shared")].map(textOf).join("\n");
  return [
    ...Object.entries(imports).filter(([name, specifier]) =>
      !name.endsWith("/") && deployed.includes(`from "${name}`) && !lock.specifiers[specifier]
    ).map(([, specifier]) => `deno.lock: ${specifier} is missing`),
    ...Object.entries(lock.npm).filter(([name, { integrity }]) => tested.get(name) !== integrity)
      .map(([name]) => `deno.lock: ${name} is not what package-lock.json has`),
  ];
}

/** Where Node looks for a package that is asked for at `path`, nearest first. */
function placesOf(path: string, name: string): string[] {
  const nested = path.split(/\/?node_modules\//).slice(1);
  return Array.from(
    { length: nested.length + 1 },
    (_, up) =>
      [...nested.slice(0, nested.length - up), name].map((part) => `node_modules/${part}`).join(
        "/",
      ),
  );
}
