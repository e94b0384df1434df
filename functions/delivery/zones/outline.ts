/** Outlines of zones as geometry: closed rings of [longitude, latitude], whose last position is the first. */
export type Position = readonly number[];

/** Twice the area of the triangle a, b, c; negative when it turns to the right, 0 when they lie on a line. */
const turn = (a: Position, b: Position, c: Position) =>
  (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);

/** The area inside a ring in square degrees, measured from its first position: what lies far from the equator is exact as well. */
export function areaOf(ring: readonly Position[]): number {
  let sum = 0;
  for (let i = 1; i < ring.length - 1; i++) sum += turn(ring[0], ring[i], ring[i + 1]);
  return Math.abs(sum) / 2;
}

/** Whether lines of the ring cross or touch each other that do not follow one another. A position that is repeated at once is one. */
export function crossesItself(ring: readonly Position[]): boolean {
  const places = ring.filter(([x, y], i) =>
    i === 0 || x !== ring[i - 1][0] || y !== ring[i - 1][1]
  );
  const lines = places.slice(1).map((to, i) => lineOf(places[i], to));
  for (let i = 0; i < lines.length; i++) {
    // The last line ends where the first begins.
    const end = i === 0 ? lines.length - 1 : lines.length;
    for (let j = i + 2; j < end; j++) if (meet(lines[i], lines[j])) return true;
  }
  return false;
}

interface Line {
  from: Position;
  to: Position;
  west: number;
  east: number;
  south: number;
  north: number;
}

function lineOf(from: Position, to: Position): Line {
  const [[x, y], [toX, toY]] = [from, to];
  return {
    from,
    to,
    west: Math.min(x, toX),
    east: Math.max(x, toX),
    south: Math.min(y, toY),
    north: Math.max(y, toY),
  };
}

/** Whether two lines have a place in common. */
function meet(one: Line, other: Line): boolean {
  if (
    one.west > other.east || other.west > one.east || one.south > other.north ||
    other.south > one.north
  ) return false;
  const sides = (a: Line, b: Line) =>
    Math.sign(turn(a.from, a.to, b.from)) * Math.sign(turn(a.from, a.to, b.to));
  return sides(one, other) <= 0 && sides(other, one) <= 0;
}
