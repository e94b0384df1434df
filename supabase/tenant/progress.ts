/** A line for what takes its time, so that nobody takes it for a command that hangs. */
export type Step = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** Steps that are named once they have taken longer than `afterMs`. */
export function stepsSaidBy(print: (line: string) => void, afterMs = 2_000): Step {
  return async (name, work) => {
    const timer = setTimeout(() => print(`${name} …`), afterMs);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
    }
  };
}
