/**
 * Instances of TSPLIB (Reinelt, 1991) with the lengths of their shortest tours as published with it.
 * Coordinates are facts: x and y, or degrees and minutes as `DDD.MM` where distances are geographical.
 */
export interface Instance {
  name: string;
  kind: "euclidean" | "geographical";
  best: number;
  places: readonly (readonly [number, number])[];
}

export const instances: readonly Instance[] = [
  {
    name: "burma14",
    kind: "geographical",
    best: 3323,
    // deno-fmt-ignore
    places: [[16.47, 96.10], [16.47, 94.44], [20.09, 92.54], [22.39, 93.37], [25.23, 97.24], [22.00, 96.05],
      [20.47, 97.02], [17.20, 96.29], [16.30, 97.38], [14.05, 98.12], [16.53, 97.38], [21.52, 95.59],
      [19.41, 97.13], [20.09, 94.55]],
  },
  {
    name: "ulysses16",
    kind: "geographical",
    best: 6859,
    // deno-fmt-ignore
    places: [[38.24, 20.42], [39.57, 26.15], [40.56, 25.32], [36.26, 23.12], [33.48, 10.54], [37.56, 12.19],
      [38.42, 13.11], [37.52, 20.44], [41.23, 9.10], [41.17, 13.05], [36.08, -5.21], [38.47, 15.13],
      [38.15, 15.35], [37.51, 15.17], [35.49, 14.32], [39.36, 19.56]],
  },
  {
    name: "berlin52",
    kind: "euclidean",
    best: 7542,
    // deno-fmt-ignore
    places: [[565, 575], [25, 185], [345, 750], [945, 685], [845, 655], [880, 660], [25, 230], [525, 1000],
      [580, 1175], [650, 1130], [1605, 620], [1220, 580], [1465, 200], [1530, 5], [845, 680], [725, 370],
      [145, 665], [415, 635], [510, 875], [560, 365], [300, 465], [520, 585], [480, 415], [835, 625],
      [975, 580], [1215, 245], [1320, 315], [1250, 400], [660, 180], [410, 250], [420, 555], [575, 665],
      [1150, 1160], [700, 580], [685, 595], [685, 610], [770, 610], [795, 645], [720, 635], [760, 650],
      [475, 960], [95, 260], [875, 920], [700, 500], [555, 815], [830, 485], [1170, 65], [830, 610],
      [605, 625], [595, 360], [1340, 725], [1740, 245]],
  },
];

/** Distances as TSPLIB defines them, in whole units. */
export function distancesOf({ kind, places }: Instance): (a: number, b: number) => number {
  if (kind === "euclidean") {
    return (a, b) =>
      Math.round(Math.hypot(places[a][0] - places[b][0], places[a][1] - places[b][1]));
  }
  const radians = (value: number) => {
    const degrees = Math.trunc(value);
    return 3.141592 * (degrees + 5 * (value - degrees) / 3) / 180;
  };
  const at = places.map(([x, y]) => [radians(x), radians(y)]);
  return (a, b) => {
    if (a === b) return 0;
    const q1 = Math.cos(at[a][1] - at[b][1]);
    const q2 = Math.cos(at[a][0] - at[b][0]);
    const q3 = Math.cos(at[a][0] + at[b][0]);
    return Math.trunc(6378.388 * Math.acos(0.5 * ((1 + q1) * q2 - (1 - q1) * q3)) + 1);
  };
}
