/** Words that do not come back: words.txt has each with what to write instead, and how many uses are left. */
import { codeFolders, filesIn, textOf } from "./files.ts";

const list = "tests/tools/checks/words.txt";
const folders = [...codeFolders, "docs"];
const pages = ["README.md", "CONTRIBUTING.md"];
/** Written by programs, data, or exact copies of other files. */
const excluded = [
  /^shared\/client\//,
  /^shared\/pdf\/font-data\.ts$/,
  /^sql\/demo\//,
  /^docs\/(schema-.*|states|triggers)\.md$/,
  /^tests\/(prove|bench)\/results\.md$/,
  /^tests\/prove\/mutants\//,
];

/** Every word with more uses than the list allows, as a line that says what to write instead. */
export function wordsThatCameBack(): string[] {
  const texts = [...folders.flatMap(filesIn), ...pages]
    .filter((file) => /\.(ts|mjs|sql|md)$|\.en\.json$/.test(file))
    .filter((file) => !excluded.some((pattern) => pattern.test(file)))
    .map((file) => [file, textOf(file)] as const);
  return textOf(list).split("\n").filter((line) => line && !line.startsWith("#")).flatMap(
    (line) => {
      const [pattern, instead, allowed] = line.split(" ; ");
      const uses = texts.map(([file, text]) =>
        [file, text.match(new RegExp(pattern, "gim"))?.length ?? 0] as const
      );
      const total = uses.reduce((sum, [, count]) => sum + count, 0);
      if (total <= Number(allowed)) return [];
      const files = uses.filter(([, count]) => count > 0).sort(([, one], [, other]) => other - one);
      const where = files.slice(0, 5).map(([file, count]) => `${file} (${count})`).join(", ");
      return [`${pattern}: ${total} uses, ${allowed} at most; write ${instead}. Most in ${where}`];
    },
  );
}
