/** Requests that went well share the lines of ten seconds; one line counts the rest. */
import { expect, test } from "vitest";
import { LogWindow } from "../../shared/runtime/log-window.ts";

/** A window at whose time a test turns. */
function newWindow() {
  const clock = { ms: 1_000 };
  return { clock, lines: new LogWindow(() => clock.ms) };
}

/** Requests that went well, as the log asks for each; answers how many had a line. */
function requests(lines: LogWindow, number: number, kind = "GET /a 200"): number {
  let written = 0;
  for (let n = 0; n < number; n++) {
    if (lines.admits(kind, 2)) {
      lines.take();
      written++;
    }
  }
  return written;
}

test("the first fifty of ten seconds have lines, the others are counted by operation and status", () => {
  const { clock, lines } = newWindow();
  expect(lines.next()).toBeUndefined();
  expect(requests(lines, 60)).toBe(50);
  expect(requests(lines, 3, "GET /b 404")).toBe(0);
  clock.ms += 9_999;
  expect(lines.next()).toBeUndefined();
  clock.ms += 1;
  expect(lines.next()).toEqual({
    requests: 13,
    ms: 26,
    operations: { "GET /a 200": 10, "GET /b 404": 3 },
  });
  expect(lines.next()).toBeUndefined();
  expect(requests(lines, 60)).toBe(50);
});

test("lines of errors take from the share of the requests", () => {
  const { lines } = newWindow();
  lines.next();
  for (let n = 0; n < 45; n++) lines.take();
  expect(requests(lines, 20)).toBe(5);
});

test("a window in which everything had a line says nothing", () => {
  const { clock, lines } = newWindow();
  lines.next();
  requests(lines, 50);
  clock.ms += 10_000;
  expect(lines.next()).toBeUndefined();
});

test("the line names the forty most frequent kinds and counts the others", () => {
  const { clock, lines } = newWindow();
  lines.next();
  requests(lines, 50);
  for (let kind = 1; kind <= 45; kind++) requests(lines, kind, `GET /${kind} 200`);
  clock.ms += 10_000;
  const folded = lines.next()!;
  expect(Object.keys(folded.operations)).toHaveLength(40);
  expect(folded.operations["GET /45 200"]).toBe(45);
  expect(folded.operations["GET /5 200"]).toBeUndefined();
  expect(folded.others).toBe(1 + 2 + 3 + 4 + 5);
  expect(folded.requests).toBe(45 * 46 / 2);
});
