/**
 * A number of places that callers take turns in. Whoever holds none is next, otherwise whoever asks for the fewest, and
 * among equals whoever had his turn the longest ago. One who floods the queue, so that as many of his wait as there are
 * places, has a quarter of them as long as others come: he waits for himself, and hardly delays the others. The
 * process's own work (`whose` is undefined) has its turns like everybody, but is nobody that a crowd leaves places for.
 */
export interface Places {
  /** Resolves with what gives the place back; rejects with `late()` after `waitMs`. */
  take(whose: string | undefined): Promise<() => void>;
}

interface Waiter {
  seat(): void;
}

interface Guest {
  held: number;
  waiting: Waiter[];
}

/** Others count as coming for so long after one of them, who is no crowd himself, took a place. */
const comingMs = 1_000;

/** So many places; nobody waits for one longer than `waitMs`. */
export function openPlaces(
  count: number,
  waitMs: number,
  late: () => Error,
  now: () => number = () => performance.now(),
): Places {
  const crowdShare = Math.max(1, Math.floor(count / 4));
  let free = count;
  /** Whoever holds a place or waits for one, in the order of their turns. */
  const guests = new Map<string | undefined, Guest>();
  /** Who, without a crowd, took a place last, and when somebody else did before him. */
  let last = { whose: undefined as string | undefined, at: -Infinity, othersAt: -Infinity };

  const demand = ({ held, waiting }: Guest) => held === 0 ? 0 : held + waiting.length;
  const othersCome = (whose: string | undefined) =>
    now() - (last.whose === whose ? last.othersAt : last.at) < comingMs;
  const maySit = (whose: string | undefined, { held, waiting }: Guest) =>
    waiting.length > 0 &&
    (waiting.length < count || held < crowdShare || !othersCome(whose));
  const seatWaiting = (): void => {
    while (free > 0) {
      let next: Guest | undefined;
      for (const [whose, guest] of guests) {
        if (maySit(whose, guest) && (!next || demand(guest) < demand(next))) next = guest;
      }
      if (!next) return;
      next.waiting.shift()!.seat();
    }
  };
  const sit = (whose: string | undefined, guest: Guest): () => void => {
    free--;
    guest.held++;
    if (whose !== undefined && guest.waiting.length < count) {
      last = { whose, at: now(), othersAt: last.whose === whose ? last.othersAt : last.at };
    }
    return () => {
      free++;
      guest.held--;
      // He has had his turn: behind the others of the same number.
      guests.delete(whose);
      if (guest.held > 0 || guest.waiting.length > 0) guests.set(whose, guest);
      seatWaiting();
    };
  };

  return {
    take(whose) {
      const guest = guests.get(whose) ?? { held: 0, waiting: [] };
      guests.set(whose, guest);
      if (free > 0 && guest.waiting.length === 0) return Promise.resolve(sit(whose, guest));
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          seat() {
            clearTimeout(timer);
            resolve(sit(whose, guest));
          },
        };
        const timer = setTimeout(() => {
          guest.waiting.splice(guest.waiting.indexOf(waiter), 1);
          if (guest.held === 0 && guest.waiting.length === 0) guests.delete(whose);
          reject(late());
        }, waitMs);
        guest.waiting.push(waiter);
        seatWaiting();
      });
    },
  };
}
