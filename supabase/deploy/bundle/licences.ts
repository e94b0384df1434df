/** The licences of packages whose code a bundle contains: they ask to be kept with it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A comment with the licence of each package that one of these modules (absolute paths) belongs to. */
export function licencesOf(modules: Iterable<string>): string {
  const folders = new Set<string>();
  for (const module of modules) {
    const folder = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+(?=[\\/])/.exec(module)?.[0];
    if (folder) folders.add(folder);
  }
  const texts = [...folders].map(licenceIn).sort();
  return texts.length === 0 ? "" : `/*\n${texts.join("\n").replaceAll("*/", "* /")}*/\n`;
}

function licenceIn(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((file) => /^(licen[cs]e|copying)/i.test(file));
  const text = file && existsSync(join(folder, file))
    ? readFileSync(join(folder, file), "utf8").trim()
    : "";
  return `${name} ${version}, ${license}\n\n${text}\n`;
}
