/** The generated types of the API in a form that editors read quickly. */

const maxWidth = 150;

/**
 * The same types on fewer lines, since every editor and every check of types reads them: members that can never be there
 * and texts that stand at the component go; texts stand beside their member, short members, refusals and
 * responses on one line.
 */
export function compact(types: string): string {
  const lines = withTexts(
    types
      .replace(/\/\*\*\n((?: *\* .*\n)+) *\*\//g, (_, text: string) => `/** ${oneLine(text)} */`)
      .replaceAll("/** @description ", "/** ")
      .replace(/^ +/gm, (spaces) => spaces.slice(spaces.length / 2))
      .split("\n")
      .filter((line) => !/^\s*(\w+\?: never;|parameters: \{ *\};)$/.test(line))
      .filter((line, index, all) =>
        !(isText(line) && /: components\["parameters"\]/.test(all[index + 1]!))
      )
      .filter((line) =>
        !/^\s*\/\*\* (`\w+`|Success)|^\s*\/\*\* (Format: [\w-]+|@enum \{\w+\}|@constant) \*\/$/
          .test(line)
      ),
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
      const isRefusal = line.endsWith(`& components["schemas"]["Error"];`);
      const fits = short.length <= maxWidth || isRefusal || (isResponse && members.length <= 2);
      open.at(-1)!.push(...fits ? [short] : [first, ...members, line]);
    } else {
      open.at(-1)!.push(line);
    }
  }
  return filled(open.flat()).join("\n");
}

const isText = (line: string) => /^\s*\/\*\*.*\*\/$/.test(line);
const oneLine = (text: string) => text.replace(/^ *\* /gm, "").trim().split("\n").join(" ");

/** Members that stand on one line each, as many on a line as it holds. */
function filled(lines: string[]): string[] {
  const whole = /^\s*(\/\*\*.*\*\/ )?(readonly )?[\w"'-]+\??: [^;]*;$|^\s*[\w"-]+\??: \{.*\};$/;
  const indentOf = (line: string) => line.length - line.trimStart().length;
  const result: string[] = [];
  let joins = false;
  for (const line of lines) {
    const last = result.at(-1) ?? "";
    const fits = last.length + line.trim().length < maxWidth && indentOf(last) === indentOf(line);
    if (joins && fits && whole.test(line)) {
      result[result.length - 1] = `${last} ${line.trim()}`;
    } else {
      joins = whole.test(line);
      result.push(line);
    }
  }
  return result;
}

/** A text on the line of what it is about. */
function withTexts(lines: string[]): string[] {
  const result: string[] = [];
  for (const line of lines) {
    if (isText(result.at(-1) ?? "")) result.push(`${result.pop()} ${line.trim()}`);
    else result.push(line);
  }
  return result;
}
