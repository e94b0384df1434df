/** The time as a run of background work sees it: milliseconds, and a rest that ends when it is over or somebody calls. */
export interface Clock {
  now(): number;
  rest(ms: number, woken: Promise<void>): Promise<void>;
}

export const theClock: Clock = {
  now: Date.now,
  async rest(ms, woken) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
    await Promise.race([over, woken]);
    clearTimeout(timer);
  },
};
