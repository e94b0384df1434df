/** docs/operations.md as its reader types it: the commands of a section, and what they put in place of `<…>`. */
import { textOf } from "../tools/checks/files.ts";

/** The text between a heading and the next. */
function under(heading: string): string {
  const [, section] = textOf("docs/operations.md").split(new RegExp(`^#+ ${heading}\n`, "m"));
  if (section === undefined) throw new Error(`docs/operations.md has no heading "${heading}"`);
  return section.split(/^#+ /m)[0]!;
}

/** The commands of the shell under a heading, in their order; one that continues in the next line is one. */
export function commandsUnder(heading: string): string[] {
  return [...under(heading).matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)]
    .flatMap(([, block]) => block!.replace(/\\\n\s*/g, "").split("\n"))
    .map((line) => line.trim()).filter(Boolean);
}

/** The SQL under a heading, a block each. */
export function statementsUnder(heading: string): string[] {
  return [...under(heading).matchAll(/^ *```sql\n([\s\S]*?)^ *```/gm)].map(([, block]) => block!);
}

/** The inline code in the text under a heading. */
export function inlineUnder(heading: string): string[] {
  const text = under(heading).replace(/^ *```[\s\S]*?^ *```/gm, "");
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
}

/** The file that is shown under a heading, in a block without a language, with the reader's values. */
export function fileUnder(heading: string, values: Record<string, string>): string {
  const blocks = [...under(heading).matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```/gm)];
  const [, , text] = blocks.find(([, language]) => language === "")!;
  return filledIn(text!, values).split("\n").map((line) => line.trim()).join("\n");
}

function filledIn(text: string, values: Record<string, string>): string {
  return text.replace(/<([^>]+)>/g, (_, name) => {
    if (!(name in values)) throw new Error(`no value for <${name}> in: ${text}`);
    return values[name]!;
  });
}

/** The words of a command as a shell hands them over, with the reader's values. */
export function wordsOf(command: string, values: Record<string, string>): string[] {
  return [...filledIn(command, values).matchAll(/(?:[^\s']|'[^']*')+/g)].map(([word]) =>
    word.replaceAll("'", "")
  );
}
