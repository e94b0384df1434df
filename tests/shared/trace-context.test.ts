/** W3C Trace Context, level 1: what is taken from a caller, and what is handed on. */
import { expect, test } from "vitest";
import {
  continueTrace,
  receiveTrace,
  storedTrace,
  traceHeaders,
} from "../../shared/runtime/trace-context.ts";

const trace = "0af7651916cd43dd8448eb211c80319c";
const parent = "b7ad6b7169203331";
const received = (traceparent: string, tracestate?: string) =>
  receiveTrace(new Headers({ traceparent, ...(tracestate !== undefined && { tracestate }) }));

test("a request belongs to the trace of its caller and has a span of its own", () => {
  const context = received(`00-${trace}-${parent}-01`, "one=1,two=2");
  expect(context).toEqual({
    traceId: trace,
    parentId: parent,
    spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
    flags: "01",
    state: "one=1,two=2",
  });
  expect(context.spanId).not.toBe(parent);
  expect(traceHeaders(context)).toEqual({
    traceparent: `00-${trace}-${context.spanId}-01`,
    tracestate: "one=1,two=2",
  });
});

test("of the flags only the sampled one is handed on", () => {
  expect(received(`00-${trace}-${parent}-00`).flags).toBe("00");
  expect(received(`00-${trace}-${parent}-fe`).flags).toBe("00");
  expect(received(`00-${trace}-${parent}-ff`).flags).toBe("01");
});

test("a later version is read as far as this one goes", () => {
  expect(received(`cc-${trace}-${parent}-01`).traceId).toBe(trace);
  expect(received(`cc-${trace}-${parent}-01-what-comes-next`).traceId).toBe(trace);
});

const malformed: [string, string][] = [
  ["empty", ""],
  ["nonsense", "nothing"],
  ["version ff", `ff-${trace}-${parent}-01`],
  ["too much for version 00", `00-${trace}-${parent}-01-more`],
  ["something right behind a later version", `cc-${trace}-${parent}-01.more`],
  ["capital letters", `00-${trace.toUpperCase()}-${parent}-01`],
  ["a trace of zeros", `00-${"0".repeat(32)}-${parent}-01`],
  ["a parent of zeros", `00-${trace}-${"0".repeat(16)}-01`],
  ["a short trace", `00-${trace.slice(1)}-${parent}-01`],
  ["a short parent", `00-${trace}-${parent.slice(1)}-01`],
  ["flags that are no digits", `00-${trace}-${parent}-0x`],
  ["no flags", `00-${trace}-${parent}`],
  ["two of them", `00-${trace}-${parent}-01, 00-${trace}-${parent}-01`],
];
test.each(malformed)("%s begins a trace here, without the caller's state", (_, traceparent) => {
  const context = received(traceparent, "one=1");
  expect(context.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(context.traceId).not.toBe(trace);
  expect(context.parentId).toBeUndefined();
  expect(traceHeaders(context)).toEqual({
    traceparent: `00-${context.traceId}-${context.spanId}-01`,
  });
});

test("a state that cannot be handed on as it is is dropped, and the trace is kept", () => {
  const of = (state: string) => received(`00-${trace}-${parent}-01`, state);
  for (const state of ["", "a b=1", "ä=1", `a=${"x".repeat(511)}`, Array(33).fill("a=1").join()]) {
    expect(of(state)).toMatchObject({ traceId: trace });
    expect(of(state).state).toBeUndefined();
  }
  expect(of(`a=${"x".repeat(510)}`).state).toHaveLength(512);
  expect(of(" a=1 , b=2 ").state).toBe("a=1,b=2");
});

test("what is kept with a job continues the same trace, under a span of its own", () => {
  const context = received(`00-${trace}-${parent}-01`, "one=1,two=2");
  const later = continueTrace(storedTrace(context));
  expect(later).toEqual({ ...context, parentId: context.spanId, spanId: later.spanId });
  expect(later.spanId).not.toBe(context.spanId);
  expect(continueTrace(storedTrace(received(`00-${trace}-${parent}-00`))).state).toBeUndefined();
  expect(continueTrace(null).parentId).toBeUndefined();
});

test("no two traces that begin here are the same, and no id is zero", () => {
  const many = Array.from({ length: 1_000 }, () => receiveTrace(new Headers()));
  expect(new Set(many.map(({ traceId }) => traceId)).size).toBe(1_000);
  expect(new Set(many.map(({ spanId }) => spanId)).size).toBe(1_000);
  expect(many.filter(({ spanId, traceId }) => /^0+$/.test(spanId) || /^0+$/.test(traceId))).toEqual(
    [],
  );
  expect(traceHeaders(undefined)).toEqual({});
});
