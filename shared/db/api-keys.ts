/**
 * API keys that the database has accepted, by their hash. Until then a key is only something that a stranger sent: it
 * has no bucket and no turn of its own, or a caller who invents keys would have as many as they like.
 */
const accepted = new Set<string>();
const maxAccepted = 10_000;

export function acceptKey(hash: string): void {
  if (accepted.size >= maxAccepted) accepted.clear();
  accepted.add(hash);
}

export const isAccepted = (hash: string): boolean => accepted.has(hash);
