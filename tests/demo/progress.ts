/** How far the day is: one line a part, on stderr, so that stdout has the result alone. */

export interface Progress {
  /** One more thing of the part that runs is done. */
  step(): void;
}

/** Says what a part does and how many of it are done; answers what the part answers. */
export type Part = <T>(
  name: string,
  count: number,
  work: (progress: Progress) => Promise<T>,
) => Promise<T>;

export function progressOf(quiet: boolean, out: NodeJS.WriteStream = process.stderr): Part {
  return async (name, count, work) => {
    let done = 0;
    const began = performance.now();
    const line = () => `${name.padEnd(42)}${`${done}/${count}`.padStart(13)}`;
    const draw = () => !quiet && out.isTTY && out.write(`\r${line()}`);
    draw();
    const answer = await work({ step: () => (done++, draw()) });
    const seconds = ((performance.now() - began) / 1000).toFixed(1).padStart(8);
    if (!quiet) out.write(`${out.isTTY ? "\r" : ""}${line()}${seconds} s\n`);
    return answer;
  };
}

/** How many calls are under way at once. */
export const atOnce = 8;

/** Does something with each, a few at once; the answers come in the order of the list. The first failure ends it. */
export async function each<T, R>(
  list: readonly T[],
  work: (one: T, index: number) => Promise<R>,
): Promise<R[]> {
  const answers = new Array<R>(list.length);
  const waiting = list.entries();
  const worker = async () => {
    for (const [index, one] of waiting) answers[index] = await work(one, index);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, list.length) }, worker));
  return answers;
}
