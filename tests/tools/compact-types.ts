/** The generated types of the API in a form that editors read quickly. */

/**
 * The same types on fewer lines, since every editor and every check of types reads them: members that can never be there
 * and texts that stand at the component go, short types and whole responses stand on one line.
 */
export function compact(types: string): string {
  const lines = types
    .replace(/\/\*\*\n((?: *\* .*\n)+) *\*\//g, (_, text: string) => `/** ${oneLine(text)} */`)
    .split("\n")
    .filter((line) => !/^\s*(\w+\?: never;|parameters: \{ *\};)$/.test(line))
    .filter((line, index, all) =>
      !(isText(line) && /: components\["parameters"\]/.test(all[index + 1]!))
    )
    .filter((line) =>
      !/^\s*\/\*\* @description (`|Success)|^\s*\/\*\* (Format: [\w-]+|@enum \{\w+\}|@constant) \*\/$/
        .test(line)
    );
  // Of each open brace, the lines since it was opened.
  const open: string[][] = [[]];
  for (const line of lines) {
    if (line.endsWith("{")) {
      open.push([line]);
    } else if (open.length > 1 && /^\s*\}/.test(line)) {
      const [first, ...members] = open.pop()!;
      const short = [first, ...members.map((part) => part.trim()), line.trim()].join(" ");
      const isResponse = /^\s*\d+: \{$|^\s*content: \{$|^\s*"application\/json": \{$/.test(first);
      const fits = short.length <= 120 || (isResponse && members.length <= 2);
      open.at(-1)!.push(...fits && !short.includes("/**") ? [short] : [first, ...members, line]);
    } else {
      open.at(-1)!.push(line);
    }
  }
  return filled(open.flat()).join("\n");
}

const isText = (line: string) => /^\s*\/\*\*.*\*\/$/.test(line);
const oneLine = (text: string) => text.replace(/^ *\* /gm, "").trim().split("\n").join(" ");

/** References to shared responses and parameters, as many as a line holds. */
function filled(lines: string[]): string[] {
  const refers = /^\s*[\w"-]+\??: components\["(responses|parameters)"\]\["\w+(-\w+)*"\];$/;
  const result: string[] = [];
  let joins = false;
  for (const line of lines) {
    const last = result.at(-1) ?? "";
    if (joins && refers.test(line) && last.length + line.trim().length < 120) {
      result[result.length - 1] = `${last} ${line.trim()}`;
    } else {
      joins = refers.test(line);
      result.push(line);
    }
  }
  return result;
}
