/**
 * A number of places that callers take turns in. Whoever holds none is next, otherwise whoever asks for the fewest, and
 * among equals whoever had his turn the longest ago: one who floods the queue waits for himself, hardly delays the others,
 * and always has a place himself.
 */
export interface Places {
  /** Resolves with what gives the place back; rejects with `late()` after `waitMs`. */
  take(whose: string): Promise<() => void>;
}

interface Waiter {
  seat(): void;
}

interface Guest {
  held: number;
  waiting: Waiter[];
}

/** So many places; nobody waits for one longer than `waitMs`. */
export function openPlaces(count: number, waitMs: number, late: () => Error): Places {
  let free = count;
  /** Whoever holds a place or waits for one, in the order of their turns. */
  const guests = new Map<string, Guest>();

  const demand = ({ held, waiting }: Guest) => held === 0 ? 0 : held + waiting.length;
  const seatNext = (): void => {
    let next: Guest | undefined;
    for (const guest of guests.values()) {
      if (guest.waiting.length > 0 && (!next || demand(guest) < demand(next))) next = guest;
    }
    next?.waiting.shift()!.seat();
  };
  const sit = (whose: string, guest: Guest): () => void => {
    free--;
    guest.held++;
    return () => {
      free++;
      guest.held--;
      // He has had his turn: behind the others of the same number.
      guests.delete(whose);
      if (guest.held > 0 || guest.waiting.length > 0) guests.set(whose, guest);
      seatNext();
    };
  };

  return {
    take(whose) {
      const guest = guests.get(whose) ?? { held: 0, waiting: [] };
      guests.set(whose, guest);
      if (free > 0) return Promise.resolve(sit(whose, guest));
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
      });
    },
  };
}
