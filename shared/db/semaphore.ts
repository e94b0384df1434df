/**
 * A fair semaphore. Callers that hold no place are served first, then those that ask for the fewest, and
 * among equals the one whose last turn is the longest ago. A caller with as many requests waiting as there are
 * places gets a quarter of them while others come, and so hardly delays the others. The
 * process's own work (`whose` is undefined) takes turns like every caller, but no places are reserved for it.
 */
export interface Semaphore {
  /** Resolves with what gives the place back; rejects with `late()` after `waitMs`. */
  acquire(whose: string | undefined): Promise<() => void>;
}

interface Waiter {
  admit(): void;
}

interface Holder {
  held: number;
  waiting: Waiter[];
}

/** Others count as coming for so long after one of them, who is no crowd, took a place. */
const comingMs = 1_000;

/** So many places; nobody waits for one longer than `waitMs`. */
export function createSemaphore(
  count: number,
  waitMs: number,
  onTimeout: () => Error,
  now: () => number = () => performance.now(),
): Semaphore {
  const crowdShare = Math.max(1, Math.floor(count / 4));
  let free = count;
  /** Callers that hold a place or wait for one, in the order of their turns. */
  const holders = new Map<string | undefined, Holder>();
  /** The caller without a crowd who took a place last, and when another did before. */
  let last = { whose: undefined as string | undefined, at: -Infinity, othersAt: -Infinity };

  const demand = ({ held, waiting }: Holder) => held === 0 ? 0 : held + waiting.length;
  const othersCome = (whose: string | undefined) =>
    now() - (last.whose === whose ? last.othersAt : last.at) < comingMs;
  const mayAcquire = (whose: string | undefined, { held, waiting }: Holder) =>
    waiting.length > 0 &&
    (waiting.length < count || held < crowdShare || !othersCome(whose));
  const admitWaiting = (): void => {
    while (free > 0) {
      let next: Holder | undefined;
      for (const [whose, guest] of holders) {
        if (mayAcquire(whose, guest) && (!next || demand(guest) < demand(next))) next = guest;
      }
      if (!next) return;
      next.waiting.shift()!.admit();
    }
  };
  const grant = (whose: string | undefined, guest: Holder): () => void => {
    free--;
    guest.held++;
    if (whose !== undefined && guest.waiting.length < count) {
      last = { whose, at: now(), othersAt: last.whose === whose ? last.othersAt : last.at };
    }
    return () => {
      free++;
      guest.held--;
      // This caller has had a turn: behind the others of the same number.
      holders.delete(whose);
      if (guest.held > 0 || guest.waiting.length > 0) holders.set(whose, guest);
      admitWaiting();
    };
  };

  return {
    acquire(whose) {
      const guest = holders.get(whose) ?? { held: 0, waiting: [] };
      holders.set(whose, guest);
      if (free > 0 && guest.waiting.length === 0) return Promise.resolve(grant(whose, guest));
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          admit() {
            clearTimeout(timer);
            resolve(grant(whose, guest));
          },
        };
        const timer = setTimeout(() => {
          guest.waiting.splice(guest.waiting.indexOf(waiter), 1);
          if (guest.held === 0 && guest.waiting.length === 0) holders.delete(whose);
          reject(onTimeout());
        }, waitMs);
        guest.waiting.push(waiter);
        admitWaiting();
      });
    },
  };
}
