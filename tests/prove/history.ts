/**
 * Checks histories of appends to lists for what no serial order explains, after the way Elle does it: the order of a list
 * tells which write came before which, a read tells what it saw and what it missed, time tells what was over before
 * something else began; a circle in these tells of a lost or a half-seen write.
 */
export interface Append {
  /** Unique over all lists. */
  element: string;
  /** The lists it went to, in one transaction. */
  lists: readonly string[];
}

export interface Transaction {
  /** When it was asked and answered, in milliseconds. */
  from: number;
  to: number;
  appends?: Append;
  /** A read of a list: the elements, oldest first; the first `skipped` are left out. */
  read?: { list: string; elements: readonly string[]; skipped: number };
}

export interface Anomalies {
  /** Acknowledged and not in the list. */
  lost: string[];
  /** More than once in a list. */
  doubled: string[];
  /** Reads that saw what the list never was. */
  impossible: string[];
  /** Circles of transactions, as their indexes. */
  cycles: number[][];
}

/** The anomalies of a history, given each list as it is in the end. */
export function check(
  history: readonly Transaction[],
  lists: ReadonlyMap<string, readonly string[]>,
): Anomalies {
  const found: Anomalies = { lost: [], doubled: [], impossible: [], cycles: [] };
  const place = new Map<string, Map<string, number>>();
  for (const [list, elements] of lists) {
    place.set(list, new Map(elements.map((element, index) => [element, index])));
    if (new Set(elements).size < elements.length) found.doubled.push(list);
  }
  const writer = new Map<string, number>();
  for (const [nr, { appends }] of history.entries()) {
    if (!appends) continue;
    writer.set(appends.element, nr);
    for (const list of appends.lists) {
      if (!place.get(list)?.has(appends.element)) found.lost.push(`${appends.element} in ${list}`);
    }
  }

  const edges: Set<number>[] = history.map(() => new Set());
  const link = (from: number | undefined, to: number | undefined) => {
    if (from !== undefined && to !== undefined && from !== to) edges[from].add(to);
  };
  for (const elements of lists.values()) {
    for (let n = 1; n < elements.length; n++) {
      link(writer.get(elements[n - 1]), writer.get(elements[n]));
    }
  }
  for (const [nr, { read }] of history.entries()) {
    if (!read) continue;
    const whole = lists.get(read.list) ?? [];
    const seen = read.skipped + read.elements.length;
    const right = read.elements.every((element, n) => whole[read.skipped + n] === element);
    if (!right) {
      found.impossible.push(
        `read ${nr} of ${read.list}: not what the list was at ${seen} elements`,
      );
    }
    link(writer.get(read.elements.at(-1) ?? ""), nr);
    link(nr, writer.get(whole[seen]));
    // Also when it saw what cannot be: the last it saw, and the first it missed.
    const missed = whole.find((element, n) =>
      n >= read.skipped && !read.elements.includes(element)
    );
    if (!right && missed) link(nr, writer.get(missed));
  }
  inTime(history, link);
  found.cycles = circles(edges);
  return found;
}

/**
 * An operation that ended before another began precedes it. Enough edges to imply this, not all: each to those that
 * began before the first of them was answered.
 */
function inTime(history: readonly Transaction[], link: (from: number, to: number) => void): void {
  const starts = history.map((_, nr) => nr).sort((a, b) => history[a].from - history[b].from);
  for (const [nr, { to }] of history.entries()) {
    let low = 0;
    for (let high = starts.length; low < high;) {
      const middle = (low + high) >> 1;
      if (history[starts[middle]].from > to) high = middle;
      else low = middle + 1;
    }
    let firstEnd = Infinity;
    for (let n = low; n < starts.length && history[starts[n]].from <= firstEnd; n++) {
      link(nr, starts[n]);
      firstEnd = Math.min(firstEnd, history[starts[n]].to);
    }
  }
}

/** Groups of more than one node that reach each other (Tarjan's strongly connected components, without recursion). */
function circles(edges: readonly Set<number>[]): number[][] {
  const index = new Array<number>(edges.length).fill(-1);
  const low = new Array<number>(edges.length).fill(0);
  const open = new Array<boolean>(edges.length).fill(false);
  const stack: number[] = [];
  const found: number[][] = [];
  let next = 0;
  for (let root = 0; root < edges.length; root++) {
    if (index[root] >= 0) continue;
    const work: { node: number; rest: Iterator<number> }[] = [];
    const enter = (node: number) => {
      index[node] = low[node] = next++;
      open[node] = true;
      stack.push(node);
      work.push({ node, rest: edges[node].values() });
    };
    enter(root);
    while (work.length) {
      const { node, rest } = work[work.length - 1];
      const step = rest.next();
      if (!step.done) {
        if (index[step.value] < 0) enter(step.value);
        else if (open[step.value]) low[node] = Math.min(low[node], index[step.value]);
        continue;
      }
      work.pop();
      const parent = work.at(-1)?.node;
      if (parent !== undefined) low[parent] = Math.min(low[parent], low[node]);
      if (low[node] !== index[node]) continue;
      const group: number[] = [];
      let member: number;
      do {
        member = stack.pop()!;
        open[member] = false;
        group.push(member);
      } while (member !== node);
      if (group.length > 1) found.push(group);
    }
  }
  return found;
}
