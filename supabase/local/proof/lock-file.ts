/** What `npm ci` asks of package-lock.json, on every platform. */
import { textOf } from "./files.ts";

interface LockedPackage {
  version?: string;
  resolved?: string;
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
    ];
  });
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
