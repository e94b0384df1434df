/** The commands and links in README and the pages of docs/. */
import { readdirSync, readFileSync } from "node:fs";

export const pages = [
  "README.md",
  "CONTRIBUTING.md",
  ...["docs", "docs/decisions"].flatMap((folder) =>
    readdirSync(folder).filter((file) => file.endsWith(".md")).map((file) => `${folder}/${file}`)
  ),
];

/** The lines of a page's shell blocks, and of its code in running text that begins with a program. */
export function commandsOf(page: string): string[] {
  const text = readFileSync(page, "utf8");
  const blocks = [...text.matchAll(/^```(?:sh|bash)\n([\s\S]*?)^```/gm)]
    .flatMap(([, block]) => block.split("\n").map((line) => line.trim()).filter(Boolean));
  const inline = [...text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/`((?:npm|npx|node) [^`]+)`/g)]
    .map(([, command]) => command);
  return [...blocks, ...inline];
}

/** Links of a page to files and headings of the repository. */
export function linksOf(page: string): string[] {
  return [...readFileSync(page, "utf8").matchAll(/\]\(([^)]+)\)/g)]
    .map(([, target]) => target)
    .filter((target) => !/^https?:/.test(target));
}

/** The anchors that a page's headings have where it is read. */
export function anchorsOf(page: string): string[] {
  const text = readFileSync(page, "utf8").replace(/^```[\s\S]*?^```/gm, "");
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").trim().replace(/\s/g, "-")
  );
}
