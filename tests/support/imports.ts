/** Follows imports by reading the text, which is also how the deployment finds them. */
import { dirname, join, normalize } from "node:path";
import { textOf } from "../tools/checks/files.ts";

const patterns = [
  /^\s*(?:import|export)\s[^;"']*?from\s*["']([^"']+)["']/gm,
  /^\s*import\s*["']([^"']+)["']/gm,
  /\bimport\(\s*["']([^"']+)["']/g,
];

/** The specifiers a module imports, types included. */
export function importsOf(text: string): string[] {
  const code = text.replace(/^\s*(\/\/|\*|\/\*).*$/gm, "");
  return patterns.flatMap((pattern) => [...code.matchAll(pattern)].map((match) => match[1]));
}

/** The specifiers that are loaded with a module: no types, and nothing that waits until it is asked for. */
export function loadedWith(text: string): string[] {
  const code = text.replace(/^\s*(\/\/|\*|\/\*).*$/gm, "").replace(
    /^\s*(import|export) type\s[^;]*;/gm,
    "",
  );
  return patterns.slice(0, 2).flatMap((pattern) =>
    [...code.matchAll(pattern)].map((match) => match[1])
  );
}

/** A module and all files it reaches by relative imports, as paths from the repository's root, sorted. */
export function reachedFrom(entry: string, importsOfFile = importsOf): string[] {
  const reached = new Set<string>();
  const waiting = [entry];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    if (!file.endsWith(".ts")) continue;
    for (const specifier of importsOfFile(textOf(file))) {
      if (specifier.startsWith(".")) {
        waiting.push(normalize(join(dirname(file), specifier)).replaceAll("\\", "/"));
      }
    }
  }
  return [...reached].sort();
}
